/* bench_launch.c -- fgs bench launch: what a plan costs the host
 *
 * A chain of kernels that do nothing, launched by a plan and by calls of
 * cuLaunchKernelEx with the same functions, parameters and attributes, in turn.
 * The times are the host's until all was launched; the device is waited for
 * between them.  CPU time is that of the calling thread, which other programs
 * on the machine disturb less.
 */
#include "bench.h"
#include "plan_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char usage_bench_launch[] =
    "usage: fgs bench launch [OPTION]...\n"
    "\n"
    "Measure the host's time of a plan's launches against bare calls of\n"
    "cuLaunchKernelEx for the same kernels, and of composing a large plan.\n"
    "\n"
    "  --provider cuda|sim  a GPU or the software device\n"
    "  --device N           its N-th device (default 0)\n"
    "  --stages N           kernels of a round (default 100)\n"
    "  --rounds N           of a run (default 4)\n"
    "  --build N            stages of a plan that is composed (default 1000)\n"
    "  --repeat N           of each; medians are printed (default 51)\n"
    "  --json               as JSON\n"
    "\n"
    "Exit: 0 measured, 1 failed, 2 wrong usage, 77 no such device.\n";

enum { FORMS = 2, REPEATS = 10001 };

struct launch_asked {
    struct plan_asked plan;
    uint64_t stages, rounds, build, repeat;
    bool json;
};

/* Kernels of the application's that do nothing, as far as their order goes. */
static const struct form {
    const char *order, *waits, *body;
    int cc;
    const char *head;
} forms[FORMS] = {
    {"stream", "never", "", 70, ".version 7.0\n.target sm_70\n"},
    {"pdl", "first",
     "    griddepcontrol.launch_dependents;\n    griddepcontrol.wait;\n", 90,
     ".version 7.8\n.target sm_90\n"},
};

struct times {
    uint64_t wall[REPEATS], cpu[REPEATS]; /* ns of a run, sorted at the end  */
};

struct row {
    struct times plan, bare;
    char why[256]; /* it was not measured                                    */
};

struct bench {
    const struct launch_asked *a;
    fgs_device_info info;
    struct row row[FORMS];
    uint64_t build[REPEATS];
    char build_why[256];
    bool bad;
};

/* What cuda.h says of a launch. */
struct attr {
    unsigned id;
    char pad[4];
    union {
        int allowed;
        char size[64];
    } value;
};
struct config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct attr *attrs;
    unsigned count;
};
enum { PROGRAMMATIC_STREAM_SERIALIZATION = 6 };
typedef int (*launch_fn)(const struct config *, CUfunction, void **, void **);
typedef int (*sync_fn)(void);

static uint64_t now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ------------------------------------------------------------ the chain -- */

static char *chain_text(const struct form *f, uint64_t stages, size_t *size)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, size);

    if (!to)
        return NULL;
    fprintf(to,
            "plan order %s\n"
            "default buffer tiles 1\n"
            "buffer b0\n"
            "stage s0 kernel empty.ptx empty grid 1 block 32 triggers %s\n"
            "write b0\narg buffer b0\narg buffer b0\narg u32 7\n"
            "repeat i 1 %" PRIu64 "\n"
            "buffer b{i}\n"
            "stage s{i} kernel empty.ptx empty grid 1 block 32 triggers %s "
            "waits %s\n"
            "read b{i-1} can %s\nwrite b{i}\n"
            "arg buffer b{i-1}\narg buffer b{i}\narg u32 7\n"
            "end\n",
            f->order, *f->body ? "start" : "never", stages - 1,
            *f->body ? "start" : "never", f->waits, f->order);
    fclose(to);
    return text;
}

