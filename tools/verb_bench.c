/* verb_bench.c -- fgs bench: how fast the software device is, with bounds */
#include "bench.h"
#include "bench_rows.h"
#include "handoff.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char usage_bench[] =
    "usage: fgs bench sim|handoff|launch|chain|async|histogram|retry\n"
    "       [OPTION]...\n"
    "\n"
    "handoff: tiles between two blocks of a device, see fgs bench handoff "
    "-h\n"
    "launch:  host time of a plan's launches, see fgs bench launch -h\n"
    "chain:   heavy kernels by every order, see fgs bench chain -h\n"
    "async, histogram: kernels of tiles by cp.async, and that count, see -h\n"
    "retry:   what waiting costs who shares the SMs, see fgs bench retry -h\n"
    "\n"
    "Measure the software device on this machine: thread-instructions a\n"
    "second of small kernels on one core and on all, of the guide's example,\n"
    "launches, and loads of PTX; the memory of resident blocks; and in the\n"
    "same run what plain C reaches.\n"
    "\"cpu\" is the rate by the CPU time used, which other programs on the\n"
    "machine disturb less than the time that went by; \"x cpu\" is by how "
    "much all\ncores are faster than one, by it: if no core waits and nobody "
    "else is there.\n"
    "\n"
    "  --only NAME   one row\n"
    "  --ms N        least time of a measurement (default 200)\n"
    "  --repeat N    measurements of each, the best counts (default 3)\n"
    "  --json        as JSON\n"
    "\n"
    "Exit: 0 measured, 1 a kernel failed, 2 wrong usage.\n";

