/* stage.c -- the stages of a description */
#include "core/compose.h"

/* A kernel of the library: it lives, and is of this device. */
static fgs_result take_kernel(struct fgs__plan *p, const struct fgs__stage *s,
                              fgs_kernel *handle, const char *member,
                              struct fgs__kernel **out, fgs_error *err)
{
    char what[96];
    fgs_result r;

    snprintf(what, sizeof what, "%s of %s", member, s->name);
    r = fgs__kernel_get(out, handle, what, err);
    if (r >= 0 && (*out)->dev != p->dev)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s (%s) was made from another device", what,
                         (*out)->entry);
    return r;
}

/* Accesses of a library's kernel: what it reads, then what it writes. */
static fgs_result check_shape(const struct fgs__stage *s,
                              const struct fgs__kernel *k, fgs_error *err)
{
    uint32_t reads = fgs__roles[k->role].reads;

    if (s->accesses != reads + 1)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s: %s is a kernel for %s, it reads %u and writes 1 "
                         "buffers; %u accesses are stated",
                         s->name, k->entry, fgs__roles[k->role].name, reads,
                         s->accesses);
    for (uint32_t i = 0; i < s->accesses; i++) {
        if (s->access[i].write != (i >= reads))
            return fgs__fail(err, FGS_E_MISMATCH,
                             "%s: access %u must be one that %s", s->name, i,
                             i >= reads ? "writes" : "reads");
    }
    return FGS_OK;
}

/* The input of a producer is f32, as many elements a tile as its output; a
 * join has a second one of its own kind. */
static fgs_result check_tile(const struct fgs__plan *p,
                             const struct fgs__stage *s, uint32_t i,
                             const struct fgs__kernel *k, fgs_error *err)
{
    const struct fgs__use *u = &p->use[s->access[i].use];
    int input = k->role == FGS_ROLE_PRODUCER && !s->access[i].write;
    int second = i == 1 && fgs__role_joins(k->role);
    fgs_element e = input    ? FGS_ELEMENT_F32
                    : second ? fgs__second_element(k->role, k->shape.element)
                             : k->shape.element;
    uint64_t bytes = input    ? fgs__shape_in_bytes(&k->shape)
                     : second ? k->second_bytes
                              : k->shape.tile_bytes;

    if (u->element != e)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s: buffer '%s' holds %s, kernel %s works on %s",
                         s->name, u->name,
                         fgs_element_get_info(u->element)->name, k->entry,
                         fgs_element_get_info(e)->name);
    if (u->tile_bytes != bytes)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s: buffer '%s' has tiles of %llu bytes; %s of "
                         "kernel %s has %llu",
                         s->name, u->name, (unsigned long long)u->tile_bytes,
                         input    ? "the input tile"
                         : second ? "the second input's tile"
                                  : "the tile", k->entry,
                         (unsigned long long)bytes);
    return FGS_OK;
}

/* Both kernels of a stage do the same but for how they load. */
static fgs_result check_ordered(struct fgs__plan *p, struct fgs__stage *s,
                                const struct fgs__kernel *k, fgs_error *err)
{
    struct fgs__kernel *o;
    fgs_result r;

    if (!s->ordered)
        return FGS_OK;
    r = take_kernel(p, s, s->ordered, "`ordered`", &o, err);
    if (r < 0)
        return r;
    if (o->engine != FGS__ENGINE_ORDERED)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s: `ordered` (%s) does not wait before it loads",
                         s->name, o->entry);
    if (fgs__kernel_persistent(o) != fgs__kernel_persistent(k))
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s: of kernels %s and %s one alone is persistent",
                         s->name, k->entry, o->entry);
    if (o->role != k->role || o->shape.element != k->shape.element ||
        o->shape.tile_bytes != k->shape.tile_bytes)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s: kernels %s and %s differ in role, element or "
                         "tile",
                         s->name, k->entry, o->entry);
    return FGS_OK;
}

static void take_facts(struct fgs__stage *s, const struct fgs__kernel *k)
{
    s->role = k->role;
    s->engine = k->engine;
    s->tile_bytes = k->shape.tile_bytes;
    s->self = fgs__kernel_self(k);
    s->persistent = fgs__kernel_persistent(k);
    s->can_check = k->role > FGS_ROLE_PRODUCER &&
        k->engine != FGS__ENGINE_ORDERED;
    memcpy(s->entry, k->entry, sizeof s->entry);
    s->waits_at = s->can_check ? FGS_WAITS_LAST : FGS_WAITS_FIRST;
    s->triggers_at = s->self ? FGS_TRIGGERS_FILLED : FGS_TRIGGERS_START;
}

