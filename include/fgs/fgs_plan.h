/* fgs_plan.h -- plans of many kernels; part of fgs.h, which includes it
 *
 * An application says who reads and writes which buffer, and how each edge
 * between two kernels is to be ordered (guide 4.6.2, table 14); the plan makes
 * the launches.  One plan is a DAG: each tile of a buffer is written by one
 * stage in a round, and read by any number.
 *
 * A plan is checked when it is composed, launched into the application's
 * streams, may be captured or added to a graph, and never synchronizes behind
 * the application's back.  Rounds follow each other: a round begins when all of
 * the one before it has ended.
 */
#include <fgs/fgs.h>

#ifndef FGS_PLAN_H
#define FGS_PLAN_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;

/* How a reader is ordered behind a writer: guide 4.6.2, table 14; the rows of
 * order.def. */
typedef enum fgs_order {
    FGS_ORDER_AUTO = 0, /* the plan chooses among those that are possible     */
    FGS_ORDER_STREAM,   /* the reader's grid starts after the writer's ended  */
    FGS_ORDER_PDL,      /* it starts early and waits for the writer's grid    */
    FGS_ORDER_FLAG,     /* a flag a tile, release and acquire                 */
    FGS_ORDER_SENTINEL, /* the data itself                                    */
    FGS_ORDER_COUNT
} fgs_order;

/* "auto", "stream", "pdl", "flag", "sentinel"; NULL out of range, and
 * FGS_E_INVAL for another name.  Threads: any. */
FGS_API const char *fgs_order_name(fgs_order o);
FGS_API fgs_result fgs_order_find(const char *name, fgs_order *out);

/* How the buffer of a sentinel edge gets its sentinels, guide 4.6.4.2; rows of
 * fill.def. */
typedef enum fgs_fill {
    FGS_FILL_AUTO = 0,  /* KERNEL where `fill` is given, SELF where the writer
                           does it, else MEMSET                              */
    FGS_FILL_KERNEL,    /* a kernel of role init, before the writer           */
    FGS_FILL_MEMSET,    /* a memset of 32-bit words, before the writer        */
    FGS_FILL_SELF,      /* the writer: its blocks fill their tiles, then
                           trigger                                            */
    FGS_FILL_READER,    /* the only reader, after it consumed a tile; the first
                           round by a memset                                  */
    FGS_FILL_RING,      /* the slots of one buffer are shared by all edges of a
                           chain, each stage clears one: see fgs_use; the
                           first round by memsets                             */
    FGS_FILL_COUNT
} fgs_fill;
FGS_API const char *fgs_fill_name(fgs_fill f);
FGS_API fgs_result fgs_fill_find(const char *name, fgs_fill *out);

/* Where a kernel of the application executes griddepcontrol.wait. */
typedef enum fgs_waits {
    FGS_WAITS_NEVER = 0,
    FGS_WAITS_FIRST,    /* before its first access to what others write       */
    FGS_WAITS_LAST      /* after it consumed its input                        */
} fgs_waits;

/* Where it executes griddepcontrol.launch_dependents. */
typedef enum fgs_triggers {
    FGS_TRIGGERS_NEVER = 0,
    FGS_TRIGGERS_START,
    FGS_TRIGGERS_FILLED /* after it filled its output, barrier, fence at gpu
                           scope (4.6.4.2)                                    */
} fgs_triggers;

/* Boxes of a tensor, as a tensor map has them: 1 to 5 dimensions, innermost
 * first.  Block b touches box b, boxes counted innermost first too; the last
 * ones may reach past the end.  The buffer has tiles of 16 bytes then. */
typedef struct fgs_box {
    uint32_t rank;           /* 1 .. 5                                       */
    uint32_t reserved;
    uint64_t dims[5];        /* elements                                     */
    uint64_t pitch[4];       /* bytes between rows, planes ...               */
    uint64_t box[5];         /* elements of a box                            */
} fgs_box;

