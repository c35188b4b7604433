/* text.c -- find a kernel text by stem and make it ready for a loader */
#include "text/text.h"

#include "base/alloc.h"
#include "base/error.h"
#include "table/table.h"
#include "text/embed.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* What a text is asked for. */
struct ask {
    const char *stem, *dir;
    int cc;
    const struct fgs__shape *shape;
};

int fgs__text_is_stem(const char *s)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

    return *s && s[strspn(s, good)] == 0;
}

/* "DIR/NAMEEXT", NULL = no memory. */
static char *path_of(const fgs_allocator *a, const char *dir, const char *name,
                     const char *ext)
{
    size_t size = strlen(dir) + strlen(name) + strlen(ext) + 2;
    char *s = fgs__alloc(a, size);

    if (s)
        snprintf(s, size, "%s/%s%s", dir, name, ext);
    return s;
}

static fgs_result check_dir(const char *dir, fgs_error *err)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return fgs__fail(err, FGS_E_FILE, "PTX directory %s: %s", dir,
                         strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return fgs__fail(err, FGS_E_FILE, "PTX directory %s: %s", dir,
                         strerror(ENOTDIR));
    return FGS_OK;
}

/* DIR/NAMEEXT with its path in t->file; *raw stays NULL, and t->file too, when
 * there is no such file. */
static fgs_result read_in(struct fgs__text *t, char **raw, size_t *len,
                          const char *dir, const char *name, const char *ext,
                          fgs_error *err)
{
    fgs_result r;

    t->file = path_of(&t->alloc, dir, name, ext);
    if (!t->file)
        return fgs__nomem(err);
    r = fgs__text_read(raw, len, t->file, &t->alloc, err);
    if (r < 0 || !*raw) {
        fgs__free(&t->alloc, t->file);
        t->file = NULL;
    }
    return r;
}

/* The stem's own PTX out of DIR as it stands, when it is there. */
static fgs_result load_plain(struct fgs__text *t, const struct ask *ask,
                             fgs_error *err)
{
    char ext[32];
    fgs_result r;

    fgs__text_own(ask->shape, ext);
    r = read_in(t, &t->text, &t->len, ask->dir, ask->stem, ext, err);

    if (r < 0 || !t->text)
        return r;
    return fgs__text_check(t->text, t->len, t->file, err);
}

static fgs_result expand(struct fgs__text *t, const struct fgs__variant *v,
                         const struct ask *ask, const char *src, size_t len,
                         fgs_error *err)
{
    struct fgs__vars vars;
    fgs_result r;

    fgs__variant_vars(&vars, v, ask->shape, ask->cc);
    r = fgs__text_expand(&t->text, &t->len, src, len, vars.var, vars.count,
                         t->file, &t->alloc, err);
    return r < 0 ? r : fgs__text_include(t, &vars, ask->dir, err);
}

/* CUDA C++ out of DIR: STEM.cu, else the twin. */
static fgs_result load_source(struct fgs__text *t, const struct ask *ask,
                              const struct fgs__variant *v, fgs_error *err)
{
    char name[64], ext[32];
    fgs_result r;

    fgs__text_own(ask->shape, ext);
    r = read_in(t, &t->text, &t->len, ask->dir, ask->stem, ext, err);
    if (r == FGS_OK && !t->text && v) {
        fgs__text_twin(v, name);
        r = read_in(t, &t->text, &t->len, ask->dir, name, "", err);
    }
    if (r < 0 || !t->text)
        return r;
    return fgs__text_check(t->text, t->len, t->file, err);
}

/* The stem's template out of DIR, when it is there. */
static fgs_result load_template(struct fgs__text *t, const struct ask *ask,
                                const struct fgs__variant *v, fgs_error *err)
{
    char *raw = NULL;
    size_t len = 0;
    fgs_result r = read_in(t, &raw, &len, ask->dir, v->file, "", err);

    if (r == FGS_OK && raw)
        r = expand(t, v, ask, raw, len, err);
    fgs__free(&t->alloc, raw);
    return r;
}

