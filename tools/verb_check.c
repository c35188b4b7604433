/* verb_check.c -- fgs check: PTX files by the rules of the assembler */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

const char usage_check[] =
    "usage: fgs check [OPTION]... FILE...\n"
    "\n"
    "Parse and check PTX files; each error is printed to stderr as\n"
    "FILE:LINE:COLUMN: TEXT.  The software device refuses some good texts\n"
    "when it loads them, by name: README, \"Limits\".\n"
    "\n"
    "  --json   as JSON, to standard output\n"
    "\n"
    "Exit: 0 all are good, 1 one is not, 2 wrong usage.\n";

struct sink {
    struct json *json; /* NULL = print to stderr */
    unsigned count;
};

static void report(void *cookie, const char *file, uint32_t line,
                   uint32_t column, const char *text)
{
    struct sink *s = cookie;

    s->count++;
    if (!s->json) {
        fprintf(stderr, "%s:", file);
        if (line)
            fprintf(stderr, "%u:%u:", (unsigned)line, (unsigned)column);
        fprintf(stderr, " %s\n", text);
        return;
    }
    json_open(s->json, NULL, '{');
    json_number(s->json, "line", line);
    json_number(s->json, "column", column);
    json_text(s->json, "text", text);
    json_close(s->json, '}');
}

/* Read and check; what is wrong with the file itself is reported as line 0. */
static bool check_file(const char *path, struct sink *s)
{
    unsigned char *text;
    size_t size;
    fgs_error err;
    fgs_result r;
    int bad = file_read(path, &text, &size);

    if (bad) {
        report(s, path, 0, 0, strerror(bad));
        return false;
    }
    r = fgs_ptx_check(path, (const char *)text, size, report, s, &err);
    free(text);
    if (r < 0 && !s->count)
        report(s, path, err.line, err.column, err.text);
    return r == FGS_OK;
}

int verb_check(int argc, char **argv)
{
    bool json = false, good, all = true;
    struct json j = {.to = stdout};
    const struct opt table[] = {
        {"--json", OPT_FLAG, &json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int i, operands;
    int code = opt_parse(verb_find("check"), argc, argv, table, &operands);

    if (code >= 0)
        return code;
    if (!operands)
        return usage_error("check", "a FILE is missing");
    if (json)
        json_open(&j, NULL, '[');
    for (i = 1; i <= operands; i++) {
        struct sink s = {json ? &j : NULL, 0};

        if (json) {
            json_open(&j, NULL, '{');
            json_text(&j, "file", argv[i]);
            json_open(&j, "errors", '[');
        }
        good = check_file(argv[i], &s);
        all &= good;
        if (json) {
            json_close(&j, ']');
            json_bool(&j, "ok", good);
            json_close(&j, '}');
        }
    }
    if (json)
        json_close(&j, ']');
    return all ? EXIT_GOOD : EXIT_BAD;
}
