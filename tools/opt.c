/* opt.c -- options of a verb, read by its table */
#include "tool.h"

#include <inttypes.h>
#include <string.h>

const char *number_parse(const char *text, uint64_t lo, uint64_t hi,
                         uint64_t *out)
{
    uint64_t n = 0;
    const char *p;

    if (!*text)
        return "needs a number";
    for (p = text; *p; p++) {
        unsigned digit = (unsigned char)*p - '0';

        if (digit > 9)
            return "is not a whole number";
        if (n > (UINT64_MAX - digit) / 10)
            return "is too large";
        n = n * 10 + digit;
    }
    if (n < lo)
        return "is too small";
    if (n > hi)
        return "is too large";
    *out = n;
    return NULL;
}

bool word_is_in(const char *words, const char *text)
{
    size_t len = strcspn(text, "|");
    const char *p;

    if (text[len])
        return false;
    for (p = words; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
        if (len && !strncmp(p, text, len) && (!p[len] || p[len] == '|'))
            return true;
    return false;
}

static int set(const char *verb, const struct opt *o, const char *text)
{
    const char *wrong;

    if (o->kind == OPT_NUMBER) {
        wrong = number_parse(text, o->lo, o->hi, o->value);
        if (wrong)
            return usage_error(verb,
                               "%s: \"%s\" %s (%" PRIu64 " to %" PRIu64 ")",
                               o->name, text, wrong, o->lo, o->hi);
    } else {
        if (!*text)
            return usage_error(verb, "%s: its value is empty", o->name);
        if (o->words && !word_is_in(o->words, text))
            return usage_error(verb, "%s: \"%s\" is none of %s", o->name, text,
                               o->words);
        *(const char **)o->value = text;
    }
    return -1;
}

/* The row whose name is argv's word up to its '=' or end. */
static const struct opt *find(const struct opt *table, const char *word)
{
    size_t len = strcspn(word, "=");

    for (; table->name; table++)
        if (!strncmp(table->name, word, len) && !table->name[len])
            return table;
    return NULL;
}

/* One option at argv[*i]; moves *i past its value. */
static int take(const char *verb, int argc, char **argv, int *i,
                const struct opt *table)
{
    const struct opt *o = find(table, argv[*i]);
    const char *text = strchr(argv[*i], '=');

    if (!o)
        return usage_error(verb, "%.*s: no such option",
                           (int)strcspn(argv[*i], "="), argv[*i]);
    if (o->given)
        *o->given = true;
    if (o->kind == OPT_FLAG) {
        if (text)
            return usage_error(verb, "%s: takes no value", o->name);
        *(bool *)o->value = true;
        return -1;
    }
    if (text)
        return set(verb, o, text + 1);
    if (*i + 1 == argc)
        return usage_error(verb, "%s: its value is missing", o->name);
    return set(verb, o, argv[++*i]);
}

int opt_parse(const struct verb *verb, int argc, char **argv,
              const struct opt *table, int *operands)
{
    bool options = true;
    int i, code, n = 0;

    for (i = 1; i < argc; i++) {
        if (!options || argv[i][0] != '-' || !argv[i][1]) {
            argv[++n] = argv[i];
        } else if (!strcmp(argv[i], "--")) {
            options = false;
        } else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(verb->usage, stdout);
            return EXIT_GOOD;
        } else {
            code = take(verb->name, argc, argv, &i, table);
            if (code >= 0)
                return code;
        }
    }
    *operands = n;
    return -1;
}
