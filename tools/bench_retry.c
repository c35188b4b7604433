/* bench_retry.c -- fgs bench retry: what waiting costs who shares the SMs
 *
 * A block of a consumer waits on every SM, for tiles that do not come, while
 * another kernel works there; its time, beside its time alone, by who waits:
 * all threads, a warp, a retry warp that naps (guide 4.6.7).
 */
#include "bench.h"
#include "driver.h"
#include "pipe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char usage_retry[] =
    "usage: fgs bench retry [OPTION]...\n"
    "\n"
    "A block on every SM waits for a tile; how much slower is a kernel that\n"
    "works beside it? All rows in one run, in turn; medians and spread.\n"
    "\n"
    "  --provider cuda|sim  a GPU (default: one, else the software device,\n"
    "                       whose times say nothing of a GPU)\n"
    "  --repeat N           measurements of each row (default 21)\n"
    "  --loops N            length of the working kernel (default 2000)\n"
    "  --blocks N           waiting blocks a SM (default 1)\n"
    "  --language ptx|cuda  the library's kernels in PTX (default), or their\n"
    "                       twins in CUDA C++ (NVRTC)\n"
    "  --json               as JSON\n"
    "\n"
    "Exit: 0 measured, 1 failed, 2 wrong usage, 77 no such device.\n";

enum { THREADS = 256, STAGES = 4, WORK_BLOCKS = 4, WORK_BYTES = 16 << 20,
       REPEAT_MOST = 1001, ROWS = 7, STREAM_NON_BLOCKING = 1 };

