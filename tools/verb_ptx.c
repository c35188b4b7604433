/* verb_ptx.c -- fgs ptx: the kernels' texts */
#include "tool.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

const char usage_ptx[] =
    "usage: fgs ptx [OPTION]... [NAME]\n"
    "\n"
    "Without NAME, list the kernels in the library; with it, print the text "
    "as\n"
    "it is loaded, all tokens replaced.\n"
    "\n"
    "  --engine E     NAME of this engine: --engine bulk consume\n"
    "  --language L   ptx (default), or cuda: the twin in CUDA C++\n"
    "  --compile      the PTX that NVRTC makes of the twin\n"
    "  --list         list every variant, for each element type\n"
    "  --cc N         for a device of compute capability N / 10 (default 107)\n"
    "  --element E    for elements of this type (default f32)\n"
    "  --saturate S   integers that are the sentinel: refuse, up or down\n"
    "  --tile BYTES   of a tile (default 4096)\n"
    "  --threads N    of a block (default 256)\n"
    "  --stages N     of a pipeline's kernel, tiles in flight (default 2)\n"
    "  --json         as JSON\n"
    "\n"
    "Exit: 0 good, 1 failed (no such kernel), 2 wrong usage.\n";

/* ".version 9.4" gives "9.4"; "" when the line is not there. */
void text_word(const char *text, const char *directive, char *word, size_t room)
{
    size_t len = strlen(directive), n = 0;
    const char *line;

    word[0] = 0;
    for (line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, directive, len) || !strchr(" \t", line[len]))
            continue;
        line += len + strspn(line + len, " \t");
        n = strcspn(line, " \t\r\n,/;");
        snprintf(word, room, "%.*s", (int)n, line);
        return;
    }
}

/* Behind " -- " in the first line. */
static void purpose(const char *text, char *word, size_t room)
{
    size_t end = strcspn(text, "\n");
    const char *dash = strstr(text, " -- ");

    if (dash && (size_t)(dash - text) < end)
        snprintf(word, room, "%.*s", (int)(end - (size_t)(dash + 4 - text)),
                 dash + 4);
    else
        word[0] = 0;
}

int text_get(const char *verb, const fgs_ptx_desc *d, char **text)
{
    size_t size = 0;
    fgs_error err;
    fgs_result r = fgs_ptx_expand(d, NULL, &size, &err);

    if (r < 0 && r != FGS_E_SIZE)
        return failure(verb, "%s", err.text);
    *text = malloc(size);
    if (!*text)
        return failure(verb, "%s: no memory", d->stem);
    r = fgs_ptx_expand(d, *text, &size, &err);
    if (r == FGS_OK)
        return EXIT_GOOD;
    free(*text);
    return failure(verb, "%s", err.text);
}

fgs_result text_compile(const fgs_ptx_desc *d, char **text, fgs_error *err)
{
    enum { ROOM = 256 << 10 }; /* a second call compiles again               */
    size_t size = ROOM, had;
    fgs_result r;

    do {
        had = size;
        *text = malloc(size);
        if (!*text) {
            snprintf(err->text, sizeof err->text, "%s: no memory", d->stem);
            return FGS_E_NOMEM;
        }
        r = fgs_ptx_compile(d, *text, &size, err);
        if (r < 0) {
            free(*text);
            *text = NULL;
        }
    } while (r == FGS_E_SIZE && size > had);
    return r;
}

/* One row; a text that a device cannot have says so in its purpose. */
static int list_one(const fgs_ptx_desc *d, bool all, struct json *j)
{
    const char *element = fgs_element_get_info(d->element)->name;
    char version[16] = "", target[16] = "", what[128], *text;
    size_t size = 0;
    fgs_result r = fgs_ptx_expand(d, NULL, &size, NULL);

    if (r == FGS_E_UNSUPPORTED) {
        snprintf(what, sizeof what, "not for compute %d.%d", (int)d->cc / 10,
                 (int)d->cc % 10);
    } else if (r == FGS_E_INVAL) {
        snprintf(what, sizeof what, "not for element %s", element);
    } else {
        if (text_get("ptx", d, &text))
            return EXIT_BAD;
        text_word(text, ".version", version, sizeof version);
        text_word(text, ".target", target, sizeof target);
        purpose(text, what, sizeof what);
        free(text);
    }
    if (!j) {
        printf("%-24s ", d->stem);
        if (all)
            printf("%-6s ", element);
        printf("%-4s %-8s %s\n", version, target, what);
        return EXIT_GOOD;
    }
    json_open(j, NULL, '{');
    json_text(j, "name", d->stem);
    if (all)
        json_text(j, "element", element);
    json_text(j, "ptx_version", *version ? version : NULL);
    json_text(j, "ptx_target", *target ? target : NULL);
    json_text(j, "purpose", what);
    json_close(j, '}');
    return EXIT_GOOD;
}

