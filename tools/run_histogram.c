/* run_histogram.c -- fgs run --pipeline histogram: temperatures by bin */
#include "run_pipeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_OF_SM = 4, REST = 3 }; /* REST: below, above, NaN             */

static const char *const stems[][2] = {
    {"shared", "histogram"}, {"global", "histogram_global"},
    {"global_gpu", "histogram_global_gpu"}, {"direct", "histogram_direct"},
};

int histogram_check(struct pipeline_asked *a)
{
    char *end = NULL;
    double width = 10;

    if (!a->bins)
        a->bins = 100;
    if (a->width_text) {
        width = strtod(a->width_text, &end);
        if (end == a->width_text || *end || !((float)width > 0) ||
            !isfinite((float)width))
            return usage_error("run", "--width: \"%s\" is no positive number",
                               a->width_text);
    }
    a->width = (float)width;
    if (!a->private_name)
        a->private_name = "shared";
    if (!a->values)
        a->values = "uniform";
    if (!a->count)
        a->count = a->tiles * TILE_ELEMENTS;
    if (a->count > a->tiles * TILE_ELEMENTS)
        return usage_error("run", "--count: %" PRIu64 " tiles have %" PRIu64
                           " values, not %" PRIu64, a->tiles,
                           a->tiles * TILE_ELEMENTS, a->count);
    return -1;
}

/* Half of the temperatures, which the producer doubles; every 61st is outside,
 * or none at all. */
void histogram_values(const struct pipeline_asked *a, uint32_t *in)
{
    static const uint32_t odd[] = {0x7fc00000, 0xbf800000, 0x7f000000,
                                   0xff800000, 0x7f800000, 0x80000000};
    float most = a->width * (float)a->bins / 2;
    uint64_t i, x = a->seed * 0x9e3779b97f4a7c15u + 1;

    for (i = 0; i < a->tiles * TILE_ELEMENTS; i++) {
        float u, v;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        u = (float)(x >> 40) / (float)(1 << 24);
        v = *a->values == 'u' ? u : *a->values == 's' ? u * u * u * u : 0.5f;
        v *= most;
        memcpy(&in[i], &v, sizeof v);
        if (i % 61 == 60 && *a->values != 'e')
            in[i] = odd[i / 61 % 6];
    }
}

struct histogram {
    struct pipeline_hand h;
    pipe_addr hist, own;
    uint64_t *want, *got, slots;
    unsigned blocks, shared;
};

/* A block's histogram lies in its shared memory, or in memory of its own. */
static bool make(const struct pipeline_asked *a, struct histogram *g,
                 struct pipeline_done *d)
{
    const char *stem = NULL;
    uint64_t each;
    size_t i;

    for (i = 0; i < sizeof stems / sizeof stems[0]; i++)
        if (!strcmp(stems[i][0], a->private_name))
            stem = stems[i][1];
    g->slots = a->bins + REST;
    g->blocks = (unsigned)(a->blocks_given ? a->blocks
                                           : (unsigned)g->h.d.sms *
                                                 BLOCKS_OF_SM);
    if (!a->blocks_given && g->blocks > a->tiles)
        g->blocks = (unsigned)a->tiles;
    each = (a->count / g->blocks / 4 + a->threads) * 4;
    if (each > UINT32_MAX)
        return pipeline_failed(d, FGS_E_SIZE, "%" PRIu64 " values a block: its "
                               "counters have 32 bits; take more --blocks",
                               each);
    g->shared = strcmp(a->private_name, "shared") ? 0
                                                  : (unsigned)(4 * g->slots);
    if (g->slots * 4 + 64 > (unsigned)g->h.d.block_shared && g->shared)
        return pipeline_failed(d, FGS_E_SIZE, "%" PRIu64 " bins do not fit "
                               "into the %d bytes of shared memory of a "
                               "block; take --private global", a->bins,
                               g->h.d.block_shared);
    g->want = calloc(g->slots, sizeof *g->want);
    g->got = calloc(g->slots, sizeof *g->got);
    g->h.host_in = calloc(a->tiles * TILE_ELEMENTS, sizeof *g->h.host_in);
    if (!g->want || !g->got || !g->h.host_in)
        return pipeline_failed(d, FGS_E_NOMEM, "no memory");
    if (!pipeline_load(a, &g->h, stem, &g->h.consume) ||
        !pipe_memory(&g->h.d, &g->hist, g->slots * sizeof *g->got) ||
        !pipe_memory(&g->h.d, &g->own, g->slots * 4 * g->blocks))
        return pipeline_broke(d, &g->h.d);
    return true;
}

