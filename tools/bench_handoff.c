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
    "block has all of it and answers.  Protocols in turn on each pair: flag\n"
    "(stores, release, flag; acquire poll, load), poll and bulk (stores that\n"
    "are seen by their chunks).  Two blocks play ping-pong; half of a round,\n"
    "by the SM's clock, is one hand-off.  A block sends what it received, a\n"
    "word plus 1, so that the last words prove all of them.  Each tile is\n"
    "used once a launch and filled with the sentinel between launches.\n"
    "\n"
    "A hand-off has the stores of the tile; what tells the receiver (for\n"
    "flag: a barrier of the block, release and flag); the wait; the tile in\n"
    "the receiver's registers, scanned for the sentinel (flag: loaded); and,\n"
    "for more than 32 threads, a barrier of the receiving block (flag: that\n"
    "of its own send).  poll_warp and poll_thread are poll without that\n"
    "barrier: a warp, or as in the engine's kernels a thread, goes on with\n"
    "the chunks it has itself; the clock stops behind the slowest warp.\n"
    "Each protocol has the threads and the loads in flight with which it was\n"
    "fastest in a trial.\n"
    "\n"
    "  --provider cuda|sim  default: a GPU where there is one\n"
    "  --threads 32|64|128|256|trial  of a block (default trial; software\n"
    "               device 256)\n"
    "  --loads 1|2|4|trial  in flight of a warp that waits, evenly spread\n"
    "               over the time of one (default trial; software device 1)\n"
    "  --every      a row for every form in place of the trial\n"
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
    const char *provider, *threads, *loads;
    uint64_t pairs, rounds, spread;
    bool given_pairs, given_rounds, every, json;
};

struct row {
    struct handoff_form form;
    struct handoff_kernel k;
    double *clocks; /* of one hand-off, a pair each                          */
    size_t count;
    double repeats; /* of all hand-offs                                      */
    char why[800];
};

enum { THREADS = 4, LOADS = 3, FORMS = THREADS * LOADS,
       ROWS = HANDOFF_PROTOCOLS * FORMS };

struct bench {
    const struct asked *a;
    struct handoff_device d;
    struct row rows[ROWS]; /* of a protocol one after the other              */
    int row_count;
    uint32_t *ctl, *sms;
    uint32_t sm_count;
    double clocks, ns; /* of all timed rounds: the clock's rate              */
};

enum { WARM = 8, LIMIT = 1 << 21, TRIAL_PAIRS = 32 };

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
                 b->ctl[CTL_WRONG] && !b->ctl[CTL_FAILED]
                     ? "wrong data was received"
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