/* What stands behind the end of a row in its last chunk, and in tiles that no
 * stage writes: the three ways of guide 4.6.4.6. */
typedef enum fgs_padding {
    FGS_PADDING_NONE = 0,    /* a writer leaves it alone; a reader keeps off it
                                (but its copy looks at whole chunks)         */
    FGS_PADDING_WRITTEN,     /* a writer stores whole chunks, with canonical
                                values behind the end                        */
    FGS_PADDING_PRESET       /* a reader: tiles that no stage writes hold
                                something else than the sentinel: the
                                application saw to that, and no fill reaches
                                them: its writers fill their own (SELF)      */
} fgs_padding;

/*
 * Which tiles of a buffer a stage touches.  Block b of the grid (x fastest)
 * touches `count` tiles from `first` + b * `step` on; all three 0 = tile b.
 * With a table block b touches tile table[b] (`tables` entries; first, count
 * and step are 0 then); with a box block b touches the chunks of box b.  A
 * kernel of the application that has fewer blocks than entries or boxes loops
 * over them all.
 */
typedef struct fgs_access {
    fgs_buffer *buffer;      /* borrowed, must outlive the plan              */
    uint32_t write;          /* 1 = the stage writes it, 0 = reads           */
    fgs_order order;         /* of the edges that end here (reads)
                                                        (default AUTO)       */
    uint32_t can;            /* a kernel of the application: bit 1 << order for
                                each order that it does its part for, as
                                reader or writer; 0 = stream order.  A reader
                                that can do pdl, and others, waits first
                                where FGS_ARG_ORDER says so                  */
    uint32_t tables;
    uint64_t first, step, count;
    const uint32_t *table;   /* copied                                       */
    const fgs_box *box;      /* copied; NULL = none                          */
    fgs_padding padding;     /* (default NONE)                               */
    uint32_t reserved;
} fgs_access;

/* A parameter of a kernel of the application: a value of its own, or one that
 * the plan knows. */
typedef enum fgs_arg_kind {
    FGS_ARG_VALUE = 0,  /* `bytes` bytes at `value`, copied                  */
    FGS_ARG_BUFFER,     /* u64: `buffer` in the round's slot                 */
    FGS_ARG_FLAGS,      /* u64: the flags of `buffer`, u32 a tile            */
    FGS_ARG_ROUND,      /* u32: what a flag is set to in this round          */
    FGS_ARG_TILES,      /* u64: tiles of `buffer` in this round              */
    FGS_ARG_CTL,        /* u64: fgs::ctl of fgs_device.cuh                   */
    FGS_ARG_REC,        /* u64: fgs::rec                                     */
    FGS_ARG_STAT,       /* u64: fgs::stat; 0 = no statistics are kept        */
    FGS_ARG_TRACE,      /* u64: a row a block; 0 = no trace is kept          */
    FGS_ARG_BOUND_NS,   /* u64                                               */
    FGS_ARG_MAX_TRIES,  /* u64                                               */
    FGS_ARG_ORDER,      /* u32: the fgs_order taken for what the stage reads of
                           `buffer`, 0 = no stage writes it                  */
    FGS_ARG_TABLE,      /* u64: the stage's table of `buffer`, u32 a block, in
                           device memory; 0 = it has none                    */
    FGS_ARG_MAP,        /* 128 bytes, 64-byte aligned: the CUtensorMap at
                           `value`, copied, made to point at byte `bytes` of
                           `buffer` in the round's slot                      */
    FGS_ARG_COUNT
} fgs_arg_kind;

typedef struct fgs_arg {
    fgs_arg_kind kind;
    uint32_t bytes;     /* of a value; of a map where it points in the slot   */
    const void *value;
    fgs_buffer *buffer;
} fgs_arg;