/* Loads from the second cache and arithmetic on them, as producers have. */
static const char work_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry work(.param .u64 p_out, .param .u32 p_tiles)\n{\n"
    "    .reg .pred %p;\n    .reg .u32 %t, %b, %n, %i;\n"
    "    .reg .u64 %a, %at, %off;\n    .reg .f32 %x<4>, %y;\n"
    "    mov.u32 %t, %tid.x;\n    mov.u32 %b, %ctaid.x;\n"
    "    mad.lo.u32 %t, %b, 256, %t;\n    mul.wide.u32 %off, %t, 16;\n"
    "    ld.param.u64 %a, [p_out];\n    ld.param.u32 %n, [p_tiles];\n"
    "    mov.f32 %y, 0f3f800000;\n    mov.u32 %i, 0;\n"
    "L_loop:\n    and.b64 %off, %off, 16777200;\n    add.u64 %at, %a, %off;\n"
    "    ld.global.cg.v4.f32 {%x0, %x1, %x2, %x3}, [%at];\n"
    "    fma.rn.f32 %y, %y, %x0, %x1;\n    fma.rn.f32 %y, %y, %x2, %x3;\n"
    "    fma.rn.f32 %y, %y, %y, %x0;\n    fma.rn.f32 %y, %y, %x1, %y;\n"
    "    fma.rn.f32 %y, %y, %x2, %y;\n    fma.rn.f32 %y, %y, %x3, %y;\n"
    "    add.u64 %off, %off, 2166784;\n    add.u32 %i, %i, 1;\n"
    "    setp.lt.u32 %p, %i, %n;\n    @%p bra L_loop;\n"
    "    setp.eq.f32 %p, %y, 0f42f6e979;\n    @%p st.global.f32 [%a], %y;\n"
    "    ret;\n}\n";

/* Each thread loads its chunk until the abort word is raised. */
static const char spin_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry spin(.param .u64 p_mid, .param .u64 p_ctl)\n{\n"
    "    .reg .pred %p;\n    .reg .u32 %t, %b, %stop, %w<4>;\n"
    "    .reg .u64 %a, %c, %off;\n"
    "    mov.u32 %t, %tid.x;\n    mov.u32 %b, %ctaid.x;\n"
    "    mad.lo.u32 %t, %b, 256, %t;\n    mul.wide.u32 %off, %t, 16;\n"
    "    ld.param.u64 %a, [p_mid];\n    add.u64 %a, %a, %off;\n"
    "    ld.param.u64 %c, [p_ctl];\n"
    "L_loop:\n"
    "    ld.relaxed.gpu.global.v4.u32 {%w0, %w1, %w2, %w3}, [%a];\n"
    "    ld.relaxed.gpu.global.u32 %stop, [%c];\n"
    "    and.b32 %w0, %w0, %w1;\n    and.b32 %w2, %w2, %w3;\n"
    "    and.b32 %w0, %w0, %w2;\n"
    "    setp.ne.u32 %p, %w0, 0x80000000;\n    @%p bra L_end;\n"
    "    setp.eq.u32 %p, %stop, 0;\n    @%p bra L_loop;\n"
    "L_end:\n    ret;\n}\n";

/* Rows; `awake` takes the naps out of the library's text. */
static const struct kind {
    const char *name, *stem, *what;
    int cc, stages;
    bool awake;
} kinds[ROWS] = {
    {"alone", NULL, "nobody waits", 0, 0, false},
    {"all-spin", "spin", "all threads load their chunks, no naps", 70, 1, true},
    {"all-nap", "poll_consume", "all threads load, naps", 70, 1, false},
    {"warp-spin", "bulk_weak_consume", "a warp copies and scans, no naps", 90,
     1, true},
    {"warp-nap", "bulk_weak_consume", "a warp copies and scans, naps", 90, 1,
     false},
    {"retry-spin", "bulk_retry_weak_consume", "a retry warp, no naps", 90,
     STAGES, true},
    {"retry", "bulk_retry_weak_consume", "a retry warp, naps that double", 90,
     STAGES, false},
};

struct row {
    struct pipe_kernel k;
    bool loaded;
    double ns[REPEAT_MOST];
    size_t count;
};

struct bench {
    const char *provider, *language;
    uint64_t repeat, loops, blocks;
    bool json;
    struct pipe_device d;
    struct pipe_kernel work, fill;
    pipe_addr mid, out, ctl, rec_at, data;
    void *rec, *stream;
    uint64_t waiting; /* blocks */
    struct pipe_clock clock;
    struct row row[ROWS];
};

/* A text without its naps: as long, so that lines and columns stay.  Each has
 * a line of its own, in what NVRTC makes too. */
static void wake(char *text)
{
    char *at;

    while ((at = strstr(text, "nanosleep.u32")))
        memcpy(at, "//", 2);
}

static bool load(struct bench *b, const struct kind *k, struct pipe_kernel *to)
{
    fgs_ptx_desc desc = {.size = sizeof desc, .stem = k->stem,
                         .cc = b->d.info.cc};

    if (!strcmp(k->stem, "spin"))
        return pipe_load_text(&b->d, "spin", spin_text, "spin", to);
    return pipe_load_changed(&b->d, &desc, k->awake ? wake : NULL, to);
}

static bool make_stream(struct bench *b)
{
    return driver_good("cuStreamCreate",
                       cu.cuStreamCreate(&b->stream, STREAM_NON_BLOCKING),
                       b->d.why, sizeof b->d.why);
}

static void drop_stream(struct bench *b)
{
    if (b->stream)
        cu.cuStreamDestroy(b->stream);
}

static bool prepare(struct bench *b)
{
    fgs_ptx_desc fill = {.size = sizeof fill, .stem = "sentinel_fill"};
    uint64_t bytes;
    int i;

    b->waiting = b->blocks * (uint64_t)b->d.info.sm_count;
    bytes = b->waiting * STAGES * TILE_BYTES;
    for (i = 1; i < ROWS; i++) {
        b->row[i].loaded = b->d.info.cc >= kinds[i].cc;
        if (b->row[i].loaded && !load(b, &kinds[i], &b->row[i].k))
            return false;
    }
    b->row[0].loaded = true;
    return pipe_load_text(&b->d, "work", work_text, "work", &b->work) &&
           pipe_load(&b->d, &fill, &b->fill) &&
           pipe_memory(&b->d, &b->mid, bytes) &&
           pipe_memory(&b->d, &b->out, bytes) &&
           pipe_memory(&b->d, &b->ctl, 64) &&
           pipe_memory(&b->d, &b->data, WORK_BYTES) &&
           pipe_host(&b->d, &b->rec, &b->rec_at, FGS_RECORD_BYTES) &&
           pipe_clock_make(&b->d, &b->clock) && make_stream(b) &&
           pipe_fill(&b->d, b->data, 0x3f000000, WORK_BYTES);
}

/* Waiting blocks; each has STAGES tiles, or one where it keeps one. */
static bool start_waiting(struct bench *b, int i)
{
    struct pipe_arg own[] = {{"p_mid", b->mid, NULL}, {"p_ctl", b->ctl, NULL},
                             {NULL, 0, NULL}};
    struct pipe_arg args[] = {
        {"p_mid", b->mid, NULL}, {"p_out", b->out, NULL},
        {"p_tiles", b->waiting * (uint64_t)kinds[i].stages, NULL},
        {"p_ctl", b->ctl, NULL}, {"p_rec", b->rec_at, NULL},
        {"p_bound_ns", 10000000000, NULL}, {NULL, 0, NULL},
    };
    struct pipe_launch l = {.blocks = (unsigned)b->waiting, .threads = THREADS,
                            .shared = STAGES * TILE_BYTES, .stream = b->stream,
                            .args = strcmp(kinds[i].stem, "spin") ? args : own};

    return pipe_run(&b->d, &b->row[i].k, &l);
}

/* One measurement: wait until they wait, time the work, release them. */
static bool measure(struct bench *b, int i)
{
    struct pipe_arg fill[] = {{"p_mid", b->mid, NULL},
                              {"p_tiles", b->waiting * STAGES, NULL},
                              {NULL, 0, NULL}};
    struct pipe_arg work[] = {{"p_out", b->data, NULL},
                              {"p_tiles", b->loops, NULL}, {NULL, 0, NULL}};
    struct pipe_launch f = {.blocks = 64, .threads = THREADS, .args = fill};
    struct pipe_launch w = {.threads = THREADS, .args = work};
    struct timespec nap = {.tv_nsec = 2000000};
    struct row *row = &b->row[i];

    w.blocks = WORK_BLOCKS * (unsigned)b->d.info.sm_count;
    if (!pipe_fill(&b->d, b->ctl, 0, 64) || !pipe_run(&b->d, &b->fill, &f) ||
        !pipe_wait(&b->d) || (i && !start_waiting(b, i)))
        return false;
    nanosleep(&nap, NULL);
    if (!pipe_clock_start(&b->d, &b->clock) ||
        !pipe_run(&b->d, &b->work, &w) || !pipe_clock_stop(&b->d, &b->clock) ||
        !pipe_fill(&b->d, b->ctl, 1, 4) || !pipe_wait(&b->d))
        return false;
    return pipe_clock_read(&b->d, &b->clock, &row->ns[row->count++]);
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

static void print(struct bench *b)
{
    bool is_sim = !strcmp(b->d.provider, "sim");
    struct json j = {.to = stdout};
    double alone = 0;
    int i;

    if (b->json) {
        json_open(&j, NULL, '{');
        json_text(&j, "device", b->d.info.name);
        json_bool(&j, "times_are_virtual", is_sim);
        json_text(&j, "language", b->language);
        json_open(&j, "rows", '[');
    } else {
        printf("%" PRIu64 " blocks wait on %d SMs while %d blocks work, "
               "%" PRIu64 " times each%s\n\n%-11s %9s %9s %9s %8s\n",
               b->waiting, (int)b->d.info.sm_count,
               WORK_BLOCKS * (int)b->d.info.sm_count, b->repeat,
               is_sim ? "; virtual times" : "", "us", "min", "median", "p90",
               "slower");
    }
    for (i = 0; i < ROWS; i++) {
        struct row *r = &b->row[i];
        double median;

        if (!r->count)
            continue;
        qsort(r->ns, r->count, sizeof r->ns[0], by_value);
        median = r->ns[r->count / 2];
        alone = i ? alone : median;
        if (b->json) {
            json_open(&j, NULL, '{');
            json_text(&j, "name", kinds[i].name);
            json_number(&j, "min_ns", (uint64_t)r->ns[0]);
            json_number(&j, "median_ns", (uint64_t)median);
            json_number(&j, "p90_ns", (uint64_t)r->ns[r->count * 9 / 10]);
            json_close(&j, '}');
            continue;
        }
        printf("%-11s %9.1f %9.1f %9.1f %7.1f%%  %s\n", kinds[i].name,
               r->ns[0] / 1e3, median / 1e3, r->ns[r->count * 9 / 10] / 1e3,
               (median / alone - 1) * 100, kinds[i].what);
    }
    if (b->json) {
        json_close(&j, ']');
        json_close(&j, '}');
    }
}

static void drop(struct bench *b)
{
    int i;

    drop_stream(b);
    for (i = 0; i < ROWS; i++)
        pipe_unload(&b->d, &b->row[i].k);
    pipe_unload(&b->d, &b->work);
    pipe_unload(&b->d, &b->fill);
    pipe_clock_free(&b->d, &b->clock);
    pipe_host_free(&b->d, b->rec);
    pipe_free(&b->d, &b->mid);
    pipe_free(&b->d, &b->out);
    pipe_free(&b->d, &b->ctl);
    pipe_free(&b->d, &b->data);
    pipe_close(&b->d);
}

int bench_retry(int argc, char **argv)
{
    static const struct verb verb = {"bench", "", usage_retry, bench_retry};
    static struct bench b;
    const struct opt table[] = {
        {"--provider", OPT_TEXT, &b.provider, 0, 0, "cuda|sim", NULL},
        {"--repeat", OPT_NUMBER, &b.repeat, 1, REPEAT_MOST, NULL, NULL},
        {"--loops", OPT_NUMBER, &b.loops, 1, 1 << 24, NULL, NULL},
        {"--blocks", OPT_NUMBER, &b.blocks, 1, 4, NULL, NULL},
        {"--language", OPT_TEXT, &b.language, 0, 0, "ptx|cuda", NULL},
        {"--json", OPT_FLAG, &b.json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands, i, code;
    uint64_t n;
    bool good;

    b.repeat = 21;
    b.loops = 2000;
    b.blocks = 1;
    b.language = "ptx";
    code = opt_parse(&verb, argc, argv, table, &operands);
    if (code >= 0)
        return code;
    if (operands)
        return usage_error("bench", "retry: \"%s\" is not expected", argv[1]);
    code = pipe_open(&b.d, "bench", b.provider, 0);
    if (*b.language == 'c')
        b.d.language = FGS_LANGUAGE_CUDA;
    if (!code) {
        good = prepare(&b);
        /* the first round warms up and is not counted */
        for (n = 0; good && n <= b.repeat; n++)
            for (i = 0; good && i < ROWS; i++) {
                if (b.row[i].loaded)
                    good = measure(&b, i);
                if (!n)
                    b.row[i].count = 0;
            }
        if (good)
            print(&b);
        else
            code = failure("bench", "%s", b.d.why);
    }
    drop(&b);
    return code;
}
