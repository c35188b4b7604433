/* device.h -- the scheduler's and the driver API's objects
 *
 * One lock (driver.lock) guards everything here except what is marked: API
 * calls hold it from fgs__sim_enter to fgs__sim_leave, the scheduler thread
 * between epochs.  While `busy` is set an epoch or a copy runs without the
 * lock; whatever such work may look at (memory, code) is only taken away
 * inside fgs__sim_pause / fgs__sim_resume.
 */
#ifndef FGS_SIM_DEVICE_H
#define FGS_SIM_DEVICE_H

#include "sim/attribute.h"
#include "sim/exec.h"
#include "sim/grid.h"
#include "sim/handle.h"
#include "sim/mem.h"
#include "sim/module.h"
#include "sim/sim.h"
#include <pthread.h>
#include <time.h>

/* Modelled times.  An epoch is not longer than a launch, so that the end of a
 * grid is always seen before a grid that waits for it may start.  While blocks
 * wait for a place or a dependent for triggers, an epoch is one slice, so that
 * both are noticed within a short block's life; where blocks live longer, up to
 * a whole epoch. */
enum {
    FGS__SIM_EPOCH_PS = 1000 * FGS__SIM_PS_PER_NS,
    FGS__SIM_LONG_PS = 4000 * FGS__SIM_PS_PER_NS, /* of one grid in waves    */
    FGS__SIM_SLICE_PS = 200 * FGS__SIM_PS_PER_NS, /* blocks of an SM in turn */
    FGS__SIM_LAUNCH_PS = 1000 * FGS__SIM_PS_PER_NS,
    FGS__SIM_BLOCK_PS = 2 * FGS__SIM_PS_PER_NS, /* between two block starts  */
    FGS__SIM_COPY_PS = 1000 * FGS__SIM_PS_PER_NS,  /* of any copy or fill    */
    FGS__SIM_HOST_BYTE_PS = 20,                    /* 50 GB/s to the host    */
    FGS__SIM_DEVICE_BYTES_PS = 2                   /* 2 TB/s on the device   */
};
/* Device time at boot: %globaltimer is never 0. */
#define FGS__SIM_BOOT_PS (1000000ull * FGS__SIM_PS_PER_NS)
/* Largest reservation of addresses, largest memory of a handle. */
#define FGS__SIM_VMM_MOST (1ull << 44)

enum {
    FGS__SIM_ALLOC_ALIGN = 512,
    FGS__SIM_MAX_BLOCK = 1024,     /* threads of a block                     */
    FGS__SIM_STATIC_SHARED = 48 * 1024, /* without the opt-in attribute      */
    FGS__SIM_RESERVED_SHARED = 1024, /* of a block, by the system            */
    FGS__SIM_DRIVER_VERSION = 13050,
    FGS__SIM_PRIORITY_LEAST = 0,
    FGS__SIM_PRIORITY_GREATEST = -5,
    FGS__SIM_MAX_STACK = 512 * 1024,
    FGS__SIM_PCI_BUS = 1,
    FGS__SIM_PCI_DEVICE = 0,
    /* 2 TB/s, twice a clock: 500 MHz over 16384 bits. */
    FGS__SIM_MEM_KHZ = 500000,
    FGS__SIM_MEM_BITS = 16384
};

/* ------------------------------------------------------ driver, device -- */

struct fgs__sim_stream;
struct fgs__sim_op;

/* A host thread that waits.  The scheduler evaluates it between epochs. */
struct fgs__sim_waiter {
    struct fgs__sim_waiter *next;
    bool (*done)(struct fgs__sim_waiter *w);
    struct fgs__sim_ctx *ctx;  /* kept alive meanwhile                       */
    void *obj;
    uint64_t seq;
    bool over;
};