/* A join's block reads the tiles of one number: a kernel has one table. */
static fgs_result one_table(const struct fgs__plan *p,
                            const struct fgs__stage *s, fgs_error *err)
{
    const struct fgs__access *a = &s->access[0], *b = &s->access[1];

    if (!fgs__role_joins(s->role) ||
        (a->tables == b->tables &&
         (!a->table || !memcmp(a->table, b->table,
                               a->tables * sizeof *a->table))))
        return FGS_OK;
    return fgs__fail(err, FGS_E_MISMATCH,
                     "%s reads tiles of one number of buffers '%s' and '%s'; "
                     "their tables differ",
                     s->name, p->use[a->use].name, p->use[b->use].name);
}

/* A producer writes the tile that it reads: a table holds for both. */
static fgs_result share_table(struct fgs__plan *p, struct fgs__stage *s,
                              fgs_error *err)
{
    struct fgs__access *in = &s->access[0], *out = &s->access[1];
    struct fgs__access *from = in->table ? in : out;
    struct fgs__access *to = in->table ? out : in;

    if (s->role != FGS_ROLE_PRODUCER || !from->table)
        return FGS_OK;
    if (to->table) {
        if (in->tables == out->tables &&
            !memcmp(in->table, out->table, in->tables * sizeof *in->table))
            return FGS_OK;
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s writes the tile that it reads; its two tables "
                         "differ",
                         s->name);
    }
    if (to->first || to->step || to->count)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s writes the tile that it reads: by a table, and by "
                         "first, step or count",
                         s->name);
    to->table = fgs__zalloc(&p->dev->alloc, from->tables * sizeof *to->table);
    if (!to->table)
        return fgs__nomem(err);
    memcpy(to->table, from->table, from->tables * sizeof *to->table);
    to->tables = from->tables;
    return FGS_OK;
}

/* Tiles from an access's first one on, or blocks of its table. */
static uint64_t span(const struct fgs__plan *p, const struct fgs__access *a)
{
    const struct fgs__use *u = &p->use[a->use];

    if (a->table)
        return a->tables;
    return a->first < u->tiles ? u->tiles - a->first : 0;
}

/* A block takes a tile: what is stated has to say the same. */
static fgs_result check_step(const struct fgs__plan *p,
                             const struct fgs__stage *s,
                             const struct fgs__access *a,
                             const struct fgs__kernel *k, fgs_error *err)
{
    if (a->box.rank)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s: a block of %s takes one tile of buffer '%s'; a "
                         "box says something else",
                         s->name, k->entry, p->use[a->use].name);
    if (a->step == a->count && a->count <= 1)
        return FGS_OK;
    return fgs__fail(err, FGS_E_MISMATCH,
                     "%s: a block of %s takes one tile of buffer '%s'; step "
                     "%llu and count %llu say something else",
                     s->name, k->entry, p->use[a->use].name,
                     (unsigned long long)a->step,
                     (unsigned long long)a->count);
}

static fgs_result library_grid(struct fgs__plan *p, struct fgs__stage *s,
                               const struct fgs__kernel *k, fgs_error *err)
{
    uint64_t tiles = s->grid[0] && !s->persistent ? s->grid[0]
                                                  : span(p, &s->access[0]);
    fgs_result r = FGS_OK;

    for (uint32_t i = 0; r >= 0 && i < s->accesses; i++) {
        const struct fgs__access *a = &s->access[i];
        uint64_t n = span(p, a);

        r = check_step(p, s, a, k, err);
        /* With a table for what it reads, block b writes tile b; a stated grid
         * may leave tiles over. */
        if (r < 0 || n == tiles ||
            (n > tiles && (s->grid[0] || (a->write && s->access[0].table))))
            continue;
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s: buffer '%s' has %llu tiles, buffer '%s' %llu",
                         s->name, p->use[s->access[0].use].name,
                         (unsigned long long)tiles, p->use[a->use].name,
                         (unsigned long long)n);
    }
    if (r < 0)
        return r;
    if ((s->block[0] && s->block[0] != k->shape.threads) || s->block[1] > 1 ||
        s->block[2] > 1 || s->grid[1] > 1 || s->grid[2] > 1)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s: %s runs with blocks of %u threads, in x alone",
                         s->name, k->entry, k->shape.threads);
    if (!tiles)
        return fgs__fail(err, FGS_E_SIZE,
                         "%s: its first tile, %llu, is past the end of buffer "
                         "'%s', which has %llu",
                         s->name, (unsigned long long)s->access[0].first,
                         p->use[s->access[0].use].name,
                         (unsigned long long)p->use[s->access[0].use].tiles);
    if (!s->grid[0])
        s->grid[0] = (uint32_t)tiles;
    s->block[0] = k->shape.threads;
    for (int i = 1; i < 3; i++)
        s->grid[i] = s->block[i] = 1;
    s->shared = k->shared_bytes > s->asked_shared ? k->shared_bytes
                                                  : s->asked_shared;
    return FGS_OK;
}

