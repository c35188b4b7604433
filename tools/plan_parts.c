/* plan_parts.c -- a plan file's buffers, kernels and plan, by the library */
#include "plan_parts.h"

#include <stdlib.h>
#include <string.h>

static fgs_result no_memory(fgs_error *err)
{
    memset(err, 0, sizeof *err);
    err->result = FGS_E_NOMEM;
    snprintf(err->name, sizeof err->name, "%s", fgs_result_name(FGS_E_NOMEM));
    snprintf(err->text, sizeof err->text, "%s", fgs_strerror(FGS_E_NOMEM));
    return FGS_E_NOMEM;
}

/* ------------------------------------------------------------- kernels -- */

/* The kernel of a description, made at its first use. */
static fgs_result kernel_get(struct plan_parts *p, const fgs_kernel_desc *d,
                             fgs_kernel **out, fgs_error *err)
{
    struct plan_kernel *k = p->kernels;
    uint32_t i;
    fgs_result r;

    for (i = 0; i < p->kernel_count; i++)
        if (!memcmp(&k[i].desc, d, sizeof *d)) {
            *out = k[i].kernel;
            return FGS_OK;
        }
    k = realloc(k, (i + 1) * sizeof *k);
    if (!k)
        return no_memory(err);
    p->kernels = k;
    k += i;
    k->desc = *d;
    r = fgs_kernel_make(&k->kernel, p->dev, d, err);
    if (r < 0)
        return r;
    p->kernel_count++;
    *out = k->kernel;
    return FGS_OK;
}

/* What all kernels that write a buffer share; zeroed, since descriptions are
 * compared by their bytes. */
static void describe(const struct plan_buffer *b, fgs_role role,
                     fgs_kernel_desc *d)
{
    memset(d, 0, sizeof *d);
    d->size = sizeof *d;
    d->role = role;
    d->element = b->element;
    d->tile_bytes = (uint32_t)b->tile_bytes;
    d->threads = 256;
}

/* 0 = the library has none. */
static fgs_role role_of(enum plan_role role)
{
    return role == PLAN_PRODUCER   ? FGS_ROLE_PRODUCER
           : role == PLAN_CONSUMER ? FGS_ROLE_CONSUMER
           : role == PLAN_RELAY    ? FGS_ROLE_RELAY
           : role == PLAN_JOIN     ? FGS_ROLE_JOIN
           : role == PLAN_SCALED_JOIN ? FGS_ROLE_SCALED_JOIN
                                   : (fgs_role)0;
}

/* A producer of integers takes the next value, unless told otherwise. */
static fgs_saturate saturate_of(const struct plan_stage *s, fgs_element e)
{
    if (s->saturate)
        return saturate_value(s->saturate);
    return fgs_element_get_info(e)->rule == FGS_RULE_NEVER_SENTINEL
               ? FGS_SATURATE_UP
               : FGS_SATURATE_REFUSE;
}

static fgs_result unsupported(const struct plan_stage *s, fgs_error *err)
{
    memset(err, 0, sizeof *err);
    err->result = FGS_E_UNSUPPORTED;
    snprintf(err->name, sizeof err->name, "%s",
             fgs_result_name(FGS_E_UNSUPPORTED));
    snprintf(err->kernel, sizeof err->kernel, "%s", s->name);
    snprintf(err->text, sizeof err->text, "%s: the library has no kernel of "
             "role %s yet", s->name, plan_role_word(s->role));
    return FGS_E_UNSUPPORTED;
}

static fgs_result library_kernels(struct plan_parts *p,
                                  const struct plan_asked *asked,
                                  const struct plan_stage *s,
                                  fgs_stage_desc *to, fgs_error *err)
{
    const struct plan_access *out = &s->accesses[s->access_count - 1];
    const struct plan_buffer *b = &p->f->buffers[out->buffer];
    fgs_kernel_desc d;
    fgs_result r;

    if (!role_of(s->role))
        return unsupported(s, err);
    describe(b, role_of(s->role), &d);
    d.engine = s->engine ? s->engine : asked->engine;
    d.weak = s->weak;
    d.stem = s->stem;
    d.bulk_store = s->bulk_store;
    d.self_init = s->role != PLAN_CONSUMER && !strcmp(b->fill, "self");
    d.persistent = s->persistent;
    d.language = s->language && *s->language == 'c' ? FGS_LANGUAGE_CUDA
                                                    : FGS_LANGUAGE_PTX;
    if (s->block[0])
        d.threads = s->block[0];
    if (s->role == PLAN_PRODUCER) {
        d.engine = FGS_ENGINE_AUTO;
        d.saturate = saturate_of(s, b->element);
    }
    r = kernel_get(p, &d, &to->kernel, err);
    if (r < 0 || s->role == PLAN_PRODUCER || s->stem)
        return r;
    d.engine = FGS_ENGINE_PLAIN;
    d.weak = 0;
    return kernel_get(p, &d, &to->ordered, err);
}