static fgs_result load_embedded(struct fgs__text *t,
                                const struct fgs__variant *v,
                                const struct ask *ask, fgs_error *err)
{
    bool cuda = ask->shape->language == FGS_LANGUAGE_CUDA;
    const struct fgs__embedded *e = fgs__embedded;
    const char *file = v->file;
    size_t size = strlen(v->stem) + sizeof "<.ptx>";
    char name[64];

    if (cuda) {
        fgs__text_twin(v, name);
        file = name;
    }
    while (e->name && strcmp(e->name, file))
        e++;
    if (!e->name)
        return fgs__fail(err, FGS_E_INVAL, "%s is not in the library", file);
    t->file = fgs__alloc(&t->alloc, size);
    if (!t->file)
        return fgs__nomem(err);
    snprintf(t->file, size, "<%s.%s>", v->stem, cuda ? "cu" : "ptx");
    if (!cuda)
        return expand(t, v, ask, e->text, e->size, err);
    t->text = fgs__strdup(&t->alloc, e->text);
    t->len = e->size;
    return t->text ? FGS_OK : fgs__nomem(err);
}

/* Does a device of this compute capability have what the text needs? */
static fgs_result check_cc(const struct fgs__variant *v, int cc,
                           fgs_error *err)
{
    const struct fgs__arch *arch = fgs__arch_find(cc);

    if (arch && arch->has[v->feature])
        return FGS_OK;
    return fgs__fail(err, FGS_E_UNSUPPORTED,
                     "%s needs %s, which compute capability %d.%d does not "
                     "have",
                     v->stem, fgs__feature_text((enum fgs__feature)v->feature),
                     cc / 10, cc % 10);
}

static fgs_result unknown(const struct ask *ask, fgs_error *err)
{
    char ext[32];

    if (!ask->dir)
        return fgs__fail(err, FGS_E_INVAL, "there is no kernel text %s",
                         ask->stem);
    fgs__text_own(ask->shape, ext);
    return fgs__fail(err, FGS_E_INVAL,
                     "there is no kernel text %s, nor a file %s%s in %s",
                     ask->stem, ask->stem, ext, ask->dir);
}

static fgs_result load(struct fgs__text *t, const struct ask *ask,
                       fgs_error *err)
{
    const struct fgs__variant *v = fgs__variant_find(ask->stem);
    bool cuda = ask->shape->language == FGS_LANGUAGE_CUDA;
    fgs_result r = FGS_OK;

    if (ask->dir) {
        r = check_dir(ask->dir, err);
        if (r == FGS_OK)
            r = cuda ? load_source(t, ask, v, err) : load_plain(t, ask, err);
        if (r < 0 || t->text)
            return r;
    }
    if (!v)
        return unknown(ask, err);
    r = check_cc(v, ask->cc, err);
    if (r == FGS_OK)
        r = fgs__variant_takes(v, ask->shape, ask->cc, err);
    if (r == FGS_OK)
        r = fgs__shape_stages(ask->shape, ask->stem, ask->cc, err);
    if (r == FGS_OK && ask->dir && !cuda)
        r = load_template(t, ask, v, err);
    if (r < 0 || t->text)
        return r;
    return load_embedded(t, v, ask, err);
}

fgs_result fgs__text_load(struct fgs__text *out, const char *stem, int cc,
                          const struct fgs__shape *shape, const char *ptx_dir,
                          const fgs_allocator *a, fgs_error *err)
{
    const struct ask ask = { stem, ptx_dir && *ptx_dir ? ptx_dir : NULL, cc,
                             shape ? shape : &fgs__shape_default };
    fgs_result r;

    memset(out, 0, sizeof *out);
    out->alloc = *a;
    if (!fgs__text_is_stem(stem))
        return fgs__fail(err, FGS_E_INVAL,
                         "\"%.100s\" cannot be the stem of a kernel text: "
                         "letters, digits, _ and - only",
                         stem);
    r = load(out, &ask, err);
    if (r < 0)
        fgs__text_free(out);
    else if (ask.dir)
        fgs__text_unread(out, stem, ask.shape, ask.dir);
    return r;
}

