/* run_fused.c -- fgs run --pipeline fused: both ends in one persistent kernel
 *
 * Where a block's tiles follow from its index, all blocks must be resident,
 * since each may wait for any other: what the device has room for is asked
 * before the launch.  With cluster launch control there is a block for each
 * tile to make or to use, in an order in which one waits for earlier ones
 * alone, and what is resident takes over the others.
 */
#include "run_pipeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct fused {
    struct pipe_device d;
    struct pipe_kernel k;
    pipe_addr in, mid, out, ready, board, rec_at;
    void *rec;
    struct pipe_clock clock;
    uint32_t *in_host;
    unsigned char *want, *got; /* of all rounds                              */
    unsigned blocks, producers; /* by launch control: tiles ahead           */
    uint32_t taken;             /* blocks that were taken over              */
};

static bool by_claim(const struct pipeline_asked *a)
{
    return a->claim && !strcmp(a->claim, "launch-control");
}

int fused_check(struct pipeline_asked *a)
{
    if (a->fault_stem && !strcmp(a->fault_stem, "scale_produce_sentinel"))
        return usage_error("run", "--inject: fused has no kernel of its own "
                           "that stores sentinels: take leak, which leaves "
                           "those that are there");
    if (!by_claim(a))
        return -1;
    if (a->blocks_given)
        return usage_error("run", "--blocks: with --claim launch-control there "
                           "is a block for each tile of each round to make "
                           "and to use");
    if (2 * a->tiles * a->rounds > INT32_MAX)
        return usage_error("run", "--rounds: %" PRIu64 " tiles in %" PRIu64
                           " rounds are more blocks than a grid has", a->tiles,
                           a->rounds);
    return -1;
}

static uint64_t bytes_of(const struct pipeline_asked *a)
{
    return a->tiles * a->tile_bytes;
}

/* Round r takes input tile t + rounds - 1 - r, so the last one takes its own
 * and leaves what a plan would. */
static bool expect(const struct pipeline_asked *a, struct fused *f)
{
    uint64_t words = a->tile_bytes / 4, r, t;
    unsigned char *made = malloc(bytes_of(a)), *turned = malloc(bytes_of(a));
    bool good = made && turned;

    if (good) {
        values_make(f->in_host, a->tiles * words, a->seed);
        fgs_ref_produce(FGS_ELEMENT_F32, FGS_SATURATE_REFUSE, f->in_host, made,
                        a->tiles * words, NULL);
        fgs_ref_consume(FGS_ELEMENT_F32, made, turned, a->tiles,
                        a->tile_bytes);
        for (r = 0; r < a->rounds; r++)
            for (t = 0; t < a->tiles; t++)
                memcpy(f->want + r * bytes_of(a) + t * a->tile_bytes,
                       turned + (t + a->rounds - 1 - r) % a->tiles *
                                    a->tile_bytes,
                       a->tile_bytes);
    }
    free(made);
    free(turned);
    return good;
}

static bool load(const struct pipeline_asked *a, struct fused *f,
                 struct pipeline_done *d)
{
    char stem[32];
    fgs_ptx_desc desc = {.size = sizeof desc, .stem = stem};

    snprintf(stem, sizeof stem, "fused_%s%s", by_claim(a) ? "claim_" : "",
             fgs_engine_name(a->engine));
    desc.tile_bytes = (uint32_t)a->tile_bytes;
    desc.threads = (uint32_t)a->threads;
    if (!pipe_load(&f->d, &desc, &f->k))
        return pipeline_broke(d, &f->d);
    snprintf(d->stem, sizeof d->stem, "%s", stem);
    snprintf(d->version, sizeof d->version, "%s", f->k.version);
    snprintf(d->target, sizeof d->target, "%s", f->k.target);
    snprintf(d->assembled_by, sizeof d->assembled_by, "%s",
             f->d.assembled_by);
    return true;
}

/* As many blocks as were asked for, or half of what fits, a tile each at
 * most; the first half produces.  By launch control half of what fits is ahead
 * of the other half. */
