/* kernel.c -- a role's kernel, found, checked and loaded */
#include "core/kernel.h"
#include "core/plan.h"
#include "table/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

fgs_result fgs__kernel_get(struct fgs__kernel **out, const fgs_kernel *k,
                           const char *what, fgs_error *err)
{
    struct fgs__obj *o;
    fgs_result r = fgs__obj_get(&o, k, FGS__KERNEL, what, err);

    *out = (struct fgs__kernel *)(void *)o;
    return r;
}

static void add_note(struct fgs__kernel *k, const char *fmt, ...)
    FGS__PRINTF(2, 3);

static void add_note(struct fgs__kernel *k, const char *fmt, ...)
{
    size_t n = strlen(k->note);
    va_list ap;

    if (n)
        n += (size_t)snprintf(k->note + n, sizeof k->note - n, "; ");
    if (n >= sizeof k->note)
        return;
    va_start(ap, fmt);
    vsnprintf(k->note + n, sizeof k->note - n, fmt, ap);
    va_end(ap);
}

/* ------------------------------------------------------------- loading -- */

static fgs_result bad_text(const struct fgs__kernel *k,
                           const struct fgs__ptx_diags *diags, fgs_result r,
                           fgs_error *err)
{
    const struct fgs__ptx_diag *first = &diags->item[0];
    uint32_t line;
    const char *file;
    char more[48] = "";

    if (r == FGS_E_NOMEM || !diags->count)
        return fgs__nomem(err);
    line = first->pos.line;
    file = fgs__text_place(&k->text, &line);
    if (r == FGS_E_PTXVERSION)
        return fgs__fail_at(err, r, file, line, first->pos.column,
                            "PTX %d.%d is newer than this library knows "
                            "(%d.%d)",
                            diags->newer_version / 10,
                            diags->newer_version % 10,
                            FGS__PTX_VERSION_MAX / 10,
                            FGS__PTX_VERSION_MAX % 10);
    if (diags->count > 1)
        snprintf(more, sizeof more, " (and %u more)", diags->count - 1);
    return fgs__fail_at(err, r, file, line, first->pos.column, "%s%s",
                        first->text, more);
}

/* What a block has without asking, 48 KiB, less what a kernel has besides (its
 * barriers): beyond it the driver wants to be told. */
enum { PLAIN_SHARED = 47 * 1024 };

/* The tile of a text that keeps one lies in dynamic shared memory. */
static fgs_result allow_shared(struct fgs__kernel *k, fgs_error *err)
{
    struct fgs__device *d = k->dev;
    CUresult r;

    if (k->shared_bytes <= PLAIN_SHARED)
        return FGS_OK;
    r = d->cu.cuFuncSetAttribute(
        k->loaded->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        (int)k->shared_bytes);
    if (r == CUDA_SUCCESS)
        return FGS_OK;
    return fgs__device_fail(d, err, r, "cuFuncSetAttribute",
                            "%u bytes of dynamic shared memory for %s of %s",
                            k->shared_bytes, k->entry, k->text.file);
}

static fgs_result make_module(struct fgs__kernel *k,
                              const struct fgs__ptx_module *m, fgs_error *err)
{
    struct fgs__device *d = k->dev;
    struct fgs__loaded *l = k->loaded;
    fgs_result result = fgs__device_enter(d, err);
    CUresult r;
    int regs;

    if (result < 0)
        return result;
    result = fgs__module_load(k, m, err);
    if (result < 0)
        goto leave;
    r = d->cu.cuModuleGetFunction(&l->function, l->module, k->entry);
    if (r != CUDA_SUCCESS) {
        result = fgs__device_fail(d, err, r, "cuModuleGetFunction", "%s of %s",
                                  k->entry, k->text.file);
        goto leave;
    }
    /* Asking for an attribute loads the code now, also where the driver loads
     * lazily: a load in the middle of a run serializes it (guide 4.6.5). */
    r = d->cu.cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                 l->function);
    result = r == CUDA_SUCCESS
        ? allow_shared(k, err)
        : fgs__device_fail(d, err, r, "cuFuncGetAttribute", "%s of %s",
                           k->entry, k->text.file);
