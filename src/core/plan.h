/* plan.h -- stages that read and write buffers, and how they are launched
 *
 * What a plan holds, and what is done to it when it is made (compose.h has how
 * that is): run.c executes a round's list of operations.
 */
#ifndef FGS_CORE_PLAN_H
#define FGS_CORE_PLAN_H

#include "core/buffer.h"
#include "core/kernel.h"
#include "table/record.h"
#include "table/table.h"

enum {
#define PARAM(name, type, meaning) +1
    FGS__PARAMS = 0
#include "table/param.def"
#undef PARAM
};

#define FGS__NOWHERE UINT32_MAX

/* The engine that does not look for sentinels, but waits before it loads. */
#define FGS__ENGINE_ORDERED FGS_ENGINE_PLAIN
static inline int fgs__kernel_self(const struct fgs__kernel *k)
{
    return k->shape.self_init != 0;
}
static inline int fgs__kernel_persistent(const struct fgs__kernel *k)
{
    return k->shape.persistent != 0;
}

struct fgs__access {
    uint32_t use;              /* index into plan->use                       */
    int write;
    fgs_order order;           /* asked for, of edges that end here          */
    uint32_t can;
    uint64_t first, step, count;
    uint32_t *table;           /* ours                                       */
    uint32_t tables;
    fgs_box box;               /* rank 0 = none                              */
    fgs_padding padding;
    CUdeviceptr table_dev;     /* in plan->tables; 0 = none                  */
};

/* A value of a parameter that follows the round. */
struct fgs__patch {
    uint64_t *value;
    uint32_t use;
    int tiles;                 /* their number, not the pointer              */
    uint64_t offset;           /* bytes behind the pointer                   */
    uint32_t shift;            /* slots behind the round's                   */
};

/* A tensor map of a buffer that a kernel of the application takes by value. */
enum { FGS__MAP_BYTES = 128 };
struct fgs__map {
    uint32_t use;
    uint64_t offset;           /* of where it begins in a slot               */
    unsigned char *memory;     /* a map a slot, ours                         */
    void *to;                  /* the parameter                              */
};

enum { FGS__ATTRS = 7 };

/* What of a kernel a plan remembers: enough to launch and to tell what
 * happened.  The handle says whether it still lives. */
struct fgs__stage {
    char name[32];
    uint32_t given;            /* index in the description; NOWHERE = a fill  */
    fgs_kernel *kernel, *ordered, *handle; /* handle: the one that runs, NULL
                                  = the application's function               */
    fgs_role role;             /* 0 = the application's                      */
    struct fgs__loaded *held;  /* what the unfinished run began with, NULL =
                                  none; a reference, under dev->lock         */
    uint64_t generation;       /* of the kernel, for what follows            */
    CUfunction function;
    int waits, triggers;       /* executes the instruction at all            */
    fgs_waits waits_at;
    fgs_triggers triggers_at;
    fgs_engine engine;         /* AUTO = none                                */
    int can_check;             /* looks for sentinels                        */
    int pure;                  /* a library's kernel, never stores them      */
    int self, persistent;
    uint32_t tile_bytes;
    const char *assembled_by;
    char entry[68];
    struct fgs__access *access;
    uint32_t accesses;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t asked_shared, shared; /* dynamic bytes of a block               */
    CUstream asked_stream;
    uint32_t stream;           /* index into plan->stream                    */
    int32_t priority;
    uint32_t domain;
    uint32_t in, in_end;       /* edges that end here, of plan->edge          */
    uint32_t fills;            /* the use that it fills; NOWHERE = none      */
    /* Its launch. */
    struct fgs__args args;     /* of a library's kernel                      */
    unsigned char *blob;       /* of the application's: values, ours         */
    void **params;             /* ours                                       */
    uint32_t *round;           /* its parameter, NULL = none                 */
    CUlaunchConfig config;
    CUlaunchAttribute attr[FGS__ATTRS];
    char attr_text[512];       /* for the receipt                            */
    /* Indices into plan->event, NOWHERE = none. */
    uint32_t event;            /* recorded behind the launch                 */
    uint32_t early_event;      /* programmatic event of the launch           */
    uint32_t launch_event;     /* launch completion event                    */
    uint32_t before;           /* the stage launched right before in the same
                                  stream and round, NOWHERE = none           */
    int early;                 /* launched so that it may start before that
                                  one ended                                  */
    uint64_t trace_at;         /* first row in the trace                     */
};

