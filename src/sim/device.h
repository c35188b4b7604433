/* device.h -- the scheduler's and the driver API's objects
 *
 * One lock (driver.lock) guards everything here except what is marked: API
 * calls hold it from fgs__sim_enter to fgs__sim_leave, the scheduler thread
 * between epochs.  While `busy` is set an epoch or a copy runs without the
 * lock; whatever such work may look at (memory, code) is only taken away
 * inside fgs__sim_pause / fgs__sim_resume.
 *
 * More than 500 lines: the objects point to each other under that one lock, and
 * a header for each would include most of the others.
 */
#ifndef FGS_SIM_DEVICE_H
#define FGS_SIM_DEVICE_H

#include "sim/exec.h"
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

/* ---------------------------------------------------- handles: handle.c -- */

enum fgs__sim_kind {
    FGS__SIM_KIND_NONE,
    FGS__SIM_KIND_CTX,
    FGS__SIM_KIND_MODULE,
    FGS__SIM_KIND_FUNC,
    FGS__SIM_KIND_STREAM,
    FGS__SIM_KIND_EVENT,
    FGS__SIM_KIND_POOL,
    FGS__SIM_KIND_VMM,
    FGS__SIM_KIND_LIBRARY,
    FGS__SIM_KIND_KERNEL,
    FGS__SIM_KIND_LINK,
    FGS__SIM_KIND_GRAPH,
    FGS__SIM_KIND_NODE,
    FGS__SIM_KIND_EXEC,
    FGS__SIM_KIND_USER,
    FGS__SIM_KIND_ARRAY
};

/* A handle is a number, no address: serial, kind and slot, in a range where
 * no host address lies.  A freed one is never taken for another object. */
struct fgs__sim_handles {
    struct fgs__sim_handle_slot *slot;
    size_t cap, count;
    size_t free_head; /* index + 1, 0 = none */
};
/* 0 = no memory. */
uintptr_t fgs__sim_handle_make(struct fgs__sim_handles *t,
                               const fgs_allocator *a, enum fgs__sim_kind kind,
                               void *obj);
void *fgs__sim_handle_get(const struct fgs__sim_handles *t,
                          enum fgs__sim_kind kind, const void *handle);
void fgs__sim_handle_free(struct fgs__sim_handles *t, uintptr_t handle);
void fgs__sim_handles_free(struct fgs__sim_handles *t, const fgs_allocator *a);

/* ------------------------------------------------------- memory: mem.c -- */

enum fgs__sim_memkind {
    FGS__SIM_MEM_DEVICE, /* cuMemAlloc                                       */
    FGS__SIM_MEM_MODULE, /* a module's variable                              */
    FGS__SIM_MEM_HOST,   /* cuMemHostAlloc: same address on both sides       */
    FGS__SIM_MEM_MANAGED, /* cuMemAllocManaged: the same                     */
    FGS__SIM_MEM_REGISTERED, /* the program's own host memory                */
    FGS__SIM_MEM_POOL,   /* cuMemAllocAsync                                  */
    FGS__SIM_MEM_MAPPED, /* cuMemMap                                         */
    FGS__SIM_MEM_ARRAY   /* of an array: no pointer of the program           */
};

struct fgs__sim_mempool {
    struct fgs__sim_mempool *next;
    uintptr_t handle;          /* 0 = destroyed                              */
    uint64_t used, high;       /* bytes of its allocations                   */
    uint64_t reserved_high, max, threshold;
    int reuse[3];
};

struct fgs__sim_alloc_info {
    struct fgs__sim_range range;
    enum fgs__sim_memkind kind;
    const void *owner; /* context */
    uint64_t id;       /* no other allocation has it                         */
    unsigned int flags; /* as they were asked for                            */
    bool going;        /* a free of it is in a stream                        */
    bool access;       /* of MAPPED                                          */
    struct fgs__sim_mempool *pool;
    void *vmm;         /* of MAPPED: what is mapped                          */
};

CUresult fgs__sim_mem_make(struct fgs__sim_mem **out, uint64_t bytes,
                           const fgs_allocator *a);
void fgs__sim_mem_free(struct fgs__sim_mem *mem);
CUresult fgs__sim_mem_alloc(struct fgs__sim_mem *mem, uint64_t bytes,
                            uint64_t align, enum fgs__sim_memkind kind,
                            const void *owner, struct fgs__sim_range *out);
/* The program's memory [addr, addr + bytes). */
CUresult fgs__sim_mem_register(struct fgs__sim_mem *mem, uint64_t addr,
                               uint64_t bytes, unsigned int flags,
                               const void *owner);
/* Set what the caller of an allocation wants to find again; addr is its
 * begin. */
