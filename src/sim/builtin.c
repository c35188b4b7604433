/* builtin.c -- the device's library: what PTX may call without defining it */
#include "sim/builtin.h"

/* file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `text`
 * failed. */
static bool print_assert(struct fgs__sim_warp *w, int lane,
                         const uint64_t *arg, const char *message)
{
    const struct fgs__sim_block *b = w->block;
    const struct fgs__sim_grid *g = b->grid;
    uint32_t t = w->id * 32 + (uint32_t)lane;
    uint32_t area = g->block[0] * g->block[1];
    char file[512], function[512], text[2048];
    int n;

    if (!fgs__sim_text(w, lane, arg[1], file, sizeof file))
        snprintf(file, sizeof file, "?");
    if (!fgs__sim_text(w, lane, arg[3], function, sizeof function))
        snprintf(function, sizeof function, "?");
    n = snprintf(text, sizeof text,
                 "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion "
                 "`%s` failed.\n",
                 file, (unsigned)arg[2], function, b->ctaid[0], b->ctaid[1],
                 b->ctaid[2], t % g->block[0], t % area / g->block[0],
                 t / area, message);
    return fgs__sim_print_add(g->ctx, true, text,
                              (size_t)n < sizeof text ? (size_t)n
                                                      : sizeof text - 1);
}

/* __assertfail(message, file, line, function, bytes of a character) */
static bool run_assert(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                       int lane, const uint64_t *arg, uint64_t *result)
{
    char message[512];

    (void)result;
    if (!fgs__sim_text(w, lane, arg[0], message, sizeof message))
        snprintf(message, sizeof message, "?");
    print_assert(w, lane, arg, message);
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ASSERT, lane,
                        "assertion `%.200s` failed", message);
    return false;
}

/* cudaGraphSetConditional(handle, value): see cond.h. */
static bool set_conditional(struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i, int lane,
                            const uint64_t *arg, uint64_t *result)
{
    struct fgs__sim_alloc_info info;

    (void)result;
    if (!fgs__sim_mem_info(w->block->sm->mem, arg[0], &info) ||
        info.kind != FGS__SIM_MEM_COND || info.range.lo != arg[0]) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                            "%#llx is no handle of a conditional node",
                            (unsigned long long)arg[0]);
        return false;
    }
    __atomic_store_n((uint32_t *)(void *)info.range.host, (uint32_t)arg[1],
                     __ATOMIC_RELAXED);
    return true;
}

static const struct {
    const char *name;
    uint32_t params, rets;
    fgs__sim_builtin run;
} list[] = {
    { "vprintf", 2, 1, fgs__sim_vprintf },
    { "__assertfail", 5, 0, run_assert },
    { "malloc", 1, 1, fgs__sim_malloc },
    { "free", 1, 0, fgs__sim_free },
    { "cudaGraphSetConditional", 2, 0, set_conditional },
};

static uint32_t length(const struct fgs__ptx_sym *v)
{
    uint32_t n = 0;

    for (; v; v = v->next)
        n++;
    return n;
}

fgs__sim_builtin fgs__sim_builtin_find(const struct fgs__ptx_func *f)
{
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        if (!strcmp(list[k].name, f->name) &&
            length(f->params) == list[k].params &&
            length(f->rets) == list[k].rets)
            return list[k].run;
    return NULL;
}