struct fgs__use {
    fgs_buffer *handle;
    char name[32];
    CUdeviceptr ptr;
    uint64_t bytes;            /* of all slots                               */
    uint32_t slots;
    fgs_element element;
    uint64_t tiles, tile_bytes; /* tiles: in this round, of `room`           */
    uint64_t room;
    int named;                 /* in fgs_plan_spec.uses                      */
    fgs_fill fill;             /* AUTO = asked for nothing                   */
    fgs_kernel *filler;
    uint32_t fill_stage;       /* of KERNEL, NOWHERE = none                  */
    int sentinel;              /* an edge over it is ordered by the sentinel  */
    int flagged;               /* by flags                                   */
    int written;               /* by a stage                                 */
    uint32_t low, high;        /* stages [low, high) have those that touch it */
    CUdeviceptr flags;         /* u32[room]                                  */
    uint64_t clean;            /* bit s = slot s holds sentinels only, as far
                                  as `clean_tiles` go                        */
    uint64_t clean_tiles[64];
    int foreign;               /* others wrote there since, under dev->lock  */
    /* An edge of a ring is a use of its own: its slot moves on by `step`, the
     * ring's edges, from round to round.  What is clean the first of them
     * knows. */
    uint32_t ring;             /* index into plan->ring, NOWHERE = none      */
    uint32_t at, step;         /* of the ring's edges; else 0 and 1          */
};

/* A use by its address: between.c. */
struct fgs__place {
    CUdeviceptr at;
    uint32_t use;
};

/* A buffer whose slots the edges of a chain share: ring.c. */
struct fgs__ring {
    fgs_buffer *handle;
    uint32_t edges, last;      /* last: its use                              */
    uint32_t writer, reader;   /* of that: stages as they were given         */
    uint32_t head, first;      /* stage that begins the chain, its use       */
    int sentinel;              /* an edge is ordered so                      */
};

/* The slot of a use in a round, or one that many slots behind it. */
static inline uint64_t fgs__slot(const struct fgs__use *u, uint64_t round,
                                 uint32_t shift)
{
    return (round % u->slots * (u->step % u->slots) + u->at + shift) %
        u->slots;
}

struct fgs__edge {
    uint32_t from, to;         /* stages                                     */
    uint32_t use, access;      /* access: index in stage `to`                */
    fgs_order asked, taken;
    enum fgs__cross_id cross;
    int graph_port;            /* read back from a graph; -1 = in none       */
    char why[224], form_why[224];
};

/* One operation of a round.  `stream` is an index into plan->stream. */
enum fgs__op_kind {
    FGS__OP_KERNEL,            /* `index`: stage                             */
    FGS__OP_MEMSET,            /* `index`: use, the round's slot             */
    FGS__OP_RECORD,            /* `index`: event                             */
    FGS__OP_WAIT
};

struct fgs__op {
    enum fgs__op_kind kind;
    uint32_t index, stream;
    int ahead;                 /* a fill of the next round's slot            */
    int first;                 /* a fill of this round's slot, skipped where
                                  the slot is clean                          */
    uint32_t shift;            /* of a ring's fills: slots behind that       */
    int after;                 /* what follows a launch completion event is
                                  behind the writer: of no use in a graph    */
};

/* A node of the graph that the plan's rounds were put into last: a stage's, or
 * (stage NOWHERE) a memset.  With a use it follows the buffer's pointer. */
struct fgs__gnode {
    CUgraphNode node;
    uint32_t stage, use, word;
    uint64_t round, offset, words;
    CUdeviceptr at;
};

struct fgs__event {
    CUevent event;
    char what[40];
};

