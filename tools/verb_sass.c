/* verb_sass.c -- fgs sass: what the assembler makes of a kernel, and rules */
#include "sass_verb.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

const char usage_sass[] =
    "usage: fgs sass [OPTION]... NAME|FILE.ptx|FILE.cubin\n"
    "       fgs sass --check [OPTION]... NAME|FILE...\n"
    "       fgs sass --check --all | --rules\n"
    "\n"
    "Assemble a kernel of the library or a PTX file and print the machine\n"
    "code, the instructions of the protocol marked; or check it.  Takes ptxas\n"
    "and nvdisasm (or cuobjdump) of the pinned tool chain, of $PATH or of\n"
    "/usr/local/cuda; without ptxas, nvJitLink assembles.\n"
    "\n"
    "  --target T   such as sm_107a (default: the text's own)\n"
    "  --check      one line a kernel, and the rules that do not hold\n"
    "  --all        every kernel of the library for every target\n"
    "  --rules      list the rules\n"
    "  --skip R,R   without these rules\n"
    "  --role init|producer|consumer|relay|join|scaled_join  of a file's\n"
    "               entries, and\n"
    "  --engine report|bulk|poll|async  where the name does not say it\n"
    "  --language ptx|cuda  of --all only these; of NAME the text, or what\n"
    "               NVRTC makes of its twin\n"
    "  --element E  what the buffer holds (default f32; of --all, only this)\n"
    "  --self-init  of a kernel that fills its own output before it triggers\n"
    "  --persistent of a producer of any grid; of --all, these forms alone\n"
    "               (without either, texts of f32 in each form, too)\n"
    "  --initializes  a file's kernel writes the sentinels itself\n"
    "  --own        files too by the rules for the library's own kernels\n"
    "  --json       as JSON\n"
    "\n"
    "Exit: 0 good, 1 a rule does not hold, failed or no assembler, 2 wrong\n"
    "usage.\n";

static bool is_file(const char *name)
{
    return strchr(name, '/') || strchr(name, '.');
}

/* -------------------------------------------------------------- printing -- */

static const char *const role_names[] = {"?", "init", "producer", "consumer",
                                         "relay", "join", "scaled_join",
                                         "stage", "fused"};

static const char *engine_of(const struct sass_what *w)
{
    return sass_loads(w) ? fgs_engine_name(w->engine) : NULL;
}

static void print_json(struct sass_report *r, const char *name,
                       const char *target, const struct sass_what *w,
                       const struct sass_entry *e,
                       const struct sass_verdict *v)
{
    size_t i;

    json_open(&r->j, NULL, '{');
    json_text(&r->j, "name", name);
    json_text(&r->j, "target", target);
    json_text(&r->j, "language", w->twin ? "cuda" : "ptx");
    json_text(&r->j, "role", role_names[w->role]);
    json_text(&r->j, "engine", engine_of(w));
    json_text(&r->j, "element", fgs_element_get_info(w->element)->name);
    json_number(&r->j, "rules", v->rules);
    if (e->has_resources)
        json_number(&r->j, "registers", e->registers);
    json_open(&r->j, "broken", '[');
    for (i = 0; i < v->broken; i++) {
        json_open(&r->j, NULL, '{');
        json_text(&r->j, "rule", v->list[i].rule);
        json_text(&r->j, "sentence", v->list[i].sentence);
        json_text(&r->j, "place", v->list[i].place);
        json_close(&r->j, '}');
    }
    json_close(&r->j, ']');
    json_close(&r->j, '}');
}

int sass_check_entry(struct sass_report *r, const char *name,
                     const char *target, const struct sass_what *w,
                     struct sass_entry *e)
{
    struct sass_verdict v;
    size_t i;

    if (!sass_mark(e, w->element) || !sass_check(e, w, r->a->skip, &v))
        return failure("sass", "no memory");
    r->kernels++;
    r->broken += v.broken;
    if (r->a->json) {
        print_json(r, name, target, w, e, &v);
        return EXIT_GOOD;
    }
    printf("%s  %s %s: %zu rules", v.broken ? "BAD " : "good", name, target,
           v.rules);
    if (e->has_resources)
        printf(", %u registers", (unsigned)e->registers);
    putchar('\n');
    for (i = 0; i < v.broken; i++)
        printf("      %s: %s\n        %s\n", v.list[i].rule,
               v.list[i].sentence, v.list[i].place);
    return EXIT_GOOD;
}

/* ------------------------------------------------------------- one operand */

struct one {
    struct sass_code code;
    char target[16], by[PROGRAM_PATH], read_by[PROGRAM_PATH];
};

/* The target that a cubin was made for, as the listing says it. */
static void target_of(const struct sass_code *c, char target[16])
{
    const char *line = strstr(c->listing, ".target\t");

    snprintf(target, 16, "sm_0");
    if (line)
        snprintf(target, 16, "%.*s", (int)strcspn(line + 8, " \t\r\n"),
                 line + 8);
}