struct fgs__sim_device {
    fgs_sim_config cfg;
    fgs_allocator alloc;       /* what cfg.allocator points to               */
    struct fgs__sim_mem *mem;
    struct fgs__sim_sm *sm;
    struct fgs__sim_handles handles;
    struct fgs__sim_mempool *pools; /* made by the program, destroyed too    */
    struct fgs__sim_vmm *vmm;  /* handles and reservations: vmm.c            */
    struct fgs__sim_advised *advice; /* of managed memory: advice.c          */
    size_t advices, advice_cap;
    struct fgs__sim_user *users; /* objects that graphs hold: cu_user.c       */
    struct fgs__sim_ctx *ctxs;
    uint64_t graph_used, graph_high[2]; /* memory of graphs; used, reserved  */
    uint64_t now_ps;           /* start of the next epoch                    */
    uint64_t epochs;
    uint64_t stride_ps, stride_ended; /* see stride() */
    uint64_t next_grid;
    uint64_t functions;        /* that have had an address                   */
    uint32_t next_sm;          /* where the next block is tried first        */
    uint64_t next_block_ps;    /* when the next block may start              */

    struct fgs__sim_grid *grids; /* that may hand out blocks, in order       */
    struct fgs__sim_cluster *clusters; /* with resident blocks: gang.c       */

    struct fgs__sim_pool *pool; /* helper threads: pool.c                    */
    pthread_t thread;          /* the scheduler                              */
    pthread_key_t thread_key;  /* tells when a host thread ends: thread.c    */
    pthread_cond_t work;       /* scheduler: something to do                 */
    pthread_cond_t over;       /* waiters: one of them is over               */
    pthread_cond_t idle;       /* pausers: busy is false                     */
    bool quit, busy, free_run;
    bool fresh;                /* work came in since the last look           */
    bool grace;                /* grace_end is set                           */
    struct timespec grace_end;
    uint32_t pausers;
    struct fgs__sim_waiter *waiters;
    struct fgs__sim_hostfn *hostfn; /* thread for host functions: hostfn.c   */
};

enum { FGS__SIM_LIMITS = 10 };

struct fgs__sim_ctx {
    struct fgs__sim_ctx *next;
    struct fgs__sim_device *dev;
    uintptr_t handle;
    bool primary;
    unsigned int flags;
    unsigned long long id;
    uint32_t attached;         /* cuCtxAttach over the first                 */
    size_t limit[FGS__SIM_LIMITS]; /* by CUlimit                             */
    unsigned int cache_config, shared_config;
    struct fgs__sim_print {    /* texts of vprintf, not written yet: print.c */
        char *text;
        size_t first, end, cap;
    } print;
    struct fgs__sim_heap *heap; /* of malloc, NULL = nobody used it: heap.c   */
    atomic_int sticky;         /* CUresult of the first fault                */
    uint32_t users;            /* calls in it that let go of the lock        */
    uint64_t seq;              /* of the newest op                           */
    struct fgs__sim_stream *streams; /* all, the default one too             */
    struct fgs__sim_stream *legacy;
    struct fgs__sim_module *modules;
    struct fgs__sim_link *links;
    struct fgs__sim_event *events;
    struct fgs__sim_capture *captures;
    struct fgs__sim_graph *graphs; /* instantiated ones too                  */
    struct fgs__sim_array *arrays; /* array.h                                */
    struct fgs__sim_mipmap *mipmaps;
    struct fgs__sim_textures *_Atomic textures; /* texture.h                 */
    struct fgs__sim_reference *references; /* reference.h                    */
    struct fgs__sim_lease *leases; /* memory of graphs: lease.c              */
    struct fgs__sim_cond *conds; /* values of conditional nodes: cond.h      */
    struct fgs__sim_mark *gate; /* all streams wait for it, NULL = for none  */
};

/* The driver's only global: driver.c. */
struct fgs__sim_driver {
    pthread_mutex_t lock;
    bool inited;
    bool forked;               /* in a child: no thread of ours lives here   */
    bool configured;
    fgs_sim_config cfg;        /* for the next boot                          */
    fgs_allocator alloc;
    struct fgs__sim_device *dev; /* while a context is alive                 */
    struct fgs__sim_ctx *primary;
    uint32_t primary_refs;
    unsigned int primary_flags;
    unsigned long long ctx_ids;
    unsigned int graph_ids;
    struct fgs__sim_mempool pool; /* the default one                         */
    struct fgs__sim_mempool *current_pool; /* NULL = the default one         */
    struct fgs__sim_library *libraries;
    uint64_t next_kernel;      /* number of the next library or kernel       */
};
extern struct fgs__sim_driver fgs__sim_driver;

