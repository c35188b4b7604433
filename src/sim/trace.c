/* trace.c -- what the device ran when, as Chrome's trace events
 *
 * The names are those of fgs trace (tools/trace_json.c): a process is a device,
 * a thread an SM, more where it has several blocks at a time.  Here the
 * file is an array, which a reader takes without its end too, and a device
 * that boots anew is a process of its own, for its time begins anew.
 *
 * A lock of its own guards all of it: blocks end on every worker, without the
 * driver's lock, which is taken first where both are.  Bytes are gathered here
 * and not by stdio, whose buffer a forked child would write a second time.
 */
#include "sim/trace.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Threads of an SM's slots, as fgs trace numbers them, then of streams. */
enum { SMS = 1024, SM_LANES = 1024, STREAM_TID = SMS * SM_LANES };

atomic_bool fgs__sim_trace_on;

static struct {
    pthread_mutex_t lock;
    int fd;                /* -1 = no trace                                  */
    int error;             /* errno of the write that ended it, 0 = none     */
    bool hooked;           /* the hooks for exit and fork are set            */
    bool any;              /* an event is written                            */
    uint32_t boots;        /* of devices so far; the process of the events   */
    uint32_t tracks;       /* numbers of streams given so far                */
    uint32_t old_tracks;   /* ... those of earlier traces                    */
    uint16_t lanes[SMS];   /* named                                          */
    size_t used;
    char path[1024], buffer[1 << 15];
} trace = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

/* ---------------------------------------------------------------- bytes -- */

static void fail(int error)
{
    struct fgs__log log;

    atomic_store(&fgs__sim_trace_on, false);
    trace.error = error;
    if (!fgs__log_init(&log, NULL, NULL, NULL))
        fgs__log(&log, FGS__LOG_SIM_TRACE, "%s: %s; the trace ends here",
                 trace.path, strerror(error));
}

static void flush(void)
{
    size_t at = 0;

    while (at < trace.used && !trace.error) {
        ssize_t n = write(trace.fd, trace.buffer + at, trace.used - at);

        if (n >= 0)
            at += (size_t)n;
        else if (errno != EINTR)
            fail(errno);
    }
    trace.used = 0;
}

static void put_byte(char byte)
{
    if (trace.used == sizeof trace.buffer)
        flush();
    trace.buffer[trace.used++] = byte;
}

static void put(const char *text)
{
    while (*text)
        put_byte(*text++);
}

static void putf(const char *fmt, ...) FGS__PRINTF(1, 2);
static void putf(const char *fmt, ...)
{
    char text[320]; /* more than any use here                                */
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    put(text);
}

/* Names of kernels are ASCII. */
static void put_string(const char *text)
{
    put("\"");
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            putf("\\u%04x", (unsigned)*text);
        else
            put_byte(*text);
    }
    put("\"");
}

/* --------------------------------------------------------------- events -- */

/* `ph` is the kind; the caller goes on behind the thread's number. */
static void put_head(char ph, uint32_t tid)
{
    /* So that a file that is cut is cut between events. */
    if (trace.used > sizeof trace.buffer / 2)
        flush();
    putf("%s{\"ph\":\"%c\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32,
         trace.any ? ",\n" : "", ph, trace.boots, tid);
    trace.any = true;
}

static void put_name(const char *name, const char *category)
{
    put(",\"name\":");
    put_string(name);
    putf(",\"cat\":\"%s\"", category);
}

