/* plan_mirror.c -- what must come of a plan: the stages' C mirrors along it
 *
 * It shares nothing with the library's plan: no order, no schedule.  A stage is
 * computed when all that is written to what it reads was computed.
 */
#include "plan_mirror.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16 };

static uint64_t bytes_of(const struct plan_buffer *b)
{
    return b->tiles * b->tile_bytes;
}

static uint64_t elements_of(const struct plan_buffer *b)
{
    return bytes_of(b) * 8 / fgs_element_get_info(b->element)->bits;
}

/* --------------------------------------------------------------- inputs -- */

/* Who reads f32 from it?  A producer does; what others read has to look like a
 * producer's results. */
static bool is_raw(const struct plan_file *f, uint32_t buffer)
{
    uint32_t i;

    for (i = 0; i < f->stage_count; i++)
        if (f->stages[i].role == PLAN_PRODUCER &&
            f->stages[i].accesses[0].buffer == buffer)
            return true;
    return false;
}

static bool fill_input(struct plan_mirror *m, uint32_t i)
{
    const struct plan_buffer *b = &m->f->buffers[i];
    uint64_t n = elements_of(b);
    uint32_t *values = malloc(n * sizeof *values);
    bool raw = is_raw(m->f, i);

    if (!values)
        return false;
    values_make(values, n, m->f->seed + i);
    if (raw)
        memcpy(m->buffers[i].data, values, bytes_of(b));
    else
        fgs_ref_produce(b->element, FGS_SATURATE_UP, values,
                        m->buffers[i].data, n, NULL);
    free(values);
    memset(m->buffers[i].known, 1, b->tiles);
    m->buffers[i].known_tiles = b->tiles;
    return true;
}

/* --------------------------------------------------------------- stages -- */

/* The tile that a block touches; false = it touches several, or one past the
 * end. */
static bool tile_of(const struct plan_file *f, const struct plan_access *a,
                    uint64_t block, uint64_t *tile)
{
    *tile = a->table.count ? a->table.at[block]
            : a->tiles[2]  ? a->tiles[0] + block * a->tiles[1]
                           : block;
    return a->tiles[2] <= 1 && *tile < f->buffers[a->buffer].tiles;
}

/* Blocks, or what persistent ones do in their stead: the shortest of what the
 * accesses have. */
static uint64_t blocks_of(const struct plan_file *f, const struct plan_stage *s)
{
    uint64_t n = UINT64_MAX, own;
    uint32_t i;

    for (i = 0; i < s->access_count; i++) {
        const struct plan_access *a = &s->accesses[i];
        uint64_t tiles = f->buffers[a->buffer].tiles;

        own = a->table.count                 ? a->table.count
              : a->tiles[2] && a->tiles[1]
                  ? (tiles - a->tiles[0] + a->tiles[1] - 1) / a->tiles[1]
              : a->tiles[2]                  ? UINT64_MAX
                                             : tiles;
        if (own < n)
            n = own;
    }
    own = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
    return own && own < n && !s->persistent ? own : n;
}

static fgs_saturate saturate_of(const struct plan_stage *s)
{
    return s->saturate ? saturate_value(s->saturate) : FGS_SATURATE_UP;
}

static bool is_ring(const struct plan_file *f, uint32_t buffer)
{
    return !strcmp(f->buffers[buffer].fill, "ring");
}

/* One tile: `in` are those that are read; false = the mirror has none such. */
static bool compute(const struct plan_stage *s, enum plan_role role,
                    const struct plan_buffer *out, const unsigned char **in,
                    unsigned char *to, unsigned char *room)
{
    uint64_t c, n = out->tile_bytes;

    if (role == PLAN_PRODUCER) {
        fgs_ref_produce(out->element, saturate_of(s), in[0], to,
                        n * 8 / fgs_element_get_info(out->element)->bits, NULL);
        return true;
    }
    if (role == PLAN_SCALED_JOIN)
        return fgs_ref_scaled_join(in[0], in[1], to, 1, n) == FGS_OK;
    fgs_ref_consume(out->element, in[0], to, 1, n);
    if (role != PLAN_JOIN)
        return true;
    fgs_ref_consume(out->element, in[1], room, 1, n);
    for (c = 1; c < n / CHUNK; c += 2)
        memcpy(to + c * CHUNK, room + c * CHUNK, CHUNK);
    return true;
}