static bool choose_blocks(const struct pipeline_asked *a, struct fused *f,
                          struct pipeline_done *d)
{
    unsigned each = 0, room;

    if (!pipe_room(&f->d, &f->k, (unsigned)a->threads,
                   (unsigned)a->tile_bytes, &each))
        return pipeline_broke(d, &f->d);
    room = each * (unsigned)f->d.sms;
    f->blocks = room < 2 * a->tiles ? room : (unsigned)(2 * a->tiles);
    if (a->blocks_given)
        f->blocks = (unsigned)a->blocks;
    f->producers = f->blocks / 2;
    if (by_claim(a)) {
        f->producers += !f->producers;
        f->blocks = (unsigned)(2 * a->tiles * a->rounds);
        return true;
    }
    if (f->blocks < 2)
        return pipeline_failed(d, FGS_E_SIZE, "a producer and a consumer block "
                               "are needed at least, not %u", f->blocks);
    if (f->blocks > room)
        return pipeline_failed(d, FGS_E_SIZE, "%u blocks of %" PRIu64
                               " threads cannot be resident at once: the "
                               "device has room for %u, %u on each of %d SMs; "
                               "a block that is not could be waited for "
                               "without an end", f->blocks, a->threads, room,
                               each, f->d.sms);
    return true;
}

static bool make(const struct pipeline_asked *a, struct fused *f,
                 struct pipeline_done *d)
{
    uint64_t bytes = bytes_of(a);

    f->in_host = malloc(bytes);
    f->want = malloc(bytes * a->rounds);
    f->got = malloc(bytes * a->rounds);
    if (!f->in_host || !f->want || !f->got || !expect(a, f))
        return pipeline_failed(d, FGS_E_NOMEM, "no memory for %" PRIu64
                               " rounds", a->rounds);
    if (!pipe_memory(&f->d, &f->in, bytes) ||
        !pipe_memory(&f->d, &f->mid, bytes) ||
        !pipe_memory(&f->d, &f->out, bytes * a->rounds) ||
        !pipe_memory(&f->d, &f->ready, (a->tiles + 2) * 4) ||
        !pipe_memory(&f->d, &f->board, FGS_BOARD_BYTES) ||
        !pipe_host(&f->d, &f->rec, &f->rec_at, FGS_RECORD_BYTES) ||
        !pipe_clock_make(&f->d, &f->clock) ||
        !pipe_put(&f->d, f->in, f->in_host, bytes))
        return pipeline_broke(d, &f->d);
    return true;
}

static bool launch(const struct pipeline_asked *a, struct fused *f)
{
    const uint64_t leak = a->fault_stem ? a->fault_tile * a->tile_bytes / 16 +
                                              a->fault_chunk : UINT64_MAX;
    const struct pipe_arg args[] = {
        {"p_in", f->in, NULL}, {"p_mid", f->mid, NULL}, {"p_out", f->out, NULL},
        {"p_out_step", bytes_of(a), NULL}, {"p_tiles", a->tiles, NULL},
        {"p_ready", f->ready, NULL}, {"p_ctl", f->board, NULL},
        {"p_rec", f->rec_at, NULL},
        {"p_stat", f->board + FGS_BOARD_CONSUMER, NULL},
        {"p_made", f->board + FGS_BOARD_PRODUCER, NULL},
        {"p_bound_ns", a->bound_ms * 1000000, NULL},
        {"p_max_tries", a->max_tries, NULL}, {"p_work_ns", a->work_ns, NULL},
        {"p_leak", leak, NULL},
        {"p_rounds", a->rounds, NULL}, {"p_producers", f->producers, NULL},
        {NULL, 0, NULL},
    };
    const struct pipe_launch l = {.blocks = f->blocks, .args = args,
                                  .threads = (unsigned)a->threads,
                                  .shared = (unsigned)a->tile_bytes};
    uint32_t fill = fgs_element_get_info(FGS_ELEMENT_F32)->fill;

    memset(f->rec, 0, FGS_RECORD_BYTES);
    return pipe_fill(&f->d, f->mid, fill, bytes_of(a)) &&
           pipe_fill(&f->d, f->out, 0xa5a5a5a5, bytes_of(a) * a->rounds) &&
           pipe_fill(&f->d, f->ready, 0, (a->tiles + 2) * 4) &&
           pipe_fill(&f->d, f->board, 0, FGS_BOARD_BYTES) &&
           pipe_clock_start(&f->d, &f->clock) && pipe_run(&f->d, &f->k, &l) &&
           pipe_clock_stop(&f->d, &f->clock) && pipe_wait(&f->d);
}