/* Microseconds, thousandths are ns. */
static void put_us(const char *key, uint64_t ns)
{
    putf(",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void put_span(uint64_t start_ps, uint64_t end_ps)
{
    uint64_t start = start_ps / FGS__SIM_PS_PER_NS;

    put_us("ts", start);
    put_us("dur", end_ps / FGS__SIM_PS_PER_NS - start);
}

static void put_thread(uint32_t tid, const char *name)
{
    put_head('M', tid);
    putf(",\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}", name);
    put_head('M', tid);
    putf(",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%" PRIu32
         "}}",
         tid);
}

static void put_process(void)
{
    put_head('M', 0);
    put(",\"name\":\"process_name\",\"args\":{\"name\":"
        "\"fgsync software device\"}}");
}

/* The thread of a place on an SM. */
static uint32_t lane_tid(const struct fgs__sim_slot *slot)
{
    uint32_t sm = slot->sm->id, lane = (uint32_t)(slot - slot->sm->slot);
    char name[48];

    for (; trace.lanes[sm] <= lane; trace.lanes[sm]++) {
        uint32_t next = trace.lanes[sm];

        snprintf(name, sizeof name,
                 next ? "SM %" PRIu32 ".%" PRIu32 : "SM %" PRIu32, sm, next);
        put_thread(sm * SM_LANES + next + 1, name);
    }
    return sm * SM_LANES + lane + 1;
}

static uint32_t stream_tid(struct fgs__sim_stream *s)
{
    char name[64];

    if (s->track <= trace.old_tracks) {
        s->track = ++trace.tracks;
        snprintf(name, sizeof name,
                 s == s->ctx->legacy ? "default stream" : "stream %#" PRIx64,
                 (uint64_t)s->handle);
        put_thread(STREAM_TID + s->track, name);
    }
    return STREAM_TID + s->track;
}

static void put_block(const struct fgs__sim_slot *slot, uint64_t end_ps,
                      bool stopped)
{
    const struct fgs__sim_block *b = slot->block;
    const struct fgs__sim_grid *g = b->grid;

    put_head('X', lane_tid(slot));
    put_name(g->code->func->name, "block");
    put_span(b->start_ps, end_ps);
    putf(",\"args\":{\"grid\":%" PRIu64 ",\"stream\":\"%#" PRIx64
         "\",\"block\":%" PRIu64 ",\"ctaid\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32
         "],\"cluster_rank\":%" PRIu32 "%s}}",
         g->id, g->stream, b->linear, b->ctaid[0], b->ctaid[1], b->ctaid[2],
         b->rank, stopped ? ",\"stopped\":true" : "");
}

void fgs__sim_trace_block(const struct fgs__sim_slot *slot, uint64_t end_ps,
                          bool stopped)
{
    pthread_mutex_lock(&trace.lock);
    if (fgs__sim_tracing())
        put_block(slot, end_ps, stopped);
    pthread_mutex_unlock(&trace.lock);
}

/* Grids of a stream may overlap, slices of a thread may not: a grid is a pair
 * of events that begin and end something, told apart by its id. */
static void put_grid(const struct fgs__sim_op *op, uint64_t end_ps,
                     bool stopped)
{
    const struct fgs__sim_grid *g = &op->u.kernel.grid;
    const uint64_t at[] = { g->start_ps, end_ps };
    uint32_t tid = stream_tid(op->stream);

    for (int i = 0; i < 2; i++) {
        put_head("be"[i], tid);
        put_name(g->code->func->name, "grid");
        putf(",\"id\":%" PRIu64, g->id);
        put_us("ts", at[i] / FGS__SIM_PS_PER_NS);
        putf(",\"args\":{\"grid\":%" PRIu64 ",\"stream\":\"%#" PRIx64
             "\",\"blocks\":%" PRIu64 "%s}}",
             g->id, g->stream, g->blocks, stopped ? ",\"stopped\":true" : "");
    }
}

static void put_op(const struct fgs__sim_op *op, const char *name,
                   uint64_t start_ps, uint64_t end_ps, uint64_t bytes)
{
    put_head('X', stream_tid(op->stream));
    put_name(name, "stream");
    put_span(start_ps, end_ps);
    putf(",\"args\":{\"stream\":\"%#" PRIx64 "\"",
         (uint64_t)op->stream->handle);
    if (op->kind != FGS__SIM_OP_HOST)
        putf(",\"bytes\":%" PRIu64, bytes);
    put("}}");
}

void fgs__sim_trace_begun(struct fgs__sim_op *op, uint64_t start_ps)
{
    const struct fgs__sim_copy_op *c = &op->u.copy;

    pthread_mutex_lock(&trace.lock);
    if (fgs__sim_tracing() && op->kind == FGS__SIM_OP_COPY)
        put_op(op, c->local ? "copy on device" : "copy", start_ps, op->end_ps,
               c->width * c->rows * c->planes);
    else if (fgs__sim_tracing() && op->kind == FGS__SIM_OP_FILL)
        put_op(op, "fill", start_ps, op->end_ps,
               op->u.fill.count * op->u.fill.rows * op->u.fill.width);
    pthread_mutex_unlock(&trace.lock);
}

void fgs__sim_trace_ended(struct fgs__sim_op *op)
{
    bool over = op->state == FGS__SIM_OP_DONE;
    uint64_t start = op->kind == FGS__SIM_OP_KERNEL ? op->u.kernel.grid.start_ps
                                                    : op->end_ps;
    uint64_t now = op->stream->ctx->dev->now_ps;

    now = now > start ? now : start;
    pthread_mutex_lock(&trace.lock);
    if (fgs__sim_tracing() && op->kind == FGS__SIM_OP_KERNEL)
        put_grid(op, over ? op->end_ps : now, !over);
    else if (fgs__sim_tracing() && op->kind == FGS__SIM_OP_HOST)
        put_op(op, "host function", start, now, 0);
    pthread_mutex_unlock(&trace.lock);
}

void fgs__sim_trace_boot(void)
{
    pthread_mutex_lock(&trace.lock);
    trace.boots++;
    memset(trace.lanes, 0, sizeof trace.lanes);
    if (fgs__sim_tracing())
        put_process();
    pthread_mutex_unlock(&trace.lock);
}

void fgs__sim_trace_flush(void)
{
    pthread_mutex_lock(&trace.lock);
    if (fgs__sim_tracing())
        flush();
    pthread_mutex_unlock(&trace.lock);
}

/* --------------------------------------------------------- begin and end -- */

/* 0, or the errno of what was not written. */
static int end(void)
{
    int fd = trace.fd;

    if (!trace.error) {
        put(trace.any ? "\n]\n" : "]\n");
        flush();
    }
    atomic_store(&fgs__sim_trace_on, false);
    trace.fd = -1; /* first: see in_child()                                   */
    if (close(fd) && !trace.error)
        fail(errno);
    return trace.error;
}

static void at_exit(void)
{
    pthread_mutex_lock(&trace.lock);
    if (trace.fd >= 0)
        end();
    pthread_mutex_unlock(&trace.lock);
}

/* The trace stays the parent's, whose threads may hold the lock. */
static void in_child(void)
{
    atomic_store(&fgs__sim_trace_on, false);
    if (trace.fd >= 0)
        close(trace.fd);
    trace.fd = -1;
    trace.used = 0;
    pthread_mutex_init(&trace.lock, NULL);
}

static bool hook(void)
{
    if (!trace.hooked)
        trace.hooked = !pthread_atfork(NULL, NULL, in_child) &&
            !atexit(at_exit);
    return trace.hooked;
}

/* trace.path is `path`, with the process's id for its first %p. */
static bool set_path(const char *path)
{
    const char *at = strstr(path, "%p");
    int n;

    if (at)
        n = snprintf(trace.path, sizeof trace.path, "%.*s%ld%s",
                     (int)(at - path), path, (long)getpid(), at + 2);
    else
        n = snprintf(trace.path, sizeof trace.path, "%s", path);
    return n >= 0 && (size_t)n < sizeof trace.path;
}

/* Empty, once nobody else writes it: a program that this one starts finds the
 * same variable.  Locks are not for every kind of file. */
static int open_path(void)
{
    int fd = open(trace.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666), bad;
    struct stat st;

    if (fd < 0)
        return fd;
    if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        errno = EBUSY;
    else if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !ftruncate(fd, 0))
        return fd;
    bad = errno;
    close(fd);
    errno = bad;
    return -1;
}

/* The driver's lock is held. */
static fgs_result begin(const char *path, fgs_error *err)
{
    if (trace.fd >= 0)
        return fgs__fail(err, FGS_E_BUSY,
                         "fgs_sim_trace: %s is written; NULL ends it",
                         trace.path);
    if (!set_path(path))
        return fgs__fail(err, FGS_E_SIZE,
                         "fgs_sim_trace: a path of %zu bytes; less than %zu "
                         "are good",
                         strlen(path), sizeof trace.path);
    if (!hook())
        return fgs__nomem(err);
    trace.fd = open_path();
    if (trace.fd < 0)
        return fgs__fail(err, FGS_E_FILE, "%s: %s", trace.path,
                         errno == EBUSY ? "another process writes its trace "
                                          "there; %p is a process's id"
                                        : strerror(errno));
    trace.error = 0;
    trace.any = false;
    trace.used = 0;
    trace.old_tracks = trace.tracks;
    memset(trace.lanes, 0, sizeof trace.lanes);
    put("[\n");
    if (fgs__sim_driver.dev)
        put_process();
    atomic_store(&fgs__sim_trace_on, true);
    return FGS_OK;
}

CUresult fgs__sim_trace_env(void)
{
    const char *path = getenv("FGS_SIM_TRACE");
    fgs_result r = FGS_OK;
    struct fgs__log log;
    fgs_error err;

    if (!path || !*path)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&trace.lock);
    if (trace.fd < 0)
        r = begin(path, &err);
    pthread_mutex_unlock(&trace.lock);
    if (!r)
        return CUDA_SUCCESS;
    fgs__sim_refused("FGS_SIM_TRACE: %s", err.text);
    if (!fgs__log_init(&log, NULL, NULL, NULL))
        fgs__log(&log, FGS__LOG_SIM_TRACE, "FGS_SIM_TRACE: %s", err.text);
    return CUDA_ERROR_OPERATING_SYSTEM;
}

fgs_result fgs_sim_trace(const char *path, fgs_error *err)
{
    fgs_result r = FGS_OK;
    int bad;

    pthread_mutex_lock(&fgs__sim_driver.lock);
    pthread_mutex_lock(&trace.lock);
    if (path) {
        r = begin(path, err);
    } else if (trace.fd >= 0) {
        bad = end();
        if (bad)
            r = fgs__fail(err, FGS_E_FILE, "%s: %s; the trace is not whole",
                          trace.path, strerror(bad));
    }
    pthread_mutex_unlock(&trace.lock);
    pthread_mutex_unlock(&fgs__sim_driver.lock);
    return r;
}
