/* bench_chain.c -- fgs bench chain: a chain of heavy kernels by every order
 *
 * Which order is best depends on the last wave of each grid: where it leaves
 * SMs idle, blocks of the next grid that start early fill them; where it does
 * not, they wait on SMs that have work.  So it is measured at a wave and a half
 * and at exactly one, all orders in one run, one after the other again and
 * again, so that what drifts drifts for all.
 */
#include "bench.h"
#include "plan_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char usage_bench_chain[] =
    "usage: fgs bench chain [OPTION]...\n"
    "\n"
    "Run a chain of grids whose blocks take much shared memory and uneven\n"
    "times, at one and a half waves and at exactly one, under each order and\n"
    "auto; print the medians of the time from the first block's start to the\n"
    "last one's end, and how much faster than by stream order that is.\n"
    "\n"
    "  --provider cuda|sim  a GPU or the software device\n"
    "  --device N           its N-th device (default 0)\n"
    "  --engine NAME        of stages ordered by the sentinel (default auto)\n"
    "  --stages N           relays behind the producer (default 20)\n"
    "  --shared BYTES       dynamic, of a block (default 102400)\n"
    "  --work-ns N          least time of a block (default 12000)\n"
    "  --spread-ns N        and up to that more, by block (default 16000)\n"
    "  --tile BYTES         (default 4096)\n"
    "  --repeat N           runs of each (default 15)\n"
    "  --json               as JSON\n"
    "\n"
    "Exit: 0 measured and verified, 1 failed, 2 wrong usage, 77 no device.\n";

enum { ORDERS = 5, SHAPES = 2, REPEATS = 1000 };

static const char *const orders[ORDERS] = {"stream", "pdl", "flag", "sentinel",
                                           "auto"};
/* Half waves. */
static const uint64_t halves[SHAPES] = {3, 2};

struct chain_asked {
    struct plan_asked plan;
    const char *engine;
    uint64_t stages, shared, work_ns, spread_ns, tile, repeat;
    bool json;
};

/* A chain by one order. */
struct chain {
    struct plan_file f;
    struct plan_parts p;
    uint64_t ns[REPEATS];   /* of a stage, each run                          */
    char taken[16];         /* "mixed" where edges differ                    */
    char why[256];          /* it was not run                                */
};

struct bench {
    const struct chain_asked *a;
    struct chain chain[SHAPES][ORDERS];
    fgs_device_info info;
    uint64_t wave;          /* blocks that the device holds                  */
    bool bad;
};

/* ------------------------------------------------------------ the chain -- */

static int make_file(const struct chain_asked *a, uint64_t tiles,
                     struct plan_file *f)
{
    char text[1024];
    int n = snprintf(text, sizeof text,
                     "default buffer tiles %" PRIu64 " tile-bytes %" PRIu64 "\n"
                     "default stage shared %" PRIu64 " work-ns %" PRIu64
                     " spread-ns %" PRIu64 "\n"
                     "plan rounds 2\n"
                     "buffer in\n"
                     "buffer b0\n"
                     "stage s0 produce in -> b0\n"
                     "repeat i 1 %" PRIu64 "\n"
                     "buffer b{i}\n"
                     "stage s{i} relay b{i-1} -> b{i}\n"
                     "end\n",
                     tiles, a->tile, a->shared, a->work_ns, a->spread_ns,
                     a->stages);

    return plan_read_text("chain", text, (size_t)n, f);
}

static bool make_chain(struct bench *b, uint64_t tiles, const char *order,
                       struct chain *c)
{
    struct plan_asked asked = b->a->plan;
    fgs_error err;
    fgs_result r;

    asked.order = order;
    asked.receipt = 1;
    asked.quiet = b->wave > 0; /* the first one said it                    */
    if (make_file(b->a, tiles, &c->f) != EXIT_GOOD)
        return false;
    r = plan_parts_make(&c->p, &c->f, &asked, &err);
    if (r == FGS_OK)
        r = plan_parts_compose(&c->p, &err);
    if (r < 0)
        snprintf(c->why, sizeof c->why, "%.250s", err.text);
    return r == FGS_OK;
}

static void drop_chain(struct chain *c)
{
    if (c->f.stages)
        plan_parts_free(&c->p);
    plan_drop(&c->f);
}

typedef int (*occupancy_fn)(int *, CUfunction, int, size_t);
typedef int (*set_fn)(CUfunction, int, int);