void fgs__text_free(struct fgs__text *t)
{
    if (t->alloc.release) {
        fgs__free(&t->alloc, t->text);
        fgs__free(&t->alloc, t->file);
        fgs__text_drop_parts(t);
    }
    memset(t, 0, sizeof *t);
}

const char *fgs_ptx_stem(uint32_t index)
{
    const struct fgs__variant *v = fgs__variant_at(index);

    return v ? v->stem : NULL;
}

fgs_result fgs__text_give(const struct fgs__text *t, const char *stem,
                          char *buf, size_t *size, fgs_error *err)
{
    size_t room = *size;

    *size = t->len + 1;
    if (room < *size)
        return fgs__fail(err, FGS_E_SIZE, "%s needs %zu bytes, buf has %zu",
                         stem, *size, room);
    memcpy(buf, t->text, *size);
    return FGS_OK;
}

fgs_result fgs__text_of_desc(struct fgs__text *t, struct fgs__shape *shape,
                             const fgs_ptx_desc *d, fgs_error *err)
{
    fgs_ptx_desc all = { 0 };
    fgs_result r = fgs__check_size(err, "fgs_ptx_desc", d, d->size,
                                   offsetof(fgs_ptx_desc, stages), sizeof *d);

    if (r < 0)
        return r;
    memcpy(&all, d, d->size < sizeof all ? d->size : sizeof all);
    d = &all;
    if (!d->stem)
        return fgs__fail(err, FGS_E_NULL, "fgs_ptx_desc.stem is NULL");
    if (d->reserved)
        return fgs__fail(err, FGS_E_ABI, "fgs_ptx_desc.reserved is not zero");
    *shape = fgs__shape_default;
    shape->element = d->element;
    shape->saturate = d->saturate;
    shape->language = d->language;
    if (d->tile_bytes)
        shape->tile_bytes = d->tile_bytes;
    if (d->threads)
        shape->threads = d->threads;
    if (d->stages)
        shape->stages = d->stages;
    if (d->self_init > 1 || d->persistent > 1)
        return fgs__fail(err, FGS_E_INVAL,
                         "fgs_ptx_desc: self_init is %u, persistent %u",
                         d->self_init, d->persistent);
    shape->self_init = d->self_init;
    shape->persistent = d->persistent;
    if ((unsigned)d->language >= FGS_LANGUAGE_COUNT)
        return fgs__fail(err, FGS_E_INVAL, "%u is no language",
                         (unsigned)d->language);
    r = fgs__shape_check(shape, d->cc, err);
    return r < 0 ? r : fgs__text_load(t, d->stem, d->cc, shape,
                                      all.ptx_dir, &fgs__malloc, err);
}

fgs_result fgs_ptx_expand(const fgs_ptx_desc *d, char *buf, size_t *size,
                          fgs_error *err)
{
    struct fgs__shape shape;
    struct fgs__text t;
    fgs_result r;

    if (!d || !size || (!buf && *size))
        return fgs__fail(err, FGS_E_NULL, "fgs_ptx_expand: %s is NULL",
                         !d ? "desc" : !size ? "size" : "buf");
    r = fgs__text_of_desc(&t, &shape, d, err);
    if (r < 0)
        return r;
    r = fgs__text_give(&t, d->stem, buf, size, err);
    fgs__text_free(&t);
    return r;
}

fgs_result fgs_ptx_text(const char *stem, int32_t cc, char *buf, size_t *size,
                        fgs_error *err)
{
    const fgs_ptx_desc d = { .size = sizeof d, .stem = stem, .cc = cc };

    if (!stem || !size || (!buf && *size))
        return fgs__fail(err, FGS_E_NULL, "fgs_ptx_text: %s is NULL",
                         !stem ? "stem" : !size ? "size" : "buf");
    return fgs_ptx_expand(&d, buf, size, err);
}
