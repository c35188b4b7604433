/* plan.h -- stages that read and write buffers, and how they are launched
 *
 * How a plan comes to be: compose.c takes the parts, edge.c makes edges of the
 * accesses and brings the stages into launch order, cover.c looks at the tiles,
 * order.c decides each edge, attr.c each launch, ops.c writes down a round as a
 * list of operations; run.c executes the list.
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

/* ---------------------------------------------------- making: in this order */

/* ring.c: the buffers of fill `ring`; before the stages are taken. */
fgs_result fgs__rings_take(struct fgs__plan *p, const fgs_plan_spec *spec,
                           fgs_error *err);
/* Index of the ring of a buffer, NOWHERE = it is none. */
uint32_t fgs__ring_find(const struct fgs__plan *p, const fgs_buffer *handle);
/* The use of a stage's access to a ring: the edge behind it, or a new one.
 * FGS_E_PLAN where the chain has no such edge. */
fgs_result fgs__ring_access(struct fgs__plan *p, struct fgs__stage *s,
                            uint32_t ring, const fgs_access *d,
                            const char *what, uint32_t *use, fgs_error *err);
/* All stages are taken: FGS_E_PLAN where a chain has no end. */
fgs_result fgs__rings_close(struct fgs__plan *p, fgs_error *err);
/* Edges have their orders: FGS_E_PLAN where the slots of a ring could be
 * cleared or written too early. */
fgs_result fgs__rings_check(struct fgs__plan *p, fgs_error *err);

/* use.c: a use of a buffer; that of a buffer, made on its first mention. */
fgs_result fgs__plan_new_use(struct fgs__plan *p, fgs_buffer *handle,
                             const char *what, uint32_t *index,
                             fgs_error *err);
fgs_result fgs__plan_use(struct fgs__plan *p, fgs_buffer *handle,
                         const char *what, uint32_t *index, fgs_error *err);
/* stage.c */
fgs_result fgs__plan_stage(struct fgs__plan *p, uint32_t index,
                           const fgs_stage_desc *d, fgs_error *err);

/* box.c: what an access says of boxes, checked; how many there are. */
fgs_result fgs__plan_box(struct fgs__plan *p, struct fgs__stage *s,
                         struct fgs__access *a, const fgs_access *d,
                         fgs_error *err);
uint64_t fgs__boxes(const fgs_box *b);

/* edge.c: the access by which a stage writes a use, NULL = it does not. */
const struct fgs__access *fgs__stage_writes(const struct fgs__stage *s,
                                            uint32_t use);

/* edge.c: edges by the stage that they end in: its `in`. */
void fgs__plan_index(struct fgs__plan *p);

/* edge.c: edges of the accesses; stages into launch order.  FGS_E_PLAN: a
 * cycle. */
fgs_result fgs__plan_edges(struct fgs__plan *p, fgs_error *err);

/* cover.c: FGS_E_PLAN when two blocks write a tile, or one that is read is
 * written by none; FGS_E_SIZE for tiles that a buffer does not have,
 * FGS_E_MISMATCH for blocks that no table or box has something for.  Edges
 * whose ends share no tile are dropped. */
fgs_result fgs__plan_cover(struct fgs__plan *p, fgs_error *err);
/* Those edges alone, for stages in any order. */
fgs_result fgs__plan_drop_edges(struct fgs__plan *p, fgs_error *err);
/* Does one block at most read each tile?  0 = no, *tile is one; or an error. */
int fgs__plan_reads_once(struct fgs__plan *p, uint32_t use, uint64_t *tile,
                         fgs_error *err);
/* FGS_E_PLAN where a fill of the whole buffer reaches tiles that a reader takes
 * to be preset. */
fgs_result fgs__plan_keeps_preset(const struct fgs__plan *p, uint32_t use,
                                  fgs_error *err);

/* order.c: takes an order for each edge, and the kernel of each stage. */
fgs_result fgs__plan_orders(struct fgs__plan *p, fgs_error *err);

/* fill.c: settle how each buffer gets its sentinels. */
fgs_result fgs__plan_fills(struct fgs__plan *p, fgs_error *err);

/* attr.c: the launch attributes of all stages; again after a reload. */
void fgs__plan_attrs(struct fgs__plan *p);

/* ops.c: the list of operations, events and streams of a round. */
fgs_result fgs__plan_ops(struct fgs__plan *p, fgs_error *err);

/* Tiles that a stage's blocks take, of its first access. */
uint64_t fgs__stage_tiles(const struct fgs__plan *p,
                          const struct fgs__stage *s);

/* attr.c: may readers start as soon as all blocks of the stage have? */
int fgs__at_block_start(const struct fgs__plan *p, const struct fgs__stage *s);

/* run.c: pointers and generation of a round. */
void fgs__plan_follow(struct fgs__plan *p, uint64_t round);

/* load.c: FGS_E_SIZE: a grid or block that no device has, a cluster that does
 * not fill the grid. */
fgs_result fgs__stage_launch(const struct fgs__stage *s, fgs_error *err);
/* load.c: the functions of the application are loaded; streams are of the
 * plan's context.  Then, with what renew.c took: can each stage be launched?
 * FGS_E_SIZE, FGS_E_UNSUPPORTED. */
fgs_result fgs__plan_load(struct fgs__plan *p, fgs_error *err);
fgs_result fgs__plan_launchable(struct fgs__plan *p, fgs_error *err);

/* args.c: the parameters of each stage, and what follows the round. */
fgs_result fgs__plan_args(struct fgs__plan *p, const fgs_plan_spec *spec,
                          fgs_error *err);

/* map.c: the map of an argument, aimed at each slot of its buffer; plan->map
 * has room.  *to gets the one of a round. */
fgs_result fgs__map_take(struct fgs__plan *p, uint32_t use,
                         const fgs_arg *arg, void *to, fgs_error *err);
void fgs__maps_follow(struct fgs__plan *p, uint64_t round);
/* Would all maps of a buffer do at another address?  Then `rebind` does it. */
fgs_result fgs__maps_try(const struct fgs__plan *p, fgs_buffer *handle,
                         CUdeviceptr ptr, fgs_error *err);
void fgs__maps_rebind(struct fgs__plan *p, fgs_buffer *handle,
                      CUdeviceptr ptr);
void fgs__maps_free(struct fgs__plan *p);

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

/* compose.c: the plan of a description, with a handle. */
fgs_result fgs__plan_compose(fgs_plan **out, struct fgs__device *d,
                             const fgs_plan_spec *spec, int no_pdl,
                             fgs_error *err);

#endif
