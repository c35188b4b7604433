/* run_pipeline.h -- fgs run --pipeline: what was asked, done, and how
 *
 * A pipeline is a row of src/table/pipeline.def and a row of callbacks in
 * run_pipeline.c.
 */
#ifndef FGS_TOOL_RUN_PIPELINE_H
#define FGS_TOOL_RUN_PIPELINE_H

#include "pipe.h"

/* Options that not every pipeline takes; one that it does not take is
 * refused. */
enum {
    ASK_STAGES = 1 << 0, ASK_ELEMENT = 1 << 1, ASK_SHAPE = 1 << 2,
    ASK_INJECT = 1 << 3, ASK_ROUNDS = 1 << 4, ASK_BLOCKS = 1 << 5,
    ASK_ENGINE = 1 << 6, ASK_BINS = 1 << 7, ASK_WORK = 1 << 8,
    ASK_THREADS = 1 << 9, ASK_CLAIM = 1 << 10, ASK_PRODUCT = 1 << 11
};

struct pipeline_asked {
    const fgs_pipeline_info *info;
    const char *provider, *engine_name, *element_name, *inject, *private_name;
    const char *product; /* by which instruction `full-empty` multiplies     */
    const char *claim; /* how a block of `fused` comes to its next tile      */
    fgs_engine engine;
    fgs_element element;
    uint64_t ordinal, stages, tiles, tile_bytes, threads, rounds, seed, blocks;
    uint64_t work_ns, bound_ms, max_tries, bins, count;
    const char *width_text, *values, *language;
    float width;
    bool seed_given, blocks_given, tiles_given, json;
    /* of --inject: the producer's text, and where                           */
    const char *fault_stem;
    uint64_t fault_tile, fault_chunk;
};

enum { PIPELINE_MORE = 8 };
struct pipeline_done {
    bool open, verified, ok, has_counts;
    char provider[16], device[128], assembled_by[16], stem[64], target[16];
    char version[16];
    int32_t cc;
    uint64_t rounds, digest, mismatches;
    fgs_counts counts; /* summed over the rounds                             */
    double elapsed_ns; /* of all rounds                                      */
    fgs_result result; /* < 0: error says why                                */
    fgs_error error;
    int alive;         /* after a failure: 1, 0, -1 = not tried              */
    int code;          /* exit code where nothing was opened                 */
    /* What a pipeline has to say besides. */
    struct {
        const char *name;
        uint64_t value;
    } more[PIPELINE_MORE];
    unsigned mores;
};

struct pipeline_row {
    const char *name;
    unsigned options;
    uint64_t tile_bytes; /* 0 = as is asked                                  */
    /* Look at the options: -1 = good, else a code after a message.  May be
     * NULL. */
    int (*check)(struct pipeline_asked *a);
    /* Open the device (pipeline_open), run, verify, close. */
    void (*run)(const struct pipeline_asked *a, struct pipeline_done *d);
};

/* run_pipeline.c */
int run_pipeline(int argc, char **argv);
/* What failed, as the run's error; false. */
bool pipeline_failed(struct pipeline_done *d, fgs_result r, const char *fmt,
                     ...) __attribute__((format(printf, 3, 4)));
void pipeline_tell(struct pipeline_done *d, const char *name, uint64_t value);

/* run_pipeline_print.c */
void pipeline_print(const struct pipeline_asked *a,
                    const struct pipeline_done *d);

/* run_pipeline_hand.c: init, producer and a consumer by one parameter list */
struct pipeline_hand {
    struct pipe_device d;
    struct pipe_kernel init, produce, consume;
    pipe_addr in, mid, out, board, rec_at, map;
    void *rec;
    uint32_t *host_in;
    unsigned char *want, *got;
    struct pipe_clock clock;
};
enum { PIPELINE_ARGS = 13 };
/* What failed is in dev->why; false. */
bool pipeline_broke(struct pipeline_done *d, const struct pipe_device *dev);
bool pipeline_load(const struct pipeline_asked *a, struct pipeline_hand *h,
                   const char *stem, struct pipe_kernel *k);
/* All but the consumer, which is loaded, and what it writes; h->host_in has
 * the input. */
bool pipeline_make_ends(const struct pipeline_asked *a,
                        struct pipeline_hand *h, struct pipeline_done *d);
/* Arguments of the plan's list; the first is p_stat, the next five are of
 * other consumers too. */
enum { PIPELINE_COMMON = 6 };
void pipeline_args(const struct pipeline_asked *a,
                   const struct pipeline_hand *h,
                   struct pipe_arg args[PIPELINE_ARGS]);
/* Launch init and producer; false: h->d.why. */
bool pipeline_produce(const struct pipeline_asked *a, struct pipeline_hand *h);
/* Wait; what the kernels left.  False: d->error. */
bool pipeline_read(const struct pipeline_asked *a, struct pipeline_hand *h,
                   struct pipeline_done *d);
void pipeline_drop(struct pipeline_hand *h);
/* The software device by the seed, then the device; its name into d. */
bool pipeline_open(const struct pipeline_asked *a, struct pipe_device *dev,
                   struct pipeline_done *d);
/* A consumer of the plan's parameters, `blocks` of it, whose stem, shared
 * bytes and block are given; and pipeline_row.run of such pipelines. */
struct pipeline_shape {
    const char *stem;
    unsigned blocks, threads, shared;
    fgs_language language;
    const char *weak;   /* taken where `stem` is not; NULL = none             */
    unsigned row_bytes; /* p_map: of the matrix's rows of f32, 0 = no map     */
};
void pipeline_hand_over(const struct pipeline_asked *a,
                        const struct pipeline_shape *s,
                        struct pipeline_done *d);

/* Callbacks, a file each. */
int fused_check(struct pipeline_asked *a);
void fused_run(const struct pipeline_asked *a, struct pipeline_done *d);
int histogram_check(struct pipeline_asked *a);
/* Input of the kind that was asked for, half of each value. */
void histogram_values(const struct pipeline_asked *a, uint32_t *in);
void histogram_run(const struct pipeline_asked *a, struct pipeline_done *d);
void double_buffer_run(const struct pipeline_asked *a,
                       struct pipeline_done *d);
int cta_pair_check(struct pipeline_asked *a);
void cta_pair_run(const struct pipeline_asked *a, struct pipeline_done *d);
enum { FULL_EMPTY_BOX = 64 * 128 * 2 }; /* of f16                             */
int full_empty_check(struct pipeline_asked *a);
void full_empty_run(const struct pipeline_asked *a, struct pipeline_done *d);
int retry_warp_check(struct pipeline_asked *a);
void retry_warp_run(const struct pipeline_asked *a, struct pipeline_done *d);

#endif