static bool verify(const struct pipeline_asked *a, struct fused *f,
                   struct pipeline_done *d)
{
    uint64_t bytes = bytes_of(a), all = bytes * a->rounds, i, first = 0;

    for (i = 0; i < all; i++)
        if (f->got[i] != f->want[i] && !d->mismatches++)
            first = i;
    d->digest = values_digest(f->got + all - bytes, bytes);
    d->verified = true;
    d->rounds = d->mismatches ? first / bytes : a->rounds;
    return !d->mismatches ||
           pipeline_failed(d, FGS_E_MISMATCH, "%" PRIu64 " bytes are wrong; "
                           "the first is round %" PRIu64 " tile %" PRIu64,
                           d->mismatches, first / bytes,
                           first % bytes / a->tile_bytes);
}

static bool run(const struct pipeline_asked *a, struct fused *f,
                struct pipeline_done *d)
{
    unsigned char board[FGS_BOARD_BYTES];

    d->counts.size = sizeof d->counts;
    if (!launch(a, f) || !pipe_clock_read(&f->d, &f->clock, &d->elapsed_ns) ||
        !pipe_get(&f->d, &f->taken, f->ready + (a->tiles + 1) * 4, 4) ||
        !pipe_get(&f->d, board, f->board, sizeof board) ||
        !pipe_get(&f->d, f->got, f->out, bytes_of(a) * a->rounds))
        return pipeline_broke(d, &f->d);
    fgs_board_read(board, &d->counts);
    d->has_counts = true;
    d->result = fgs_record_read(f->rec, f->k.entry, "mid", &d->error);
    return d->result == FGS_OK && verify(a, f, d);
}

/* After a give-up: is the device still good for a healthy launch? */
static bool still_alive(const struct pipeline_asked *a, struct fused *f)
{
    struct pipeline_asked healthy = *a;
    struct pipeline_done d = {.alive = -1};

    healthy.fault_stem = NULL;
    healthy.max_tries = healthy.work_ns = 0;
    healthy.bound_ms = 2000;
    return run(&healthy, f, &d);
}

void fused_run(const struct pipeline_asked *a, struct pipeline_done *d)
{
    struct fused f = {.in = 0};

    d->ok = pipeline_open(a, &f.d, d) && load(a, &f, d) &&
            choose_blocks(a, &f, d) && make(a, &f, d) && run(a, &f, d);
    if (by_claim(a)) {
        pipeline_tell(d, "blocks", f.blocks);
        pipeline_tell(d, "ahead", f.producers);
        pipeline_tell(d, "taken", f.taken);
    } else {
        pipeline_tell(d, "producers", f.producers);
        pipeline_tell(d, "consumers", f.blocks - f.producers);
    }
    if (d->result == FGS_E_LEAK)
        d->alive = still_alive(a, &f);
    pipe_clock_free(&f.d, &f.clock);
    pipe_host_free(&f.d, f.rec);
    pipe_free(&f.d, &f.board);
    pipe_free(&f.d, &f.ready);
    pipe_free(&f.d, &f.out);
    pipe_free(&f.d, &f.mid);
    pipe_free(&f.d, &f.in);
    pipe_unload(&f.d, &f.k);
    pipe_close(&f.d);
    free(f.in_host);
    free(f.want);
    free(f.got);
}