void fgs__sim_mem_tag(struct fgs__sim_mem *mem, uint64_t addr,
                      const struct fgs__sim_alloc_info *with);
/* Does the address belong to the device, allocated or not? */
bool fgs__sim_mem_is_device(const struct fgs__sim_mem *mem, uint64_t addr);
/* Map an item of another's making; take those in [lo, hi) away. */
CUresult fgs__sim_mem_map(struct fgs__sim_mem *mem,
                          const struct fgs__sim_alloc_info *info);
void fgs__sim_mem_unmap(struct fgs__sim_mem *mem, uint64_t lo, uint64_t hi);
void fgs__sim_mem_access(struct fgs__sim_mem *mem, uint64_t lo, uint64_t hi,
                         bool access);
/* Count bytes that have no address; false = there are not so many. */
bool fgs__sim_mem_count(struct fgs__sim_mem *mem, int64_t bytes);
/* Zero an allocation of device memory; what nobody touched is not committed. */
void fgs__sim_mem_zero(const struct fgs__sim_range *range);
/* The allocation that begins at `addr`; false = none of this kind. */
bool fgs__sim_mem_release(struct fgs__sim_mem *mem, uint64_t addr,
                          enum fgs__sim_memkind kind, const void *owner);
void fgs__sim_mem_release_owner(struct fgs__sim_mem *mem, const void *owner);
bool fgs__sim_mem_info(struct fgs__sim_mem *mem, uint64_t addr,
                       struct fgs__sim_alloc_info *out);
/* Host bytes of [addr, addr + bytes), NULL when no allocation holds all. */
char *fgs__sim_mem_host(struct fgs__sim_mem *mem, uint64_t addr,
                        uint64_t bytes);
void fgs__sim_mem_usage(struct fgs__sim_mem *mem, uint64_t *free,
                        uint64_t *total);

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
    struct fgs__sim_user *users; /* objects that graphs hold: cu_user.c       */
    struct fgs__sim_ctx *ctxs;
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

/* ---------------------------------------------------- modules: module.c -- */

struct fgs__sim_func {
    uintptr_t handle;
    struct fgs__sim_module *module;
    const struct fgs__ptx_func *func;
    struct fgs__sim_code *code;
    int carveout;              /* -1 = default                               */
    struct {                   /* what the calls before CUDA 4.0 set         */
        uint32_t block[3], shared;
        unsigned char *params; /* code->param_bytes, NULL = none set         */
    } old;
    uint32_t cluster[3];       /* required, by the text or attributes; 0     */
    uint32_t cluster_policy;   /* CU_CLUSTER_SCHEDULING_POLICY_*             */
    bool non_portable;         /* more than 8 blocks of a cluster            */
    uint32_t max_dynamic;      /* dynamic shared memory allowed              */
};

struct fgs__sim_module {
    struct fgs__sim_module *next;
    struct fgs__sim_ctx *ctx;
    uintptr_t handle;
    struct fgs__ptx_module *ptx; /* the first text; its lists hold all       */
    struct fgs__sim_func *func;
    uint32_t funcs;
    const struct fgs__sim_library *library; /* NULL = none                   */
};

/* Log buffers of a load; `text` may be NULL. */
struct fgs__sim_log {
    char *text;
    size_t size, used;
    bool cut;                  /* not all had room                           */
};
/* Append what fits; the log is always terminated. */
void fgs__sim_log_line(struct fgs__sim_log *log, const char *fmt, ...)
    FGS__PRINTF(2, 3);
/* The compute capability that the device presents, 10.7 = 107. */
int fgs__sim_cc(void);
/* Does code for sm_<cc><suffix> run on the device?  `a` code only on the same
 * architecture, `f` code on later ones of its family, other code on all later
 * ones. */
bool fgs__sim_runs(int cc, char suffix);
/* Parse and check one text, and what of its head only a device knows. */
CUresult fgs__sim_text_load(struct fgs__ptx_module **out, const char *text,
                            size_t bytes, const fgs_allocator *a,
                            struct fgs__sim_log *log);
struct fgs__sim_image;
struct fgs__sim_jit;
CUresult fgs__sim_module_load(struct fgs__sim_module **out,
                              struct fgs__sim_ctx *ctx,
                              const struct fgs__sim_image *img,
                              struct fgs__sim_jit *jit);
/* The mode that $CUDA_MODULE_LOADING sets, LAZY without it as in the driver.
 * A function of PTX counts as loaded once it is known in either (an H200: also
 * before any launch); what differs is that a capture allows a lazy load. */
bool fgs__sim_lazy(void);
struct fgs__sim_module *fgs__sim_module_of(struct fgs__sim_ctx *ctx,
                                           CUmodule handle);
