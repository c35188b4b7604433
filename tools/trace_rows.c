/* trace_rows.c -- rows of blocks as a text, to be drawn elsewhere */
#include "trace.h"

#include <inttypes.h>
#include <string.h>

/*
 * fgs trace rows 1
 * device WORDS
 * stage NAME ENTRY BLOCKS
 * START READY END SM TRIES      one a block
 * edge FROM TO BUFFER ORDER     stages by number, from 0
 */
static const char magic[] = "fgs trace rows 1\n";

void trace_rows_write(const struct trace *t, FILE *to)
{
    uint32_t i;
    uint64_t k;

    fprintf(to, "%sdevice %s\n", magic, t->device);
    for (i = 0; i < t->stage_count; i++) {
        const struct trace_stage *s = &t->stages[i];

        fprintf(to, "stage %s %s %" PRIu64 "\n", s->name, s->entry, s->count);
        for (k = 0; k < s->count; k++)
            fprintf(to,
                    "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32
                    "\n",
                    s->rows[k].start, s->rows[k].ready, s->rows[k].end,
                    s->rows[k].sm, s->rows[k].tries);
    }
    for (i = 0; i < t->edge_count; i++)
        fprintf(to, "edge %" PRIu32 " %" PRIu32 " %s %s\n", t->edges[i].from,
                t->edges[i].to, t->edges[i].buffer, t->edges[i].order);
}

bool trace_rows_are(const unsigned char *text, size_t size)
{
    return size >= sizeof magic - 1 && !memcmp(text, magic, sizeof magic - 1);
}

struct rows {
    const char *path;
    char *at; /* the next line                                              */
    uint64_t line;
    struct trace *t;
};

static int wrong(const struct rows *r, const char *what)
{
    return failure("trace", "%s:%" PRIu64 ": %s", r->path, r->line, what);
}

/* The next line, NULL = there is none. */
static char *next_line(struct rows *r)
{
    char *line = r->at;
    size_t len = strcspn(line, "\n");

    if (!*line)
        return NULL;
    r->at += len + (line[len] == '\n');
    line[len] = 0;
    r->line++;
    return line;
}

/* The next word of a line, cut off; "" = there is none. */
static char *word(char **line)
{
    char *w = *line + strspn(*line, " ");
    size_t len = strcspn(w, " ");

    *line = w + len + (w[len] != 0);
    w[len] = 0;
    return w;
}

static bool number(char **line, uint64_t hi, uint64_t *out)
{
    return !number_parse(word(line), 0, hi, out);
}

static int read_row(struct rows *r, struct trace_row *row)
{
    char *line = next_line(r);
    uint64_t sm, tries;

    if (!line)
        return wrong(r, "rows of the stage are missing");
    if (!number(&line, UINT64_MAX, &row->start) ||
        !number(&line, UINT64_MAX, &row->ready) ||
        !number(&line, UINT64_MAX, &row->end) || !number(&line, 4095, &sm) ||
        !number(&line, UINT32_MAX, &tries) || *line)
        return wrong(r, "is no row: START READY END SM TRIES");
    if (row->end < row->start)
        return wrong(r, "its end is before its start");
    if (row->ready && (row->ready < row->start || row->ready > row->end))
        return wrong(r, "its tile was ready before its start or after its end");
    row->sm = (uint32_t)sm;
    row->tries = (uint32_t)tries;
    return EXIT_GOOD;
}

static int read_stage(struct rows *r, char *line)
{
    char *name = word(&line), *entry = word(&line);
    struct trace_stage *s;
    uint64_t count, k;
    int code = EXIT_GOOD;

    if (!*entry || !number(&line, 1 << 24, &count) || *line)
        return wrong(r, "is no stage: NAME ENTRY BLOCKS");
    s = trace_stage_add(r->t, name, entry, count);
    if (!s)
        return failure("trace", "no memory");
    for (k = 0; code == EXIT_GOOD && k < count; k++)
        code = read_row(r, &s->rows[k]);
    return code;
}

static int read_edge(struct rows *r, char *line)
{
    uint64_t from, to;
    char *buffer, *order;

    if (!number(&line, UINT32_MAX, &from) || !number(&line, UINT32_MAX, &to))
        return wrong(r, "is no edge: FROM TO BUFFER ORDER");
    buffer = word(&line);
    order = word(&line);
    if (!*order || *line)
        return wrong(r, "is no edge: FROM TO BUFFER ORDER");
    if (from >= r->t->stage_count || to >= r->t->stage_count)
        return wrong(r, "an edge of a stage that is not above");
    if (!trace_edge_add(r->t, (uint32_t)from, (uint32_t)to, buffer, order))
        return failure("trace", "no memory");
    return EXIT_GOOD;
}

int trace_rows_read(const char *path, unsigned char *text, struct trace *t)
{
    struct rows r = {path, (char *)text + sizeof magic - 1, 1, t};
    int code = EXIT_GOOD;
    char *line, *kind;

    while (code == EXIT_GOOD && (line = next_line(&r))) {
        kind = word(&line);
        if (!strcmp(kind, "device"))
            snprintf(t->device, sizeof t->device, "%s", line);
        else if (!strcmp(kind, "stage"))
            code = read_stage(&r, line);
        else if (!strcmp(kind, "edge"))
            code = read_edge(&r, line);
        else
            code = wrong(&r, "is neither device, stage nor edge");
    }
    if (code == EXIT_GOOD && !t->stage_count)
        code = wrong(&r, "no stage stands in it");
    if (code == EXIT_GOOD && !trace_finish(t))
        code = failure("trace", "no memory");
    return code;
}
