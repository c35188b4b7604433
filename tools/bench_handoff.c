/* bench_handoff.c -- fgs bench handoff: one-way hand-off of a tile, measured */
#include "handoff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char usage_handoff[] =
    "usage: fgs bench handoff [OPTION]...\n"
    "\n"
    "Measure, on pairs of SMs, how long a 4096-byte tile takes from one\n"
    "resident block to another: from the block's first store until the other\n"
    "block has all of it.  Protocols in turn on each pair: flag (release\n"
    "fence, flag, acquire poll, load), poll and bulk (stores that are seen by\n"
    "their chunks).  Two blocks play ping-pong; half of a round, by the SM's\n"
    "clock, is one hand-off.  Each tile is used once a launch and filled with\n"
    "the sentinel between launches.\n"
    "\n"
    "  --provider cuda|sim  default: a GPU where there is one\n"
    "  --pairs N    pairs of SMs (default 1024; software device 8)\n"
    "  --rounds N   timed rounds of each launch (default 64; software device "
    "4)\n"
    "  --spread N   clocks: a sender works for 0 to N of them first, each\n"
    "               time another number, taken off the result (default 0: a\n"
    "               block answers at once, in step with its own wait)\n"
    "  --json       as JSON\n"
    "\n"
    "Exit: 0 measured, 1 failed or wrong data, 2 wrong usage, 77 no device.\n";

struct asked {
    const char *provider;
    uint64_t pairs, rounds, spread;
    bool given_pairs, given_rounds, json;
};

struct row {
    const struct handoff_protocol *p;
    struct handoff_kernel k;
    double *clocks; /* of one hand-off, a pair each                          */
    size_t count;
    double repeats; /* of all hand-offs                                      */
    char why[800];
};

struct bench {
    const struct asked *a;
    struct handoff_device d;
    struct row rows[HANDOFF_PROTOCOLS];
    uint32_t *ctl, *sms;
    uint32_t sm_count;
    double clocks, ns; /* of all timed rounds: the clock's rate              */
};

enum { WARM = 8, LIMIT = 1 << 21 };

static uint64_t word64(const uint32_t *w)
{
    return (uint64_t)w[1] << 32 | w[0];
}

static uint64_t side_word(const uint32_t *ctl, int side, int word)
{
    return word64(ctl + CTL_SIDE + side * 16 + word * 2);
}

/* One launch; false = it failed, row->why says why. */
static bool run_pair(struct bench *b, struct row *row, uint32_t there,
                     uint32_t back, bool count)
{
    struct handoff_run r = {there, back, (uint32_t)b->a->rounds + WARM, WARM,
                            (uint32_t)b->a->spread, LIMIT};
    double handoffs = 2.0 * (double)b->a->rounds, clocks;
    uint64_t waited;

    if (!handoff_launch(&b->d, &row->k, &r, b->ctl)) {
        snprintf(row->why, sizeof row->why, "%s", b->d.why);
        return false;
    }
    if (b->ctl[CTL_WRONG] || b->ctl[CTL_FAILED] ||
        !side_word(b->ctl, 0, SIDE_DONE) || !side_word(b->ctl, 1, SIDE_DONE)) {
        snprintf(row->why, sizeof row->why,
                 "SMs %" PRIu32 " and %" PRIu32 ": %s", there, back,
                 b->ctl[CTL_WRONG] ? "wrong data was received"
                                   : "a tile did not come");
        return false;
    }
    if (!count)
        return true;
    waited = side_word(b->ctl, 0, SIDE_WAITED) +
             side_word(b->ctl, 1, SIDE_WAITED);
    clocks = (double)side_word(b->ctl, 0, SIDE_CLOCKS);
    b->clocks += clocks;
    b->ns += (double)side_word(b->ctl, 0, SIDE_NS);
    row->clocks[row->count++] = (clocks - (double)waited) / handoffs;
    row->repeats += (double)(side_word(b->ctl, 0, SIDE_REPEATS) +
                             side_word(b->ctl, 1, SIDE_REPEATS)) / handoffs;
    return true;
}

/* All protocols on a pair. */
static void run_all(struct bench *b, uint32_t there, uint32_t back, bool count)
{
    int i;

    for (i = 0; i < HANDOFF_PROTOCOLS; i++)
        if (!b->rows[i].why[0])
            run_pair(b, &b->rows[i], there, back, count);
}