leave:
    fgs__device_leave(d);
    return result;
}

static fgs_result make_loaded(struct fgs__kernel *k,
                              const struct fgs__ptx_module *m, fgs_error *err)
{
    fgs_result r;

    k->loaded = fgs__zalloc(&k->dev->alloc, sizeof *k->loaded);
    if (!k->loaded)
        return fgs__nomem(err);
    k->loaded->dev = k->dev;
    atomic_init(&k->loaded->refs, 1);
    memcpy(k->loaded->entry, k->entry, sizeof k->entry);
    r = make_module(k, m, err);
    if (r >= 0)
        return r;
    fgs__loaded_unref(k->loaded);
    k->loaded = NULL;
    return r;
}

/* Does the text keep a tile in shared memory?  A consumer's does, also one
 * that the library does not know. */
static bool keeps_tile(const struct fgs__kernel *k, const char *stem)
{
    const char *bulk = fgs__roles[k->role].bulk;

    return fgs__role_loads(k->role) || (bulk && !strcmp(stem, bulk));
}

/* What a block keeps in shared memory: its tile, or a join's two, one behind
 * the other. */
static fgs_result take_tiles(struct fgs__kernel *k, const char *stem,
                             fgs_error *err)
{
    struct fgs__shape both = k->shape;

    k->second_bytes = fgs__second_bytes(k->role, k->shape.tile_bytes);
    both.tile_bytes += k->second_bytes;
    k->shared_bytes = keeps_tile(k, stem) ? both.tile_bytes : 0;
    return k->second_bytes ? fgs__shape_check(&both, k->dev->cc, err) : FGS_OK;
}

fgs_result fgs__kernel_load(struct fgs__kernel *k, const char *stem,
                            fgs_error *err)
{
    const struct fgs__ptx_func *f;
    struct fgs__ptx_module *m = NULL;
    struct fgs__ptx_diags diags;
    fgs_result r;

    if (strlen(stem) >= sizeof k->stem)
        return fgs__fail(err, FGS_E_SIZE, "the stem has %zu bytes; 63 at most",
                         strlen(stem));
    snprintf(k->stem, sizeof k->stem, "%s", stem);
    snprintf(k->entry, sizeof k->entry, "fgs_%s", k->stem);
    r = fgs__kernel_read(k, stem, err);
    if (r >= 0)
        r = take_tiles(k, stem, err);
    if (r >= 0 && k->shape.language == FGS_LANGUAGE_CUDA)
        r = fgs__kernel_compile(k, err);
    if (r < 0) {
        fgs__text_free(&k->text);
        return r;
    }
    fgs__ptx_diags_init(&diags, &k->dev->alloc);
    r = fgs__ptx_load(&m, k->text.text, k->text.len, &k->dev->alloc, &diags);
    if (r < 0) {
        bad_text(k, &diags, r, err);
        goto free_text;
    }
    r = fgs__contract_check(k, m, &f, err);
    if (r < 0)
        goto free_text;
    k->ptx_version = m->version;
    snprintf(k->ptx_target, sizeof k->ptx_target, "%s", m->target);
    k->waits = fgs__ptx_has_op(f, FGS__OP_GRID_WAIT);
    k->triggers = fgs__ptx_has_op(f, FGS__OP_GRID_LAUNCH);
    r = make_loaded(k, m, err);
free_text:
    if (r < 0)
        fgs__text_free(&k->text);
    fgs__ptx_free(m);
    fgs__ptx_diags_free(&diags);
    return r;
}

/* -------------------------------------------------------------- engines -- */

/* A refusal that another engine or form may not meet. */
static int is_refusal(fgs_result r)
{
    return r == FGS_E_UNSUPPORTED || r == FGS_E_PTXVERSION;
}

/* "bulk_consume" and the role's name: "bulk_relay". */
static const char *stem_of(const struct fgs__kernel *k, const char *consumer,
                           char stem[64])
{
    const char *end = strstr(consumer, "consume");

    if (k->role == FGS_ROLE_CONSUMER)
        snprintf(stem, 64, "%s", consumer);
    else
        snprintf(stem, 64, "%.*s%s", (int)(end - consumer), consumer,
                 fgs__roles[k->role].name);
    return stem;
}

