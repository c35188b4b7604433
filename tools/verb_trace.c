/* verb_trace.c -- fgs trace: blocks of grids on SMs over time, as a picture */
#include "plan_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char usage_trace[] =
    "usage: fgs trace FILE -o OUT [OPTION]...\n"
    "\n"
    "Run a plan file, verified, and draw its last round; or draw rows of "
    "blocks\n"
    "that an earlier -o OUT.rows left.  What OUT ends in says what it is:\n"
    "\n"
    "  .svg    a picture: a bar a grid, then the blocks on each SM; waiting\n"
    "          is hatched, overlap of a grid with one it reads from shaded\n"
    "  .json   events for Perfetto or chrome://tracing: a thread an SM, more\n"
    "          where it has several blocks at a time\n"
    "  .rows   the rows as text, to be drawn elsewhere\n"
    "\n"
    "  -o OUT               where to\n"
    "  --provider cuda|sim  of a plan, as in fgs plan, and so are\n"
    "  --device N  --order ORDER  --engine NAME  --rounds N\n"
    "  --json               what was seen, as JSON on standard output\n"
    "\n"
    "Exit: 0 good, 1 failed, 2 wrong usage, 77 no such device.\n";

struct asked {
    struct plan_asked plan;
    const char *output, *engine;
    uint64_t rounds;
    bool rounds_given, json;
};

/* --------------------------------------------------------------- result -- */

static void print(const struct trace *t)
{
    uint32_t i;

    printf("blocks     %" PRIu64 " of %" PRIu32 " grids on %" PRIu32 " SMs\n",
           t->blocks, t->stage_count, t->sms);
    printf("elapsed    %" PRIu64 ".%03u us\n", (t->last - t->first) / 1000,
           (unsigned)((t->last - t->first) % 1000));
    for (i = 0; i < t->edge_count; i++) {
        const struct trace_edge *e = &t->edges[i];
        uint64_t ns = trace_overlap(t, e);

        printf("edge       %s -> %s over %s, %s: ", t->stages[e->from].name,
               t->stages[e->to].name, e->buffer, e->order);
        if (ns)
            printf("overlap %" PRIu64 ".%03u us, %" PRIu64 " early block%s\n",
                   ns / 1000, (unsigned)(ns % 1000), trace_early(t, e),
                   trace_early(t, e) == 1 ? "" : "s");
        else
            puts("no overlap");
    }
}

static void print_json(const struct trace *t)
{
    struct json j = {.to = stdout};
    uint32_t i;

    json_open(&j, NULL, '{');
    json_text(&j, "device", t->device);
    json_number(&j, "blocks", t->blocks);
    json_number(&j, "grids", t->stage_count);
    json_number(&j, "sms", t->sms);
    json_number(&j, "elapsed_ns", t->last - t->first);
    json_open(&j, "edges", '[');
    for (i = 0; i < t->edge_count; i++) {
        const struct trace_edge *e = &t->edges[i];

        json_open(&j, NULL, '{');
        json_text(&j, "from", t->stages[e->from].name);
        json_text(&j, "to", t->stages[e->to].name);
        json_text(&j, "buffer", e->buffer);
        json_text(&j, "order", e->order);
        json_number(&j, "overlap_ns", trace_overlap(t, e));
        json_number(&j, "early_blocks", trace_early(t, e));
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

/* ----------------------------------------------------------------- verb -- */

static int run(const struct asked *a, struct plan_file *f, struct plan_parts *p,
               struct trace *t)
{
    struct plan_done d = {0};

    d.result = plan_parts_make(p, f, &a->plan, &d.error);
    if (d.result == FGS_OK)
        d.result = plan_parts_compose(p, &d.error);
    if (d.result == FGS_OK)
        plan_verify(p, (uint32_t)f->rounds, &d);
    if (d.ok)
        return plan_trace("trace", p, t);
    failure("trace", "%s: %s", f->path, d.error.text);
    return code_of(d.result);
}

static int run_plan(const struct asked *a, const char *path, struct trace *t)
{
    struct plan_file f;
    struct plan_parts p = {0};
    int code = plan_read(path, &f);

    if (code != EXIT_GOOD)
        return code;
    if (a->rounds_given)
        f.rounds = a->rounds;
    code = run(a, &f, &p, t);
    plan_parts_free(&p);
    plan_drop(&f);
    return code;
}

static int get_trace(const struct asked *a, const char *path, struct trace *t)
{
    unsigned char *text;
    size_t size;
    int bad = file_read(path, &text, &size), code;

    if (bad)
        return failure("trace", "%s: %s", path, strerror(bad));
    if (trace_rows_are(text, size))
        code = trace_rows_read(path, text, t);
    else
        code = run_plan(a, path, t);
    free(text);
    return code;
}

static int ask(int argc, char **argv, struct asked *a)
{
    const struct opt table[] = {
        {"-o", OPT_TEXT, &a->output, 0, 0, NULL, NULL},
        {"--provider", OPT_TEXT, &a->plan.provider, 0, 0, "cuda|sim", NULL},
        {"--device", OPT_NUMBER, &a->plan.ordinal, 0, INT32_MAX, NULL, NULL},
        {"--order", OPT_TEXT, &a->plan.order, 0, 0, PLAN_ORDERS, NULL},
        {"--engine", OPT_TEXT, &a->engine, 0, 0, NULL, NULL},
        {"--rounds", OPT_NUMBER, &a->rounds, 1, UINT32_MAX, NULL,
         &a->rounds_given},
        {"--json", OPT_FLAG, &a->json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands, code;

    code = opt_parse(verb_find("trace"), argc, argv, table, &operands);
    if (code >= 0)
        return code;
    if (operands != 1)
        return usage_error("trace", "one FILE is expected");
    if (!a->output)
        return usage_error("trace", "-o OUT is missing");
    if (trace_suffix_wrong(a->output))
        return usage_error("trace", "-o: \"%s\" %s", a->output,
                           trace_suffix_wrong(a->output));
    if (a->engine && fgs_engine_find(a->engine, &a->plan.engine) < 0)
        return usage_error("trace", "--engine: \"%s\" is no engine", a->engine);
    a->plan.receipt = 2;
    return -1;
}

int verb_trace(int argc, char **argv)
{
    struct asked a = {0};
    struct trace t = {0};
    int code = ask(argc, argv, &a);

    if (code >= 0)
        return code;
    code = get_trace(&a, argv[1], &t);
    if (code == EXIT_GOOD)
        code = trace_write("trace", &t, a.output);
    if (code == EXIT_GOOD && a.json)
        print_json(&t);
    else if (code == EXIT_GOOD)
        print(&t);
    trace_free(&t);
    return code;
}