/* What says where an access's tiles are: a producer writes the tile that it
 * reads, so that a table holds for both. */
static const struct plan_access *place_of(const struct plan_stage *s,
                                          uint32_t i)
{
    if (s->role == PLAN_PRODUCER && !s->accesses[i].table.count)
        return &s->accesses[s->accesses[!i].table.count ? !i : i];
    return &s->accesses[i];
}

/* A block's tiles in and out, all known; false = nothing is known of what it
 * writes. */
static bool find_tiles(const struct plan_mirror *m, const struct plan_stage *s,
                       uint64_t block, const unsigned char **in, uint64_t *out)
{
    uint32_t i, n = s->access_count - 1;
    uint64_t tile;
    bool known = true;

    for (i = 0; i < n; i++) {
        const struct plan_mirrored *b = &m->buffers[s->accesses[i].buffer];

        if (!tile_of(m->f, place_of(s, i), block, &tile) || !b->known[tile])
            known = false;
        else
            in[i] = b->data +
                    tile * m->f->buffers[s->accesses[i].buffer].tile_bytes;
    }
    return tile_of(m->f, place_of(s, n), block, out) && known;
}

/* Bytes of input i that a role makes a tile from: a producer reads f32, a scale
 * is a byte for 32 of those. */
static uint64_t read_bytes(enum plan_role role, uint32_t i,
                           const struct plan_buffer *out)
{
    uint64_t n = out->tile_bytes;

    if (role == PLAN_PRODUCER)
        return n * 32 / fgs_element_get_info(out->element)->bits;
    return role == PLAN_SCALED_JOIN && i ? n / 128 : n;
}

/* The role whose mirror a stage has, KERNEL = none: a kernel of the user's may
 * say one that its buffers are not made for. */
static enum plan_role mirror_of(const struct plan_file *f,
                                const struct plan_stage *s)
{
    enum plan_role role = s->role;
    uint32_t i, reads;

    for (i = 0; role == PLAN_KERNEL && s->mirror && i < PLAN_KERNEL; i++)
        if (!strcmp(plan_role_word((enum plan_role)i), s->mirror))
            role = (enum plan_role)i;
    reads = plan_role_reads(role);
    if (role == PLAN_KERNEL || s->access_count != reads + 1)
        return PLAN_KERNEL;
    for (i = 0; i <= reads; i++) {
        const struct plan_access *a = &s->accesses[i];

        if (a->write != (i == reads) ||
            (i < reads &&
             f->buffers[a->buffer].tile_bytes !=
                 read_bytes(role, i,
                            &f->buffers[s->accesses[reads].buffer])))
            return PLAN_KERNEL;
    }
    return role;
}

static bool run_stage(struct plan_mirror *m, const struct plan_stage *s)
{
    const struct plan_access *last = &s->accesses[s->access_count - 1];
    const struct plan_buffer *out = &m->f->buffers[last->buffer];
    struct plan_mirrored *b = &m->buffers[last->buffer];
    enum plan_role role = mirror_of(m->f, s);
    const unsigned char *in[2] = {NULL, NULL};
    unsigned char *room, *made;
    uint64_t block, blocks = blocks_of(m->f, s), tile;

    if (role == PLAN_KERNEL)
        return true;
    room = malloc(2 * out->tile_bytes);
    if (!room)
        return false;
    made = room + out->tile_bytes; /* of a ring it may be what is read */
    for (block = 0; block < blocks; block++) {
        if (!find_tiles(m, s, block, in, &tile) ||
            !compute(s, role, out, in, made, room))
            continue;
        memcpy(b->data + tile * out->tile_bytes, made, out->tile_bytes);
        b->known_tiles += !b->known[tile];
        b->known[tile] = 1;
    }
    free(room);
    return true;
}