/* -------------------------------------------------------------- stages -- */

static fgs_order order_of(const char *word)
{
    fgs_order o = FGS_ORDER_AUTO;

    if (word)
        fgs_order_find(word, &o);
    return o;
}

/* A bit an order of a list of words. */
static uint32_t orders_of(const char *list)
{
    uint32_t bits = 0;
    char one[16];
    int len;

    for (; list && *list; list += len + (list[len] == ',')) {
        len = (int)strcspn(list, ",");
        snprintf(one, sizeof one, "%.*s", len, list);
        bits |= 1u << order_of(one);
    }
    return bits;
}

static fgs_result describe_accesses(struct plan_parts *p,
                                    const struct plan_asked *asked,
                                    const struct plan_stage *s,
                                    fgs_stage_desc *to, fgs_error *err)
{
    fgs_access *a = calloc(s->access_count, sizeof *a);
    uint32_t i;

    if (!a)
        return no_memory(err);
    to->accesses = a;
    to->access_count = s->access_count;
    for (i = 0; i < s->access_count; i++) {
        const struct plan_access *from = &s->accesses[i];

        a[i].buffer = p->buffers[from->buffer];
        a[i].write = from->write;
        a[i].order = order_of(asked->order ? asked->order : from->order);
        a[i].can = orders_of(from->can);
        a[i].table = from->table.at;
        a[i].tables = from->table.count;
        a[i].first = from->tiles[0];
        a[i].step = from->tiles[1];
        a[i].count = from->tiles[2];
    }
    return FGS_OK;
}

static fgs_result describe_args(struct plan_parts *p,
                                const struct plan_stage *s, fgs_stage_desc *to,
                                fgs_error *err)
{
    static const fgs_arg_kind kinds[] = {
#define PLAN_ARG(id, word, behind, bytes, text) FGS_ARG_##id,
#include "plan.def"
    };
    fgs_arg *a = calloc(s->arg_count + 1, sizeof *a);
    uint32_t i;

    if (!a)
        return no_memory(err);
    to->args = a;
    to->arg_count = s->arg_count;
    for (i = 0; i < s->arg_count; i++) {
        const struct plan_arg *from = &s->args[i];

        a[i].kind = kinds[from->row];
        a[i].bytes = plan_args[from->row].bytes;
        /* the bits of a value lie at its address, lower ones first */
        a[i].value = a[i].kind == FGS_ARG_VALUE ? &from->bits : NULL;
        if (plan_args[from->row].behind == PLAN_BEHIND_BUFFER)
            a[i].buffer = p->buffers[from->buffer];
    }
    return FGS_OK;
}

static fgs_waits waits_of(const char *word)
{
    return !word || *word == 'n' ? FGS_WAITS_NEVER
           : *word == 'f'        ? FGS_WAITS_FIRST
                                 : FGS_WAITS_LAST;
}

static fgs_triggers triggers_of(const char *word)
{
    return !word || *word == 'n' ? FGS_TRIGGERS_NEVER
           : *word == 's'        ? FGS_TRIGGERS_START
                                 : FGS_TRIGGERS_FILLED;
}

static fgs_result describe_stage(struct plan_parts *p,
                                 const struct plan_asked *asked,
                                 const struct plan_stage *s,
                                 fgs_stage_desc *to, fgs_error *err)
{
    fgs_result r;

    to->size = sizeof *to;
    to->name = s->name;
    memcpy(to->grid, s->grid, sizeof to->grid);
    memcpy(to->cluster, s->cluster, sizeof to->cluster);
    memcpy(to->block, s->block, sizeof to->block);
    to->shared_bytes = (uint32_t)s->shared;
    to->priority = (int32_t)s->priority;
    to->domain = (uint32_t)s->domain;
    to->waits = waits_of(s->waits);
    to->triggers = triggers_of(s->triggers);
    to->work_ns = s->work_ns;
    to->spread_ns = s->spread_ns;
    r = describe_accesses(p, asked, s, to, err);
    if (r == FGS_OK && s->stream)
        r = plan_stream(p, s->stream, &to->stream, err);
    if (r < 0)
        return r;
    if (s->role != PLAN_KERNEL)
        return library_kernels(p, asked, s, to, err);
    r = plan_function(p, s, &to->function, err);
    return r < 0 ? r : describe_args(p, s, to, err);
}