/* Which SMs there are: every block of a launch says where it ran. */
static bool find_sms(struct bench *b)
{
    struct handoff_run r = {UINT32_MAX, UINT32_MAX, WARM, 0, 0, LIMIT};
    uint32_t i, k;

    if (!handoff_launch(&b->d, &b->rows[0].k, &r, b->ctl))
        return false;
    for (i = 0; i < (uint32_t)b->d.info.sm_count; i++) {
        uint32_t sm = b->ctl[CTL_SMS + i];

        for (k = 0; k < b->sm_count && b->sms[k] != sm; k++)
            ;
        if (k == b->sm_count)
            b->sms[b->sm_count++] = sm;
    }
    if (b->sm_count >= 2)
        return true;
    snprintf(b->d.why, sizeof b->d.why, "two SMs are needed");
    return false;
}

/* The k-th of all unordered pairs of n. */
static void pair_at(uint64_t k, uint32_t n, uint32_t *x, uint32_t *y)
{
    uint32_t i = 0;

    while (k >= n - 1 - i) {
        k -= n - 1 - i;
        i++;
    }
    *x = i;
    *y = i + 1 + (uint32_t)k;
}

static uint64_t pairs_of(const struct bench *b)
{
    return (uint64_t)b->sm_count * (b->sm_count - 1) / 2;
}

/* Pairs all over the device, in both directions; the first ones once more
 * before, so that clocks and caches are as they stay. */
static void measure(struct bench *b)
{
    uint64_t all = pairs_of(b), n = b->a->pairs < all ? b->a->pairs : all, k;
    uint64_t warm = n / 64 + 1;
    uint32_t x, y;

    for (k = 0; k < n + warm; k++) {
        pair_at((k % n) * all / n, b->sm_count, &x, &y);
        x = b->sms[x];
        y = b->sms[y];
        run_all(b, k & 1 ? y : x, k & 1 ? x : y, k >= warm);
    }
}

/* -------------------------------------------------------------- results -- */

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

struct figures {
    double min, median, p90, max, repeats;
};

static bool figures(const struct bench *b, const struct row *row,
                    struct figures *f)
{
    double ns = b->clocks > 0 ? b->ns / b->clocks : 0;
    size_t n = row->count;

    if (row->why[0] || !n)
        return false;
    qsort(row->clocks, n, sizeof row->clocks[0], by_value);
    f->min = row->clocks[0] * ns;
    f->median = (row->clocks[n / 2] + row->clocks[(n - 1) / 2]) / 2 * ns;
    f->p90 = row->clocks[(n * 9 - 1) / 10] * ns;
    f->max = row->clocks[n - 1] * ns;
    f->repeats = row->repeats / (double)n;
    return true;
}

static void print_row(struct json *j, const struct row *row,
                      const struct figures *f, double to_flag)
{
    if (!j && f) {
        printf("%-10s %8.1f %8.1f %8.1f %8.1f", row->p->name, f->min,
               f->median, f->p90, f->max);
        if (to_flag > 0)
            printf(" %6.3f", to_flag);
        else
            printf("      -");
        printf(" %7.2f  %s\n", f->repeats, row->p->what);
        return;
    }
    if (!j) {
        printf("%-10s %s: %s\n", row->p->name, row->p->what, row->why);
        return;
    }
    json_open(j, NULL, '{');
    json_text(j, "name", row->p->name);
    json_text(j, "what", row->p->what);
    if (f) {
        json_number(j, "pairs", row->count);
        json_number(j, "min_ps", (uint64_t)(f->min * 1e3));
        json_number(j, "median_ps", (uint64_t)(f->median * 1e3));
        json_number(j, "p90_ps", (uint64_t)(f->p90 * 1e3));
        json_number(j, "max_ps", (uint64_t)(f->max * 1e3));
        if (to_flag > 0)
            json_number(j, "to_flag_permille",
                        (uint64_t)(to_flag * 1e3 + 0.5));
        json_number(j, "repeats_percent", (uint64_t)(f->repeats * 100));
    } else {
        json_text(j, "error", row->why);
    }
    json_close(j, '}');
}