/* Texts that are loaded into every context that needs them: library.c. */
struct fgs__sim_library;
struct fgs__sim_link;
void fgs__sim_link_destroy(struct fgs__sim_link *l);
/* Only inside pause/resume, or when nothing of the context runs. */
void fgs__sim_module_free(struct fgs__sim_module *m);

/* The live function of a handle, of this context; NULL = none. */
struct fgs__sim_func *fgs__sim_func_of(struct fgs__sim_ctx *ctx,
                                       CUfunction handle);
/* What a launch is given: a function, or a library's kernel, whose function in
 * this context it becomes; library.c. */
CUresult fgs__sim_launched(struct fgs__sim_ctx *ctx, CUfunction handle,
                           struct fgs__sim_func **out);
CUresult fgs__sim_func_get(int *value, CUfunction_attribute attrib,
                           const struct fgs__sim_func *f);
CUresult fgs__sim_func_set(struct fgs__sim_func *f,
                           CUfunction_attribute attrib, int value);
CUresult fgs__sim_param_info(const struct fgs__ptx_func *f, size_t index,
                             size_t *offset, size_t *bytes);
/* Most threads of a block of it. */
uint32_t fgs__sim_max_threads(const struct fgs__sim_func *f);
/* Most shared memory of a block, static and dynamic. */
uint32_t fgs__sim_max_shared(const fgs_sim_config *cfg);

/* Write what kernels have printed; print.c. */
void fgs__sim_print_flush(struct fgs__sim_ctx *ctx);
void fgs__sim_print_free(struct fgs__sim_ctx *ctx);
/* The memory that device code allocates from, at its first use; heap.c. */
CUresult fgs__sim_heap_make(struct fgs__sim_ctx *ctx);
void fgs__sim_heap_free(struct fgs__sim_ctx *ctx);

/* ---------------------------------------------------- streams: stream.c -- */

/* The moment of one cuEventRecord; shared by the event, the record in the
 * stream and the waits for it. */