/* Lock, and check that cuInit was called; *ctx the current context, alive and
 * without a sticky error.  The lock is held only after CUDA_SUCCESS. */
CUresult fgs__sim_enter(struct fgs__sim_ctx **ctx);
/* The same whatever the context's sticky error, for calls that have no work
 * for the device; which these are is what an H200 answered behind a trap. */
CUresult fgs__sim_enter_calm(struct fgs__sim_ctx **ctx);
CUresult fgs__sim_sticky(struct fgs__sim_ctx *ctx);
CUresult fgs__sim_enter_driver(void);
/* The same for a call that a capture forbids: in this thread one that is not
 * relaxed, in others a global one, by this thread's mode too.  Which these
 * are is what an H200 answered (driver 580).  capture.c */
CUresult fgs__sim_enter_unsafe(struct fgs__sim_ctx **ctx);
CUresult fgs__sim_capture_unsafe(struct fgs__sim_ctx *ctx);
CUresult fgs__sim_captures_unsafe(struct fgs__sim_device *dev);
/* The legacy stream while a blocking one is captured: spoils that capture. */
CUresult fgs__sim_capture_implicit(struct fgs__sim_stream *s);
/* Unlock and return r. */
CUresult fgs__sim_leave(CUresult r);

/* Wait, lock released meanwhile, until w->done(w) is true. */
void fgs__sim_wait(struct fgs__sim_device *dev, struct fgs__sim_waiter *w);
/* Undo users++. */
void fgs__sim_ctx_unuse(struct fgs__sim_ctx *ctx);
/* Wait for all work of a context that is enqueued now. */
CUresult fgs__sim_ctx_wait(struct fgs__sim_ctx *ctx);
/* Keep the device between epochs, to take something away that it may use. */
void fgs__sim_pause(struct fgs__sim_device *dev);
void fgs__sim_resume(struct fgs__sim_device *dev);

CUresult fgs__sim_device_boot(struct fgs__sim_device **out);
void fgs__sim_device_halt(struct fgs__sim_device *dev);

CUresult fgs__sim_ctx_make(struct fgs__sim_ctx **out, bool primary,
                           unsigned int flags);
/* What a new context begins with; are the flags of one good?  cu_context.c */
void fgs__sim_ctx_settings(struct fgs__sim_ctx *ctx, unsigned int flags);
CUresult fgs__sim_ctx_flags_check(unsigned int flags);
/* The lock is released while its work runs out. */
void fgs__sim_ctx_free(struct fgs__sim_ctx *ctx);
/* The calling thread's stack of current contexts. */
uintptr_t fgs__sim_ctx_current(void);
/* Is the calling thread inside a host function?  hostfn.c */
bool fgs__sim_in_hostfn(void);

/* ---------------------------------------------------- streams: stream.c -- */

/* The moment of one cuEventRecord; shared by the event, the record in the
 * stream and the waits for it. */
struct fgs__sim_mark {
    uint32_t refs;
    bool done;
    uint64_t ps;
    struct fgs__sim_mark *end; /* of the kernel that passed it early; held   */
};

struct fgs__sim_marks {
    struct fgs__sim_mark **item; /* held                                     */
    size_t count, cap;
};

/* Nodes that something follows, and how. */
struct fgs__sim_edge {
    struct fgs__sim_node *node;
    CUgraphEdgeData data;
};
struct fgs__sim_edges {
    struct fgs__sim_edge *item;
    size_t count, cap;
};

struct fgs__sim_event {
    struct fgs__sim_event *next;
    struct fgs__sim_ctx *ctx;
    uintptr_t handle;
    unsigned int flags;
    struct fgs__sim_mark *mark; /* of the last record, NULL = never          */
    uint64_t capture;          /* id of the one that recorded it last, or 0  */
    struct fgs__sim_edges last; /* what it recorded there                    */
};

