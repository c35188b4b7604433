/* run_pipeline_hand.c -- fgs run --pipeline: a consumer of the plan's list
 *
 * init, producer, consumer in one stream, as a plan has them (guide 4.6.6);
 * the consumer may have a grid and shared memory of its own.
 */
#include "run_pipeline.h"

#include <fgs/fgs_sim.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define POISON 0xA5A5A5A5u

enum { FILL_BLOCKS = 64 };

bool pipeline_broke(struct pipeline_done *d, const struct pipe_device *dev)
{
    return pipeline_failed(d, FGS_E_DRIVER, "%s", dev->why);
}

bool pipeline_open(const struct pipeline_asked *a, struct pipe_device *dev,
                   struct pipeline_done *d)
{
    fgs_sim_config cfg = {.size = sizeof cfg};

    memset(dev, 0, sizeof *dev);
    if (a->seed_given) {
        d->result = fgs_sim_config_get(&cfg, &d->error);
        cfg.seed = a->seed;
        if (d->result == FGS_OK)
            d->result = fgs_sim_config_set(&cfg, &d->error);
        if (d->result < 0)
            return false;
    }
    d->code = pipe_open(dev, "run", a->provider, (int32_t)a->ordinal);
    if (d->code)
        return false;
    d->open = true;
    if (*a->language == 'c')
        dev->language = FGS_LANGUAGE_CUDA;
    d->cc = dev->info.cc;
    snprintf(d->provider, sizeof d->provider, "%s", dev->provider);
    snprintf(d->device, sizeof d->device, "%s", dev->info.name);
    if (dev->info.cc >= a->info->cc)
        return true;
    return pipeline_failed(d, FGS_E_UNSUPPORTED,
                           "pipeline %s needs compute capability %d.%d, the "
                           "device has %d.%d", a->info->name,
                           (int)a->info->cc / 10, (int)a->info->cc % 10,
                           (int)dev->info.cc / 10, (int)dev->info.cc % 10);
}

/* --------------------------------------------------------------- parts -- */

static fgs_saturate saturation(fgs_element e)
{
    return fgs_element_get_info(e)->rule == FGS_RULE_NEVER_SENTINEL
               ? FGS_SATURATE_UP : FGS_SATURATE_REFUSE;
}

static uint64_t elements(const struct pipeline_asked *a)
{
    return a->tile_bytes * 8 / fgs_element_get_info(a->element)->bits;
}

bool pipeline_load(const struct pipeline_asked *a, struct pipeline_hand *h,
                   const char *stem, struct pipe_kernel *k)
{
    fgs_ptx_desc desc = {.size = sizeof desc};

    desc.stem = stem;
    desc.element = a->element;
    desc.tile_bytes = (uint32_t)a->tile_bytes;
    desc.threads = (uint32_t)a->threads;
    desc.stages = (uint32_t)a->stages;
    if (k == &h->produce)
        desc.saturate = saturation(a->element);
    return pipe_load(&h->d, &desc, k);
}

/* Input and what must come of it. */
static bool make_values(const struct pipeline_asked *a,
                        struct pipeline_hand *h, struct pipeline_done *d)
{
    uint64_t count = a->tiles * elements(a), bytes = a->tiles * a->tile_bytes;

    h->host_in = calloc(count, sizeof *h->host_in);
    h->want = malloc(bytes);
    h->got = malloc(bytes);
    if (!h->host_in || !h->want || !h->got)
        return pipeline_failed(d, FGS_E_NOMEM, "no memory for %" PRIu64
                               " tiles", a->tiles);
    values_make(h->host_in, count, a->seed);
    fgs_ref_produce(a->element, saturation(a->element), h->host_in, h->got,
                    count, NULL);
    fgs_ref_consume(a->element, h->got, h->want, a->tiles, a->tile_bytes);
    return true;
}

bool pipeline_make_ends(const struct pipeline_asked *a,
                        struct pipeline_hand *h, struct pipeline_done *d)
{
    uint64_t in_bytes = a->tiles * elements(a) * sizeof(float);