static int make_file(const char *name, const char *target, struct one *o)
{
    unsigned char *data;
    size_t size;
    int bad = file_read(name, &data, &size), code;

    if (bad)
        return failure("sass", "%s: %s", name, strerror(bad));
    o->by[0] = 0;
    if (size > 4 && !memcmp(data, "\177ELF", 4)) {
        code = sass_of_cubin(data, size, &o->code, o->read_by);
        if (!code)
            target_of(&o->code, o->target);
    } else if (strlen((char *)data) != size) {
        code = failure("sass",
                       "%s: a NUL byte is in it, so it is no text", name);
    } else {
        text_word((char *)data, ".target", o->target, sizeof o->target);
        /* the assembler takes texts of earlier ones, for this one and later */
        if (!strncmp(o->target, "sm_7", 4))
            snprintf(o->target, sizeof o->target, "sm_75");
        if (target)
            snprintf(o->target, sizeof o->target, "%s", target);
        if (!sass_target_is_sound(o->target))
            code = failure("sass", "%s: no .target sm_... line is in it", name);
        else
            code = sass_of_text(name, (char *)data, o->target, &o->code, o->by,
                                o->read_by);
    }
    free(data);
    return code;
}

static bool is_twin(const struct sass_asked *a)
{
    return a->language && *a->language == 'c';
}

static int make_stem(const char *name, const struct sass_asked *a,
                     struct one *o)
{
    const char *target = a->target;
    char *text;
    fgs_ptx_desc d = {.size = sizeof d, .stem = name,
                      .cc = target ? sass_cc_of(target) : 107,
                      .element = a->element_value,
                      .self_init = a->self_init,
                      .persistent = a->persistent};
    fgs_error err;
    int code = EXIT_GOOD;

    if (!is_twin(a))
        code = text_get("sass", &d, &text);
    else if (text_compile(&d, &text, &err) < 0)
        code = failure("sass", "%s", err.text);
    if (code)
        return code;
    text_word(text, ".target", o->target, sizeof o->target);
    if (target)
        snprintf(o->target, sizeof o->target, "%s", target);
    code = sass_of_text(name, text, o->target, &o->code, o->by, o->read_by);
    free(text);
    return code;
}

static int make(const char *name, const struct sass_asked *a, struct one *o)
{
    memset(o, 0, sizeof *o);
    return is_file(name) ? make_file(name, a->target, o)
                         : make_stem(name, a, o);
}

/* What the options say of a file's entry, and what is guessed. */
static bool what_of_file(const struct sass_asked *a, struct sass_entry *e,
                         const char *target, struct sass_what *w)
{
    const char *how;

    memset(w, 0, sizeof *w);
    w->element = a->element_value;
    w->cc = sass_cc_of(target);
    w->inits = a->inits;
    w->own = a->own;
    w->staged = strstr(e->name, "_retry") || strstr(e->name, "_stages") ||
                strstr(e->name, "gemm_");
    w->two = strstr(e->name, "_scaled");
    w->pair = strstr(e->name, "_pair");
    w->pair = strstr(e->name, "_pair");
    for (w->role = 0; a->role && strcmp(role_names[w->role], a->role);)
        w->role++;
    if (a->engine && fgs_engine_find(a->engine, &w->engine) < 0)
        return false;
    if (w->role && (!sass_loads(w) || w->engine))
        return true;
    if (!sass_mark(e, w->element))
        return false;
    how = sass_guess(e, w);
    if (!how || (sass_loads(w) && !w->engine)) {
        fprintf(stderr, "fgs sass: %s: what is it? --role and --engine say "
                        "it\n", e->name);
        return false;
    }
    fprintf(stderr, "fgs sass: %s is taken for a %s%s%s of %s, %s\n", e->name,
            role_names[w->role], engine_of(w) ? " by " : "",
            engine_of(w) ? engine_of(w) : "",
            fgs_element_get_info(w->element)->name, how);
    return true;
}

static int check_one(struct sass_report *r, const char *name)
{
    struct one o;
    struct sass_what w;
    size_t i;
    int code = make(name, r->a, &o);

    for (i = 0; !code && i < o.code.count; i++) {
        struct sass_entry *e = &o.code.entry[i];

        if (!is_file(name))
            sass_what_of_stem(&(fgs_ptx_desc){.stem = name,
                                         .cc = sass_cc_of(o.target),
                                         .element = r->a->element_value,
                                         .self_init = r->a->self_init,
                                         .language = is_twin(r->a)
                                             ? FGS_LANGUAGE_CUDA
                                             : FGS_LANGUAGE_PTX},
                         &w);
        else if (!what_of_file(r->a, e, o.target, &w)) {
            code = EXIT_BAD;
            continue;
        }
        code = sass_check_entry(r, is_file(name) ? e->name : name, o.target,
                                &w, e);
    }
    sass_free(&o.code);
    return code;
}