/* The stems for one element, or for all of them. */
static int list(fgs_ptx_desc *d, bool all, struct json *j)
{
    uint32_t i;
    int e, code = EXIT_GOOD;

    if (j)
        json_open(j, NULL, '[');
    for (i = 0; (d->stem = fgs_ptx_stem(i)); i++)
        for (e = 0; e < (all ? (int)FGS_ELEMENT_COUNT : 1); e++) {
            if (all)
                d->element = (fgs_element)e;
            if (list_one(d, all, j))
                code = EXIT_BAD;
        }
    if (j)
        json_close(j, ']');
    return code;
}

static int print(const fgs_ptx_desc *d, bool compiled, struct json *j)
{
    fgs_error err;
    char *text;
    int code;

    if (!compiled)
        code = text_get("ptx", d, &text);
    else if (text_compile(d, &text, &err) < 0)
        code = failure("ptx", "%s", err.text);
    else
        code = EXIT_GOOD;
    if (code)
        return code;
    if (j) {
        json_open(j, NULL, '{');
        json_text(j, "name", d->stem);
        json_number(j, "cc", (uint64_t)d->cc);
        json_text(j, "element", fgs_element_get_info(d->element)->name);
        json_text(j, "text", text);
        json_close(j, '}');
    } else {
        fputs(text, stdout);
    }
    free(text);
    return EXIT_GOOD;
}

/* The stem of an engine's kernel, by the whole name or without the engine. */
static const char *stem_of(const char *engine, const char *name, char *room,
                           size_t size)
{
    bool whole = !strncmp(name, engine, strlen(engine));
    const char *stem;
    uint32_t i;

    snprintf(room, size, "%s%s%s", whole ? "" : engine, whole ? "" : "_", name);
    for (i = 0; (stem = fgs_ptx_stem(i)); i++)
        if (!strcmp(stem, room))
            return stem;
    return NULL;
}

int verb_ptx(int argc, char **argv)
{
    fgs_ptx_desc d = {.size = sizeof d};
    const char *element = "f32", *saturate = "refuse", *engine = NULL;
    const char *language = "ptx";
    char stem[64];
    uint64_t cc = 107, tile = 0, threads = 0, stages = 0;
    bool json = false, all = false, compiled = false;
    struct json j = {.to = stdout};
    const struct opt table[] = {
        {"--list", OPT_FLAG, &all, 0, 0, NULL, NULL},
        {"--cc", OPT_NUMBER, &cc, 10, 999, NULL, NULL},
        {"--element", OPT_TEXT, &element, 0, 0, NULL, NULL},
        {"--engine", OPT_TEXT, &engine, 0, 0, "report|bulk|poll|async|plain",
         NULL},
        {"--language", OPT_TEXT, &language, 0, 0, "ptx|cuda", NULL},
        {"--compile", OPT_FLAG, &compiled, 0, 0, NULL, NULL},
        {"--saturate", OPT_TEXT, &saturate, 0, 0, SATURATE_WORDS, NULL},
        {"--tile", OPT_NUMBER, &tile, 16, 1 << 20, NULL, NULL},
        {"--threads", OPT_NUMBER, &threads, 32, 1024, NULL, NULL},
        {"--stages", OPT_NUMBER, &stages, 1, 8, NULL, NULL},
        {"--json", OPT_FLAG, &json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands;
    int code = opt_parse(verb_find("ptx"), argc, argv, table, &operands);

    if (code >= 0)
        return code;
    if (operands > 1)
        return usage_error("ptx", "\"%s\": one NAME is expected", argv[2]);
    if (operands && all)
        return usage_error("ptx", "--list takes no NAME");
    if (!operands && compiled)
        return usage_error("ptx", "--compile takes a NAME");
    if (fgs_element_find(element, &d.element) < 0)
        return usage_error("ptx", "--element: \"%s\" is no element type",
                           element);
    d.cc = (int32_t)cc;
    d.saturate = saturate_value(saturate);
    d.tile_bytes = (uint32_t)tile;
    d.threads = (uint32_t)threads;
    d.stages = (uint32_t)stages;
    d.language = *language == 'c' ? FGS_LANGUAGE_CUDA : FGS_LANGUAGE_PTX;
    d.stem = operands ? argv[1] : NULL;
    if (operands && engine) {
        d.stem = stem_of(engine, argv[1], stem, sizeof stem);
        if (!d.stem)
            return usage_error("ptx", "--engine: \"%s\" is no kernel of %s",
                               argv[1], engine);
    }
    return operands ? print(&d, compiled, json ? &j : NULL)
                    : list(&d, all, json ? &j : NULL);
}