/* One side of a copy: rows of `pitch` bytes, planes of `slice`. */
struct fgs__sim_side {
    char *host;                /* pageable bytes, NULL = va                  */
    uint64_t va;
    uint64_t pitch, slice;
};

struct fgs__sim_copy_op {
    struct fgs__sim_side dst, src;
    uint64_t width, rows, planes;
    void *staged;              /* copy of the source, owned                  */
    bool local;                /* device to device                           */
};
/* Bytes from the first to the last one of a side. */
uint64_t fgs__sim_span(const struct fgs__sim_copy_op *c,
                       const struct fgs__sim_side *side);
/* Copy a block; the addresses are host bytes. */
void fgs__sim_copy_block(const struct fgs__sim_copy_op *c, char *dst,
                         const char *src);

enum fgs__sim_op_kind {
    FGS__SIM_OP_EMPTY,
    FGS__SIM_OP_KERNEL,
    FGS__SIM_OP_COPY,
    FGS__SIM_OP_FILL,
    FGS__SIM_OP_FREE,
    FGS__SIM_OP_RECORD,
    FGS__SIM_OP_WAIT,
    FGS__SIM_OP_HOST,
    FGS__SIM_OP_VALUES,
    FGS__SIM_OP_LEASE,
    FGS__SIM_OP_COND
};
enum fgs__sim_op_state {
    FGS__SIM_OP_QUEUED,
    FGS__SIM_OP_TIMED,   /* over at end_ps                                   */
    FGS__SIM_OP_RUNNING, /* over when somebody says so                       */
    FGS__SIM_OP_DONE
};

struct fgs__sim_op {
    struct fgs__sim_op *next;
    struct fgs__sim_stream *stream;
    enum fgs__sim_op_kind kind;
    enum fgs__sim_op_state state;
    uint64_t seq;              /* in the context                             */
    uint64_t queued_ps, end_ps;
    struct fgs__sim_mark **wait; /* begins after them; owned                 */
    uint32_t waits;
    struct fgs__sim_marks behind; /* a kernel's griddepcontrol.wait, and all
                                  else, waits for these                      */
    struct fgs__sim_mark *over; /* set when it has ended, NULL = nobody asks */
    struct fgs__sim_users *users; /* held by a launch of a graph, owned      */
    union {
        struct {
            struct fgs__sim_grid grid;
            CUfunction func;
            struct fgs__sim_ask {     /* of a launch; 0 = not said           */
                uint32_t dim[3], preferred[3], policy, portable;
                uint32_t shared_mode; /* CU_SHARED_MEMORY_MODE_*             */
            } ask;
            struct fgs__sim_mark *started; /* set when all blocks run        */
            struct fgs__sim_mark *fired; /* when it triggers                 */
            CUevent trigger;   /* recorded at the triggers, in a capture     */
            unsigned char trigger_port;
            CUevent launched;
            unsigned char *params;
            bool programmatic; /* may overlap the kernel before it           */
            bool cooperative;
            int priority;
        } kernel;
        struct fgs__sim_copy_op copy;
        struct {
            uint64_t va, count; /* units of a row                            */
            uint64_t rows, pitch;
            uint32_t value, width; /* of a unit, bytes                       */
        } fill;
        uint64_t free_va;
        struct {
            struct fgs__sim_lease *lease; /* held                            */
            bool on;
        } lease;
        struct {
            struct fgs__sim_bodies *bodies; /* held; cond.h                  */
            struct fgs__sim_mark *round; /* end of the body that runs        */
        } cond;
        struct fgs__sim_mark *mark;
        struct {
            CUhostFn fn;
            CUstreamCallback callback; /* in its place, called in any case   */
            CUstream stream;   /* as the callback is told                    */
            void *data;
            struct fgs__sim_op *next; /* in hostfn.c's queue                 */
        } host;
        struct {
            CUstreamBatchMemOpParams *item; /* owned                         */
            uint32_t count, done;
        } values;
    } u;
};