/*
 * The strong copy first.  The weak one reads data that is being written and is
 * formally a race, so it is taken only where nobody assembles PTX 9.3, or
 * where the caller asks for it.
 */
static fgs_result load_engine(struct fgs__kernel *k, fgs_engine e, int weak,
                              fgs_error *err)
{
    const struct fgs__engine *row = &fgs__engines[e];
    fgs_error no = { .result = FGS_OK };
    char stem[64], weaker[64];
    fgs_result r = fgs__device_can(k->dev, e, err);

    if (r < 0)
        return r;
    if (weak)
        return fgs__kernel_load(k, stem_of(k, row->weak, weaker), err);
    stem_of(k, row->consumer, stem);
    r = fgs__kernel_load(k, stem, row->weak ? &no : err);
    if (!row->weak || r >= 0)
        return r;
    if (r != FGS_E_PTXVERSION) {
        if (err)
            *err = no;
        return r;
    }
    fgs__log(&k->dev->log, FGS__LOG_LOAD_REFUSED, "%s", no.text);
    add_note(k, "%s taken instead of %s: %s",
             stem_of(k, row->weak, weaker), stem, no.text);
    return fgs__kernel_load(k, weaker, err);
}

static fgs_result load_auto(struct fgs__kernel *k, fgs_error *err)
{
    fgs_result r = FGS_E_UNSUPPORTED;
    fgs_error no;

    for (fgs_engine e = FGS_ENGINE_AUTO + 1; e <= FGS_ENGINE_POLL; e++) {
        k->engine = e;
        r = load_engine(k, e, 0, &no);
        if (r >= 0)
            return r;
        if (!is_refusal(r)) {
            if (err)
                *err = no;
            return r;
        }
        fgs__log(&k->dev->log, FGS__LOG_LOAD_REFUSED, "%s: %s",
                 fgs_engine_name(e), no.text);
        add_note(k, "%s refused: %s", fgs_engine_name(e), no.text);
    }
    return fgs__fail(err, r, "no engine runs on %s: %s", k->dev->name, k->note);
}

/* The engine whose kernel of this role a stem is. */
static fgs_engine engine_of_stem(const struct fgs__kernel *k, const char *stem)
{
    char own[64];

    for (fgs_engine e = FGS_ENGINE_AUTO + 1; e < FGS_ENGINE_COUNT; e++) {
        const struct fgs__engine *row = &fgs__engines[e];

        if (!strcmp(stem, stem_of(k, row->consumer, own)) ||
            (row->weak && !strcmp(stem, stem_of(k, row->weak, own))))
            return e;
    }
    return FGS_ENGINE_AUTO;
}

static fgs_result load(struct fgs__kernel *k, const fgs_kernel_desc *d,
                       fgs_error *err)
{
    const struct fgs__role *role = &fgs__roles[k->role];
    fgs_result r;

    if (!fgs__role_loads(k->role))
        return fgs__kernel_load(k, d->stem ? d->stem
                            : d->bulk_store ? role->bulk : role->stem, err);
    if (!d->stem && k->engine == FGS_ENGINE_AUTO)
        return load_auto(k, err);
    if (!d->stem)
        return load_engine(k, k->engine, d->weak != 0, err);
    if (k->engine == FGS_ENGINE_AUTO)
        k->engine = engine_of_stem(k, d->stem);
    if (k->engine == FGS_ENGINE_AUTO)
        return fgs__fail(err, FGS_E_INVAL,
                         "stem %s: name the engine that this consumer uses",
                         d->stem);
    r = fgs__device_can(k->dev, k->engine, err);
    return r < 0 ? r : fgs__kernel_load(k, d->stem, err);
}

/* ------------------------------------------------------------------ API -- */

