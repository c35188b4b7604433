/* plan_statement.c -- a plan file: its statements, and what follows from all */
#include "plan_reader.h"
#include "plan_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    uint32_t reads;
} roles[] = {
#define PLAN_ROLE(id, word, reads, text) {word, reads},
#include "plan.def"
};

const char *plan_role_word(enum plan_role role)
{
    return roles[role].word;
}

uint32_t plan_role_reads(enum plan_role role)
{
    return roles[role].reads;
}

const struct plan_arg_row plan_args[] = {
#define PLAN_ARG(id, word, behind, bytes, text)                                \
    {word, PLAN_BEHIND_##behind, bytes},
#include "plan.def"
};
enum { ARG_ROWS = sizeof plan_args / sizeof plan_args[0] };

/* ---------------------------------------------------------------- names -- */

enum { NAME_MOST = 31 }; /* of a stage or buffer of a plan */

static void place_of(const struct plan_reader *r, const struct plan_token *t,
                     struct plan_place *to)
{
    to->line = r->line + 1;
    to->column = t->column;
}

/* A new name at the next word, NULL = it is missing or wrong. */
static const struct plan_token *new_name(struct plan_reader *r,
                                         const char *what)
{
    const struct plan_token *t = plan_next(r);

    if (!t) {
        plan_wrong(r, NULL, "%s: its name is missing", what);
        return NULL;
    }
    if (t->text[strspn(t->text, "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")] ||
        !strspn(t->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "_")) {
        plan_wrong(r, t,
                   "%s: \"%s\" is no name: a letter, then letters, digits, "
                   "\"_\", \"-\", \".\"",
                   what, t->text);
        return NULL;
    }
    if (strlen(t->text) > NAME_MOST) {
        plan_wrong(r, t, "%s: a name has %d letters at most", what, NAME_MOST);
        return NULL;
    }
    return t;
}

/* Later ones first: chains name what was just made. */
static int64_t buffer_find(const struct plan_reader *r, const char *name)
{
    uint32_t i;

    for (i = r->f->buffer_count; i-- > 0;)
        if (!strcmp(r->f->buffers[i].name, name))
            return i;
    return -1;
}

static bool buffer_take(struct plan_reader *r, const struct plan_token *t,
                        uint32_t *out)
{
    int64_t i = buffer_find(r, t->text);

    if (i < 0)
        plan_wrong(r, t, "\"%s\": no buffer above has that name", t->text);
    *out = (uint32_t)i;
    return i >= 0;
}

/* --------------------------------------------------------------- buffer -- */

static void say_buffer(struct plan_reader *r)
{
    const struct plan_token *t = new_name(r, "buffer");
    struct plan_file *f = r->f;
    struct plan_buffer *b;
    int64_t twin = t ? buffer_find(r, t->text) : -1;

    if (!t)
        return;
    if (twin >= 0) {
        plan_wrong(r, t, "buffer \"%s\": is there already, from line %" PRIu32,
                   t->text, f->buffers[twin].place.line);
        return;
    }
    b = plan_grow(r, f->buffers, f->buffer_count, sizeof *b);
    if (!b)
        return;
    f->buffers = b;
    b += f->buffer_count++;
    *b = r->buffer;
    b->given = 0;
    b->name = t->text;
    place_of(r, t, &b->place);
    plan_options(r, "buffer", b, &b->given);
}

/* ---------------------------------------------------------------- stage -- */

static struct plan_stage *last_stage(struct plan_reader *r)
{
    return &r->f->stages[r->f->stage_count - 1];
}

static struct plan_access *add_access(struct plan_reader *r,
                                      struct plan_stage *s,
                                      const struct plan_token *t, bool write)
{
    struct plan_access *a;
    uint32_t buffer;

    if (!buffer_take(r, t, &buffer))
        return NULL;
    a = plan_grow(r, s->accesses, s->access_count, sizeof *a);
    if (!a)
        return NULL;
    s->accesses = a;
    a += s->access_count++;
    memset(a, 0, sizeof *a);
    a->buffer = buffer;
    a->write = write;
    place_of(r, t, &a->place);
    return a;
}

/* IN... -> OUT of a library's kernel. */
static bool say_ends(struct plan_reader *r, struct plan_stage *s)
{
    uint32_t n, reads = roles[s->role].reads;
    const struct plan_token *t;

    for (n = 0; (t = plan_next(r)) && strcmp(t->text, "->"); n++) {
        if (n == reads) {
            plan_wrong(r, t,
                       "%s: reads %" PRIu32 " buffer%s, then \"->\" is "
                       "expected",
                       roles[s->role].word, reads, reads == 1 ? "" : "s");
            return false;
        }
        if (!add_access(r, s, t, false))
            return false;
    }
    if (n < reads) {
        plan_wrong(r, t,
                   "%s: reads %" PRIu32 " buffer%s, and %" PRIu32
                   " stand%s here",
                   roles[s->role].word, reads, reads == 1 ? "" : "s", n,
                   n == 1 ? "s" : "");
        return false;
    }
    if (!t || !(t = plan_next(r))) {
        plan_wrong(r, NULL, "%s: \"-> BUFFER\" is missing",
                   roles[s->role].word);
        return false;
    }
    return add_access(r, s, t, true) != NULL;
}

static bool say_role(struct plan_reader *r, struct plan_stage *s)
{
    const struct plan_token *t = plan_next(r);
    uint32_t i;

    for (i = 0; t && i < PLAN_ROLES; i++)
        if (!strcmp(roles[i].word, t->text))
            break;
    if (!t || i == PLAN_ROLES) {
        plan_wrong(r, t,
                   "stage \"%s\": \"%s\" is no role: produce, relay, "
                   "join, consume or kernel",
                   s->name, t ? t->text : "");
        return false;
    }
    s->role = (enum plan_role)i;
    if (s->role != PLAN_KERNEL)
        return say_ends(r, s);
    t = plan_next(r);
    s->said = t ? t->text : NULL;
    s->file = t ? plan_path(r, t->text) : NULL;
    t = plan_next(r);
    s->entry = t ? t->text : NULL;
    if (!t)
        plan_wrong(r, NULL, "kernel: FILE and ENTRY are missing");
    return t != NULL;
}

static const struct plan_stage *stage_find(const struct plan_reader *r,
                                           const char *name)
{
    uint32_t i;

    for (i = 0; i < r->f->stage_count; i++)
        if (!strcmp(r->f->stages[i].name, name))
            return &r->f->stages[i];
    return NULL;
}

/* A stage that is wrong stays, so that its name is known; what belongs to it is
 * passed over. */
static void say_stage(struct plan_reader *r)
{
    const struct plan_token *t = new_name(r, "stage");
    const struct plan_stage *twin = t ? stage_find(r, t->text) : NULL;
    struct plan_file *f = r->f;
    struct plan_stage *s;

    r->lost = true;
    if (!t)
        return;
    if (twin) {
        plan_wrong(r, t, "stage \"%s\": is there already, from line %" PRIu32,
                   t->text, twin->place.line);
        return;
    }
    s = plan_grow(r, f->stages, f->stage_count, sizeof *s);
    if (!s)
        return;
    f->stages = s;
    s += f->stage_count++;
    *s = r->stage;
    s->given = 0;
    s->name = t->text;
    place_of(r, t, &s->place);
    if (!say_role(r, s))
        return;
    r->lost = false;
    plan_options(r, "stage", s, &s->given);
}

/* ------------------------------------------------- lines below a stage -- */

static struct plan_stage *stage_above(struct plan_reader *r,
                                      const struct plan_token *first)
{
    if (r->lost)
        return NULL;
    if (r->f->stage_count)
        return last_stage(r);
    plan_wrong(r, first, "%s: no stage stands above", first->text);
    return NULL;
}

/* `read` and `write`: of the user's kernels they make an access, of the
 * library's they say more of one. */
static void say_access(struct plan_reader *r, const struct plan_token *first)
{
    struct plan_stage *s = stage_above(r, first);
    const struct plan_token *t = plan_next(r);
    bool write = !strcmp(first->text, "write");
    struct plan_access *a = NULL;
    uint32_t i, buffer;

    if (!s)
        return;
    if (!t) {
        plan_wrong(r, NULL, "%s: its buffer is missing", first->text);
        return;
    }
    if (s->role == PLAN_KERNEL) {
        a = add_access(r, s, t, write);
    } else if (buffer_take(r, t, &buffer)) {
        for (i = 0; i < s->access_count; i++)
            if (s->accesses[i].buffer == buffer &&
                s->accesses[i].write == write)
                a = &s->accesses[i];
        if (!a)
            plan_wrong(r, t, "stage \"%s\": does not %s \"%s\"", s->name,
                       first->text, t->text);
    }
    if (!a)
        return;
    place_of(r, t, &a->place);
    plan_options(r, "access", a, &a->given);
}

static void say_value(struct plan_reader *r, const struct plan_token *t,
                      struct plan_arg *a)
{
    const char *bad;
    char *end;
    float real;

    if (plan_args[a->row].behind == PLAN_BEHIND_NUMBER) {
        bad = number_parse(
            t->text, 0, plan_args[a->row].bytes == 4 ? UINT32_MAX : UINT64_MAX,
            &a->bits);
        if (bad)
            plan_wrong(r, t, "%s: \"%s\" %s", plan_args[a->row].word, t->text,
                       bad);
        return;
    }
    real = strtof(t->text, &end);
    memcpy(&a->bits, &real, sizeof real);
    if (end == t->text || *end)
        plan_wrong(r, t, "%s: \"%s\" is no number", plan_args[a->row].word,
                   t->text);
}

static void say_arg(struct plan_reader *r, const struct plan_token *first)
{
    struct plan_stage *s = stage_above(r, first);
    const struct plan_token *kind = plan_next(r), *t = NULL;
    struct plan_arg *a;
    uint32_t i;

    if (!s)
        return;
    if (s->role != PLAN_KERNEL) {
        plan_wrong(r, first, "arg: stage \"%s\" is the library's", s->name);
        return;
    }
    for (i = 0; kind && i < ARG_ROWS; i++)
        if (!strcmp(plan_args[i].word, kind->text))
            break;
    if (!kind || i == ARG_ROWS) {
        plan_wrong(r, kind, "arg: \"%s\" is no kind of it",
                   kind ? kind->text : "");
        return;
    }
    if (plan_args[i].behind != PLAN_BEHIND_NONE && !(t = plan_next(r))) {
        plan_wrong(r, NULL, "arg %s: its %s is missing", plan_args[i].word,
                   plan_args[i].behind == PLAN_BEHIND_BUFFER ? "buffer"
                                                             : "value");
        return;
    }
    a = plan_grow(r, s->args, s->arg_count, sizeof *a);
    if (!a)
        return;
    s->args = a;
    a += s->arg_count++;
    memset(a, 0, sizeof *a);
    a->row = i;
    place_of(r, kind, &a->place);
    if (plan_args[i].behind == PLAN_BEHIND_BUFFER)
        buffer_take(r, t, &a->buffer);
    else if (t)
        say_value(r, t, a);
    if ((t = plan_next(r)))
        plan_wrong(r, t, "arg: nothing is expected behind it");
}

/* ----------------------------------------------------------- statements -- */

static void say_default(struct plan_reader *r)
{
    const struct plan_token *t = plan_next(r);
    uint64_t given = 0;

    if (t && !strcmp(t->text, "buffer"))
        plan_options(r, "buffer", &r->buffer, &given);
    else if (t && !strcmp(t->text, "stage"))
        plan_options(r, "stage", &r->stage, &given);
    else
        plan_wrong(r, t, "default: \"%s\" is neither buffer nor stage",
                   t ? t->text : "");
}

void plan_statement(struct plan_reader *r, const struct plan_token *first)
{
    const char *word = first->text;

    if (!strcmp(word, "plan"))
        plan_options(r, "file", r->f, &r->f->given);
    else if (!strcmp(word, "default"))
        say_default(r);
    else if (!strcmp(word, "buffer"))
        say_buffer(r);
    else if (!strcmp(word, "stage"))
        say_stage(r);
    else if (!strcmp(word, "read") || !strcmp(word, "write"))
        say_access(r, first);
    else if (!strcmp(word, "arg"))
        say_arg(r, first);
    else
        plan_wrong(r, first,
                   "\"%s\" is no statement: plan, default, buffer, "
                   "stage, read, write, arg, repeat or end",
                   word);
}

/* --------------------------------------------------- what follows of all -- */

static void wrong_at(struct plan_reader *r, const struct plan_place *p,
                     const char *name, const char *text)
{
    struct plan_token t = {name, p->column};

    r->line = p->line - 1;
    plan_wrong(r, &t, "\"%s\": %s", name, text);
}

/* Options of stages that the other kind has. */
static void check_whose(struct plan_reader *r, const struct plan_stage *s)
{
    enum plan_whose wrong =
        s->role == PLAN_KERNEL ? PLAN_OF_LIBRARY : PLAN_OF_YOURS;
    const struct plan_word *w = plan_word_first("stage");
    uint64_t bit;
    char text[96];

    for (bit = 1; w->scope && !strcmp(w->scope, "stage"); w++, bit <<= 1) {
        if (!(s->given & bit) || w->whose != wrong)
            continue;
        snprintf(text, sizeof text, "%s is for %s", w->word,
                 wrong == PLAN_OF_LIBRARY ? "stages of the library"
                                          : "kernels of yours");
        wrong_at(r, &s->place, s->name, text);
    }
}

static void finish_stage(struct plan_reader *r, struct plan_stage *s)
{
    uint32_t i;

    check_whose(r, s);
    if (s->role == PLAN_KERNEL && !s->access_count)
        wrong_at(r, &s->place, s->name, "no line says what it reads or writes");
    if (s->role == PLAN_KERNEL && (!s->grid[0] || !s->block[0]))
        wrong_at(r, &s->place, s->name,
                 "a kernel of yours needs grid and "
                 "block");
    for (i = 0; i < s->access_count; i++) {
        struct plan_access *a = &s->accesses[i];

        if (a->can && s->role != PLAN_KERNEL)
            wrong_at(r, &a->place, s->name, "can is for kernels of yours");
        if (!a->write && !a->order)
            a->order = s->order;
        if (!a->write && !a->table.count && !a->tiles[2]) {
            a->table = s->table;
            memcpy(a->tiles, s->tiles, sizeof a->tiles);
        }
        if (a->table.count && a->tiles[2])
            wrong_at(r, &a->place, s->name,
                     "table and tiles exclude each "
                     "other");
    }
}

/* A producer's input is f32, a tile of it as many elements as one of what it
 * writes. */
static void finish_input(struct plan_reader *r, const struct plan_stage *s)
{
    struct plan_buffer *in = &r->f->buffers[s->accesses[0].buffer];
    const struct plan_buffer *out = &r->f->buffers[s->accesses[1].buffer];

    if (!plan_given(in->given, "buffer", "element"))
        in->element = FGS_ELEMENT_F32;
    if (!plan_given(in->given, "buffer", "tile-bytes"))
        in->tile_bytes =
            out->tile_bytes * 32 / fgs_element_get_info(out->element)->bits;
}

void plan_finish(struct plan_reader *r)
{
    struct plan_file *f = r->f;
    uint32_t i;

    if (!f->stage_count) {
        plan_wrong(r, NULL, "no stage stands in this file");
        return;
    }
    for (i = 0; i < f->buffer_count; i++)
        if (f->buffers[i].tile_bytes % 16)
            wrong_at(r, &f->buffers[i].place, f->buffers[i].name,
                     "tile-bytes is no multiple of 16");
    for (i = 0; i < f->stage_count; i++) {
        finish_stage(r, &f->stages[i]);
        if (f->stages[i].role == PLAN_PRODUCER)
            finish_input(r, &f->stages[i]);
    }
}
