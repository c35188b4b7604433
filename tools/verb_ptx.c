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
    "  --cc N   for a device of compute capability N / 10 (default 107)\n"
    "  --json   as JSON\n"
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

int text_get(const char *verb, const char *stem, int32_t cc, char **text)
{
    size_t size = 0;
    fgs_error err;
    fgs_result r = fgs_ptx_text(stem, cc, NULL, &size, &err);

    if (r < 0 && r != FGS_E_SIZE)
        return failure(verb, "%s", err.text);
    *text = malloc(size);
    if (!*text)
        return failure(verb, "%s: no memory", stem);
    r = fgs_ptx_text(stem, cc, *text, &size, &err);
    if (r == FGS_OK)
        return EXIT_GOOD;
    free(*text);
    return failure(verb, "%s", err.text);
}

/* One row; a text that a device cannot have says so in its purpose. */
static int list_one(const char *stem, int32_t cc, struct json *j)
{
    char version[16] = "", target[16] = "", what[128], *text;
    size_t size = 0;
    fgs_result r = fgs_ptx_text(stem, cc, NULL, &size, NULL);

    if (r == FGS_E_UNSUPPORTED) {
        snprintf(what, sizeof what, "not for compute %d.%d", (int)cc / 10,
                 (int)cc % 10);
    } else {
        if (text_get("ptx", stem, cc, &text))
            return EXIT_BAD;
        text_word(text, ".version", version, sizeof version);
        text_word(text, ".target", target, sizeof target);
        purpose(text, what, sizeof what);
        free(text);
    }
    if (!j) {
        printf("%-24s %-4s %-8s %s\n", stem, version, target, what);
        return EXIT_GOOD;
    }
    json_open(j, NULL, '{');
    json_text(j, "name", stem);
    json_text(j, "ptx_version", *version ? version : NULL);
    json_text(j, "ptx_target", *target ? target : NULL);
    json_text(j, "purpose", what);
    json_close(j, '}');
    return EXIT_GOOD;
}

static int list(int32_t cc, struct json *j)
{
    const char *stem;
    uint32_t i;
    int code = EXIT_GOOD;

    if (j)
        json_open(j, NULL, '[');
    for (i = 0; (stem = fgs_ptx_stem(i)); i++)
        if (list_one(stem, cc, j))
            code = EXIT_BAD;
    if (j)
        json_close(j, ']');
    return code;
}

static int print(const char *stem, int32_t cc, struct json *j)
{
    char *text;
    int code = text_get("ptx", stem, cc, &text);

    if (code)
        return code;
    if (j) {
        json_open(j, NULL, '{');
        json_text(j, "name", stem);
        json_number(j, "cc", (uint64_t)cc);
        json_text(j, "text", text);
        json_close(j, '}');
    } else {
        fputs(text, stdout);
    }
    free(text);
    return EXIT_GOOD;
}

int verb_ptx(int argc, char **argv)
{
    uint64_t cc = 107;
    bool json = false;
    struct json j = {.to = stdout};
    const struct opt table[] = {
        {"--cc", OPT_NUMBER, &cc, 10, 999, NULL, NULL},
        {"--json", OPT_FLAG, &json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands;
    int code = opt_parse(verb_find("ptx"), argc, argv, table, &operands);

    if (code >= 0)
        return code;
    if (operands > 1)
        return usage_error("ptx", "\"%s\": one NAME is expected", argv[2]);
    if (operands)
        return print(argv[1], (int32_t)cc, json ? &j : NULL);
    return list((int32_t)cc, json ? &j : NULL);
}