/* ------------------------------------------------------------- buffers -- */

static fgs_result make_buffer(struct plan_parts *p, uint32_t i, fgs_error *err)
{
    const struct plan_buffer *b = &p->f->buffers[i];
    fgs_buffer_desc d = {.size = sizeof d};
    fgs_use *u = &p->uses[i];
    fgs_kernel_desc k;
    fgs_result r;

    d.name = b->name;
    d.element = b->element;
    d.tiles = b->tiles;
    d.tile_bytes = b->tile_bytes;
    d.slots = (uint32_t)b->slots;
    r = fgs_buffer_make(&p->buffers[i], p->dev, &d, err);
    if (r < 0)
        return r;
    u->buffer = p->buffers[i];
    fgs_fill_find(b->fill, &u->fill);
    if (u->fill != FGS_FILL_KERNEL)
        return FGS_OK;
    describe(b, FGS_ROLE_INIT, &k);
    return kernel_get(p, &k, &u->kernel, err);
}

/* Buffers that say `auto` need no row. */
static void drop_defaults(struct plan_parts *p)
{
    uint32_t i, n = 0;

    for (i = 0; i < p->f->buffer_count; i++)
        if (p->uses[i].fill != FGS_FILL_AUTO)
            p->uses[n++] = p->uses[i];
    p->spec.uses = p->uses;
    p->spec.use_count = n;
}

/* ---------------------------------------------------------------- whole -- */

fgs_result plan_parts_open(struct plan_parts *p, const struct plan_file *f,
                           const struct plan_asked *asked, fgs_error *err)
{
    fgs_device_opts opts = {.size = sizeof opts};
    fgs_result r;

    memset(p, 0, sizeof *p);
    p->f = f;
    opts.provider = asked->provider;
    opts.ordinal = (int32_t)asked->ordinal;
    r = fgs_device_open(&p->dev, &opts, err);
    if (r < 0)
        return r;
    p->info.size = sizeof p->info;
    r = fgs_device_get_info(p->dev, &p->info, err);
    if (r == FGS_OK && !asked->quiet)
        say_device("", &p->info);
    return r;
}

fgs_result plan_parts_make(struct plan_parts *p, const struct plan_file *f,
                           const struct plan_asked *asked, fgs_error *err)
{
    fgs_result r = p->dev ? FGS_OK : plan_parts_open(p, f, asked, err);
    uint32_t i;

    if (r < 0)
        return r;
    p->buffers = calloc(f->buffer_count + 1, sizeof *p->buffers);
    p->uses = calloc(f->buffer_count + 1, sizeof *p->uses);
    p->stages = calloc(f->stage_count, sizeof *p->stages);
    if (!p->buffers || !p->uses || !p->stages)
        return no_memory(err);
    for (i = 0; i < f->buffer_count && r == FGS_OK; i++) {
        r = make_buffer(p, i, err);
        if (r < 0) /* so that it has a place in the file */
            snprintf(err->buffer, sizeof err->buffer, "%s", f->buffers[i].name);
    }
    for (i = 0; i < f->stage_count && r == FGS_OK; i++) {
        r = describe_stage(p, asked, &f->stages[i], &p->stages[i], err);
        if (r < 0)
            snprintf(err->kernel, sizeof err->kernel, "%s", f->stages[i].name);
    }
    drop_defaults(p);
    p->spec.size = sizeof p->spec;
    p->spec.stages = p->stages;
    p->spec.stage_count = f->stage_count;
    p->spec.order = order_of(asked->order ? asked->order : f->order);
    p->spec.receipt = asked->receipt;
    p->spec.bound_ns = f->bound_ms * 1000000;
    p->spec.max_tries = f->max_tries;
    return r;
}

fgs_result plan_parts_compose(struct plan_parts *p, fgs_error *err)
{
    return fgs_plan_compose(&p->plan, p->dev, &p->spec, err);
}

void plan_parts_free(struct plan_parts *p)
{
    uint32_t i;

    fgs_plan_free(p->plan);
    for (i = 0; i < p->kernel_count; i++)
        fgs_kernel_free(p->kernels[i].kernel);
    for (i = 0; p->buffers && i < p->f->buffer_count; i++)
        fgs_buffer_free(p->buffers[i]);
    for (i = 0; p->stages && i < p->f->stage_count; i++) {
        free((void *)p->stages[i].accesses);
        free((void *)p->stages[i].args);
    }
    plan_driver_end(p);
    fgs_device_close(p->dev);
    free(p->kernels);
    free(p->buffers);
    free(p->stages);
    free(p->uses);
    memset(p, 0, sizeof *p);
}
