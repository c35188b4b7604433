/* plan_run.c -- a plan file: inputs, rounds, results against the mirror */
#include "plan_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a result holds before the run, so that nothing left over passes for
 * one: a pattern that no example makes. */
enum { POISON = 0xA5 };

static uint64_t bytes_of(const struct plan_buffer *b)
{
    return b->tiles * b->tile_bytes;
}

/* The same bytes to all slots. */
static fgs_result put_all(struct plan_parts *p, uint32_t i, const void *data,
                          fgs_error *err)
{
    const struct plan_buffer *b = &p->f->buffers[i];
    fgs_result r = FGS_OK;
    uint64_t slot;

    for (slot = 0; slot < b->slots && r == FGS_OK; slot++)
        r = fgs_buffer_write(p->buffers[i], slot * bytes_of(b), data,
                             bytes_of(b), err);
    return r;
}

static fgs_result put_inputs(struct plan_parts *p, const struct plan_mirror *m,
                             fgs_error *err)
{
    fgs_result r = FGS_OK;
    unsigned char *poison;
    uint32_t i;

    for (i = 0; i < p->f->buffer_count && r == FGS_OK; i++) {
        const struct plan_mirrored *b = &m->buffers[i];
        uint64_t bytes = bytes_of(&p->f->buffers[i]);

        if (!b->written) {
            r = put_all(p, i, b->data, err);
        } else if (plan_mirror_is_result(b)) {
            poison = malloc(bytes);
            if (!poison)
                return FGS_E_NOMEM;
            memset(poison, POISON, bytes);
            r = put_all(p, i, poison, err);
            free(poison);
        }
    }
    return r;
}

/* ------------------------------------------------------------ comparing -- */