typedef struct fgs_stage_desc {
    size_t size;             /* sizeof(fgs_stage_desc)                       */
    const char *name;        /* in messages, copied  (default "stage N")      */
    fgs_kernel *kernel;      /* the library's; its accesses stand in the order
                                of its parameters: what it reads, then what it
                                writes                                       */
    fgs_kernel *ordered;     /* the same with engine `plain`: takes its place
                                where the edges are pdl or flag; NULL = those
                                two are not possible                         */
    CUfunction function;     /* or the application's (a CUkernel too)        */
    const fgs_arg *args;     /* of `function`, in the order of its parameters */
    const fgs_access *accesses;
    uint32_t arg_count, access_count;
    uint32_t grid[3];        /* blocks; of a library's kernel 0 = from tiles  */
    uint32_t block[3];       /* threads; 0 = a library kernel's              */
    uint32_t cluster[3];     /* blocks; 0 = none                             */
    uint32_t shared_bytes;   /* dynamic, a block; a library kernel takes this
                                or its own need, whichever is more           */
    CUstream stream;         /* NULL = the one that the plan is run in       */
    int32_t priority;        /* of the launch           (default 0)          */
    uint32_t domain;         /* memory synchronization domain: 0 default,
                                1 remote                                     */
    fgs_waits waits;         /* the next two: of `function`                  */
    fgs_triggers triggers;
    uint64_t work_ns;        /* of a library's kernel: extra time of a block  */
    uint64_t spread_ns;      /* and of that below this, by the block's hash  */
    uint64_t fault_tile;     /* of the fault-injecting producers             */
    uint32_t fault_chunk;
    uint32_t reserved;
} fgs_stage_desc;

/*
 * What a plan does with a buffer beyond reading and writing it.  Buffers that
 * are not named take the defaults.
 *
 * FGS_FILL_RING: the buffer is a ring, for the edges of a chain of any length.
 * Its stages are kernels of the library and stand in the order of the chain:
 * the first one writes the ring, each further one reads what the one before it
 * wrote and writes on, the last one only reads.  Edge e, counted on over the
 * rounds, lies in slot e mod `slots`, of 3 or more: three do for any length.
 * While stage k reads one slot and writes the next, it fills the third with
 * sentinels, the one that stage k - 2 wrote and stage k - 1 has read; it
 * triggers behind that, its own loads and a fence (guide 4.6.4.2), so that
 * stage k + 1, which writes there, starts with nobody left to read (4.6.4.5:
 * a slot is cleared only when no reader of its last round can still run, and
 * written again only when the clear is visible).  Refused are
 *
 *   fewer slots than 3
 *   a kernel of the application's, or one that fills its own output
 *   a second reader of an edge, a second chain, an edge that nobody reads
 *   stages of different streams or memory synchronization domains
 *   tiles by a table, or others than those of the chain's first stage
 *   a ring as second input of a join
 */
typedef struct fgs_use {
    fgs_buffer *buffer;
    fgs_fill fill;
    uint32_t reserved;
    fgs_kernel *kernel;      /* of role init, for FGS_FILL_KERNEL            */
} fgs_use;

typedef struct fgs_plan_spec {
    size_t size;             /* sizeof(fgs_plan_spec)                        */
    const fgs_stage_desc *stages;
    const fgs_use *uses;
    uint32_t stage_count, use_count;
    fgs_order order;         /* of edges whose reader has AUTO (default AUTO) */
    uint32_t receipt;        /* 0 = none is kept, 1 = statistics, 2 = and a
                                trace of the last round                      */
    uint64_t bound_ns;       /* time bound of each wait loop  (default 2 s)  */
    uint64_t max_tries;      /* bound on tries          (default 0 = none)   */
} fgs_plan_spec;

