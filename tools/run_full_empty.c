/* run_full_empty.c -- fgs run --pipeline full-empty: two products in a chain
 *
 * The first one's boxes come and go by full and empty barriers; the second
 * takes its input out of a buffer of sentinels while the first still runs.
 */
#include "run_pipeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BOX = FULL_EMPTY_BOX, STEPS = 4, COLUMNS = 16, STEPS2 = 2, COLUMNS2 = 4,
       DEPTH = STEPS * 128, MIDDLE = STEPS2 * 128, WIDTH = COLUMNS2 * 16,
       THREADS = 256, NEGATIVE_ZEROS = (int)0x80008000u };

struct chain {
    struct pipe_device d;
    struct pipe_kernel fill, first, second;
    pipe_addr in, mid, out, weights[2], map[2], board, rec_at;
    void *rec;
    struct pipe_clock clock;
    uint32_t rows; /* of boxes */
    uint16_t *x, *w[2], *packed, *y, *want, *got;
};

static bool broke(struct pipeline_done *d, const struct pipe_device *dev)
{
    return pipeline_failed(d, FGS_E_DRIVER, "%s", dev->why);
}

static bool make_map(struct chain *c, pipe_addr at, uint32_t columns,
                     pipe_addr *map)
{
    const struct pipe_matrix m = {.at = at, .type = PIPE_F16,
                                  .columns = columns, .rows = 64ull * c->rows,
                                  .row_bytes = 2ull * columns,
                                  .box_columns = 128, .box_rows = 64};

    return pipe_map(&c->d, &m, map);
}

/* Small integers as f16, so that no sum of f32 is rounded. */
static void make_numbers(uint16_t *to, size_t count, uint64_t seed)
{
    static const uint16_t whole[] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000,
                                     0x4200};
    size_t i;

    for (i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        to[i] = whole[(seed >> 40) % 7];
    }
}

static bool make_values(const struct pipeline_asked *a, struct chain *c)
{
    size_t rows = 64 * (size_t)c->rows;

    c->x = malloc(rows * DEPTH * 2);
    c->w[0] = malloc(DEPTH * MIDDLE * 2);
    c->w[1] = malloc(MIDDLE * WIDTH * 2);
    c->packed = malloc(DEPTH * MIDDLE * 2);
    c->y = malloc(rows * MIDDLE * 2);
    c->want = malloc(rows * WIDTH * 2);
    c->got = malloc(rows * WIDTH * 2);
    if (!c->x || !c->w[0] || !c->w[1] || !c->packed || !c->y || !c->want ||
        !c->got)
        return false;
    make_numbers(c->x, rows * DEPTH, a->seed);
    make_numbers(c->w[0], DEPTH * MIDDLE, a->seed + 1);
    make_numbers(c->w[1], MIDDLE * WIDTH, a->seed + 2);
    fgs_ref_gemm(c->x, c->w[0], c->y, (uint32_t)rows, DEPTH, MIDDLE);
    fgs_ref_gemm(c->y, c->w[1], c->want, (uint32_t)rows, MIDDLE, WIDTH);
    return true;
}

static bool put_weights(struct chain *c, int k, uint32_t depth,
                        uint32_t columns)
{
    fgs_ref_gemm_pack(c->w[k], c->packed, depth, columns);
    return pipe_memory(&c->d, &c->weights[k], 2ull * depth * columns) &&
           pipe_put(&c->d, c->weights[k], c->packed, 2ull * depth * columns);
}

static bool load(struct chain *c, const char *stem, struct pipe_kernel *k)
{
    fgs_ptx_desc desc = {.size = sizeof desc, .stem = stem,
                         .element = FGS_ELEMENT_F16, .tile_bytes = BOX};

    return pipe_load(&c->d, &desc, k);
}

static bool make(const struct pipeline_asked *a, struct chain *c,
                 struct pipeline_done *d)
{
    uint64_t rows = 64ull * c->rows;
    const char *second = a->engine == FGS_ENGINE_REPORT ? "gemm_report_stage"
                                                        : "gemm_bulk_stage";
    const char *first = a->product && !strcmp(a->product, "wgmma")
                            ? "gemm_wgmma_stage" : "gemm_warp_stage";