    snprintf(d->stem, sizeof d->stem, "%s", h->consume.entry + 4);
    snprintf(d->version, sizeof d->version, "%s", h->consume.version);
    snprintf(d->target, sizeof d->target, "%s", h->consume.target);
    if (!pipeline_load(a, h, "sentinel_fill", &h->init) ||
        !pipeline_load(a, h, a->fault_stem ? a->fault_stem : "scale_produce",
                       &h->produce) ||
        !pipe_memory(&h->d, &h->in, in_bytes) ||
        !pipe_memory(&h->d, &h->mid, a->tiles * a->tile_bytes) ||
        !pipe_memory(&h->d, &h->board, FGS_BOARD_BYTES) ||
        !pipe_host(&h->d, &h->rec, &h->rec_at, FGS_RECORD_BYTES) ||
        !pipe_clock_make(&h->d, &h->clock) ||
        !pipe_put(&h->d, h->in, h->host_in, in_bytes))
        return pipeline_broke(d, &h->d);
    snprintf(d->assembled_by, sizeof d->assembled_by, "%s",
             h->d.assembled_by);
    return true;
}

/* A tile is a box of whole rows. */
static bool make_map(const struct pipeline_asked *a,
                     const struct pipeline_shape *s, struct pipeline_hand *h)
{
    const struct pipe_matrix m = {
        .at = h->mid, .type = PIPE_F32, .columns = s->row_bytes / 4,
        .rows = a->tiles * a->tile_bytes / s->row_bytes,
        .row_bytes = s->row_bytes, .box_columns = s->row_bytes / 4,
        .box_rows = (unsigned)a->tile_bytes / s->row_bytes};

    return pipe_map(&h->d, &m, &h->map);
}

static bool make(const struct pipeline_asked *a, const struct pipeline_shape *s,
                 struct pipeline_hand *h, struct pipeline_done *d)
{
    bool loaded = pipeline_load(a, h, s->stem, &h->consume);

    /* where nobody assembles the strong copy's PTX 9.3 */
    if (!loaded && s->weak)
        loaded = pipeline_load(a, h, s->weak, &h->consume);
    if (!loaded ||
        !pipe_memory(&h->d, &h->out, a->tiles * a->tile_bytes))
        return pipeline_broke(d, &h->d);
    if (!make_values(a, h, d) || !pipeline_make_ends(a, h, d))
        return false;
    return !s->row_bytes || make_map(a, s, h) || pipeline_broke(d, &h->d);
}

void pipeline_drop(struct pipeline_hand *h)
{
    pipe_clock_free(&h->d, &h->clock);
    pipe_host_free(&h->d, h->rec);
    pipe_free(&h->d, &h->map);
    pipe_free(&h->d, &h->board);
    pipe_free(&h->d, &h->out);
    pipe_free(&h->d, &h->mid);
    pipe_free(&h->d, &h->in);
    pipe_unload(&h->d, &h->produce);
    pipe_unload(&h->d, &h->init);
    pipe_unload(&h->d, &h->consume);
    pipe_close(&h->d);
    free(h->host_in);
    free(h->want);
    free(h->got);
}

/* --------------------------------------------------------------- round -- */

void pipeline_args(const struct pipeline_asked *a,
                   const struct pipeline_hand *h,
                   struct pipe_arg args[PIPELINE_ARGS])
{
    const struct pipe_arg all[PIPELINE_ARGS] = {
        {"p_stat", h->board + FGS_BOARD_PRODUCER, NULL},
        {"p_mid", h->mid, NULL}, {"p_ctl", h->board, NULL},
        {"p_rec", h->rec_at, NULL},
        {"p_bound_ns", a->bound_ms * 1000000, NULL},
        {"p_max_tries", a->max_tries, NULL}, {"p_in", h->in, NULL},
        {"p_out", h->out, NULL}, {"p_tiles", a->tiles, NULL},
        {"p_work_ns", a->work_ns, NULL},
        {"p_fault_tile", a->fault_tile, NULL},
        {"p_fault_chunk", a->fault_chunk, NULL}, {NULL, 0, NULL},
    };

    memcpy(args, all, sizeof all);
}

bool pipeline_produce(const struct pipeline_asked *a, struct pipeline_hand *h)
{
    struct pipe_arg args[PIPELINE_ARGS];
    struct pipe_launch l = {.blocks = FILL_BLOCKS,
                            .threads = (unsigned)a->threads, .args = args};

    pipeline_args(a, h, args);
    memset(h->rec, 0, FGS_RECORD_BYTES);
    if (!pipe_fill(&h->d, h->board, 0, FGS_BOARD_BYTES) ||
        !pipe_clock_start(&h->d, &h->clock) || !pipe_run(&h->d, &h->init, &l))
        return false;
    l.blocks = (unsigned)a->tiles;
    return pipe_run(&h->d, &h->produce, &l);
}

bool pipeline_read(const struct pipeline_asked *a, struct pipeline_hand *h,
                   struct pipeline_done *d)
{
    unsigned char board[FGS_BOARD_BYTES];
    fgs_counts now = {.size = sizeof now};
    double ns = 0;