struct fgs__sim_stream {
    struct fgs__sim_stream *next;
    struct fgs__sim_ctx *ctx;
    uintptr_t handle;
    unsigned int flags;
    bool destroyed;
    uint64_t thread;           /* whose default stream it is, 0 = nobody's   */
    uint32_t waiting, track;   /* host threads that wait for it; trace.c     */
    struct fgs__sim_op *head, **tail;
    struct fgs__sim_marks behind; /* of what is enqueued next                */
    uint64_t done_ps;          /* end of what was taken off last             */
    struct fgs__sim_stream_attr attr[FGS__SIM_ATTRS];
    struct fgs__sim_capture *capture; /* NULL = not captured                 */
    struct fgs__sim_edges last; /* of the capture: what comes next follows   */
};

struct fgs__sim_stream *fgs__sim_stream_make(struct fgs__sim_ctx *ctx,
                                             unsigned int flags);
void fgs__sim_stream_free(struct fgs__sim_stream *s);
/* The stream of a handle: 0 (outside a per-thread entry point) and 1 the
 * legacy one.  CUDA_SUCCESS, INVALID_HANDLE, or OUT_OF_MEMORY for the first use
 * of a thread's own. */
CUresult fgs__sim_stream_get(struct fgs__sim_ctx *ctx, CUstream handle,
                             struct fgs__sim_stream **out);
/* A wait for a mark, of cuCtxWaitEvent; NULL = no memory. */
struct fgs__sim_op *fgs__sim_gate_op(struct fgs__sim_stream *s,
                                     struct fgs__sim_mark *m);
/* The priority that a wish becomes. */
int fgs__sim_priority(int wish);
/* The calling thread's own default stream, NULL = no memory; thread.c.  Make
 * and free when the device boots and halts. */
struct fgs__sim_stream *fgs__sim_thread_stream(struct fgs__sim_ctx *ctx);
bool fgs__sim_threads_make(struct fgs__sim_device *dev);
void fgs__sim_threads_free(struct fgs__sim_device *dev);
/* NULL = no memory. */
struct fgs__sim_op *fgs__sim_op_make(struct fgs__sim_stream *s,
                                     enum fgs__sim_op_kind kind);
/* Of a kernel that is launched cooperatively; stream.c says what it is. */
CUresult fgs__sim_workspace_make(struct fgs__sim_op *op);
void fgs__sim_op_free(struct fgs__sim_op *op);
void fgs__sim_op_enqueue(struct fgs__sim_op *op);
/* Hand an op over: to its stream, or to the graph that the stream is captured
 * into.  The op is gone in every case. */
CUresult fgs__sim_submit(struct fgs__sim_op *op);
/* Wait for everything that is in the stream now; returns the sticky error. */
CUresult fgs__sim_stream_wait(struct fgs__sim_stream *s);

struct fgs__sim_mark *fgs__sim_mark_make(struct fgs__sim_device *dev);
void fgs__sim_mark_drop(struct fgs__sim_device *dev, struct fgs__sim_mark *m);
/* One more, held; false = no memory. */
bool fgs__sim_marks_add(struct fgs__sim_device *dev, struct fgs__sim_marks *to,
                        struct fgs__sim_mark *m);
void fgs__sim_marks_free(struct fgs__sim_device *dev, struct fgs__sim_marks *m);
void fgs__sim_event_free(struct fgs__sim_event *e);

/* Take finished ops off, start what may start, until nothing changes.  May
 * release the lock for a copy. */
void fgs__sim_streams_advance(struct fgs__sim_device *dev);
/* Does a programmatic dependent wait for triggers? */
bool fgs__sim_streams_watch(const struct fgs__sim_device *dev);
/* The next moment at which an op begins or ends by itself. */
uint64_t fgs__sim_streams_next(struct fgs__sim_device *dev);
/* Drop all ops of a context that faulted. */
void fgs__sim_streams_drop(struct fgs__sim_ctx *ctx);

/* Waits for values and writes of them: cu_value.c.  Do what can be done;
 * false = one waits still.  Does any stream wait so? */
bool fgs__sim_values_run(struct fgs__sim_device *dev, struct fgs__sim_op *op);
bool fgs__sim_values_wait(const struct fgs__sim_device *dev);