static void print_head(const struct bench *b, struct json *j, bool is_virtual)
{
    uint64_t mhz = b->ns > 0 ? (uint64_t)(b->clocks / b->ns * 1e3 + 0.5) : 0;

    if (j) {
        json_text(j, "provider", b->d.info.provider);
        json_text(j, "device", b->d.info.name);
        json_bool(j, "times_are_virtual", is_virtual);
        json_number(j, "sms", b->sm_count);
        json_number(j, "tile_bytes", HANDOFF_TILE);
        json_number(j, "rounds", b->a->rounds);
        json_number(j, "spread_clocks", b->a->spread);
        json_number(j, "clock_mhz", mhz);
        json_open(j, "rows", '[');
        return;
    }
    printf("%d-byte tile, %zu of %" PRIu64 " pairs of SMs, %" PRIu64
           " rounds each, spread %" PRIu64 " clocks, clock %" PRIu64 " MHz\n",
           HANDOFF_TILE, b->rows[0].count, pairs_of(b), b->a->rounds,
           b->a->spread, mhz);
    if (is_virtual)
        puts("times are the software device's virtual ones: they say nothing "
             "of a GPU");
    printf("\n%-10s %8s %8s %8s %8s %6s %7s\n", "ns", "min", "median", "p90",
           "max", "/flag", "repeats");
}

static int print(struct bench *b)
{
    struct json out = {.to = stdout}, *j = b->a->json ? &out : NULL;
    bool is_virtual = !strcmp(b->d.info.provider, "sim"), is_bad = false;
    struct figures f;
    double flag = 0;
    int i;

    if (j)
        json_open(j, NULL, '{');
    print_head(b, j, is_virtual);
    for (i = 0; i < HANDOFF_PROTOCOLS; i++) {
        bool has = figures(b, &b->rows[i], &f);

        if (!i && has)
            flag = f.median;
        /* what the device has not is said, and no failure */
        is_bad = is_bad || (!has && b->d.info.cc >= b->rows[i].p->cc);
        print_row(j, &b->rows[i], has ? &f : NULL,
                  flag > 0 && has ? f.median / flag : 0);
    }
    if (j) {
        json_close(j, ']');
        json_close(j, '}');
    }
    return is_bad ? EXIT_BAD : EXIT_GOOD;
}

static int prepare(struct bench *b)
{
    int i;

    b->ctl = malloc(handoff_ctl_bytes(&b->d));
    b->sms = malloc(handoff_ctl_bytes(&b->d));
    if (!b->ctl || !b->sms)
        return failure("bench", "no memory");
    for (i = 0; i < HANDOFF_PROTOCOLS; i++) {
        struct row *row = &b->rows[i];

        row->p = &handoff_protocols[i];
        row->clocks = malloc(b->a->pairs * sizeof row->clocks[0]);
        if (!row->clocks)
            return failure("bench", "no memory");
        if (!handoff_load(&b->d, row->p, &row->k))
            snprintf(row->why, sizeof row->why, "%s", b->d.why);
    }
    if (b->rows[0].why[0] || !find_sms(b))
        return failure("bench", "%s", b->d.why);
    return EXIT_GOOD;
}

static int bench(struct asked *a)
{
    struct bench b = {.a = a};
    bool is_sim;
    int i, code;

    /* the largest memory first: what is not given depends on the device */
    code = handoff_open(&b.d, a->provider, (uint32_t)a->rounds + WARM);
    if (!code) {
        is_sim = !strcmp(b.d.info.provider, "sim");
        if (is_sim && !a->given_pairs)
            a->pairs = 8;
        if (is_sim && !a->given_rounds)
            a->rounds = 4;
        say_device("", &b.d.info);
        code = prepare(&b);
    }
    if (!code) {
        measure(&b);
        code = print(&b);
    }
    for (i = 0; i < HANDOFF_PROTOCOLS; i++) {
        handoff_unload(&b.d, &b.rows[i].k);
        free(b.rows[i].clocks);
    }
    handoff_close(&b.d);
    free(b.ctl);
    free(b.sms);
    return code;
}

int bench_handoff(int argc, char **argv)
{
    static const struct verb verb = {"bench", "", usage_handoff, bench_handoff};
    struct asked a = {.pairs = 1024, .rounds = 64};
    const struct opt table[] = {
        {"--provider", OPT_TEXT, &a.provider, 0, 0, "cuda|sim", NULL},
        {"--pairs", OPT_NUMBER, &a.pairs, 1, 1 << 20, NULL, &a.given_pairs},
        {"--rounds", OPT_NUMBER, &a.rounds, 1, 4096, NULL, &a.given_rounds},
        {"--spread", OPT_NUMBER, &a.spread, 0, 1 << 20, NULL, NULL},
        {"--json", OPT_FLAG, &a.json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands;
    int code = opt_parse(&verb, argc, argv, table, &operands);

    if (code >= 0)
        return code;
    if (operands)
        return usage_error("bench", "handoff: \"%s\" is not expected", argv[1]);
    return bench(&a);
}