static fgs_result library_stage(struct fgs__plan *p, struct fgs__stage *s,
                                fgs_error *err)
{
    struct fgs__kernel *k;
    fgs_result r = take_kernel(p, s, s->kernel, "`kernel`", &k, err);

    if (r >= 0)
        r = check_shape(s, k, err);
    for (uint32_t i = 0; r >= 0 && i < s->accesses; i++)
        r = check_tile(p, s, i, k, err);
    if (r >= 0)
        r = check_ordered(p, s, k, err);
    if (r < 0)
        return r;
    take_facts(s, k);
    s->handle = s->kernel;
    if (k->engine == FGS__ENGINE_ORDERED)
        s->ordered = s->kernel;
    r = share_table(p, s, err);
    if (r >= 0)
        r = one_table(p, s, err);
    return r < 0 ? r : library_grid(p, s, k, err);
}

static fgs_result own_stage(struct fgs__stage *s, const fgs_stage_desc *d,
                            fgs_error *err)
{
    for (int i = 0; i < 3; i++) {
        if (!s->grid[i] || !s->block[i])
            return fgs__fail(err, FGS_E_SIZE,
                             "%s: grid and block of a kernel of the "
                             "application have to be stated, all three of "
                             "each",
                             s->name);
    }
    if (s->ordered)
        return fgs__fail(err, FGS_E_INVAL, "%s: `ordered` without `kernel`",
                         s->name);
    if ((unsigned)d->waits > FGS_WAITS_LAST ||
        (unsigned)d->triggers > FGS_TRIGGERS_FILLED)
        return fgs__fail(err, FGS_E_INVAL,
                         "%s: waits is %u, triggers is %u", s->name,
                         (unsigned)d->waits, (unsigned)d->triggers);
    s->function = d->function;
    s->waits_at = d->waits;
    s->triggers_at = d->triggers;
    s->waits = d->waits != FGS_WAITS_NEVER;
    s->triggers = d->triggers != FGS_TRIGGERS_NEVER;
    s->self = d->triggers == FGS_TRIGGERS_FILLED;
    s->shared = s->asked_shared;
    snprintf(s->entry, sizeof s->entry, "%s", s->name);
    return FGS_OK;
}

static fgs_result take_table(struct fgs__plan *p, struct fgs__stage *s,
                             struct fgs__access *a, const fgs_access *d,
                             fgs_error *err)
{
    if (!d->table != !d->tables ||
        (d->table && (d->first || d->step || d->count)))
        return fgs__fail(err, FGS_E_INVAL,
                         "%s: a table has entries, and neither first, step nor "
                         "count",
                         s->name);
    if (!d->table)
        return FGS_OK;
    a->table = fgs__zalloc(&p->dev->alloc, d->tables * sizeof *a->table);
    if (!a->table)
        return fgs__nomem(err);
    memcpy(a->table, d->table, d->tables * sizeof *a->table);
    a->tables = d->tables;
    return FGS_OK;
}