/* Knobs that the program left to the compute capability: config.c. */
void fgs__sim_config_fill(fgs_sim_config *cfg);
/* Why a launch is refused, kept as the last fault's text: fault.c. */
void fgs__sim_refused(const char *fmt, ...) FGS__PRINTF(1, 2);
/* Why a call refuses its arguments, as text of fgs_sim_last_fault(). */
void fgs__sim_refuse(const char *call, const char *rule);
/* A fault outside a kernel: fault.c. */
void fgs__sim_ctx_fault(struct fgs__sim_ctx *ctx, CUresult cu,
                        const char *text);

/* ------------------------------------------------------ capture: graph -- */

/* Is a stream captured? */
bool fgs__sim_captured(const struct fgs__sim_stream *s);
/* A call that a capture cannot hold: spoils the capture; its error. */
CUresult fgs__sim_capture_refuse(struct fgs__sim_stream *s);
/* The same where the stream is captured. */
static inline CUresult fgs__sim_uncaptured(struct fgs__sim_stream *s)
{
    return fgs__sim_captured(s) ? fgs__sim_capture_refuse(s) : CUDA_SUCCESS;
}
/* The same for a call that concerns all streams. */
CUresult fgs__sim_capture_check(struct fgs__sim_ctx *ctx);
CUresult fgs__sim_capture_record(struct fgs__sim_event *e,
                                 struct fgs__sim_stream *s);
/* A query of an event that a capture recorded spoils the capture. */
CUresult fgs__sim_capture_event(struct fgs__sim_event *e);
CUresult fgs__sim_capture_wait(struct fgs__sim_stream *s,
                               struct fgs__sim_event *e, bool *done);
void fgs__sim_capture_end(struct fgs__sim_capture *c);
/* Record or wait with the EXTERNAL flag: a node where captured.  cu_graph.c */
CUresult fgs__sim_event_node(CUevent event, CUstream stream,
                             CUgraphNodeType type);

/* Of a context that is freed; cu_array.c. */
void fgs__sim_arrays_free(struct fgs__sim_ctx *ctx);
void fgs__sim_textures_free(struct fgs__sim_ctx *ctx);
/* What the device answers for an attribute; cu_device.c. */
CUresult fgs__sim_attribute(int *value, CUdevice_attribute attrib);

/* Of a device that halts. */
void fgs__sim_pools_free(struct fgs__sim_device *dev);
void fgs__sim_vmm_free(struct fgs__sim_device *dev);
void fgs__sim_user_objects_free(struct fgs__sim_device *dev);
/* Drop what an op of a graph's launch holds. */
void fgs__sim_op_users_drop(struct fgs__sim_device *dev,
                            struct fgs__sim_op *op);

/* Are address, size and pitch of a fill good? */
CUresult fgs__sim_fill_check(struct fgs__sim_ctx *ctx, struct fgs__sim_op *op,
                             bool later);
/* A copy as a call describes it; `later` as for fgs__sim_call_range. */
CUresult fgs__sim_copy_named(struct fgs__sim_ctx *ctx, const CUDA_MEMCPY3D *c,
                             bool later, struct fgs__sim_copy_op *out);
/* The same for bytes whose addresses say where they lie. */
CUresult fgs__sim_copy_line(struct fgs__sim_ctx *ctx, uint64_t dst,
                            uint64_t src, uint64_t bytes,
                            struct fgs__sim_copy_op *out);
/* Read the source, c->src.host, now. */
CUresult fgs__sim_copy_stage(struct fgs__sim_ctx *ctx,
                             struct fgs__sim_copy_op *c);

/* ----------------------------------------------------- entry points -- */

/* This thread is inside the per-thread form of an entry point: a NULL stream
 * is its own default stream.  entry.c */
extern _Thread_local bool fgs__sim_per_thread;

#define ENTRY(name, abi, need, forms, params)                                  \
    CUresult fgs__sim_##name params;
#define FORM(fn, name, abi, forms, params) CUresult fgs__sim_##fn params;
#include "table/entry.def"
#undef ENTRY

#endif