static fgs_result make(struct bench *b, const struct form *f,
                       struct plan_file *file, struct plan_parts *p,
                       fgs_error *err)
{
    char ptx[512];
    fgs_result r = plan_parts_open(p, file, &b->a->plan, err);

    if (r < 0)
        return r;
    b->info = p->info;
    if (p->info.cc < f->cc) {
        snprintf(err->text, sizeof err->text, "not for compute %d.%d",
                 (int)p->info.cc / 10, (int)p->info.cc % 10);
        return FGS_E_UNSUPPORTED;
    }
    snprintf(ptx, sizeof ptx,
             "%s.address_size 64\n"
             ".visible .entry empty(.param .u64 a, .param .u64 b, "
             ".param .u32 n)\n{\n%s    ret;\n}\n",
             f->head, f->body);
    r = plan_module(p, "empty.ptx", ptx, err);
    if (r == FGS_OK)
        r = plan_parts_make(p, file, &b->a->plan, err);
    return r < 0 ? r : plan_parts_compose(p, err);
}

/* ------------------------------------------------------------- launching -- */

/* What a bare call of each stage is given. */
struct bare {
    struct attr attr;
    struct config config;
    uint64_t value[3];
    void *params[3];
    CUfunction function;
};

static struct bare *bare_make(const struct plan_parts *p)
{
    struct bare *bare = calloc(p->f->stage_count, sizeof *bare);
    fgs_stage_info s = {.size = sizeof s};
    uint32_t i, k;

    for (i = 0; bare && i < p->f->stage_count; i++) {
        struct bare *c = &bare[i];

        fgs_plan_get_stage(p->plan, i, &s, NULL);
        c->function = p->stages[i].function;
        c->attr.id = PROGRAMMATIC_STREAM_SERIALIZATION;
        c->attr.value.allowed = 1;
        c->config.attrs = &c->attr;
        c->config.count =
            strstr(s.attributes, "programmatic serialization set") != NULL;
        for (k = 0; k < 3; k++) {
            c->config.grid[k] = p->f->stages[i].grid[k];
            c->config.block[k] = p->f->stages[i].block[k];
            c->value[k] = k < 2 ? fgs_buffer_get_pointer(
                                      p->buffers[i && !k ? i - 1 : i])
                                : 7;
            c->params[k] = &c->value[k];
        }
    }
    return bare;
}

static bool find_calls(struct plan_parts *p, launch_fn *launch, sync_fn *sync)
{
    void *l = fgs_device_get_proc(p->dev, "cuLaunchKernelEx");
    void *s = fgs_device_get_proc(p->dev, "cuCtxSynchronize");

    memcpy(launch, &l, sizeof l);
    memcpy(sync, &s, sizeof s);
    return l && s;
}

static bool run_bare(const struct bench *b, const struct plan_parts *p,
                     struct bare *bare, launch_fn launch, uint64_t *wall,
                     uint64_t *cpu)
{
    uint64_t n, w = now(CLOCK_MONOTONIC), c = now(CLOCK_THREAD_CPUTIME_ID);
    uint32_t i;
    int bad = 0;

    for (n = 0; n < b->a->rounds; n++)
        for (i = 0; i < p->f->stage_count; i++)
            bad |= launch(&bare[i].config, bare[i].function, bare[i].params,
                          NULL);
    *cpu = now(CLOCK_THREAD_CPUTIME_ID) - c;
    *wall = now(CLOCK_MONOTONIC) - w;
    return !bad;
}

