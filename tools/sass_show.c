/* sass_show.c -- a listing with the protocol marked; the list of rules */
#include "sass.h"

#include <string.h>

/* The entry that has the instruction of a line; lines come in order. */
static const struct sass_insn *insn_at(const struct sass_code *c, size_t line,
                                       size_t *entry, size_t *insn)
{
    for (; *entry < c->count; ++*entry, *insn = 0) {
        const struct sass_entry *e = &c->entry[*entry];

        while (*insn < e->count && e->insn[*insn].line < line)
            ++*insn;
        if (*insn < e->count)
            return e->insn[*insn].line == line ? &e->insn[*insn] : NULL;
    }
    return NULL;
}

void sass_show(const struct sass_code *c)
{
    const char *line = c->listing, *end;
    size_t number = 0, entry = 0, insn = 0;

    for (; *line; line = end, number++) {
        const struct sass_insn *i = insn_at(c, number, &entry, &insn);
        const char *mark = i ? sass_mark_text(i->marks) : NULL;

        end = line + strcspn(line, "\n");
        if (mark)
            printf("%-*.*s  // <- %s\n", 90, (int)(end - line), line, mark);
        else
            printf("%.*s\n", (int)(end - line), line);
        end += *end == '\n';
    }
}

void sass_show_json(const struct sass_code *c, const char *target,
                    const char *by, const char *read_by)
{
    struct json j = {.to = stdout};
    size_t e, i;

    json_open(&j, NULL, '{');
    json_text(&j, "target", target);
    json_text(&j, "assembled_by", by);
    json_text(&j, "disassembled_by", read_by);
    json_text(&j, "sass", c->listing);
    json_open(&j, "marks", '[');
    for (e = 0; e < c->count; e++) {
        for (i = 0; i < c->entry[e].count; i++) {
            const struct sass_insn *n = &c->entry[e].insn[i];
            const char *mark = sass_mark_text(n->marks);

            if (!mark)
                continue;
            json_open(&j, NULL, '{');
            json_text(&j, "entry", c->entry[e].name);
            json_number(&j, "address", n->at);
            json_text(&j, "instruction", n->text);
            json_text(&j, "mark", mark);
            json_close(&j, '}');
        }
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

void sass_list_rules(bool as_json)
{
    struct json j = {.to = stdout};
    const char *id, *sentence;
    size_t i;

    if (as_json)
        json_open(&j, NULL, '[');
    for (i = 0; (id = sass_rule(i, &sentence)); i++) {
        if (!as_json) {
            printf("%-22s %s\n", id, sentence);
            continue;
        }
        json_open(&j, NULL, '{');
        json_text(&j, "rule", id);
        json_text(&j, "sentence", sentence);
        json_close(&j, '}');
    }
    if (as_json)
        json_close(&j, ']');
}