static bool find_calls(struct plan_parts *p, occupancy_fn *occupancy,
                       set_fn *set)
{
    void *o = fgs_device_get_proc(
        p->dev, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    void *s = fgs_device_get_proc(p->dev, "cuFuncSetAttribute");

    memcpy(occupancy, &o, sizeof o);
    memcpy(set, &s, sizeof s);
    return o && s;
}

/* Blocks that the device holds of the kernel that it holds the fewest of.  A
 * function has to be allowed so much shared memory first. */
static bool find_wave(struct bench *b, struct plan_parts *p, fgs_error *err)
{
    enum { MAX_DYNAMIC_SHARED = 8 };
    occupancy_fn occupancy;
    set_fn set;
    fgs_kernel_info k;
    uint32_t i;
    int n, least = INT32_MAX;

    if (!find_calls(p, &occupancy, &set)) {
        snprintf(err->text, sizeof err->text, "the driver tells no occupancy");
        return false;
    }
    for (i = 0; i < p->kernel_count; i++) {
        CUfunction f = fgs_kernel_get_function(p->kernels[i].kernel);
        uint64_t shared = b->a->shared;

        k.size = sizeof k;
        if (fgs_kernel_get_info(p->kernels[i].kernel, &k) < 0)
            continue;
        if (shared < k.shared_bytes)
            shared = k.shared_bytes;
        n = 0;
        if (set(f, MAX_DYNAMIC_SHARED, (int)shared) ||
            occupancy(&n, f, (int)k.threads, shared) || !n) {
            snprintf(err->text, sizeof err->text,
                     "%s: no block of it fits with %" PRIu64
                     " bytes of shared memory",
                     k.entry, shared);
            return false;
        }
        least = n < least ? n : least;
    }
    b->wave = (uint64_t)least * (uint64_t)p->info.sm_count;
    return true;
}

static int look(struct bench *b)
{
    struct chain *c = &b->chain[0][0];
    fgs_error err = {0};
    bool good = make_chain(b, 16, "stream", c);
    int code = EXIT_GOOD;

    if (good) {
        b->info = c->p.info;
        good = plan_context(&c->p, &err) == FGS_OK &&
               find_wave(b, &c->p, &err);
    }
    if (!good)
        code = failure("bench", "%s", c->why[0] ? c->why : err.text);
    drop_chain(c);
    memset(c, 0, sizeof *c);
    return code;
}

/* ------------------------------------------------------------- measuring -- */

/* From the first block's start to the last one's end in the last round. */
static uint64_t elapsed_of(const struct chain *c)
{
    fgs_stage_info s = {.size = sizeof s};
    fgs_plan_info info = {.size = sizeof info};
    uint64_t first = UINT64_MAX, last = 0;
    uint32_t i;

    fgs_plan_get_info(c->p.plan, &info, NULL);
    for (i = 0; i < info.stages; i++) {
        if (fgs_plan_get_stage(c->p.plan, i, &s, NULL) < 0 || !s.first_ns)
            continue;
        first = s.first_ns < first ? s.first_ns : first;
        last = s.last_ns > last ? s.last_ns : last;
    }
    return last > first ? last - first : 0;
}

static void look_at_orders(struct chain *c)
{
    fgs_edge_info e = {.size = sizeof e};
    fgs_plan_info info = {.size = sizeof info};
    uint32_t i;

    fgs_plan_get_info(c->p.plan, &info, NULL);
    for (i = 0; i < info.edges; i++) {
        if (fgs_plan_get_edge(c->p.plan, i, &e, NULL) < 0)
            continue;
        if (i && strcmp(c->taken, fgs_order_name(e.taken))) {
            snprintf(c->taken, sizeof c->taken, "mixed");
            return;
        }
        snprintf(c->taken, sizeof c->taken, "%s", fgs_order_name(e.taken));
    }
}

/* The first run is verified; the others only have to end well. */
static void run_once(struct bench *b, struct chain *c, uint64_t k)
{
    struct plan_done d = {0};
    fgs_result r;

    if (!k) {
        look_at_orders(c);
        plan_verify(&c->p, (uint32_t)c->f.rounds, &d);
        r = d.ok ? FGS_OK : FGS_E_MISMATCH;
    } else {
        r = fgs_plan_run(c->p.plan, NULL, (uint32_t)c->f.rounds, &d.error);
        if (r == FGS_OK)
            r = fgs_plan_wait(c->p.plan, &d.error);
    }
    c->ns[k] = elapsed_of(c) / (b->a->stages + 1);
    if (r == FGS_OK)
        return;
    snprintf(c->why, sizeof c->why, "%.250s", d.error.text);
    b->bad = true;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void run_shape(struct bench *b, int shape)
{
    uint64_t tiles = b->wave * halves[shape] / 2, k;
    struct chain *c;
    int o;

    for (o = 0; o < ORDERS; o++)
        make_chain(b, tiles, orders[o], &b->chain[shape][o]);
    for (k = 0; k < b->a->repeat; k++)
        for (o = 0; o < ORDERS; o++)
            if (!b->chain[shape][o].why[0])
                run_once(b, &b->chain[shape][o], k);
    for (o = 0; o < ORDERS; o++) {
        c = &b->chain[shape][o];
        qsort(c->ns, b->a->repeat, sizeof *c->ns, by_size);
        drop_chain(c);
    }
}

/* ------------------------------------------------------------- printing -- */

static double median(const struct bench *b, int shape, int o)
{
    return (double)b->chain[shape][o].ns[b->a->repeat / 2] / 1000;
}

static void print_shape(const struct bench *b, int shape)
{
    uint64_t tiles = b->wave * halves[shape] / 2;
    int o;

    printf("\n%" PRIu64 ".%d waves, %" PRIu64 " blocks a grid\n"
           "%-10s %12s %10s  %s\n",
           halves[shape] / 2, halves[shape] % 2 ? 5 : 0, tiles, "order",
           "us a stage", "x stream", "taken");
    for (o = 0; o < ORDERS; o++) {
        const struct chain *c = &b->chain[shape][o];

        if (c->why[0])
            printf("%-10s %s\n", orders[o], c->why);
        else
            printf("%-10s %12.3f %10.3f  %s\n", orders[o], median(b, shape, o),
                   median(b, shape, o) > 0
                       ? median(b, shape, 0) / median(b, shape, o)
                       : 0,
                   c->taken);
    }
}

static void print_json(const struct bench *b)
{
    struct json j = {.to = stdout};
    int shape, o;

    json_open(&j, NULL, '{');
    json_text(&j, "provider", b->info.provider);
    json_text(&j, "device", b->info.name);
    json_number(&j, "stages", b->a->stages + 1);
    json_number(&j, "wave", b->wave);
    json_number(&j, "shared_bytes", b->a->shared);
    json_number(&j, "work_ns", b->a->work_ns);
    json_number(&j, "spread_ns", b->a->spread_ns);
    json_open(&j, "rows", '[');
    for (shape = 0; shape < SHAPES; shape++)
        for (o = 0; o < ORDERS; o++) {
            const struct chain *c = &b->chain[shape][o];

            json_open(&j, NULL, '{');
            json_number(&j, "blocks", b->wave * halves[shape] / 2);
            json_text(&j, "order", orders[o]);
            json_text(&j, "taken", c->taken);
            json_text(&j, "error", c->why[0] ? c->why : NULL);
            json_number(&j, "stage_ns", c->ns[b->a->repeat / 2]);
            json_number(&j, "least_ns", c->ns[0]);
            json_close(&j, '}');
        }
    json_close(&j, ']');
    json_close(&j, '}');
}

/* ----------------------------------------------------------------- verb -- */

static int run(const struct chain_asked *a)
{
    struct bench *b = calloc(1, sizeof *b);
    int shape, code;

    if (!b)
        return failure("bench", "no memory");
    b->a = a;
    code = look(b);
    if (code == EXIT_GOOD && !a->json)
        printf("%" PRIu64 " stages, %" PRIu64 " blocks at a time, %" PRIu64
               " to %" PRIu64 " ns a block, medians of %" PRIu64 " runs%s\n",
               a->stages + 1, b->wave, a->work_ns, a->work_ns + a->spread_ns,
               a->repeat,
               strcmp(b->info.provider, "sim") ? "" : "; times are virtual");
    for (shape = 0; code == EXIT_GOOD && shape < SHAPES; shape++) {
        run_shape(b, shape);
        if (!a->json)
            print_shape(b, shape);
    }
    if (code == EXIT_GOOD && a->json)
        print_json(b);
    if (b->bad)
        code = EXIT_BAD;
    free(b);
    return code;
}

int bench_chain(int argc, char **argv)
{
    struct chain_asked a = {.stages = 20, .shared = 102400, .work_ns = 12000,
                            .spread_ns = 16000, .tile = 4096, .repeat = 15};
    const struct verb chain = {"bench chain", "", usage_bench_chain, NULL};
    const struct opt table[] = {
        {"--provider", OPT_TEXT, &a.plan.provider, 0, 0, "cuda|sim", NULL},
        {"--device", OPT_NUMBER, &a.plan.ordinal, 0, INT32_MAX, NULL, NULL},
        {"--engine", OPT_TEXT, &a.engine, 0, 0, NULL, NULL},
        {"--stages", OPT_NUMBER, &a.stages, 1, 1000, NULL, NULL},
        {"--shared", OPT_NUMBER, &a.shared, 0, 1 << 20, NULL, NULL},
        {"--work-ns", OPT_NUMBER, &a.work_ns, 0, 1000000000, NULL, NULL},
        {"--spread-ns", OPT_NUMBER, &a.spread_ns, 0, 1000000000, NULL, NULL},
        {"--tile", OPT_NUMBER, &a.tile, 16, 1 << 20, NULL, NULL},
        {"--repeat", OPT_NUMBER, &a.repeat, 1, REPEATS, NULL, NULL},
        {"--json", OPT_FLAG, &a.json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands, code = opt_parse(&chain, argc, argv, table, &operands);

    if (code >= 0)
        return code;
    if (operands)
        return usage_error("bench", "chain: \"%s\" is not expected", argv[1]);
    if (a.engine && fgs_engine_find(a.engine, &a.plan.engine) < 0)
        return usage_error("bench", "--engine: \"%s\" is no engine", a.engine);
    return run(&a);
}