    if (!make_values(a, c))
        return pipeline_failed(d, FGS_E_NOMEM, "no memory for %" PRIu32
                               " rows of boxes", c->rows);
    if (!load(c, "sentinel_fill", &c->fill) ||
        !load(c, first, &c->first) ||
        !load(c, second, &c->second) ||
        !pipe_memory(&c->d, &c->in, rows * DEPTH * 2) ||
        !pipe_memory(&c->d, &c->mid, rows * MIDDLE * 2) ||
        !pipe_memory(&c->d, &c->out, rows * WIDTH * 2) ||
        !pipe_memory(&c->d, &c->board, FGS_BOARD_BYTES) ||
        !pipe_host(&c->d, &c->rec, &c->rec_at, FGS_RECORD_BYTES) ||
        !pipe_clock_make(&c->d, &c->clock) ||
        !put_weights(c, 0, DEPTH, MIDDLE) ||
        !put_weights(c, 1, MIDDLE, WIDTH) ||
        !make_map(c, c->in, DEPTH, &c->map[0]) ||
        !make_map(c, c->mid, MIDDLE, &c->map[1]) ||
        !pipe_put(&c->d, c->in, c->x, rows * DEPTH * 2))
        return broke(d, &c->d);
    snprintf(d->stem, sizeof d->stem, "%s", second);
    snprintf(d->version, sizeof d->version, "%s", c->second.version);
    snprintf(d->target, sizeof d->target, "%s", c->second.target);
    snprintf(d->assembled_by, sizeof d->assembled_by, "%s",
             c->d.assembled_by);
    return true;
}

/* A box of the first product's result is a tile, its rows of 16 chunks lie
 * apart. */
static uint64_t leak_of(const struct pipeline_asked *a)
{
    uint64_t row = a->fault_tile / STEPS2 * 64 + a->fault_chunk / 16;
    uint64_t chunk = a->fault_tile % STEPS2 * 16 + a->fault_chunk % 16;

    return a->fault_stem ? row * MIDDLE * 2 + chunk * 16 : UINT64_MAX;
}

static bool launch(const struct pipeline_asked *a, struct chain *c, int k)
{
    struct pipe_arg args[] = {
        {"p_map", c->map[k], NULL}, {"p_in", k ? c->mid : c->in, NULL},
        {"p_weights", c->weights[k], NULL},
        {"p_out", k ? c->out : c->mid, NULL}, {"p_rows", c->rows, NULL},
        {"p_columns", k ? COLUMNS2 : COLUMNS, NULL},
        {"p_steps", k ? STEPS2 : STEPS, NULL}, {"p_ctl", c->board, NULL},
        {"p_rec", c->rec_at, NULL},
        {"p_stat", c->board + (k ? FGS_BOARD_CONSUMER : FGS_BOARD_PRODUCER),
         NULL},
        {"p_bound_ns", a->bound_ms * 1000000, NULL},
        {"p_max_tries", a->max_tries, NULL},
        {"p_work_ns", k ? 0 : a->work_ns, NULL},
        {"p_leak", k ? UINT64_MAX : leak_of(a), NULL}, {NULL, 0, NULL},
    };
    uint64_t tiles = (uint64_t)c->rows * (k ? COLUMNS2 : COLUMNS);
    struct pipe_launch l = {.threads = THREADS, .pdl = k,
                            .shared = (unsigned)a->stages * BOX, .args = args};

    l.blocks = (unsigned)(a->blocks_given && a->blocks < tiles ? a->blocks
                                                               : tiles);
    return pipe_run(&c->d, k ? &c->second : &c->first, &l);
}

static bool fill(struct chain *c)
{
    struct pipe_arg args[] = {{"p_mid", c->mid, NULL},
                              {"p_tiles", (uint64_t)c->rows * STEPS2, NULL},
                              {NULL, 0, NULL}};
    struct pipe_launch l = {.blocks = 64, .threads = THREADS, .args = args};

    return pipe_run(&c->d, &c->fill, &l);
}

