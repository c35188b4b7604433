/* bench_histogram.c -- fgs bench histogram: what privatization saves */
#include "bench_cub.h"
#include "bench_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char usage_histogram[] =
    "usage: fgs bench histogram [OPTION]...\n"
    "\n"
    "The same histogram, each verified, then in turn: an atomic of device\n"
    "scope for each value (direct), a histogram a block in global memory by\n"
    "atomics of device scope (global_gpu) and of block scope (global), and in\n"
    "shared memory (shared); for uniform, skewed and all-equal values. Beside\n"
    "them CUB's DeviceHistogram (cub), where `make cub` was and FGS_CUB, else\n"
    "build/cub/libfgs_cub.so, has it.\n"
    "\n"
    "  --provider cuda|sim  default: a GPU where there is one\n"
    "  --count N    values (default 64 Mi; software device 64 Ki)\n"
    "  --bins N     of width 10 (default 100)\n"
    "  --repeat N   launches of each (default 51; software device 3)\n"
    "  --json       as JSON\n"
    "\n"
    "Exit: 0 measured, 1 failed or wrong data, 2 wrong usage, 77 no device.\n";

enum { BLOCKS_OF_SM = 8, REST = 3 };
static const float width = 10;

struct histogram {
    pipe_addr in, hist, own, board, rec_at, counts, temp;
    void *rec;
    uint64_t count, bins, *want, *got;
    float *host;
    unsigned blocks;
    struct bench_cub cub;
    size_t temp_bytes;
    uint32_t *narrow; /* CUB's counts                                        */
};

static bool is_cub(const struct bench_row *r)
{
    return !strcmp(r->name, "cub");
}

/* In the same stream and context, over the same values. */
static bool launch_cub(struct bench_rows *b, struct histogram *h, void *temp)
{
    int code = h->cub.histogram(temp, &h->temp_bytes,
                                (const float *)(uintptr_t)h->in,
                                (uint32_t *)(uintptr_t)h->counts,
                                (uint32_t)h->bins, width, (uint32_t)h->count,
                                NULL);

    return bench_cub_good(&h->cub, code, b->d.why, sizeof b->d.why);
}

static bool launch(struct bench_rows *b, struct bench_row *r)
{
    struct histogram *h = b->cookie;
    const struct pipe_arg args[] = {
        {"p_mid", h->in, NULL}, {"p_count", h->count, NULL},
        {"p_hist", h->hist, NULL}, {"p_private", h->own, NULL},
        {"p_ctl", h->board, NULL}, {"p_rec", h->rec_at, NULL},
        {"p_bins", h->bins, NULL}, {"p_width", 0, &width}, {NULL, 0, NULL},
    };
    struct pipe_launch l = {.blocks = h->blocks, .threads = 256,
                            .args = args};

    if (is_cub(r))
        return launch_cub(b, h, (void *)(uintptr_t)h->temp);
    if (!strcmp(r->name, "shared"))
        l.shared = (unsigned)(4 * (h->bins + REST));
    return pipe_run(&b->d, &r->k, &l);
}

/* Counters are added to: those of one launch are the difference. */
static bool verify(struct bench_rows *b, struct bench_row *r)
{
    struct histogram *h = b->cookie;
    size_t bytes = (h->bins + REST) * sizeof *h->got;
    bool good = pipe_get(&b->d, h->got, h->hist, bytes);
    uint64_t i;

    if (is_cub(r)) {
        good = good && pipe_get(&b->d, h->narrow, h->counts, h->bins * 4);
        for (i = 0; i < h->bins; i++)
            h->got[i] = h->narrow[i];
    }
    if (!good)
        snprintf(r->why, sizeof r->why, "%.590s", b->d.why);
    else if (memcmp(h->got, h->want, bytes)) {
        snprintf(r->why, sizeof r->why, "its result is wrong");
        good = false;
    }
    return pipe_fill(&b->d, h->hist, 0, bytes) && good;
}

static bool fill(struct bench_rows *b, struct histogram *h, char kind)
{
    float most = width * (float)h->bins;
    uint64_t i, x = 88172645463325252u;

    for (i = 0; i < h->count; i++) {
        float u;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        u = (float)(x >> 40) / (float)(1 << 24);
        u = most * (kind == 'u' ? u : kind == 's' ? u * u * u * u : 0.5f);
        /* A quarter off any bin's bounds: CUB multiplies by 1 / width, which
         * may round to the bin beside where the quotient does not. */
        h->host[i] = (float)(uint32_t)(2 * u) / 2 + 0.25f;
    }
    memset(h->want, 0, (h->bins + REST) * sizeof *h->want);
    fgs_ref_histogram(h->host, h->count, (uint32_t)h->bins, width, h->want);
    return pipe_put(&b->d, h->in, h->host, h->count * 4) &&
           pipe_fill(&b->d, h->hist, 0, (h->bins + REST) * sizeof *h->want);
}

static void load_cub(struct bench_rows *b)
{
    static const char what[] = "CUB's DeviceHistogram::HistogramEven";
    struct histogram *h = b->cookie;
    char why[600] = "";
    bool there = h->cub.error ||
                 bench_cub_open(&h->cub, b->d.provider, why, sizeof why);

    if (there && !h->temp) {
        there = h->count <= INT32_MAX && launch_cub(b, h, NULL) &&
                pipe_memory(&b->d, &h->temp, h->temp_bytes);
        snprintf(why, sizeof why, "%.590s", h->count > INT32_MAX
                 ? "it takes 2^31 - 1 values at most" : b->d.why);
    }
    if (there)
        bench_rows_other(b, "cub", what);
    else
        bench_rows_absent(b, "cub", what, why);
}