/*
 * Compose a plan.  Stages may stand in any order; they are launched in a
 * topological one, equal ones as they stand.  All kernels are loaded here.
 *
 * FGS_E_INVAL        no stage, a name or value out of range
 * FGS_E_MISMATCH     parts of different shape, element, tile or device
 * FGS_E_PLAN         a rule of the protocol is broken: *err names rule, stage,
 *                    buffer and tile (a cycle, a tile that two stages write, a
 *                    tile that is waited for and never written, an order that
 *                    a stage has no part in, a fill that comes too late ...)
 * FGS_E_UNSUPPORTED  an order or attribute that the device does not have
 *
 * Owner: caller.  Threads: object (the device).
 */
FGS_API fgs_result fgs_plan_compose(fgs_plan **out, fgs_device *dev,
                                    const fgs_plan_spec *spec, fgs_error *err);

/*
 * Tiles that the following rounds use, of all buffers of the plan: up to what
 * they were made with.  What is cleared is what is used.
 *
 * FGS_E_SIZE   0, or more than the smallest buffer has
 * FGS_E_BUSY   a run is unfinished
 * FGS_E_STATE  a stage does not take one block a tile (ranges, a table, boxes),
 *              or the plan stands in a graph
 */
FGS_API fgs_result fgs_plan_set_tiles(fgs_plan *plan, uint64_t tiles,
                                      fgs_error *err);

/*
 * Capture `rounds` rounds into a stream that is being captured by the
 * application (any of its other streams join the capture), or add them to a
 * graph of its own behind `deps`.  `tail` (may be NULL) gets the node that all
 * of it ends in.  Afterwards the graph is read back: edges that are not what
 * was meant are FGS_E_DRIVER.
 *
 * rounds  a multiple of the slots of each buffer, so that a replay begins where
 *         the last one ended
 *
 * While a replay may run, the plan counts as running only where the
 * application says so: fgs_plan_wait is for fgs_plan_run.
 * fgs_plan_check_graph tells after a replay was waited for what a kernel
 * recorded (FGS_OK, FGS_E_LEAK, FGS_E_SENTINEL), and forgets it.
 *
 * FGS_E_SIZE   rounds is 0 or no multiple
 * FGS_E_STATE  the stream is not being captured
 */
FGS_API fgs_result fgs_plan_capture(fgs_plan *plan, CUstream stream,
                                    uint32_t rounds, fgs_error *err);
FGS_API fgs_result fgs_plan_graph(fgs_plan *plan, CUgraph graph,
                                  const CUgraphNode *deps, size_t dep_count,
                                  uint32_t rounds, CUgraphNode *tail,
                                  fgs_error *err);
FGS_API fgs_result fgs_plan_check_graph(fgs_plan *plan, fgs_error *err);

/*
 * Give the nodes of an executable graph, made of the graph that the plan's
 * rounds were put into last, what the plan holds now: pointers after
 * fgs_buffer_rebind, code after fgs_kernel_reload.  No replay may be running.
 *
 * FGS_E_STATE  the plan is in no graph
 */
FGS_API fgs_result fgs_plan_update_exec(fgs_plan *plan, CUgraphExec exec,
                                        fgs_error *err);

/* ------------------------------------------------ what a plan is and did -- */

typedef struct fgs_plan_info {
    size_t size;             /* in: sizeof(fgs_plan_info)                    */
    uint32_t stages, edges, buffers;
    uint32_t depth;          /* longest path, stages                         */
} fgs_plan_info;
FGS_API fgs_result fgs_plan_get_info(const fgs_plan *plan, fgs_plan_info *out,
                                     fgs_error *err);

/* Edge `index`, 0 ... edges - 1.  What was measured is of the last run that was
 * waited for, 0 where no receipt is kept.  Strings: owner the plan, until its
 * next run. */