static bool run_round(const struct pipeline_asked *a, struct chain *c,
                      struct pipeline_done *d)
{
    unsigned char board[FGS_BOARD_BYTES];
    fgs_counts now = {.size = sizeof now};
    uint64_t i, count = 64ull * c->rows * WIDTH;
    double ns = 0;

    memset(c->rec, 0, FGS_RECORD_BYTES);
    if (!pipe_fill(&c->d, c->board, 0, FGS_BOARD_BYTES) ||
        !pipe_fill(&c->d, c->out, (uint32_t)NEGATIVE_ZEROS, count * 2) ||
        !pipe_clock_start(&c->d, &c->clock) || !fill(c) ||
        !launch(a, c, 0) || !launch(a, c, 1) ||
        !pipe_clock_stop(&c->d, &c->clock) || !pipe_wait(&c->d) ||
        !pipe_clock_read(&c->d, &c->clock, &ns) ||
        !pipe_get(&c->d, board, c->board, sizeof board) ||
        !pipe_get(&c->d, c->got, c->out, count * 2))
        return broke(d, &c->d);
    fgs_board_read(board, &now);
    d->counts.reissues += now.reissues;
    d->counts.overlap |= now.overlap;
    d->has_counts = true;
    d->elapsed_ns += ns;
    d->result = fgs_record_read(c->rec, c->second.entry, "mid", &d->error);
    if (d->result < 0)
        return false;
    for (i = 0; i < count; i++)
        d->mismatches += c->got[i] != c->want[i];
    d->digest = values_digest((unsigned char *)c->got, count * 2);
    d->verified = true;
    d->rounds += !d->mismatches;
    return !d->mismatches ||
           pipeline_failed(d, FGS_E_MISMATCH, "%" PRIu64 " elements of the "
                           "second product are wrong", d->mismatches);
}

/* After a give-up: is the device still good for a healthy round? */
static bool still_alive(const struct pipeline_asked *a, struct chain *c)
{
    struct pipeline_asked healthy = *a;
    struct pipeline_done d = {.alive = -1};

    healthy.fault_stem = NULL;
    healthy.max_tries = healthy.work_ns = 0;
    healthy.bound_ms = 2000;
    return run_round(&healthy, c, &d);
}

static void drop(struct chain *c)
{
    pipe_addr *all[] = {&c->in, &c->mid, &c->out, &c->weights[0],
                        &c->weights[1], &c->map[0], &c->map[1], &c->board};
    size_t i;

    pipe_clock_free(&c->d, &c->clock);
    pipe_host_free(&c->d, c->rec);
    for (i = 0; i < sizeof all / sizeof all[0]; i++)
        pipe_free(&c->d, all[i]);
    pipe_unload(&c->d, &c->fill);
    pipe_unload(&c->d, &c->first);
    pipe_unload(&c->d, &c->second);
    pipe_close(&c->d);
    free(c->x);
    free(c->w[0]);
    free(c->w[1]);
    free(c->packed);
    free(c->y);
    free(c->want);
    free(c->got);
}

void full_empty_run(const struct pipeline_asked *a, struct pipeline_done *d)
{
    struct chain c = {.rows = (uint32_t)a->tiles};
    uint64_t i;
    bool good;

    if (!pipeline_open(a, &c.d, d)) {
        pipe_close(&c.d);
        return;
    }
    good = make(a, &c, d);
    for (i = 0; good && i < a->rounds; i++)
        good = run_round(a, &c, d);
    d->ok = good;
    if (d->result == FGS_E_LEAK)
        d->alive = still_alive(a, &c);
    drop(&c);
}

int full_empty_check(struct pipeline_asked *a)
{
    /* A row takes the software device a quarter of a second. */
    if (!a->tiles_given)
        a->tiles = 8;
    if (a->tiles > 4096)
        return usage_error("run", "--tiles: %" PRIu64 " rows of boxes; 4096 "
                           "at most", a->tiles);
    if (a->fault_stem && !strcmp(a->fault_stem, "scale_produce_sentinel"))
        return usage_error("run", "--inject: a product has no kernel that "
                           "stores sentinels: take leak, which leaves those "
                           "that are there");
    return -1;
}