struct fgs__sim_mark {
    uint32_t refs;
    bool done;
    uint64_t ps;
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
    FGS__SIM_OP_VALUES
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
    struct fgs__sim_mark *over; /* set when it has ended, NULL = nobody asks */
    struct fgs__sim_users *users; /* held by a launch of a graph, owned      */
    union {
        struct {
            struct fgs__sim_grid grid;
            CUfunction func;
            struct fgs__sim_ask {     /* for clusters; 0 = not said          */
                uint32_t dim[3], preferred[3], policy, portable;
            } ask;
            struct fgs__sim_mark *started; /* set when all blocks run        */
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

/* What cuStreamSetAttribute set. */
enum {
    FGS__SIM_ATTR_WINDOW,
    FGS__SIM_ATTR_POLICY,
    FGS__SIM_ATTR_PRIORITY,
    FGS__SIM_ATTR_MAP,
    FGS__SIM_ATTR_DOMAIN,
    FGS__SIM_ATTRS
};
struct fgs__sim_stream_attr {
    CUstreamAttrValue value;
    bool set;
};

struct fgs__sim_stream {
    struct fgs__sim_stream *next;
    struct fgs__sim_ctx *ctx;
    uintptr_t handle;
    unsigned int flags;
    bool destroyed;
    uint64_t thread;           /* whose default stream it is, 0 = nobody's   */
    uint32_t waiting;          /* host threads that wait for it              */
    struct fgs__sim_op *head, **tail;
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

/* -------------------------------------------------------- grids: grid.c -- */

/* A grid joins the dispatch list at its start. */
void fgs__sim_grid_start(struct fgs__sim_device *dev,
                         struct fgs__sim_grid *g);
void fgs__sim_grid_remove(struct fgs__sim_device *dev,
                          struct fgs__sim_grid *g);
/* Give blocks to SMs while they fit. */
void fgs__sim_grids_dispatch(struct fgs__sim_device *dev);
/* Are there blocks without a place? */
bool fgs__sim_grids_wait(const struct fgs__sim_device *dev);
void fgs__sim_grid_deps_done(struct fgs__sim_device *dev,
                             struct fgs__sim_grid *g);
/* Blocks of a kernel that fit on one SM; 0 = never. */
uint32_t fgs__sim_fit(const fgs_sim_config *cfg,
                      const struct fgs__sim_code *code, uint32_t threads,
                      uint32_t shared);
uint32_t fgs__sim_block_regs(const struct fgs__sim_code *code,
                             uint32_t threads);
uint32_t fgs__sim_block_shared(const fgs_sim_config *cfg, uint32_t shared);
/* Nothing runs and nothing will: fault the contexts whose blocks wait for
 * ever.  False = there are none. */
bool fgs__sim_grids_stuck(struct fgs__sim_device *dev);

/* ---------------------------------------------------- clusters: gang.c -- */

/* What a launch attribute asks for; NOT_SUPPORTED = it is about something
 * else.  cu_cluster.c */
CUresult fgs__sim_cluster_attr(struct fgs__sim_ask *ask, unsigned int id,
                               const CUlaunchAttributeValue *v);
/* Set the grid's clusters, whose blocks, threads and memory are set. */
CUresult fgs__sim_cluster_apply(const struct fgs__sim_func *f,
                                const struct fgs__sim_ask *ask,
                                struct fgs__sim_grid *g);
/* A kernel in place of another one of a graph keeps its attributes. */
CUresult fgs__sim_cluster_keep(struct fgs__sim_ctx *ctx,
                               struct fgs__sim_op *op,
                               const struct fgs__sim_op *from);
/* Attributes of a function; false = about something else. */
bool fgs__sim_cluster_get(const struct fgs__sim_func *f,
                          CUfunction_attribute attrib, int *value);
CUresult fgs__sim_cluster_set(struct fgs__sim_func *f,
                              CUfunction_attribute attrib, int value);
/* More blocks of the grid that fit on the SM now. */
uint32_t fgs__sim_sm_room(const struct fgs__sim_sm *sm,
                          const struct fgs__sim_grid *g);
/* Take the resources of a block; the caller fills the slot's `linear`. */
struct fgs__sim_slot *fgs__sim_sm_take(struct fgs__sim_sm *sm,
                                       struct fgs__sim_grid *g,
                                       uint64_t now_ps);
/* Can a cluster of `size` blocks ever be resident? */
bool fgs__sim_cluster_fits(const fgs_sim_config *cfg,
                           const struct fgs__sim_code *code, uint32_t threads,
                           uint32_t shared, uint32_t size);
/* Give the grid's next cluster its places; false = not now. */
bool fgs__sim_cluster_place(struct fgs__sim_device *dev,
                            struct fgs__sim_grid *g);
/* %ctaid of a rank of the grid's cluster number `index`. */
void fgs__sim_cluster_ctaid(const struct fgs__sim_grid *g, uint64_t index,
                            uint32_t rank, uint32_t ctaid[3]);
/* The block of the slot is gone; its cluster, if it has one, is freed by the
 * sweep behind the last one (no worker may run then). */
void fgs__sim_cluster_leave(struct fgs__sim_slot *slot);
void fgs__sim_clusters_sweep(struct fgs__sim_device *dev);

/* ------------------------------------------------------------ SMs: sm.c -- */

bool fgs__sim_sms_make(struct fgs__sim_device *dev);
void fgs__sim_sms_free(struct fgs__sim_device *dev);
/* Run the SMs of a group, which clusters join, up to device time `until`. */
void fgs__sim_sm_run(struct fgs__sim_sm *const *group, uint32_t count,
                     uint64_t until);
void fgs__sim_sm_clear(struct fgs__sim_sm *sm, struct fgs__sim_slot *slot);
/* Free all blocks of a context. */
void fgs__sim_sms_drop(struct fgs__sim_device *dev,
                       const struct fgs__sim_ctx *ctx);
/* Least wake time of all SMs. */
uint64_t fgs__sim_sms_next(const struct fgs__sim_device *dev);
/* Blocks that ended on any SM so far. */
uint64_t fgs__sim_sms_ended(const struct fgs__sim_device *dev);

/* ------------------------------------------------------ threads: pool.c -- */

bool fgs__sim_pool_make(struct fgs__sim_device *dev);
void fgs__sim_pool_free(struct fgs__sim_device *dev);
/* Run all SMs that have something to do before `until`. */
void fgs__sim_pool_epoch(struct fgs__sim_device *dev, uint64_t until);

bool fgs__sim_hostfn_make(struct fgs__sim_device *dev);
void fgs__sim_hostfn_free(struct fgs__sim_device *dev);
void fgs__sim_hostfn_post(struct fgs__sim_device *dev, struct fgs__sim_op *op);
bool fgs__sim_hostfn_busy(const struct fgs__sim_device *dev);

/* ------------------------------------------------------ capture: graph -- */

/* Is a stream captured? */
bool fgs__sim_captured(const struct fgs__sim_stream *s);
/* A call that a capture cannot hold: spoils the capture; its error. */
CUresult fgs__sim_capture_refuse(struct fgs__sim_stream *s);
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
CUresult fgs__sim_fill_check(struct fgs__sim_ctx *ctx, struct fgs__sim_op *op);
/* A copy as a call describes it. */
CUresult fgs__sim_copy_named(struct fgs__sim_ctx *ctx, const CUDA_MEMCPY3D *c,
                             struct fgs__sim_copy_op *out);

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