fgs_result fgs_kernel_make(fgs_kernel **out, fgs_device *dev,
                           const fgs_kernel_desc *desc, fgs_error *err)
{
    fgs_kernel_desc all = { 0 };
    struct fgs__shape shape;
    struct fgs__device *d;
    struct fgs__kernel *k;
    fgs_result r;

    if (!out)
        return fgs__fail(err, FGS_E_NULL, "out is NULL");
    *out = NULL;
    r = fgs__device_get(&d, dev, err);
    if (r < 0)
        return r;
    if (!desc)
        return fgs__fail(err, FGS_E_NULL, "desc is NULL");
    r = fgs__check_size(err, "fgs_kernel_desc", desc, desc->size,
                        offsetof(fgs_kernel_desc, mechanism), sizeof *desc);
    if (r < 0)
        return r;
    memcpy(&all, desc, desc->size < sizeof all ? desc->size : sizeof all);
    desc = &all;
    shape = fgs__kernel_shape(desc);
    r = fgs__kernel_check(desc, err);
    if (r >= 0)
        r = fgs__shape_check(&shape, d->cc, err);
    if (r >= 0)
        r = FGS__NEED(d, err, FGS__CU_cuModuleLoadDataEx,
                      FGS__CU_cuModuleLoadData, FGS__CU_cuModuleUnload,
                      FGS__CU_cuModuleGetFunction, FGS__CU_cuFuncGetAttribute,
                      FGS__CU_cuFuncSetAttribute);
    if (r < 0)
        return r;
    k = fgs__zalloc(&d->alloc, sizeof *k);
    if (!k)
        return fgs__nomem(err);
    k->dev = d;
    k->role = desc->role;
    k->engine = desc->engine;
    k->shape = shape;
    r = load(k, desc, err);
    if (r < 0) {
        fgs__free(&d->alloc, k);
        return r;
    }
    fgs__device_ref(d);
    fgs__log(&d->log, FGS__LOG_LOAD_KERNEL, "%s as %s, PTX %d.%d %s, by %s",
             k->text.file, fgs__roles[k->role].name, k->ptx_version / 10,
             k->ptx_version % 10, k->ptx_target, k->assembled_by);
    *out = fgs__obj_add(&k->obj, FGS__KERNEL);
    return FGS_OK;
}

void fgs_kernel_free(fgs_kernel *kernel)
{
    struct fgs__kernel *k =
        (struct fgs__kernel *)(void *)fgs__obj_take(kernel, FGS__KERNEL);
    struct fgs__device *d;

    if (!k)
        return;
    d = k->dev;
    fgs__plans_wait(d, 0, 0, kernel);
    fgs__plans_let_go(d, kernel, 0);
    fgs__loaded_unref(k->loaded);
    fgs__text_free(&k->text);
    fgs__free(&d->alloc, k);
    fgs__device_unref(d);
}

const char *fgs_kernel_get_ptx(const fgs_kernel *kernel)
{
    struct fgs__kernel *k;

    return fgs__kernel_get(&k, kernel, "k", NULL) < 0 ? NULL : k->text.text;
}

CUfunction fgs_kernel_get_function(const fgs_kernel *kernel)
{
    struct fgs__kernel *k;

    if (fgs__kernel_get(&k, kernel, "k", NULL) < 0)
        return NULL;
    return k->loaded->function;
}

fgs_result fgs_kernel_get_info(const fgs_kernel *kernel, fgs_kernel_info *info)
{
    struct fgs__kernel *k;
    fgs_result r = fgs__kernel_get(&k, kernel, "k", NULL);

    if (r < 0)
        return r;
    if (!info)
        return FGS_E_NULL;
    if (info->size < sizeof *info)
        return FGS_E_INVAL;
    info->stem = k->stem;
    info->entry = k->entry;
    info->file = k->text.file;
    info->assembled_by = k->assembled_by;
    info->engine = k->engine;
    info->ptx_version = k->ptx_version;
    memcpy(info->ptx_target, k->ptx_target, sizeof info->ptx_target);
    info->waits = k->waits;
    info->triggers = k->triggers;
    info->element = k->shape.element;
    info->tile_bytes = k->shape.tile_bytes;
    info->threads = k->shape.threads;
    info->shared_bytes = k->shared_bytes;
    return FGS_OK;
}