/* FNV-1a goes on where it was. */
static uint64_t digest_more(uint64_t h, const unsigned char *p, uint64_t bytes)
{
    uint64_t i;

    for (i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 0x100000001B3u;
    return h;
}

static void tell_mismatch(const struct plan_parts *p, uint32_t i, uint64_t tile,
                          const unsigned char *want, const unsigned char *have,
                          fgs_error *e)
{
    uint64_t size = p->f->buffers[i].tile_bytes, at = 0;

    while (at < size && want[at] == have[at])
        at++;
    memset(e, 0, sizeof *e);
    snprintf(e->name, sizeof e->name, "mismatch");
    snprintf(e->buffer, sizeof e->buffer, "%s", p->f->buffers[i].name);
    e->tile = tile;
    e->chunk = (uint32_t)(at / sizeof e->bits);
    memcpy(e->bits, have + at / sizeof e->bits * sizeof e->bits,
           sizeof e->bits);
    snprintf(e->text, sizeof e->text,
             "buffer \"%s\" is wrong: the first byte is %" PRIu64
             " of tile %" PRIu64 ", 0x%02x in place of 0x%02x",
             p->f->buffers[i].name, at, tile, have[at], want[at]);
}

static void compare(struct plan_parts *p, const struct plan_mirror *m,
                    uint32_t i, const unsigned char *have, struct plan_done *d)
{
    const struct plan_mirrored *b = &m->buffers[i];
    uint64_t tile, k, size = p->f->buffers[i].tile_bytes;

    d->results++;
    for (tile = 0; tile < p->f->buffers[i].tiles; tile++) {
        const unsigned char *is = have + tile * size;
        const unsigned char *should = b->data + tile * size;

        d->digest = digest_more(d->digest, is, size);
        if (!b->known[tile]) {
            d->unknown++;
            continue;
        }
        d->tiles++;
        if (!memcmp(is, should, size))
            continue;
        if (!d->mismatches)
            tell_mismatch(p, i, tile, should, is, &d->error);
        for (k = 0; k < size; k++)
            d->mismatches += is[k] != should[k];
    }
}

/* A result lies in the slot of the last round. */
static fgs_result get_results(struct plan_parts *p,
                              const struct plan_mirror *m, struct plan_done *d)
{
    fgs_result r = FGS_OK;
    unsigned char *have;
    uint32_t i;

    for (i = 0; i < p->f->buffer_count && r == FGS_OK; i++) {
        const struct plan_buffer *b = &p->f->buffers[i];

        if (!plan_mirror_is_result(&m->buffers[i]))
            continue;
        have = malloc(bytes_of(b));
        if (!have)
            return FGS_E_NOMEM;
        r = fgs_buffer_read(p->buffers[i],
                            (d->rounds - 1) % b->slots * bytes_of(b), have,
                            bytes_of(b), &d->error);
        if (r == FGS_OK)
            compare(p, m, i, have, d);
        free(have);
    }
    return r;
}

void plan_execute(struct plan_parts *p, const struct plan_mirror *m,
                  uint32_t rounds, struct plan_done *d)
{
    fgs_result r = put_inputs(p, m, &d->error);

    d->digest = 0xCBF29CE484222325u;
    d->rounds = rounds;
    if (r == FGS_OK)
        r = fgs_plan_run(p->plan, NULL, rounds, &d->error);
    if (r == FGS_OK) {
        r = fgs_plan_wait(p->plan, &d->error);
        d->receipt.size = sizeof d->receipt;
        d->ran = fgs_plan_get_receipt(p->plan, &d->receipt, NULL) == FGS_OK;
    }
    if (r == FGS_OK)
        r = get_results(p, m, d);
    d->result = r;
    d->compared = r == FGS_OK;
    d->ok = d->compared && !d->mismatches;
    if (r == FGS_E_NOMEM)
        snprintf(d->error.text, sizeof d->error.text, "%s", fgs_strerror(r));
}

void plan_verify(struct plan_parts *p, uint32_t rounds, struct plan_done *d)
{
    struct plan_mirror m = {0};

    if (plan_mirror_make(&m, p->f)) {
        plan_execute(p, &m, rounds, d);
    } else {
        d->result = FGS_E_NOMEM;
        snprintf(d->error.text, sizeof d->error.text, "%s",
                 fgs_strerror(FGS_E_NOMEM));
    }
    plan_mirror_free(&m);
}

/* ---------------------------------------------------------------- trace -- */

static fgs_result stage_rows(struct plan_parts *p, uint32_t i, struct trace *t,
                             fgs_error *err)
{
    fgs_stage_info info = {.size = sizeof info};
    fgs_trace_row *rows = NULL;
    struct trace_stage *s;
    uint64_t k, n;
    fgs_result r = fgs_plan_get_stage(p->plan, i, &info, err);

    if (r < 0)
        return r;
    n = (uint64_t)info.grid[0] * info.grid[1] * info.grid[2];
    s = trace_stage_add(t, info.name, info.entry, n);
    rows = calloc(n + 1, sizeof *rows);
    r = s && rows ? fgs_plan_get_trace(p->plan, i, rows, &n, err) : FGS_E_NOMEM;
    /* A kernel of the user's that keeps no trace leaves rows of zeros. */
    if (r == FGS_OK && n && !rows[0].end)
        n = 0;
    for (k = 0; r == FGS_OK && k < n; k++) {
        s->rows[k].start = rows[k].start;
        s->rows[k].ready = rows[k].ready;
        s->rows[k].end = rows[k].end;
        s->rows[k].sm = rows[k].sm;
        s->rows[k].tries = rows[k].tries;
    }
    if (r == FGS_OK)
        s->count = n;
    free(rows);
    return r;
}

static fgs_result all_rows(struct plan_parts *p, struct trace *t,
                           fgs_error *err)
{
    fgs_plan_info info = {.size = sizeof info};
    fgs_edge_info e = {.size = sizeof e};
    fgs_result r = fgs_plan_get_info(p->plan, &info, err);
    uint32_t i;

    for (i = 0; r == FGS_OK && i < info.stages; i++)
        r = stage_rows(p, i, t, err);
    for (i = 0; r == FGS_OK && i < info.edges; i++) {
        r = fgs_plan_get_edge(p->plan, i, &e, err);
        if (r == FGS_OK &&
            !trace_edge_add(t, e.from, e.to, e.buffer, fgs_order_name(e.taken)))
            return FGS_E_NOMEM;
    }
    return r == FGS_OK && !trace_finish(t) ? FGS_E_NOMEM : r;
}

int plan_trace(const char *verb, struct plan_parts *p, struct trace *t)
{
    fgs_error err;
    fgs_result r;

    snprintf(t->device, sizeof t->device, "%s, %s", p->info.provider,
             p->info.name);
    r = all_rows(p, t, &err);
    if (r == FGS_OK)
        return EXIT_GOOD;
    return failure(verb, "%s", r == FGS_E_NOMEM ? fgs_strerror(r) : err.text);
}