static fgs_result take_access(struct fgs__plan *p, struct fgs__stage *s,
                              uint32_t i, const fgs_access *d, fgs_error *err)
{
    struct fgs__access *a = &s->access[i];
    uint32_t ring = fgs__ring_find(p, d->buffer);
    char what[80];
    fgs_result r;

    snprintf(what, sizeof what, "buffer %u of %s", i, s->name);
    if (d->write > 1 || (unsigned)d->order >= FGS_ORDER_COUNT ||
        d->can >> FGS_ORDER_COUNT)
        return fgs__fail(err, FGS_E_INVAL,
                         "%s: write is %u, order %u, can 0x%x", what, d->write,
                         (unsigned)d->order, d->can);
    r = ring == FGS__NOWHERE
        ? fgs__plan_use(p, d->buffer, what, &a->use, err)
        : fgs__ring_access(p, s, ring, d, what, &a->use, err);
    if (r < 0)
        return r;
    for (uint32_t j = 0; j < i; j++) {
        if (s->access[j].use == a->use && s->access[j].write != (int)d->write)
            return fgs__plan_broken(err, s, &p->use[a->use], UINT64_MAX,
                                    "%s reads and writes buffer '%s'",
                                    s->name, p->use[a->use].name);
    }
    r = fgs__plan_box(p, s, a, d, err);
    if (r < 0)
        return r;
    if (d->step && !d->count)
        return fgs__fail(err, FGS_E_INVAL, "%s: step is %llu without a count",
                         what, (unsigned long long)d->step);
    if ((d->first | d->step | d->count) >> 32)
        return fgs__fail(err, FGS_E_SIZE,
                         "%s: first %llu, step %llu or count %llu is beyond "
                         "any tile",
                         what, (unsigned long long)d->first,
                         (unsigned long long)d->step,
                         (unsigned long long)d->count);
    a->write = (int)d->write;
    a->order = d->order;
    a->can = d->can;
    a->first = d->first;
    a->step = d->step;
    a->count = d->count;
    if (a->write)
        p->use[a->use].written = 1;
    return take_table(p, s, a, d, err);
}

static fgs_result check_stage(const struct fgs__stage *s,
                              const fgs_stage_desc *d, fgs_error *err)
{
    if (!d->kernel == !d->function)
        return fgs__fail(err, FGS_E_INVAL,
                         "%s: either `kernel` or `function` is stated",
                         s->name);
    if (d->reserved)
        return fgs__fail(err, FGS_E_ABI,
                         "fgs_stage_desc.reserved is not zero (%s)", s->name);
    if ((d->access_count && !d->accesses) || (d->arg_count && !d->args))
        return fgs__fail(err, FGS_E_NULL, "%s: accesses or args is NULL",
                         s->name);
    if (!d->access_count)
        return fgs__fail(err, FGS_E_INVAL, "%s touches no buffer", s->name);
    if (d->domain > 1)
        return fgs__fail(err, FGS_E_INVAL, "%s: domain is %u", s->name,
                         d->domain);
    for (int i = 0; i < 3; i++) {
        if (!d->cluster[i] != !d->cluster[0])
            return fgs__fail(err, FGS_E_SIZE,
                             "%s: a cluster has three sizes", s->name);
    }
    return FGS_OK;
}

fgs_result fgs__plan_stage(struct fgs__plan *p, uint32_t index,
                           const fgs_stage_desc *d, fgs_error *err)
{
    struct fgs__stage *s = &p->stage[index];
    fgs_result r = fgs__check_size(err, "fgs_stage_desc", d, d->size,
                                   sizeof *d, sizeof *d);

    if (r < 0)
        return r;
    s->given = index;
    s->fills = s->event = s->early_event = FGS__NOWHERE;
    if (d->name && strlen(d->name) >= sizeof s->name)
        return fgs__fail(err, FGS_E_SIZE,
                         "stage %u: its name has %zu bytes; %zu at most",
                         index, strlen(d->name), sizeof s->name - 1);
    if (d->name && *d->name)
        snprintf(s->name, sizeof s->name, "%s", d->name);
    else
        snprintf(s->name, sizeof s->name, "stage %u", index);
    r = check_stage(s, d, err);
    if (r < 0)
        return r;
    s->kernel = d->kernel;
    s->ordered = d->ordered;
    for (int i = 0; i < 3; i++) {
        s->grid[i] = d->grid[i];
        s->block[i] = d->block[i];
        s->cluster[i] = d->cluster[i];
    }
    s->asked_shared = d->shared_bytes;
    s->asked_stream = d->stream;
    s->priority = d->priority;
    s->domain = d->domain;
    s->access = fgs__zalloc(&p->dev->alloc,
                            d->access_count * sizeof *s->access);
    if (!s->access)
        return fgs__nomem(err);
    for (uint32_t i = 0; i < d->access_count; i++) {
        r = take_access(p, s, i, &d->accesses[i], err);
        if (r < 0)
            return r;
        s->accesses++;
    }
    r = d->kernel ? library_stage(p, s, err) : own_stage(s, d, err);
    return r < 0 ? r : fgs__stage_launch(s, err);
}