struct fgs__plan {
    struct fgs__obj obj;
    struct fgs__device *dev;   /* a reference                                */
    struct fgs__plan *next;    /* of the device, under its lock              */
    struct fgs__stage *stage;  /* in launch order                            */
    struct fgs__use *use;
    struct fgs__edge *edge;
    struct fgs__ring *ring;
    struct fgs__place *place;  /* uses in order of their memory              */
    struct fgs__op *op;
    CUstream *stream;          /* [0] = of the run                           */
    struct fgs__event *event;
    struct fgs__patch *patch;
    struct fgs__map *map;
    uint32_t maps;
    struct fgs__gnode *gnode;
    uint32_t gnodes;
    int replayed;              /* a graph may have its rounds, under
                                  dev->lock                                  */
    int graphing;              /* its rounds are being put into a graph      */
    int no_ahead;              /* by the last of them                        */
    uint32_t places;
    uint32_t stages, uses, edges, rings, ops, streams, events, patches;
    uint32_t side;             /* stream of fills ahead, ours; NOWHERE = none */
    uint32_t clean_event;      /* behind those                               */
    int ahead;                 /* it was recorded, by a run or in this graph */
    uint32_t main_stage;       /* of the consumer that the receipt tells of  */
    int no_pdl;                /* no attribute that lets grids overlap        */
    uint32_t level;            /* of the receipt                             */
    fgs_order order;
    uint64_t bound_ns, max_tries;
    uint32_t depth;
    /* Memory: ctl, one stat a stage; rec, one a stage. */
    CUdeviceptr ctl, trace, flags, tables;
    uint64_t ctl_bytes, trace_rows, flag_bytes;
    struct fgs__rec *rec;      /* pinned, one a stage, the kernels write it  */
    CUdeviceptr rec_dev;
    unsigned char *stats;      /* pinned, ctl_bytes a round                  */
    fgs_trace_row *trace_host; /* pinned                                     */
    uint32_t stats_rounds;     /* rounds that `stats` has room for           */
    CUevent start, end;
    /* What the kernels hold now. */
    int pdl;                   /* of main_stage                              */
    char pdl_why[256];
    const char *assembled_by;
    int ptx_version;
    char ptx_target[16];
    char note[1024];
    uint64_t compiled, cached; /* results for the kernels                    */
    atomic_int stale;          /* a part of it was freed                     */
    unsigned long long reloads; /* of the device, when it looked last        */
    int retake;                /* the run launched code of before a reload    */
    /* The state of the last run; the first three under dev->lock. */
    int running;               /* launched and not waited for                */
    int launching;             /* fgs_plan_run is at it: no end event yet    */
    CUstream run_stream;
    uint32_t rounds;
    uint64_t round;            /* rounds launched since it was made          */
    uint64_t first_round;      /* of the last run                            */
    int aborted;               /* the abort word has to be cleared           */
    int waited;                /* `receipt` is good                          */
    fgs_receipt receipt;
};

fgs_result fgs__plan_get(struct fgs__plan **out, const fgs_plan *plan,
                         fgs_error *err);

/* Buffers of fgs_plan_make. */
enum { FGS__IN, FGS__MID, FGS__OUT, FGS__BUFFERS };

/*
 * fit.c: all three buffers have as many tiles and lie apart; the kernels work
 * on tiles of one kind.  What a stage asks of a buffer, stage.c checks.
 *
 * FGS_E_MISMATCH names the two that differ
 */
fgs_result fgs__fit_check(struct fgs__buffer *const b[FGS__BUFFERS],
                          struct fgs__kernel *const k[FGS_ROLE_CONSUMER + 1],
                          fgs_error *err);