/* ---------------------------------------------------------------- whole -- */

/* Are all stages above done that touch this buffer? */
static bool above_done(const struct plan_file *f, uint32_t stage,
                       uint32_t buffer, const bool *done)
{
    uint32_t i, k;

    for (i = 0; i < stage; i++)
        for (k = 0; k < f->stages[i].access_count; k++)
            if (f->stages[i].accesses[k].buffer == buffer && !done[i])
                return false;
    return true;
}

/* Is each stage that writes what this one reads done?  A ring's stages follow
 * each other as they stand. */
static bool is_ready(const struct plan_file *f, uint32_t stage,
                     const uint32_t *writers, const bool *done)
{
    const struct plan_stage *s = &f->stages[stage];
    uint32_t i;

    for (i = 0; i < s->access_count; i++) {
        const struct plan_access *a = &s->accesses[i];

        if (is_ring(f, a->buffer)
                ? !above_done(f, stage, a->buffer, done)
                : !a->write && writers[a->buffer])
            return false;
    }
    return true;
}

/* `writers` of each buffer that are not done yet. */
static bool run_stages(struct plan_mirror *m, uint32_t *writers, bool *done)
{
    const struct plan_file *f = m->f;
    uint32_t i, k, left;
    bool good = true, moved = true;

    for (left = f->stage_count; left && moved && good;) {
        moved = false;
        for (i = 0; i < f->stage_count && good; i++) {
            const struct plan_stage *s = &f->stages[i];

            if (done[i] || !is_ready(f, i, writers, done))
                continue;
            good = run_stage(m, s);
            for (k = 0; k < s->access_count; k++)
                writers[s->accesses[k].buffer] -= s->accesses[k].write;
            done[i] = moved = true;
            left--;
        }
    }
    return good; /* stages of a cycle stay unknown: the plan refuses them */
}

static bool make_buffers(struct plan_mirror *m, uint32_t *writers)
{
    const struct plan_file *f = m->f;
    uint32_t i, k;

    for (i = 0; i < f->stage_count; i++)
        for (k = 0; k < f->stages[i].access_count; k++) {
            const struct plan_access *a = &f->stages[i].accesses[k];

            writers[a->buffer] += a->write;
            m->buffers[a->buffer].written |= a->write;
            m->buffers[a->buffer].read |= !a->write;
        }
    for (i = 0; i < f->buffer_count; i++) {
        m->buffers[i].data = calloc(1, bytes_of(&f->buffers[i]));
        m->buffers[i].known = calloc(1, f->buffers[i].tiles);
        if (!m->buffers[i].data || !m->buffers[i].known ||
            (!writers[i] && !fill_input(m, i)))
            return false;
    }
    return true;
}

bool plan_mirror_make(struct plan_mirror *m, const struct plan_file *f)
{
    uint32_t *writers = calloc(f->buffer_count + 1, sizeof *writers);
    bool *done = calloc(f->stage_count + 1, sizeof *done), good;

    m->f = f;
    m->buffers = calloc(f->buffer_count + 1, sizeof *m->buffers);
    good = writers && done && m->buffers && make_buffers(m, writers) &&
           run_stages(m, writers, done);
    free(writers);
    free(done);
    return good;
}

void plan_mirror_free(struct plan_mirror *m)
{
    uint32_t i;

    for (i = 0; m->buffers && i < m->f->buffer_count; i++) {
        free(m->buffers[i].data);
        free(m->buffers[i].known);
    }
    free(m->buffers);
    memset(m, 0, sizeof *m);
}

bool plan_mirror_is_result(const struct plan_mirrored *b)
{
    return b->written && !b->read;
}