static fgs_result run_plan(const struct bench *b, const struct plan_parts *p,
                           uint64_t *wall, uint64_t *cpu, fgs_error *err)
{
    uint64_t w = now(CLOCK_MONOTONIC), c = now(CLOCK_THREAD_CPUTIME_ID);
    fgs_result r = fgs_plan_run(p->plan, NULL, (uint32_t)b->a->rounds, err);

    *cpu = now(CLOCK_THREAD_CPUTIME_ID) - c;
    *wall = now(CLOCK_MONOTONIC) - w;
    return r < 0 ? r : fgs_plan_wait(p->plan, err);
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void sort(struct times *t, uint64_t n)
{
    qsort(t->wall, n, sizeof *t->wall, by_size);
    qsort(t->cpu, n, sizeof *t->cpu, by_size);
}

/* The first two of each warm up and are overwritten. */
static fgs_result measure(struct bench *b, struct plan_parts *p,
                          struct row *row, fgs_error *err)
{
    struct bare *bare = bare_make(p);
    launch_fn launch;
    sync_fn sync;
    fgs_result r = FGS_OK;
    uint64_t k, at;

    if (!bare || !find_calls(p, &launch, &sync)) {
        free(bare);
        snprintf(err->text, sizeof err->text, "no memory, or no such call");
        return FGS_E_NOMEM;
    }
    for (k = 0; k < b->a->repeat + 2 && r == FGS_OK; k++) {
        at = k < 2 ? 0 : k - 2;
        r = run_plan(b, p, &row->plan.wall[at], &row->plan.cpu[at], err);
        if (r == FGS_OK && (!run_bare(b, p, bare, launch, &row->bare.wall[at],
                                      &row->bare.cpu[at]) ||
                            sync())) {
            snprintf(err->text, sizeof err->text, "a bare launch failed");
            r = FGS_E_DRIVER;
        }
    }
    free(bare);
    sort(&row->plan, b->a->repeat);
    sort(&row->bare, b->a->repeat);
    return r;
}

static void run_form(struct bench *b, int form)
{
    struct row *row = &b->row[form];
    struct plan_parts p = {0};
    struct plan_file f;
    fgs_error err = {0};
    fgs_result r = FGS_E_NOMEM;
    size_t size;
    char *text = chain_text(&forms[form], b->a->stages, &size);

    if (!text || plan_read_text("launch", text, size, &f) != EXIT_GOOD) {
        free(text);
        b->bad = true;
        return;
    }
    r = make(b, &forms[form], &f, &p, &err);
    if (r == FGS_OK)
        r = measure(b, &p, row, &err);
    if (r < 0)
        snprintf(row->why, sizeof row->why, "%.250s", err.text);
    b->bad |= r < 0 && r != FGS_E_UNSUPPORTED;
    plan_parts_free(&p);
    plan_drop(&f);
    free(text);
}

/* -------------------------------------------------------------- building -- */

static fgs_result build(struct bench *b, struct plan_file *f, fgs_error *err)
{
    struct plan_parts p = {0};
    struct plan_asked asked = b->a->plan;
    fgs_result r;
    uint64_t k, began;

    asked.quiet = true;
    r = plan_parts_make(&p, f, &asked, err);
    for (k = 0; k < b->a->repeat && r == FGS_OK; k++) {
        began = now(CLOCK_MONOTONIC);
        r = plan_parts_compose(&p, err);
        b->build[k] = now(CLOCK_MONOTONIC) - began;
        fgs_plan_free(p.plan);
        p.plan = NULL;
    }
    qsort(b->build, b->a->repeat, sizeof *b->build, by_size);
    plan_parts_free(&p);
    return r;
}

static void run_build(struct bench *b)
{
    char text[256];
    struct plan_file f;
    fgs_error err = {0};
    int n = snprintf(text, sizeof text,
                     "default buffer tiles 16\nbuffer in\nbuffer b0\n"
                     "stage s0 produce in -> b0\nrepeat i 1 %" PRIu64 "\n"
                     "buffer b{i}\nstage s{i} relay b{i-1} -> b{i}\nend\n",
                     b->a->build - 1);

    if (plan_read_text("build", text, (size_t)n, &f) != EXIT_GOOD) {
        b->bad = true;
        return;
    }
    if (build(b, &f, &err) < 0) {
        snprintf(b->build_why, sizeof b->build_why, "%.250s", err.text);
        b->bad = true;
    }
    plan_drop(&f);
}

/* -------------------------------------------------------------- printing -- */

/* ns a launch. */
static double each(const struct bench *b, const uint64_t *sorted)
{
    return (double)sorted[b->a->repeat / 2] /
           (double)(b->a->stages * b->a->rounds);
}

static void print_row(const struct bench *b, int form)
{
    const struct row *r = &b->row[form];
    double plan = each(b, r->plan.wall), bare = each(b, r->bare.wall);
    double plan_cpu = each(b, r->plan.cpu), bare_cpu = each(b, r->bare.cpu);

    if (r->why[0])
        printf("%-8s %s\n", forms[form].order, r->why);
    else
        printf("%-8s %9.1f %9.1f %7.3f %9.1f %9.1f %7.3f\n", forms[form].order,
               plan, bare, plan / bare, plan_cpu, bare_cpu,
               plan_cpu / bare_cpu);
}

static void print(const struct bench *b)
{
    int i;

    printf("%-8s %9s %9s %7s %9s %9s %7s\n", "ns each", "plan", "bare", "x",
           "plan cpu", "bare cpu", "x");
    for (i = 0; i < FORMS; i++)
        print_row(b, i);
    if (b->build_why[0])
        printf("build    %s\n", b->build_why);
    else
        printf("build    %.3f ms for %" PRIu64 " stages\n",
               (double)b->build[b->a->repeat / 2] / 1e6, b->a->build);
}

static void print_json(const struct bench *b)
{
    struct json j = {.to = stdout};
    int i;

    json_open(&j, NULL, '{');
    json_text(&j, "provider", b->info.provider);
    json_text(&j, "device", b->info.name);
    json_number(&j, "stages", b->a->stages);
    json_number(&j, "rounds", b->a->rounds);
    json_open(&j, "rows", '[');
    for (i = 0; i < FORMS; i++) {
        const struct row *r = &b->row[i];

        json_open(&j, NULL, '{');
        json_text(&j, "order", forms[i].order);
        json_text(&j, "error", r->why[0] ? r->why : NULL);
        json_number(&j, "plan_ns", r->plan.wall[b->a->repeat / 2]);
        json_number(&j, "bare_ns", r->bare.wall[b->a->repeat / 2]);
        json_number(&j, "plan_cpu_ns", r->plan.cpu[b->a->repeat / 2]);
        json_number(&j, "bare_cpu_ns", r->bare.cpu[b->a->repeat / 2]);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_number(&j, "build_stages", b->a->build);
    json_number(&j, "build_ns", b->build[b->a->repeat / 2]);
    json_text(&j, "build_error", b->build_why[0] ? b->build_why : NULL);
    json_close(&j, '}');
}

/* ------------------------------------------------------------------ verb -- */

static int run(const struct launch_asked *a)
{
    struct bench *b = calloc(1, sizeof *b);
    int i, code;

    if (!b)
        return failure("bench", "no memory");
    b->a = a;
    for (i = 0; i < FORMS; i++)
        run_form(b, i);
    run_build(b);
    if (a->json)
        print_json(b);
    else
        print(b);
    code = b->bad ? EXIT_BAD : EXIT_GOOD;
    free(b);
    return code;
}

int bench_launch_plan(int argc, char **argv)
{
    struct launch_asked a = {.stages = 100, .rounds = 4, .build = 1000,
                             .repeat = 51};
    const struct verb launch = {"bench launch", "", usage_bench_launch, NULL};
    const struct opt table[] = {
        {"--provider", OPT_TEXT, &a.plan.provider, 0, 0, "cuda|sim", NULL},
        {"--device", OPT_NUMBER, &a.plan.ordinal, 0, INT32_MAX, NULL, NULL},
        {"--stages", OPT_NUMBER, &a.stages, 2, 10000, NULL, NULL},
        {"--rounds", OPT_NUMBER, &a.rounds, 1, 10000, NULL, NULL},
        {"--build", OPT_NUMBER, &a.build, 2, 6000, NULL, NULL},
        {"--repeat", OPT_NUMBER, &a.repeat, 1, REPEATS - 2, NULL, NULL},
        {"--json", OPT_FLAG, &a.json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands, code = opt_parse(&launch, argc, argv, table, &operands);

    if (code >= 0)
        return code;
    if (operands)
        return usage_error("bench", "launch: \"%s\" is not expected", argv[1]);
    return run(&a);
}