static inline int fgs__overlap(CUdeviceptr a, uint64_t a_bytes, CUdeviceptr b,
                               uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* FGS_E_PLAN with stage, buffer and tile in *err; any of them may be absent
 * (NULL, NULL, UINT64_MAX). */
fgs_result fgs__plan_broken(fgs_error *err, const struct fgs__stage *s,
                            const struct fgs__use *u, uint64_t tile,
                            const char *fmt, ...) FGS__PRINTF(5, 6);

/* ----------------------------------------------------------------- running */

/* What a round's operations are done to: streams, or a graph. */
struct fgs__sink {
    void *cookie;
    fgs_result (*kernel)(void *cookie, struct fgs__plan *p, uint32_t stage,
                         uint32_t stream, fgs_error *err);
    fgs_result (*set)(void *cookie, struct fgs__plan *p, uint32_t stream,
                      CUdeviceptr at, uint32_t word, uint64_t words,
                      const char *what, uint32_t use, fgs_error *err);
    fgs_result (*record)(void *cookie, struct fgs__plan *p, uint32_t stream,
                         uint32_t event, fgs_error *err);
    fgs_result (*wait)(void *cookie, struct fgs__plan *p, uint32_t stream,
                       uint32_t event, fgs_error *err);
};

extern const struct fgs__sink fgs__sink_streams;

/* Tiles of the buffer that the receipt tells of. */
uint64_t fgs__plan_tiles(const struct fgs__plan *p);

/* run.c: FGS_E_FREED when a kernel or buffer of the plan was freed. */
fgs_result fgs__plan_parts(const struct fgs__plan *p, fgs_error *err);

/* run.c: pointers and generation of a round. */
void fgs__plan_follow(struct fgs__plan *p, uint64_t round);

/* run.c: one round into a sink. */
fgs_result fgs__plan_round(struct fgs__plan *p, const struct fgs__sink *sink,
                           uint64_t round, fgs_error *err);

/* FGS_E_BUSY when an unfinished run uses memory in [ptr, ptr + bytes).  The
 * device's context is current.  `name` is what the text calls the memory. */
fgs_result fgs__plans_idle(struct fgs__device *d, CUdeviceptr ptr,
                           uint64_t bytes, const char *name, fgs_error *err);

/* All plans that use the buffer follow it; FGS_E_BUSY, FGS_E_MISMATCH: none
 * did.  In the context. */
fgs_result fgs__plans_rebind(const struct fgs__buffer *b, CUdeviceptr ptr,
                             fgs_error *err);

/*
 * renew.c: what the kernels hold now, as the stages' functions; the run that
 * goes on keeps what it launched before.  Where something changed, or with
 * `all`, the rest follows: carveout, serialization, note.  In the context.
 *
 * FGS_E_FREED  a kernel of the plan was freed
 */
fgs_result fgs__plan_renew(struct fgs__plan *p, int all, fgs_error *err);
/* No run of the plan is unfinished: give back what its stages hold. */
void fgs__plan_let_go(struct fgs__plan *p);
/* The same for a kernel's stages in all plans of a device; `idle`: in those
 * without a run. */
void fgs__plans_let_go(struct fgs__device *d, const fgs_kernel *kernel,
                       int idle);

/* Wait for each unfinished run that uses the memory, or the kernel; those plans
 * are stale from now on. */
void fgs__plans_wait(struct fgs__device *d, CUdeviceptr ptr, uint64_t bytes,
                     const fgs_kernel *kernel);

/* between.c: the plan's memory in order, when it is composed, and when a
 * buffer has moved. */
fgs_result fgs__plan_places(struct fgs__plan *p, fgs_error *err);
void fgs__plan_sort_places(struct fgs__plan *p);
/* A run begins: slots that others wrote to are not clean, and what it writes is
 * foreign to the others.  Under the lock. */
void fgs__plans_between(struct fgs__plan *p);
/* The application wrote to that memory. */
void fgs__plans_wrote(struct fgs__device *d, CUdeviceptr ptr, uint64_t bytes);

/* FGS_E_BUSY when an unfinished run of another plan on another stream writes
 * what this one uses, or the other way round.  Under the lock, in the
 * context. */
fgs_result fgs__plan_alone(struct fgs__plan *p, CUstream stream,
                           fgs_error *err);

/* wait.c: what a kernel recorded when it gave up, FGS_OK = none did. */
fgs_result fgs__plan_recorded(struct fgs__plan *p, fgs_error *err);

/* receipt.c */
void fgs__plan_write_receipt(struct fgs__plan *p, float ms);

/*
 * Memory, events and streams of a plan, when all of the above is settled; on
 * failure what was made is given back by release.  In the context.  memory.c
 */
fgs_result fgs__plan_acquire(struct fgs__plan *p, fgs_error *err);
void fgs__plan_release(struct fgs__plan *p);
/* Room for the statistics of each round. */
fgs_result fgs__plan_grow(struct fgs__plan *p, uint32_t rounds,
                          fgs_error *err);
/* Host memory; accepts a plan that was only partly made. */
void fgs__plan_drop(struct fgs__plan *p);

#endif