/* What must come of it. */
static bool expect(const struct pipeline_asked *a, struct histogram *g,
                   struct pipeline_done *d)
{
    float *values = malloc(a->tiles * TILE_BYTES);

    if (!values)
        return pipeline_failed(d, FGS_E_NOMEM, "no memory");
    histogram_values(a, g->h.host_in);
    fgs_ref_produce(FGS_ELEMENT_F32, FGS_SATURATE_REFUSE, g->h.host_in, values,
                    a->tiles * TILE_ELEMENTS, NULL);
    fgs_ref_histogram(values, a->count, (uint32_t)a->bins, a->width, g->want);
    free(values);
    return true;
}

static bool launch(const struct pipeline_asked *a, struct histogram *g)
{
    struct pipe_arg args[PIPELINE_ARGS];
    struct pipe_launch l = {.blocks = g->blocks, .args = args,
                            .threads = (unsigned)a->threads,
                            .shared = g->shared,
                            .pdl = g->h.d.info.cc >= 90};
    struct pipe_arg own[] = {
        {"p_count", a->count, NULL}, {"p_hist", g->hist, NULL},
        {"p_private", g->own, NULL}, {"p_bins", a->bins, NULL},
        {"p_width", 0, &a->width}, {NULL, 0, NULL},
    };

    pipeline_args(a, &g->h, args);
    args[0].value = g->h.board + FGS_BOARD_CONSUMER;
    memcpy(args + PIPELINE_COMMON, own, sizeof own);
    return pipe_fill(&g->h.d, g->hist, 0, g->slots * sizeof *g->got) &&
           pipeline_produce(a, &g->h) &&
           pipe_run(&g->h.d, &g->h.consume, &l);
}

static bool run_round(const struct pipeline_asked *a, struct histogram *g,
                      struct pipeline_done *d)
{
    uint64_t i, first = 0;

    if (!launch(a, g))
        return pipeline_broke(d, &g->h.d);
    if (!pipeline_read(a, &g->h, d))
        return false;
    if (!pipe_get(&g->h.d, g->got, g->hist, g->slots * sizeof *g->got))
        return pipeline_broke(d, &g->h.d);
    for (i = 0; i < g->slots; i++)
        if (g->got[i] != g->want[i] && !d->mismatches++)
            first = i;
    d->digest = values_digest(g->got, g->slots * sizeof *g->got);
    d->verified = true;
    d->rounds += !d->mismatches;
    return !d->mismatches ||
           pipeline_failed(d, FGS_E_MISMATCH, "%" PRIu64 " slots are wrong; "
                           "the first is %" PRIu64 ": %" PRIu64 " in place of "
                           "%" PRIu64, d->mismatches, first, g->got[first],
                           g->want[first]);
}

void histogram_run(const struct pipeline_asked *a, struct pipeline_done *d)
{
    struct histogram g = {.hist = 0};
    uint64_t i;
    bool good = pipeline_open(a, &g.h.d, d);

    if (good)
        good = make(a, &g, d) && expect(a, &g, d) &&
               pipeline_make_ends(a, &g.h, d);
    for (i = 0; good && i < a->rounds; i++)
        good = run_round(a, &g, d);
    d->ok = good;
    pipeline_tell(d, "bins", a->bins);
    pipeline_tell(d, "blocks", g.blocks);
    if (d->verified) {
        pipeline_tell(d, "below", g.got[a->bins]);
        pipeline_tell(d, "above", g.got[a->bins + 1]);
        pipeline_tell(d, "nan", g.got[a->bins + 2]);
    }
    pipe_free(&g.h.d, &g.hist);
    pipe_free(&g.h.d, &g.own);
    pipeline_drop(&g.h);
    free(g.want);
    free(g.got);
}