/* All rows on a pair. */
static void run_all(struct bench *b, uint32_t there, uint32_t back, bool count)
{
    int i;

    for (i = 0; i < b->row_count; i++)
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
static void measure(struct bench *b, uint64_t pairs)
{
    uint64_t all = pairs_of(b), n = pairs < all ? pairs : all, k;
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

/* In clocks; 0 = none. */
static double median(struct row *row)
{
    size_t n = row->count;

    if (row->why[0] || !n)
        return 0;
    qsort(row->clocks, n, sizeof row->clocks[0], by_value);
    return (row->clocks[n / 2] + row->clocks[(n - 1) / 2]) / 2;
}

static void drop(struct bench *b, struct row *row)
{
    handoff_unload(&b->d, &row->k);
    free(row->clocks);
    row->clocks = NULL;
}

/* Of each protocol keep the form that was fastest on a few pairs. */
static void keep_fastest(struct bench *b)
{
    int i, kept = 0;

    measure(b, TRIAL_PAIRS);
    for (i = 0; i < b->row_count; i++) {
        struct row *row = &b->rows[i], *best = &b->rows[kept - !!kept];
        double m = median(row), least = median(best);

        if (!kept || best->form.p != row->form.p) {
            b->rows[kept++] = *row;
            continue;
        }
        if (m > 0 && (least <= 0 || m < least)) {
            drop(b, best);
            *best = *row;
        } else {
            drop(b, row);
        }
    }
    b->row_count = kept;
    for (i = 0; i < kept; i++) {
        b->rows[i].count = 0;
        b->rows[i].repeats = 0;
    }
    b->clocks = b->ns = 0;
}

struct figures {
    double min, median, p90, max, repeats;
};

static bool figures(const struct bench *b, struct row *row, struct figures *f)
{
    double ns = b->clocks > 0 ? b->ns / b->clocks : 0;
    size_t n = row->count;

    f->median = median(row) * ns;
    if (f->median <= 0)
        return false;
    f->min = row->clocks[0] * ns;
    f->p90 = row->clocks[(n * 9 - 1) / 10] * ns;
    f->max = row->clocks[n - 1] * ns;
    f->repeats = row->repeats / (double)n;
    return true;
}

static void print_row(const struct row *row, const struct figures *f,
                      double to_flag)
{
    printf("%-11s %7d %5d ", row->form.p->name, row->form.threads,
           row->form.loads);
    if (!f) {
        printf("%s: %s\n", row->form.p->what, row->why);
        return;
    }
    printf("%8.1f %8.1f %8.1f %8.1f", f->min, f->median, f->p90, f->max);
    if (to_flag > 0)
        printf(" %6.3f", to_flag);
    else
        printf("      -");
    printf(" %7.2f  %s\n", f->repeats, row->form.p->what);
}

static void print_row_json(struct json *j, const struct row *row,
                           const struct figures *f, double to_flag)
{
    json_open(j, NULL, '{');
    json_text(j, "name", row->form.p->name);
    json_text(j, "what", row->form.p->what);
    json_number(j, "threads", (uint64_t)row->form.threads);
    json_number(j, "loads", (uint64_t)row->form.loads);
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
    printf("\n%-11s %7s %5s %8s %8s %8s %8s %6s %7s\n", "ns", "threads",
           "loads", "min", "median", "p90", "max", "/flag", "repeats");
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
    /* the fastest form of the first protocol is what they compare with */
    for (i = 0; i < b->row_count; i++)
        if (b->rows[i].form.p == b->rows[0].form.p &&
            figures(b, &b->rows[i], &f) && (flag <= 0 || f.median < flag))
            flag = f.median;
    for (i = 0; i < b->row_count; i++) {
        struct row *row = &b->rows[i];
        bool has = figures(b, row, &f);
        double to_flag = flag > 0 && has ? f.median / flag : 0;

        /* what the device has not is said, and no failure */
        is_bad = is_bad || (!has && b->d.info.cc >= handoff_cc(&row->form));
        if (j)
            print_row_json(j, row, has ? &f : NULL, to_flag);
        else
            print_row(row, has ? &f : NULL, to_flag);
    }
    if (j) {
        json_close(j, ']');
        json_close(j, '}');
    }
    return is_bad ? EXIT_BAD : EXIT_GOOD;
}

/* The n-th power of two of those that a word may name; 0 = not asked for. */
static int choice(const char *asked, int least, int n)
{
    int value = least << n;

    if (!asked || !strcmp(asked, "trial"))
        return value;
    return strtol(asked, NULL, 10) == value ? value : 0;
}

static bool add_rows(struct bench *b, const struct handoff_protocol *p)
{
    uint64_t room = b->a->pairs < TRIAL_PAIRS ? TRIAL_PAIRS : b->a->pairs;
    int t, l;

    for (t = THREADS - 1; t >= 0; t--)
        for (l = 0; l < LOADS; l++) {
            struct row *row = &b->rows[b->row_count];

            row->form.p = p;
            row->form.works = b->a->spread != 0;
            row->form.threads = choice(b->a->threads, 32, t);
            row->form.loads = choice(b->a->loads, 1, l);
            if (!row->form.threads || !row->form.loads)
                continue;
            b->row_count++;
            row->clocks = malloc(room * sizeof row->clocks[0]);
            if (!row->clocks)
                return false;
            if (!handoff_load(&b->d, &row->form, &row->k))
                snprintf(row->why, sizeof row->why, "%s", b->d.why);
        }
    return true;
}

static int prepare(struct bench *b)
{
    int i;

    b->ctl = malloc(handoff_ctl_bytes(&b->d));
    b->sms = malloc(handoff_ctl_bytes(&b->d));
    if (!b->ctl || !b->sms)
        return failure("bench", "no memory");
    for (i = 0; i < HANDOFF_PROTOCOLS; i++)
        if (!add_rows(b, &handoff_protocols[i]))
            return failure("bench", "no memory");
    if (!b->rows[0].k.module || !find_sms(b))
        return failure("bench", "%s", b->rows[0].k.module ? b->d.why
                                                          : b->rows[0].why);
    if (b->row_count > HANDOFF_PROTOCOLS && !b->a->every)
        keep_fastest(b);
    return EXIT_GOOD;
}

/* What is not given depends on the device: the software device is slow, and
 * its times say nothing. */
static void choose(struct asked *a, bool is_sim)
{
    if (is_sim && !a->given_pairs)
        a->pairs = 8;
    if (is_sim && !a->given_rounds)
        a->rounds = 4;
    if (is_sim && !a->threads && !a->every)
        a->threads = "256";
    if (is_sim && !a->loads && !a->every)
        a->loads = "1";
}

static int bench(struct asked *a)
{
    struct bench *b = calloc(1, sizeof *b);
    int i, code;

    if (!b)
        return failure("bench", "no memory");
    b->a = a;
    /* the largest memory first */
    code = handoff_open(&b->d, a->provider, (uint32_t)a->rounds + WARM);
    if (!code) {
        choose(a, !strcmp(b->d.info.provider, "sim"));
        say_device("", &b->d.info);
        code = prepare(b);
    }
    if (!code) {
        measure(b, a->pairs);
        code = print(b);
    }
    for (i = 0; i < b->row_count; i++)
        drop(b, &b->rows[i]);
    handoff_close(&b->d);
    free(b->ctl);
    free(b->sms);
    free(b);
    return code;
}

int bench_handoff(int argc, char **argv)
{
    static const struct verb verb = {"bench", "", usage_handoff, bench_handoff};
    struct asked a = {.pairs = 1024, .rounds = 64};
    const struct opt table[] = {
        {"--provider", OPT_TEXT, &a.provider, 0, 0, "cuda|sim", NULL},
        {"--threads", OPT_TEXT, &a.threads, 0, 0, "32|64|128|256|trial",
         NULL},
        {"--loads", OPT_TEXT, &a.loads, 0, 0, "1|2|4|trial", NULL},
        {"--every", OPT_FLAG, &a.every, 0, 0, NULL, NULL},
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
