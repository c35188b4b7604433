/* plan_show.c -- a plan file as it was understood, as text or as JSON */
#include "plan_words.h"

#include <inttypes.h>
#include <string.h>

/* An option that says what it says anyway when it is left out. */
static bool is_empty(const struct plan_word *w, const void *at)
{
    static const uint64_t none[3];

    switch (w->kind) {
    case PLAN_FLAG:
        return !*(const bool *)at;
    case PLAN_NUMBER:
    case PLAN_SIGNED:
        return !*(const uint64_t *)at;
    case PLAN_WORD:
    case PLAN_LIST:
    case PLAN_TEXT:
        return !*(const char *const *)at;
    case PLAN_ENGINE:
        return *(const fgs_engine *)at == FGS_ENGINE_AUTO;
    case PLAN_ELEMENT:
        return false;
    case PLAN_DIM:
        return !*(const uint32_t *)at;
    case PLAN_TILES:
        return !memcmp(at, none, sizeof none);
    case PLAN_TABLE:
        return !((const struct plan_table *)at)->count;
    }
    return true;
}

/* Options of a stage that were handed down to its reads. */
static bool is_of_reads(const struct plan_word *w)
{
    uint64_t bit;

    return plan_word_find("access", w->word, &bit) != NULL;
}

/* ----------------------------------------------------------------- text -- */

static void put_table(const struct plan_table *t)
{
    uint32_t i;

    for (i = 0; i < t->count; i++)
        printf("%s%" PRIu32, i ? "," : "", t->at[i]);
}

static void put_value(const struct plan_word *w, const void *at)
{
    const uint32_t *dim = at;
    const uint64_t *tiles = at;

    switch (w->kind) {
    case PLAN_FLAG:
        break;
    case PLAN_NUMBER:
        printf("%" PRIu64, *(const uint64_t *)at);
        break;
    case PLAN_SIGNED:
        printf("%" PRId64, *(const int64_t *)at);
        break;
    case PLAN_WORD:
    case PLAN_LIST:
    case PLAN_TEXT:
        fputs(*(const char *const *)at, stdout);
        break;
    case PLAN_ENGINE:
        fputs(fgs_engine_name(*(const fgs_engine *)at), stdout);
        break;
    case PLAN_ELEMENT:
        fputs(fgs_element_get_info(*(const fgs_element *)at)->name, stdout);
        break;
    case PLAN_DIM:
        printf("%" PRIu32 "x%" PRIu32 "x%" PRIu32, dim[0], dim[1], dim[2]);
        break;
    case PLAN_TILES:
        printf("%" PRIu64 " %" PRIu64 " %" PRIu64, tiles[0], tiles[1],
               tiles[2]);
        break;
    case PLAN_TABLE:
        put_table(at);
        break;
    }
}

/* Options of a struct that are worth a word. */
static void put_options(const char *scope, const void *of, bool reads_too)
{
    const struct plan_word *w = plan_word_first(scope);

    for (; w->scope && !strcmp(w->scope, scope); w++) {
        const void *at = (const char *)of + w->at;

        if (is_empty(w, at) || (!reads_too && is_of_reads(w)))
            continue;
        printf(" %s%s", w->word, w->kind == PLAN_FLAG ? "" : " ");
        put_value(w, at);
    }
}

static void put_arg(const struct plan_file *f, const struct plan_arg *a)
{
    float real;

    printf("    arg %s", plan_args[a->row].word);
    if (plan_args[a->row].behind == PLAN_BEHIND_BUFFER)
        printf(" %s", f->buffers[a->buffer].name);
    if (plan_args[a->row].behind == PLAN_BEHIND_NUMBER)
        printf(" %" PRIu64, a->bits);
    if (plan_args[a->row].behind == PLAN_BEHIND_FLOAT) {
        memcpy(&real, &a->bits, sizeof real);
        printf(" %.9g", (double)real);
    }
    putchar('\n');
}

/* What a stage says of its reads was handed down to them. */
static void put_stage(const struct plan_file *f, const struct plan_stage *s)
{
    uint32_t i;

    printf("stage %s %s", s->name, plan_role_word(s->role));
    if (s->role == PLAN_KERNEL)
        printf(" %s %s", s->said, s->entry);
    for (i = 0; s->role != PLAN_KERNEL && i < s->access_count; i++)
        printf("%s %s", s->accesses[i].write ? " ->" : "",
               f->buffers[s->accesses[i].buffer].name);
    put_options("stage", s, false);
    putchar('\n');
    for (i = 0; i < s->access_count; i++) {
        const struct plan_access *a = &s->accesses[i];

        if (s->role != PLAN_KERNEL && !a->order && !a->table.count &&
            !a->tiles[2])
            continue;
        printf("    %s %s", a->write ? "write" : "read",
               f->buffers[a->buffer].name);
        put_options("access", a, true);
        putchar('\n');
    }
    for (i = 0; i < s->arg_count; i++)
        put_arg(f, &s->args[i]);
}