static void load(struct bench_rows *b)
{
    static const struct {
        const char *name, *what, *stem;
    } rows[] = {
        {"direct", "a device-scope atomic a value", "histogram_direct"},
        {"global_gpu", "private in global memory, device scope",
         "histogram_global_gpu"},
        {"global", "private in global memory, block scope",
         "histogram_global"},
        {"shared", "private in shared memory, block scope", "histogram"},
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fgs_ptx_desc d = {.size = sizeof d, .stem = rows[i].stem};

        bench_rows_stem(b, rows[i].name, rows[i].what, &d);
    }
    load_cub(b);
}

static bool make(struct bench_rows *b, struct histogram *h)
{
    uint64_t slots = h->bins + REST;

    h->blocks = (unsigned)b->d.sms * BLOCKS_OF_SM;
    h->host = malloc(h->count * 4);
    h->want = calloc(slots, sizeof *h->want);
    h->got = calloc(slots, sizeof *h->got);
    h->narrow = calloc(slots, sizeof *h->narrow);
    if (!h->host || !h->want || !h->got || !h->narrow) {
        snprintf(b->d.why, sizeof b->d.why, "no memory");
        return false;
    }
    return pipe_memory(&b->d, &h->in, (h->count + 3) / 4 * 16) &&
           pipe_fill(&b->d, h->in, 0, (h->count + 3) / 4 * 16) &&
           pipe_memory(&b->d, &h->hist, slots * sizeof *h->got) &&
           pipe_memory(&b->d, &h->own, slots * 4 * h->blocks) &&
           pipe_memory(&b->d, &h->counts, slots * 4) &&
           pipe_memory(&b->d, &h->board, FGS_BOARD_BYTES) &&
           pipe_fill(&b->d, h->board, 0, FGS_BOARD_BYTES) &&
           pipe_host(&b->d, &h->rec, &h->rec_at, FGS_RECORD_BYTES);
}

static int measure(struct bench_rows *b, struct histogram *h, bool as_json)
{
    static const char *const kinds[] = {"uniform", "skewed", "equal"};
    struct json j = {.to = stdout};
    unsigned i, k, wrong = 0;
    bool good = make(b, h);

    if (as_json) {
        json_open(&j, NULL, '{');
        json_text(&j, "device", b->d.info.name);
        json_number(&j, "values", h->count);
        json_number(&j, "bins", h->bins);
        json_number(&j, "repeat", b->repeat);
    }
    for (k = 0; good && k < 3; k++) {
        b->count = 0;
        load(b);
        good = fill(b, h, *kinds[k]) && bench_rows_run(b);
        for (i = 0; good && i < b->count; i++)
            wrong += !b->row[i].there && strstr(b->row[i].why, "wrong");
        if (good && as_json) {
            json_open(&j, kinds[k], '{');
            bench_rows_json(b, &j);
            json_close(&j, '}');
        } else if (good) {
            printf("%s, %" PRIu64 " values, %" PRIu64 " bins\n", kinds[k],
                   h->count, h->bins);
            bench_rows_print(b);
        }
        bench_rows_free(b);
    }
    if (as_json)
        json_close(&j, '}');
    if (!good)
        return failure("bench", "%s", b->d.why);
    return wrong ? EXIT_BAD : EXIT_GOOD;
}

int bench_histogram(int argc, char **argv)
{
    static const struct verb verb = {"bench histogram", NULL, usage_histogram,
                                     NULL};
    struct histogram h = {.bins = 100};
    struct bench_rows b = {.verb = "histogram", .launch = launch,
                           .verify = verify, .cookie = &h};
    const char *provider = NULL;
    bool json = false, sim;
    const struct opt table[] = {
        {"--provider", OPT_TEXT, &provider, 0, 0, "cuda|sim", NULL},
        {"--count", OPT_NUMBER, &h.count, 1, UINT32_MAX, NULL, NULL},
        {"--bins", OPT_NUMBER, &h.bins, 1, 50000, NULL, NULL},
        {"--repeat", OPT_NUMBER, &b.repeat, 1, 100000, NULL, NULL},
        {"--json", OPT_FLAG, &json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands, code = opt_parse(&verb, argc, argv, table, &operands);

    if (code >= 0)
        return code;
    if (operands)
        return usage_error("bench", "histogram: \"%s\" is not expected",
                           argv[1]);
    code = pipe_open(&b.d, "bench", provider, 0);
    sim = !strcmp(b.d.provider, "sim");
    if (!h.count)
        h.count = UINT64_C(1) << (sim ? 16 : 26);
    if (!b.repeat)
        b.repeat = sim ? 3 : 51;
    b.bytes = h.count * 4;
    if (!code)
        code = measure(&b, &h, json);
    pipe_free(&b.d, &h.in);
    pipe_free(&b.d, &h.hist);
    pipe_free(&b.d, &h.own);
    pipe_free(&b.d, &h.counts);
    pipe_free(&b.d, &h.temp);
    pipe_free(&b.d, &h.board);
    pipe_host_free(&b.d, h.rec);
    pipe_close(&b.d);
    free(h.host);
    free(h.want);
    free(h.got);
    free(h.narrow);
    return code;
}
