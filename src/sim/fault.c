/* fault.c -- a kernel broke a rule: the context's sticky error, and the text */
#include "sim/device.h"
#include <stdarg.h>

/* Kept past the device's end: fgs_sim_last_fault() has no life time. */
static pthread_mutex_t text_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_text[1024];
static _Thread_local char handed_out[sizeof last_text];

/* "kernel k, PTX line 12:5, block (1,0,0), thread (3,0,0): rule" */
static void write_place(char *out, size_t size, const struct fgs__sim_grid *g,
                        const struct fgs__ptx_insn *at, uint64_t block,
                        int64_t thread)
{
    size_t n = 0;
    uint64_t plane = (uint64_t)g->grid[0] * g->grid[1];

    n += (size_t)snprintf(out, size, "kernel %s", g->code->func->name);
    if (at && n < size)
        n += (size_t)snprintf(out + n, size - n, ", PTX line %u:%u",
                              at->pos.line, at->pos.column);
    if (n < size)
        n += (size_t)snprintf(out + n, size - n, ", block (%llu,%llu,%llu)",
                              (unsigned long long)(block % g->grid[0]),
                              (unsigned long long)(block % plane /
                                                   g->grid[0]),
                              (unsigned long long)(block / plane));
    if (thread >= 0 && n < size) {
        uint64_t t = (uint64_t)thread;
        uint64_t area = (uint64_t)g->block[0] * g->block[1];

        snprintf(out + n, size - n, ", thread (%llu,%llu,%llu)",
                 (unsigned long long)(t % g->block[0]),
                 (unsigned long long)(t % area / g->block[0]),
                 (unsigned long long)(t / area));
    }
}

static void keep(struct fgs__sim_ctx *ctx, CUresult cu, const char *place,
                 const char *between, const char *rule)
{
    int none = CUDA_SUCCESS;

    pthread_mutex_lock(&text_lock);
    /* The text is written before others can see the error. */
    if (!atomic_load(&ctx->sticky))
        snprintf(last_text, sizeof last_text, "%s%s%s", place, between, rule);
    atomic_compare_exchange_strong(&ctx->sticky, &none, (int)cu);
    pthread_mutex_unlock(&text_lock);
}

void fgs__sim_fault(struct fgs__sim_grid *g, CUresult cu,
                    const struct fgs__ptx_insn *at, uint64_t block,
                    int64_t thread, const char *fmt, ...)
{
    char rule[680], place[320];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(rule, sizeof rule, fmt, ap);
    va_end(ap);
    write_place(place, sizeof place, g, at, block, thread);
    keep(g->ctx, cu, place, ": ", rule);
}

void fgs__sim_ctx_fault(struct fgs__sim_ctx *ctx, CUresult cu,
                        const char *text)
{
    keep(ctx, cu, "", "", text);
}

void fgs__sim_refused(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    pthread_mutex_lock(&text_lock);
    vsnprintf(last_text, sizeof last_text, fmt, ap);
    pthread_mutex_unlock(&text_lock);
    va_end(ap);
}

void fgs__sim_refuse(const char *call, const char *rule)
{
    pthread_mutex_lock(&text_lock);
    snprintf(last_text, sizeof last_text, "%s: %s", call, rule);
    pthread_mutex_unlock(&text_lock);
}

bool fgs__sim_stopped(const struct fgs__sim_grid *g)
{
    return atomic_load_explicit(&g->ctx->sticky, memory_order_relaxed) !=
        CUDA_SUCCESS;
}

const char *fgs_sim_last_fault(void)
{
    pthread_mutex_lock(&text_lock);
    memcpy(handed_out, last_text, sizeof handed_out);
    pthread_mutex_unlock(&text_lock);
    return handed_out;
}