static double clock_now(clockid_t which)
{
    struct timespec t;

    clock_gettime(which, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double bench_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

double bench_cpu_seconds(void)
{
    return clock_now(CLOCK_PROCESS_CPUTIME_ID);
}

bool bench_time(const struct bench_asked *a, bool (*once)(void *), void *cookie,
                struct bench_time *best)
{
    uint64_t k;

    best->wall = best->cpu = 1e9;
    for (k = 0; k < a->repeat; k++) {
        double wall = clock_now(CLOCK_MONOTONIC);
        double cpu = bench_cpu_seconds();

        if (!once(cookie))
            return false;
        wall = clock_now(CLOCK_MONOTONIC) - wall;
        cpu = bench_cpu_seconds() - cpu;
        if (wall < best->wall)
            best->wall = wall;
        if (cpu < best->cpu)
            best->cpu = cpu;
    }
    return true;
}

/* ------------------------------------------------------------- printing -- */

struct out {
    const struct bench_asked *a;
    const struct bench_bounds *b;
    struct json j;
    double f32; /* of the row of that name, a CPU second; 0 = not measured  */
    bool bad;
};

/* One figure pair: on one core, on all. */
struct row {
    const char *name, *what;
    double instr[2], cpu[2]; /* a second, and a second of CPU time         */
    double bytes[2];
    double bound; /* what the core's cpu rate is compared with             */
    char why[700];        /* it did not run                                  */
};

static void json_rate(struct json *j, const char *key, double v)
{
    if (v > 0)
        json_number(j, key, (uint64_t)v);
}

/* The share of the bound that the core reached by its CPU time, percent. */
static double share_of(const struct row *r)
{
    double rate = r->cpu[0];

    if (r->bytes[0] > 0)
        rate *= r->bytes[0] / r->instr[0];
    return r->bound > 0 ? rate / r->bound * 100 : 0;
}

static void print_row(struct out *o, const struct row *r)
{
    double share = share_of(r);

    if (o->a->json) {
        json_open(&o->j, NULL, '{');
        json_text(&o->j, "name", r->name);
        json_text(&o->j, "what", r->what);
        if (r->why[0])
            json_text(&o->j, "error", r->why);
        json_rate(&o->j, "core_instructions_per_s", r->instr[0]);
        json_rate(&o->j, "core_instructions_per_cpu_s", r->cpu[0]);
        json_rate(&o->j, "all_instructions_per_s", r->instr[1]);
        json_rate(&o->j, "all_instructions_per_cpu_s", r->cpu[1]);
        json_rate(&o->j, "core_bytes_per_s", r->bytes[0]);
        json_rate(&o->j, "all_bytes_per_s", r->bytes[1]);
        json_rate(&o->j, "bound_per_s", r->bound);
        json_close(&o->j, '}');
        return;
    }
    if (r->why[0]) {
        printf("%-10s %s\n           %s\n", r->name, r->what, r->why);
        return;
    }
    printf("%-10s %7.3f %7.3f %7.3f %5.2f %5.2f", r->name, r->instr[0] / 1e9,
           r->cpu[0] / 1e9, r->instr[1] / 1e9, r->instr[1] / r->instr[0],
           bench_cores() * r->cpu[1] / r->cpu[0]);
    if (r->bytes[0] > 0)
        printf(" %6.2f %6.2f", r->bytes[0] / 1e9, r->bytes[1] / 1e9);
    else
        printf("              ");
    if (share > 0)
        printf(" %4.0f%%", share);
    else
        printf("      ");
    printf("  %s\n", r->what);
    fflush(stdout);
}

/* -------------------------------------------------------------- kernels -- */

struct kernel_run {
    struct bench_device *d;
    const struct bench_kernel *k;
    uint32_t n;
};

static bool kernel_once(void *cookie)
{
    struct kernel_run *r = cookie;

    return bench_launch(r->d, r->k->blocks, r->k->threads, r->n) &&
           bench_wait(r->d);
}

/* Rounds that take the time that was asked for. */
static bool find_rounds(const struct bench_asked *a, struct kernel_run *r)
{
    double took;

    for (r->n = 8; r->n < 1u << 28; r->n *= 2) {
        double began = bench_cpu_seconds();

        if (!kernel_once(r))
            return false;
        took = bench_cpu_seconds() - began;
        if (took * 1000 * 4 < (double)a->ms)
            continue;
        r->n = (uint32_t)(r->n * ((double)a->ms / 1000 / took)) + 1;
        return true;
    }
    return true;
}

bool bench_measure(const struct bench_asked *a, struct bench_device *d,
                   const struct bench_kernel *k, struct bench_time *t,
                   double *count)
{
    struct kernel_run run = {d, k, 0};
    char *text = bench_kernel_text(k);
    bool good = text && bench_load(d, text, "k") && find_rounds(a, &run) &&
                bench_time(a, kernel_once, &run, t);

    free(text);
    bench_unload(d);
    *count = bench_kernel_instructions(k) * k->blocks * k->threads * run.n;
    return good;
}

static bool measure_kernel(struct out *o, struct bench_device *d,
                           const struct bench_kernel *k, int all, struct row *r)
{
    double count;
    struct bench_time t;

    if (!bench_measure(o->a, d, k, &t, &count)) {
        snprintf(r->why, sizeof r->why, "%s: error %d: %.600s",
                 d->what ? d->what : "malloc", d->code, d->log);
        return false;
    }
    r->instr[all] = count / t.wall;
    r->bytes[all] = k->bytes * count / bench_kernel_instructions(k) / t.wall;
    r->cpu[all] = count / t.cpu;
    return true;
}

static double bound_of(const struct out *o, enum bench_bound b)
{
    switch (b) {
    case BOUND_F32:
        return o->b->f32;
    case BOUND_INT:
        return o->b->integer;
    case BOUND_COPY:
        return o->b->copy;
    default:
        return 0;
    }
}

static bool wanted(const struct bench_asked *a, const char *name)
{
    return !a->only || !strcmp(a->only, name);
}

static void run_kernel(struct out *o, const struct bench_kernel *k)
{
    struct row r = {.name = k->name, .what = k->what};
    struct bench_device d;
    int all;

    r.bound = bound_of(o, k->bound);
    for (all = 0; all < 2 && !r.why[0]; all++) {
        if (!bench_open(&d, all ? 0 : 1, BENCH_BYTES))
            snprintf(r.why, sizeof r.why, "%s: error %d: %.600s", d.what,
                     d.code, d.log);
        else
            measure_kernel(o, &d, k, all, &r);
        bench_close(&d);
    }
    if (r.why[0])
        o->bad = true;
    if (!strcmp(k->name, "f32"))
        o->f32 = r.cpu[0];
    print_row(o, &r);
}

/* ------------------------------------------------------- example, others -- */

static void run_example(struct out *o)
{
    struct row r = {.name = "report",
                    .what = "the guide's example, 2048 tiles"};
    struct bench_example x = {.tiles = 2048};
    struct bench_time t;
    fgs_error err;
    int all;

    r.bound = o->b->copy;
    for (all = 0; all < 2; all++) {
        if (!bench_example(o->a, all ? 0 : 1, &x, &t, &err)) {
            snprintf(r.why, sizeof r.why, "%.600s", err.text);
            o->bad = true;
            break;
        }
        r.instr[all] = x.instructions * (double)x.rounds / t.wall;
        r.bytes[all] = x.bytes * (double)x.rounds / t.wall;
        r.cpu[all] = x.instructions * (double)x.rounds / t.cpu;
    }
    print_row(o, &r);
}

static void run_launches(struct out *o)
{
    struct bench_device d;
    double each = 0, waited = 0;

    if (!bench_open(&d, 0, 4096) ||
        !bench_launches(o->a, &d, &each, &waited)) {
        failure("bench", "launch: %s: error %d", d.what, d.code);
        o->bad = true;
    }
    bench_close(&d);
    if (o->a->json) {
        json_number(&o->j, "launch_ns", (uint64_t)(each * 1e9));
        json_number(&o->j, "launch_and_wait_ns", (uint64_t)(waited * 1e9));
    } else {
        printf("launch     %.2f us each, %.2f us with a wait for each\n",
               each * 1e6, waited * 1e6);
    }
}

/* Blocks that compute, and blocks that wait for memory. */
static void run_cores(struct out *o)
{
    static const struct {
        const char *kernel, *peer, *json, *json_peer;
    } rows[] = {
        {"mix", "plain C", "two_threads_percent", "two_threads_of_c_percent"},
        {"stream", "memcpy", "two_threads_stream_percent",
         "two_threads_of_memcpy_percent"}
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench_device d = {0};
        double device = 0, host = 0;

        if (!bench_cores_row(o->a, rows[i].kernel, &device, &host, &d)) {
            failure("bench", "cores: %s: error %d: %s",
                    d.what ? d.what : "no memory or thread", d.code, d.log);
            o->bad = true;
        } else if (o->a->json) {
            json_number(&o->j, rows[i].json, (uint64_t)(device * 100));
            json_number(&o->j, rows[i].json_peer, (uint64_t)(host * 100));
        } else {
            printf("cores      2 host threads are %.2f x one by the clock (%s);"
                   " of %s, in turn\n           with them, %.2f x "
                   "(%.0f cores allowed)\n", device, rows[i].kernel,
                   rows[i].peer, host, bench_cores());
        }
    }
}

enum { SHARE = 20 };

static void run_handlers(struct out *o)
{
    const struct bench_handler *h;
    struct bench_device d;
    double loop = 0;
    size_t n = 0, k, slow = 0, open = 0;

    h = bench_open(&d, 1, BENCH_BYTES)
            ? bench_handlers(o->a, &d, &n, &loop) : NULL;
    bench_close(&d);
    if (!h) {
        failure("bench", "handlers: %s: error %d: %s", d.what, d.code, d.log);
        o->bad = true;
        return;
    }
    if (o->a->json)
        json_open(&o->j, "handlers", '[');
    for (k = 0; k < n; k++) {
        slow += h[k].rate * SHARE < loop;
        open += h[k].rate * SHARE < loop && !h[k].why;
        if (!o->a->json)
            continue;
        json_open(&o->j, NULL, '{');
        json_text(&o->j, "instruction", h[k].text);
        if (h[k].why)
            json_text(&o->j, "why", h[k].why);
        json_rate(&o->j, "core_instructions_per_cpu_s", h[k].rate);
        json_close(&o->j, '}');
    }
    if (o->a->json) {
        json_close(&o->j, ']');
        return;
    }
    printf("handlers   %zu of %zu below 1/%d of the arithmetic loop, %.2f G a "
           "CPU second; %zu\n           without a reason:\n", slow, n, SHARE,
           loop / 1e9, open);
    for (k = 0; k < slow; k++)
        printf("           %7.3f  1/%-4.0f %s%s%s\n", h[k].rate / 1e9,
               loop / h[k].rate, h[k].text, h[k].why ? "  " : "",
               h[k].why ? h[k].why : "");
}

static void print_machine(struct out *o)
{
    double load[3] = {0, 0, 0};

    if (getloadavg(load, 3) < 0)
        load[0] = 0;
    if (o->a->json) {
        json_text(&o->j, "vectors", o->b->vectors);
        json_number(&o->j, "load_average_percent", (uint64_t)(load[0] * 100));
        json_rate(&o->j, "peak_lanes_per_s", o->b->peak);
        json_rate(&o->j, "f32_lanes_per_s", o->b->f32);
        json_rate(&o->j, "int_lanes_per_s", o->b->integer);
        json_rate(&o->j, "copy_bytes_per_s", o->b->copy);
        return;
    }
    printf("load average %.2f; %s: fma in registers %.1f G lanes/s; lanes in "
           "C with AVX2:\nf32 %.1f, int %.1f G lanes/s; memcpy %.1f GB/s read "
           "and written\n\n", load[0], o->b->vectors, o->b->peak / 1e9,
           o->b->f32 / 1e9, o->b->integer / 1e9, o->b->copy / 1e9);
    printf("%-10s %7s %7s %7s %5s %5s %6s %6s %5s\n", "G instr/s", "core",
           "cpu", "all", "x", "x cpu", "GB/s", "all", "bound");
}

static bool known(const char *name)
{
    const struct bench_kernel *k;

    for (k = bench_kernels; k->name; k++)
        if (!strcmp(k->name, name))
            return true;
    return !strcmp(name, "report") || !strcmp(name, "launch") ||
           !strcmp(name, "text") || !strcmp(name, "memory") ||
           !strcmp(name, "cores") ||
           !strcmp(name, "handlers");
}

static int bench(const struct bench_asked *a)
{
    struct bench_bounds b;
    struct out o = {.a = a, .b = &b, .j = {.to = stdout}};
    const struct bench_kernel *k;

    bench_bounds(a, &b);
    if (a->json)
        json_open(&o.j, NULL, '{');
    print_machine(&o);
    if (a->json)
        json_open(&o.j, "rows", '[');
    for (k = bench_kernels; k->name; k++)
        if (wanted(a, k->name))
            run_kernel(&o, k);
    if (wanted(a, "report"))
        run_example(&o);
    if (a->json)
        json_close(&o.j, ']');
    else if (o.f32 > 0 && b.peak > 0)
        printf("peak       f32 is %.0f%% of fma in registers; the rest goes "
               "into operands from and\n           to the first cache, and "
               "a call an instruction: code made of several\n           "
               "instructions at once would keep operands in registers\n",
               o.f32 / b.peak * 100);
    if (wanted(a, "launch"))
        run_launches(&o);
    if (wanted(a, "cores"))
        run_cores(&o);
    if (wanted(a, "text"))
        o.bad |= !bench_text_rows(a, &o.j);
    if (wanted(a, "memory"))
        o.bad |= !bench_memory_row(a, &o.j);
    if (wanted(a, "handlers"))
        run_handlers(&o);
    if (a->json)
        json_close(&o.j, '}');
    return o.bad ? EXIT_BAD : EXIT_GOOD;
}

int verb_bench(int argc, char **argv)
{
    struct bench_asked a = {.ms = 200, .repeat = 3};
    const struct opt table[] = {
        {"--only", OPT_TEXT, &a.only, 0, 0, NULL, NULL},
        {"--ms", OPT_NUMBER, &a.ms, 1, 60000, NULL, NULL},
        {"--repeat", OPT_NUMBER, &a.repeat, 1, 1000, NULL, NULL},
        {"--json", OPT_FLAG, &a.json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands;
    int code;

    if (argc > 1 && !strcmp(argv[1], "async"))
        return bench_async(argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "histogram"))
        return bench_histogram(argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "handoff"))
        return bench_handoff(argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "launch"))
        return bench_launch_plan(argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "chain"))
        return bench_chain(argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "retry"))
        return bench_retry(argc - 1, argv + 1);
    code = opt_parse(verb_find("bench"), argc, argv, table, &operands);
    if (code >= 0)
        return code;
    if (operands != 1 || strcmp(argv[1], "sim"))
        return usage_error("bench", "what is measured must be \"sim\", or as "
                                    "the first word \"handoff\", \"launch\", "
                                    "\"chain\", \"async\", "
                                    "\"histogram\" or \"retry\"");
    if (a.only && !known(a.only))
        return usage_error("bench", "--only: no row is named \"%s\"", a.only);
    return bench(&a);
}