static int show(const struct sass_asked *a, const char *name)
{
    struct one o;
    size_t i;
    int code = make(name, a, &o);

    if (!code)
        fprintf(stderr, "fgs: %s for %s by %s\n", name, o.target,
                o.by[0] ? o.by : o.read_by);
    for (i = 0; !code && i < o.code.count; i++)
        if (!sass_mark(&o.code.entry[i], a->element_value))
            code = failure("sass", "no memory");
    if (!code && a->json)
        sass_show_json(&o.code, o.target, o.by[0] ? o.by : NULL, o.read_by);
    else if (!code)
        sass_show(&o.code);
    sass_free(&o.code);
    return code;
}

/* ------------------------------------------------------------------ verb -- */

static int check(const struct sass_asked *a, int operands, char **argv)
{
    struct sass_report r = {.a = a, .j = {.to = stdout}};
    int i, code = EXIT_GOOD;

    if (a->json) {
        json_open(&r.j, NULL, '{');
        json_open(&r.j, "kernels", '[');
    }
    if (a->all)
        code = sass_check_all(&r);
    for (i = 1; i <= operands; i++)
        if (check_one(&r, argv[i]))
            code = EXIT_BAD;
    if (a->json) {
        json_close(&r.j, ']');
        json_number(&r.j, "checked", r.kernels);
        json_number(&r.j, "broken", r.broken);
        json_number(&r.j, "twins", r.twins);
        json_number(&r.j, "twins_left_out", r.left_out);
        json_number(&r.j, "without_twin", r.alone);
        json_close(&r.j, '}');
    } else {
        if (r.twins)
            printf("%zu of them are twins in CUDA C++, compiled by NVRTC\n",
                   r.twins);
        if (r.alone)
            printf("%zu kernels have no twin in CUDA C++\n", r.alone);
        if (r.left_out)
            printf("%zu twins in CUDA C++ were not checked: %s\n", r.left_out,
                   r.why);
        printf("%zu kernels checked, %zu rules broken\n", r.kernels, r.broken);
    }
    return r.broken ? EXIT_BAD : code;
}

/* -1 = go on. */
static int check_options(struct sass_asked *a, int operands)
{
    const fgs_element_info *e;
    int i;

    if (a->target && !sass_target_is_sound(a->target))
        return usage_error("sass",
                           "--target: \"%s\" is no target such as "
                           "sm_107a",
                           a->target);
    for (i = 0; a->element; i++) {
        e = i < FGS_ELEMENT_COUNT ? fgs_element_get_info((fgs_element)i) : NULL;
        if (!e)
            return usage_error("sass", "--element: \"%s\" is none",
                               a->element);
        a->element_value = (fgs_element)i;
        if (!strcmp(e->name, a->element))
            break;
    }
    if (a->all && (operands || !a->check))
        return usage_error("sass", "--all is for --check, without a NAME");
    if (!a->all && !a->rules && (operands < 1 || (operands > 1 && !a->check)))
        return usage_error("sass", "one NAME or FILE.ptx is expected");
    return -1;
}

int verb_sass(int argc, char **argv)
{
    struct sass_asked a = {.element_value = FGS_ELEMENT_F32};
    const struct opt table[] = {
        {"--target", OPT_TEXT, &a.target, 0, 0, NULL, NULL},
        {"--check", OPT_FLAG, &a.check, 0, 0, NULL, NULL},
        {"--all", OPT_FLAG, &a.all, 0, 0, NULL, NULL},
        {"--rules", OPT_FLAG, &a.rules, 0, 0, NULL, NULL},
        {"--skip", OPT_TEXT, &a.skip, 0, 0, NULL, NULL},
        {"--role", OPT_TEXT, &a.role, 0, 0, 
         "init|producer|consumer|relay|join|scaled_join", NULL},
        {"--engine", OPT_TEXT, &a.engine, 0, 0, "report|bulk|poll|async", NULL},
        {"--element", OPT_TEXT, &a.element, 0, 0, NULL, NULL},
        {"--self-init", OPT_FLAG, &a.self_init, 0, 0, NULL, NULL},
        {"--persistent", OPT_FLAG, &a.persistent, 0, 0, NULL, NULL},
        {"--initializes", OPT_FLAG, &a.inits, 0, 0, NULL, NULL},
        {"--language", OPT_TEXT, &a.language, 0, 0, "ptx|cuda", NULL},
        {"--own", OPT_FLAG, &a.own, 0, 0, NULL, NULL},
        {"--json", OPT_FLAG, &a.json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands;
    int code = opt_parse(verb_find("sass"), argc, argv, table, &operands);

    if (code < 0)
        code = check_options(&a, operands);
    if (code >= 0)
        return code;
    if (a.rules)
        {
        sass_list_rules(a.json);
        return EXIT_GOOD;
    }
    return a.check ? check(&a, operands, argv) : show(&a, argv[1]);
}