typedef struct fgs_edge_info {
    size_t size;             /* in: sizeof(fgs_edge_info)                    */
    uint32_t from, to;       /* stages, in launch order                      */
    const char *buffer;
    fgs_order asked, taken;
    const char *why;         /* why that one: a sentence                     */
    const char *form;        /* "same stream", "programmatic event", "launch
                                completion event", "event", "programmatic
                                edge", "edge"                                */
    int32_t graph_port;      /* of the edge that was read back from the graph:
                                1 after the triggers, 2 after the starts, 0 a
                                plain one, -1 = the plan is in no graph      */
    int32_t overlap;         /* a block of `to` started before the last one of
                                `from` ended                                 */
    uint32_t early_blocks;   /* blocks of `to` that did; needs a trace       */
    uint64_t overlap_ns;     /* from the first start in `to` to the last end in
                                `from`, 0 = none, last round                 */
    const char *form_why;    /* why that form: of the two events, which one lets
                                grids overlap is measured once a device, and
                                a measurement that failed is told here       */
    const char *reuse;       /* how its slots come to hold sentinels again: a
                                sentence; "" = it needs none                 */
    fgs_fill fill;           /* of its buffer; AUTO = it needs none          */
    uint32_t slots;          /* of its buffer                                */
} fgs_edge_info;
FGS_API fgs_result fgs_plan_get_edge(const fgs_plan *plan, uint32_t index,
                                     fgs_edge_info *out, fgs_error *err);

/* Stage `index`, in launch order. */
typedef struct fgs_stage_info {
    size_t size;             /* in: sizeof(fgs_stage_info)                   */
    const char *name;
    const char *entry;       /* of the kernel that runs                      */
    const char *engine;      /* how it loads its tiles; "" = not ours        */
    const char *assembled_by; /* "driver", "nvjitlink", "sim"; "" = unknown  */
    const char *attributes;  /* launch attributes set, and left out with why */
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes;
    uint64_t reissues;       /* of all rounds                                */
    uint64_t reread_bytes;   /* by those                                     */
    uint64_t first_ns, last_ns; /* earliest start and latest end of a block in
                                the last round, device time                  */
} fgs_stage_info;
FGS_API fgs_result fgs_plan_get_stage(const fgs_plan *plan, uint32_t index,
                                      fgs_stage_info *out, fgs_error *err);

/* A block in the last round (fgs_plan_spec.receipt 2); device time, ns. */
typedef struct fgs_trace_row {
    uint64_t start, ready, end; /* ready: its tile was valid, 0 = no input   */
    uint32_t sm, tries;
} fgs_trace_row;

/* Rows [0, *count) of a stage's blocks; in: room, out: blocks.  FGS_E_SIZE when
 * the room does not do, FGS_E_STATE without a trace. */
FGS_API fgs_result fgs_plan_get_trace(const fgs_plan *plan, uint32_t stage,
                                      fgs_trace_row *rows, uint64_t *count,
                                      fgs_error *err);

/*
 * How long the blocks of an edge's reader waited in the last round that was
 * waited for: from a block's start until its input was there, device time.  A
 * block of several inputs is counted by the last of them, with each edge.
 * Made of the trace when it is asked for: a plan without one pays nothing.
 *
 * FGS_E_STATE  the plan keeps no trace (fgs_plan_spec.receipt 2), or no run was
 *              waited for
 * FGS_E_NOMEM
 *
 * Threads: object.
 */
enum { FGS_WAIT_BUCKETS = 40 };
typedef struct fgs_edge_waits {
    size_t size;             /* in: sizeof(fgs_edge_waits)                   */
    uint64_t blocks;         /* that waited; 0 = all that follows is 0       */
    uint64_t sum_ns, min_ns, max_ns;
    uint64_t p50_ns, p90_ns, p99_ns; /* so many in a hundred waited no longer */
    uint64_t log2[FGS_WAIT_BUCKETS]; /* blocks: [0] waited 0 ns, [i] from
                                2^(i-1) to 2^i - 1 ns, the last one longer   */
} fgs_edge_waits;
FGS_API fgs_result fgs_plan_get_waits(const fgs_plan *plan, uint32_t edge,
                                      fgs_edge_waits *out, fgs_error *err);

#ifdef __cplusplus
}
#endif
#endif /* FGS_PLAN_H */
