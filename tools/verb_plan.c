/* verb_plan.c -- fgs plan: plan files, checked, drawn and run */
#include "plan_run.h"
#include "plan_words.h"

#include <string.h>

const char usage_plan[] =
    "usage: fgs plan expand FILE [--json]\n"
    "       fgs plan check FILE [--dot|--json]\n"
    "       fgs plan run FILE [OPTION]...\n"
    "       fgs plan words\n"
    "\n"
    "expand  print a plan as it was read, its loops and defaults written out;\n"
    "        no device is needed\n"
    "check   compose it, and print its stages in the order of their launches\n"
    "        and its edges: which order was taken, and why; nothing is "
    "launched\n"
    "run     run it, and compare what no stage reads with the stages' mirrors\n"
    "        in C, bit by bit\n"
    "words   list the roles, options and parameters of plan files\n"
    "\n"
    "  --provider cuda|sim  a GPU or the software device; default: a GPU that\n"
    "                       can run an engine, else the software device\n"
    "  --device N           its N-th device (default 0)\n"
    "  --order ORDER        of all edges, whatever the file says: auto,\n"
    "                       stream, pdl, flag or sentinel\n"
    "  --engine NAME        of all stages that say none\n"
    "  --rounds N           in place of the file's\n"
    "  --seed N             of the values, in place of the file's\n"
    "  --receipt            what each stage and edge did, and why\n"
    "  --trace OUT          the last round as a picture, see fgs trace\n"
    "  --dot                the plan for Graphviz\n"
    "  --json               as JSON\n"
    "\n"
    "A plan file is read line by line; # begins a comment.\n"
    "\n"
    "  plan OPTION...             of the whole\n"
    "  buffer NAME OPTION...      tiles; what no stage writes is filled from\n"
    "                             the seed\n"
    "  stage NAME ROLE IN... -> OUT OPTION...\n"
    "                             a kernel of the library\n"
    "  stage NAME kernel FILE ENTRY OPTION...\n"
    "                             a kernel of yours in PTX or CUDA C++ (.cu);\n"
    "                             the lines below say its parameters and what\n"
    "                             it touches\n"
    "  read BUFFER OPTION...      of the stage above: more of what it reads\n"
    "  write BUFFER OPTION...     and writes\n"
    "  arg KIND [BUFFER|VALUE]    of the stage above: its next parameter\n"
    "  default buffer OPTION...   of buffers below that say nothing else\n"
    "  default stage OPTION...    of stages below\n"
    "  repeat VAR FROM TO         the lines up to `end`, once for each VAR;\n"
    "  end                        {VAR}, {VAR-1}, {VAR*2+1} in any word are\n"
    "                             reckoned from left to right: + - * / %\n"
    "\n"
    "Exit: 0 good, 1 failed, 2 wrong usage, 77 no such device.\n";

enum mode { EXPAND, CHECK, RUN, WORDS };

struct asked {
    struct plan_asked plan;
    enum mode mode;
    const char *file, *engine, *trace;
    uint64_t rounds, seed;
    bool rounds_given, seed_given, receipt, dot, json;
};

/* Options that only some of the modes have. */
static int check_mode(const struct asked *a)
{
    bool runs = a->rounds_given || a->seed_given || a->receipt || a->trace;

    if (a->mode != RUN && runs)
        return usage_error("plan", "--rounds, --seed, --receipt and --trace "
                                   "are for run");
    if (a->mode != CHECK && a->dot)
        return usage_error("plan", "--dot is for check");
    if (a->dot && a->json)
        return usage_error("plan", "--dot and --json exclude each other");
    if ((a->mode == EXPAND || a->mode == WORDS) &&
        (a->plan.order || a->engine || a->plan.provider))
        return usage_error("plan", "expand and words need no device");
    if (a->trace && trace_suffix_wrong(a->trace))
        return usage_error("plan", "--trace: \"%s\" %s", a->trace,
                           trace_suffix_wrong(a->trace));
    return -1;
}