    (void)a;
    if (!pipe_clock_stop(&h->d, &h->clock) || !pipe_wait(&h->d) ||
        !pipe_clock_read(&h->d, &h->clock, &ns) ||
        !pipe_get(&h->d, board, h->board, sizeof board))
        return pipeline_broke(d, &h->d);
    fgs_board_read(board, &now);
    d->counts.reissues += now.reissues;
    d->counts.overlap |= now.overlap;
    d->has_counts = true;
    d->elapsed_ns += ns;
    d->result = fgs_record_read(h->rec, h->consume.entry, "mid", &d->error);
    return d->result == FGS_OK;
}

static bool launch(const struct pipeline_asked *a,
                   const struct pipeline_shape *s, struct pipeline_hand *h)
{
    const struct pipe_arg mapped[] = {
        {"p_map", h->map, NULL}, {"p_mid", h->mid, NULL},
        {"p_out", h->out, NULL},
        {"p_tiles", a->tiles, NULL}, {"p_ctl", h->board, NULL},
        {"p_rec", h->rec_at, NULL},
        {"p_stat", h->board + FGS_BOARD_CONSUMER, NULL},
        {"p_bound_ns", a->bound_ms * 1000000, NULL},
        {"p_max_tries", a->max_tries, NULL}, {NULL, 0, NULL},
    };
    struct pipe_arg args[PIPELINE_ARGS];
    struct pipe_launch l = {.blocks = s->blocks, .threads = s->threads,
                            .shared = s->shared, .args = args,
                            .pdl = h->d.info.cc >= 90};

    pipeline_args(a, h, args);
    args[0].value = h->board + FGS_BOARD_CONSUMER;
    if (s->row_bytes)
        l.args = mapped;
    return pipeline_produce(a, h) && pipe_run(&h->d, &h->consume, &l);
}

static void compare(const struct pipeline_asked *a, struct pipeline_hand *h,
                    struct pipeline_done *d)
{
    uint64_t i, first = 0, bytes = a->tiles * a->tile_bytes;

    for (i = 0; i < bytes; i++)
        if (h->got[i] != h->want[i] && !d->mismatches++)
            first = i;
    d->digest = values_digest(h->got, bytes);
    d->verified = true;
    if (!d->mismatches)
        return;
    pipeline_failed(d, FGS_E_MISMATCH, "%" PRIu64 " bytes are wrong; the first "
                    "is tile %" PRIu64 " byte %" PRIu64 ": 0x%02x in place of "
                    "0x%02x", d->mismatches, first / a->tile_bytes,
                    first % a->tile_bytes, h->got[first], h->want[first]);
}

static bool run_round(const struct pipeline_asked *a,
                      const struct pipeline_shape *s, struct pipeline_hand *h,
                      struct pipeline_done *d)
{
    uint64_t bytes = a->tiles * a->tile_bytes;

    if (!pipe_fill(&h->d, h->out, POISON, bytes) || !launch(a, s, h))
        return pipeline_broke(d, &h->d);
    if (!pipeline_read(a, h, d))
        return false;
    if (!pipe_get(&h->d, h->got, h->out, bytes))
        return pipeline_broke(d, &h->d);
    compare(a, h, d);
    d->rounds += !d->mismatches;
    return !d->mismatches;
}

/* After a give-up: is the device still good for a healthy round? */
static bool still_alive(const struct pipeline_asked *a,
                        const struct pipeline_shape *s,
                        struct pipeline_hand *h)
{
    struct pipeline_asked healthy = *a;
    struct pipeline_done d = {.alive = -1};

    healthy.fault_stem = NULL;
    healthy.max_tries = healthy.work_ns = 0;
    healthy.bound_ms = 2000;
    pipe_unload(&h->d, &h->produce);
    return pipeline_load(&healthy, h, "scale_produce", &h->produce) &&
           run_round(&healthy, s, h, &d);
}

void pipeline_hand_over(const struct pipeline_asked *a,
                        const struct pipeline_shape *s,
                        struct pipeline_done *d)
{
    struct pipeline_hand h = {.in = 0};
    uint64_t i;
    bool good;

    if (!pipeline_open(a, &h.d, d)) {
        pipe_close(&h.d);
        return;
    }
    good = make(a, s, &h, d);
    for (i = 0; good && i < a->rounds; i++)
        good = run_round(a, s, &h, d);
    d->ok = good;
    if (d->result == FGS_E_LEAK || d->result == FGS_E_SENTINEL)
        d->alive = still_alive(a, s, &h);
    pipeline_drop(&h);
}