void plan_print(const struct plan_file *f)
{
    uint32_t i;

    printf("plan");
    put_options("file", f, true);
    putchar('\n');
    for (i = 0; i < f->buffer_count; i++) {
        printf("buffer %s", f->buffers[i].name);
        put_options("buffer", &f->buffers[i], true);
        putchar('\n');
    }
    for (i = 0; i < f->stage_count; i++)
        put_stage(f, &f->stages[i]);
}

/* ----------------------------------------------------------------- JSON -- */

static void json_numbers(struct json *j, const char *key, const uint64_t *n,
                         int count)
{
    int i;

    json_open(j, key, '[');
    for (i = 0; i < count; i++)
        json_number(j, NULL, n[i]);
    json_close(j, ']');
}

static void json_words(struct json *j, const char *key, const uint32_t *n,
                       uint32_t count)
{
    uint32_t i;

    json_open(j, key, '[');
    for (i = 0; i < count; i++)
        json_number(j, NULL, n[i]);
    json_close(j, ']');
}

static void json_value(struct json *j, const struct plan_word *w,
                       const void *at)
{
    const struct plan_table *table = at;

    switch (w->kind) {
    case PLAN_FLAG:
        json_bool(j, w->word, *(const bool *)at);
        break;
    case PLAN_NUMBER:
        json_number(j, w->word, *(const uint64_t *)at);
        break;
    case PLAN_SIGNED:
        json_signed(j, w->word, *(const int64_t *)at);
        break;
    case PLAN_WORD:
    case PLAN_LIST:
    case PLAN_TEXT:
        json_text(j, w->word, *(const char *const *)at);
        break;
    case PLAN_ENGINE:
        json_text(j, w->word, fgs_engine_name(*(const fgs_engine *)at));
        break;
    case PLAN_ELEMENT:
        json_text(j, w->word,
                  fgs_element_get_info(*(const fgs_element *)at)->name);
        break;
    case PLAN_DIM:
        json_words(j, w->word, at, 3);
        break;
    case PLAN_TILES:
        json_numbers(j, w->word, at, 3);
        break;
    case PLAN_TABLE:
        json_words(j, w->word, table->at, table->count);
        break;
    }
}

static void json_options(struct json *j, const char *scope, const void *of,
                         bool reads_too)
{
    const struct plan_word *w = plan_word_first(scope);

    for (; w->scope && !strcmp(w->scope, scope); w++) {
        const void *at = (const char *)of + w->at;

        if (!is_empty(w, at) && (reads_too || !is_of_reads(w)))
            json_value(j, w, at);
    }
}

static void json_accesses(struct json *j, const struct plan_file *f,
                          const struct plan_stage *s)
{
    uint32_t i;

    json_open(j, "accesses", '[');
    for (i = 0; i < s->access_count; i++) {
        const struct plan_access *a = &s->accesses[i];

        json_open(j, NULL, '{');
        json_text(j, "buffer", f->buffers[a->buffer].name);
        json_bool(j, "write", a->write);
        json_options(j, "access", a, true);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_stage(struct json *j, const struct plan_file *f,
                       const struct plan_stage *s)
{
    json_open(j, NULL, '{');
    json_text(j, "name", s->name);
    json_text(j, "role", plan_role_word(s->role));
    if (s->file) {
        json_text(j, "file", s->file);
        json_text(j, "entry", s->entry);
    }
    json_options(j, "stage", s, false);
    json_accesses(j, f, s);
    json_close(j, '}');
}

void plan_print_json(const struct plan_file *f)
{
    struct json j = {.to = stdout};
    uint32_t i;

    json_open(&j, NULL, '{');
    json_text(&j, "file", f->path);
    json_options(&j, "file", f, true);
    json_open(&j, "buffers", '[');
    for (i = 0; i < f->buffer_count; i++) {
        json_open(&j, NULL, '{');
        json_text(&j, "name", f->buffers[i].name);
        json_options(&j, "buffer", &f->buffers[i], true);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_open(&j, "stages", '[');
    for (i = 0; i < f->stage_count; i++)
        json_stage(&j, f, &f->stages[i]);
    json_close(&j, ']');
    json_close(&j, '}');
}