static int ask(int argc, char **argv, struct asked *a)
{
    static const char *const modes[] = {"expand", "check", "run", "words"};
    const struct opt table[] = {
        {"--provider", OPT_TEXT, &a->plan.provider, 0, 0, "cuda|sim", NULL},
        {"--device", OPT_NUMBER, &a->plan.ordinal, 0, INT32_MAX, NULL, NULL},
        {"--order", OPT_TEXT, &a->plan.order, 0, 0, PLAN_ORDERS, NULL},
        {"--engine", OPT_TEXT, &a->engine, 0, 0, NULL, NULL},
        {"--rounds", OPT_NUMBER, &a->rounds, 1, UINT32_MAX, NULL,
         &a->rounds_given},
        {"--seed", OPT_NUMBER, &a->seed, 0, UINT64_MAX, NULL, &a->seed_given},
        {"--receipt", OPT_FLAG, &a->receipt, 0, 0, NULL, NULL},
        {"--trace", OPT_TEXT, &a->trace, 0, 0, NULL, NULL},
        {"--dot", OPT_FLAG, &a->dot, 0, 0, NULL, NULL},
        {"--json", OPT_FLAG, &a->json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands, code, i;

    code = opt_parse(verb_find("plan"), argc, argv, table, &operands);
    if (code >= 0)
        return code;
    for (i = 0; operands && i <= WORDS; i++)
        if (!strcmp(argv[1], modes[i]))
            break;
    if (!operands || i > WORDS || operands != (i == WORDS ? 1 : 2))
        return usage_error("plan", "expand FILE, check FILE, run FILE or words "
                                   "is expected");
    a->mode = (enum mode)i;
    a->file = argv[2];
    if (a->engine && fgs_engine_find(a->engine, &a->plan.engine) < 0)
        return usage_error("plan", "--engine: \"%s\" is no engine", a->engine);
    a->plan.receipt = a->mode != RUN ? 0 : a->receipt || a->trace ? 2 : 1;
    return check_mode(a);
}

/* Is `name` the first word of a sentence? */
static bool begins(const char *text, const char *name)
{
    size_t len = strlen(name);

    return !strncmp(text, name, len) && text[len] && strchr(":, ", text[len]);
}

/* An error that names a stage or a buffer has its place in the file. */
static void tell_error(const struct plan_file *f, const fgs_error *err)
{
    const struct plan_place *at = NULL;
    uint32_t i;

    for (i = 0; i < f->buffer_count; i++)
        if (!strcmp(f->buffers[i].name, err->buffer))
            at = &f->buffers[i].place;
    for (i = 0; i < f->stage_count; i++)
        if (!strcmp(f->stages[i].name, err->kernel) ||
            (!err->kernel[0] && begins(err->text, f->stages[i].name)))
            at = &f->stages[i].place;
    if (at)
        fprintf(stderr, "%s:%u:%u: %s\n", f->path, (unsigned)at->line,
                (unsigned)at->column, err->text);
    else
        failure("plan", "%s: %s", f->path, err->text);
}

static void show(const struct asked *a, const struct plan_parts *p)
{
    struct json j = {.to = stdout};

    if (a->dot)
        plan_show_dot(p);
    else if (!a->json)
        plan_show(p, true);
    else {
        json_open(&j, NULL, '{');
        plan_show_json(p, &j);
        json_close(&j, '}');
    }
}

static int draw(const struct asked *a, struct plan_parts *p)
{
    struct trace t = {0};
    int code = plan_trace("plan", p, &t);

    if (code == EXIT_GOOD)
        code = trace_write("plan", &t, a->trace);
    trace_free(&t);
    return code;
}

/* The plan is composed, or d->error says why not. */
static int run(const struct asked *a, const struct plan_file *f,
               struct plan_parts *p, struct plan_done *d)
{
    int code = EXIT_GOOD;

    if (d->composed)
        plan_verify(p, (uint32_t)f->rounds, d);
    if (!d->ok) {
        tell_error(f, &d->error);
        code = code_of(d->result);
    }
    if (a->json)
        plan_tell_json(p, d);
    else
        plan_tell(p, d, a->receipt);
    if (d->ok && a->trace)
        code = draw(a, p);
    return code;
}

static int compose(const struct asked *a, const struct plan_file *f)
{
    struct plan_parts p = {0};
    struct plan_done d = {0};
    int code = EXIT_GOOD;

    d.result = plan_parts_make(&p, f, &a->plan, &d.error);
    if (d.result == FGS_OK)
        d.result = plan_parts_compose(&p, &d.error);
    d.composed = d.result == FGS_OK;
    if (a->mode == RUN) {
        code = run(a, f, &p, &d);
    } else if (d.composed) {
        show(a, &p);
    } else {
        tell_error(f, &d.error);
        code = code_of(d.result);
    }
    plan_parts_free(&p);
    return code;
}

int verb_plan(int argc, char **argv)
{
    struct asked a = {0};
    struct plan_file f;
    int code = ask(argc, argv, &a);

    if (code >= 0)
        return code;
    if (a.mode == WORDS) {
        plan_words_list();
        return EXIT_GOOD;
    }
    code = plan_read(a.file, &f);
    if (code != EXIT_GOOD)
        return code;
    if (a.rounds_given)
        f.rounds = a.rounds;
    if (a.seed_given)
        f.seed = a.seed;
    if (a.mode != EXPAND)
        code = compose(&a, &f);
    else if (a.json)
        plan_print_json(&f);
    else
        plan_print(&f);
    plan_drop(&f);
    return code;
}
