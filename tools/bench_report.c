/* bench_report.c -- fgs bench: the guide's example, launches */
#include "bench.h"

#include <fgs/fgs_sim.h>

#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------- the example -- */

/*
 * Thread-instructions for each chunk of 16 bytes, counted in the texts as
 * `fgs ptx` prints them, along the way of a thread that is not the first of
 * its block, finds the tile ready and has statistics: a round of
 * sentinel_fill's loop; scale_produce and report_consume from the first
 * instruction to the last, as a thread has one chunk.  (A count of all that the
 * device executes gave 175.8: waits that are looked at again, first threads,
 * what the fill does before its loop.)  Global bytes: the fill's store, the
 * producer's load and store, the bulk copy's read, the consumer's store.
 */
enum { FILL = 7, PRODUCE = 78, CONSUME = 85, GLOBAL_CHUNKS = 5 };

struct example {
    fgs_device *dev;
    fgs_kernel *kernel[3];
    fgs_buffer *in, *mid, *out;
    fgs_plan *plan;
    uint32_t rounds;
    fgs_error *err;
};

static fgs_result open_example(struct example *e, uint32_t threads,
                               uint64_t tiles)
{
    static const fgs_role roles[] = {FGS_ROLE_INIT, FGS_ROLE_PRODUCER,
                                     FGS_ROLE_CONSUMER};
    fgs_sim_config cfg = {.size = sizeof cfg};
    fgs_device_opts opts = {.size = sizeof opts, .provider = "sim"};
    fgs_buffer_desc buf = {.size = sizeof buf, .tile_bytes = TILE_BYTES};
    fgs_plan_desc plan = {.size = sizeof plan};
    fgs_buffer **const to[] = {&e->in, &e->mid, &e->out};
    fgs_result r = fgs_sim_config_get(&cfg, e->err);
    int k;

    cfg.threads = threads;
    if (r == FGS_OK)
        r = fgs_sim_config_set(&cfg, e->err);
    if (r == FGS_OK)
        r = fgs_device_open(&e->dev, &opts, e->err);
    buf.tiles = tiles;
    for (k = 0; k < 3 && r == FGS_OK; k++)
        r = fgs_buffer_make(to[k], e->dev, &buf, e->err);
    for (k = 0; k < 3 && r == FGS_OK; k++) {
        fgs_kernel_desc d = {.size = sizeof d, .role = roles[k]};

        if (roles[k] == FGS_ROLE_CONSUMER)
            r = fgs_engine_find("report", &d.engine);
        if (r == FGS_OK)
            r = fgs_kernel_make(&e->kernel[k], e->dev, &d, e->err);
    }
    plan.init = e->kernel[0];
    plan.producer = e->kernel[1];
    plan.consumer = e->kernel[2];
    plan.in = e->in;
    plan.mid = e->mid;
    plan.out = e->out;
    return r ? r : fgs_plan_make(&e->plan, e->dev, &plan, e->err);
}

static void close_example(struct example *e)
{
    int k;

    fgs_plan_free(e->plan);
    for (k = 2; k >= 0; k--)
        fgs_kernel_free(e->kernel[k]);
    fgs_buffer_free(e->out);
    fgs_buffer_free(e->mid);
    fgs_buffer_free(e->in);
    fgs_device_close(e->dev);
}

static bool run_example(void *cookie)
{
    struct example *e = cookie;

    return fgs_plan_run(e->plan, NULL, e->rounds, e->err) == FGS_OK &&
           fgs_plan_wait(e->plan, e->err) == FGS_OK;
}

/* The result, checked once: a fast wrong example is none. */
static bool check_example(struct example *e, const uint32_t *in, uint64_t tiles)
{
    uint64_t count = tiles * TILE_ELEMENTS;
    uint32_t *want = malloc(tiles * TILE_BYTES);
    uint32_t *out = malloc(tiles * TILE_BYTES);
    bool good = want && out;

    if (good) {
        fgs_ref_produce(FGS_ELEMENT_F32, FGS_SATURATE_REFUSE, in, out, count,
                        NULL);
        fgs_ref_consume(FGS_ELEMENT_F32, out, want, tiles, TILE_BYTES);
        good = fgs_buffer_read(e->out, 0, out, tiles * TILE_BYTES, e->err) ==
                   FGS_OK &&
               !memcmp(want, out, tiles * TILE_BYTES);
    }
    if (!good && !e->err->text[0])
        snprintf(e->err->text, sizeof e->err->text, "the result is wrong");
    free(out);
    free(want);
    return good;
}

bool bench_example(const struct bench_asked *a, uint32_t threads,
                   struct bench_example *x, struct bench_time *t,
                   fgs_error *err)
{
    struct example e = {.err = err, .rounds = 1};
    uint32_t *in = malloc(x->tiles * TILE_BYTES);
    double began, one, chunks = (double)(x->tiles * TILE_CHUNKS);
    bool good = false;

    memset(err, 0, sizeof *err);
    if (!in)
        return false;
    values_make(in, x->tiles * TILE_ELEMENTS, 1);
    if (open_example(&e, threads, x->tiles) < 0 ||
        fgs_buffer_write(e.in, 0, in, x->tiles * TILE_BYTES, err) < 0 ||
        !run_example(&e) || !check_example(&e, in, x->tiles))
        goto end;
    began = bench_cpu_seconds();
    if (!run_example(&e))
        goto end;
    one = bench_cpu_seconds() - began;
    e.rounds = (uint32_t)((double)a->ms / 1000 / (one > 1e-6 ? one : 1e-6)) + 1;
    good = bench_time(a, run_example, &e, t);
    x->rounds = e.rounds;
    x->instructions = chunks * (FILL + PRODUCE + CONSUME);
    x->bytes = chunks * 16 * GLOBAL_CHUNKS;
end:
    close_example(&e);
    free(in);
    return good;
}

/* ------------------------------------------------------------ launches -- */

enum { LAUNCHES = 2000, WAITS = 200 };

static bool launch_many(void *cookie)
{
    int k;

    for (k = 0; k < LAUNCHES; k++)
        if (!bench_launch(cookie, 1, 32, 0))
            return false;
    return bench_wait(cookie);
}

static bool launch_and_wait(void *cookie)
{
    int k;

    for (k = 0; k < WAITS; k++)
        if (!bench_launch(cookie, 1, 32, 0) || !bench_wait(cookie))
            return false;
    return true;
}

bool bench_launches(const struct bench_asked *a, struct bench_device *d,
                    double *each, double *waited)
{
    static const char text[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n"
        "{ ret; }\n";
    struct bench_time t;
    bool good;

    good = bench_load(d, text, "k") && bench_time(a, launch_many, d, &t);
    if (good) {
        *each = t.wall / LAUNCHES;
        good = bench_time(a, launch_and_wait, d, &t);
        *waited = t.wall / WAITS;
    }
    bench_unload(d);
    return good;
}
