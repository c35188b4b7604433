/* text.c -- find a kernel text by stem and make it ready for a loader */
#include "text/text.h"

#include "base/alloc.h"
#include "base/error.h"
#include "table/table.h"
#include "text/embed.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* What a text is asked for. */
struct ask {
    const char *stem, *dir;
    int cc;
    const struct fgs__shape *shape;
};

/* A stem is part of a file name, never a path. */
static int is_stem(const char *s)
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

/* What is behind the stem in the name of its own file: STEM.ptx, for another
 * element than f32 STEM.ELEMENT.ptx, for CUDA C++ STEM.cu. */
static void own_ext(const struct ask *ask, char ext[32])
{
    if (ask->shape->language == FGS_LANGUAGE_CUDA)
        snprintf(ext, 32, ".cu");
    else if (ask->shape->element != FGS_ELEMENT_F32)
        snprintf(ext, 32, ".%s.ptx",
                 fgs_element_get_info(ask->shape->element)->name);
    else
        snprintf(ext, 32, ".ptx");
}

/* The stem's own PTX out of DIR as it stands, when it is there. */
static fgs_result load_plain(struct fgs__text *t, const struct ask *ask,
                             fgs_error *err)
{
    char ext[32];
    fgs_result r;

    own_ext(ask, ext);
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

/* "bulk_consume.cu" of "bulk_consume.ptx.in". */
static void twin_of(const struct fgs__variant *v, char name[64])
{
    snprintf(name, 64, "%.*s.cu", (int)strcspn(v->file, "."), v->file);
}

/* CUDA C++ out of DIR: STEM.cu, else the twin. */
static fgs_result load_source(struct fgs__text *t, const struct ask *ask,
                              const struct fgs__variant *v, fgs_error *err)
{
    char name[64], ext[32];
    fgs_result r;

    own_ext(ask, ext);
    r = read_in(t, &t->text, &t->len, ask->dir, ask->stem, ext, err);
    if (r == FGS_OK && !t->text && v) {
        twin_of(v, name);
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
        twin_of(v, name);
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
        return fgs__fail(err, FGS_E_INVAL, "there is no kernel text %s%s%s",
                         ask->stem,
                         ask->dir ? ", nor a file of that name in " : "",
                         ask->dir ? ask->dir : "");
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
    if (!is_stem(stem))
        return fgs__fail(err, FGS_E_INVAL,
                         "\"%.100s\" cannot be the stem of a kernel text: "
                         "letters, digits, _ and - only",
                         stem);
    r = load(out, &ask, err);
    if (r < 0)
        fgs__text_free(out);
    return r;
}

/* A path that is longer than the system takes is no file. */
static void stamp_file(struct fgs__file_stamp *s, const char *dir,
                       const char *name, const char *ext)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s%s", dir, name, ext);

    memset(s, 0, sizeof *s);
    if (n < 0 || (size_t)n >= sizeof path || stat(path, &st) < 0)
        return;
    s->there = 1;
    s->device = (uint64_t)st.st_dev;
    s->inode = (uint64_t)st.st_ino;
    s->size = (uint64_t)st.st_size;
    s->mtime_s = (uint64_t)st.st_mtim.tv_sec;
    s->mtime_ns = (uint64_t)st.st_mtim.tv_nsec;
}

void fgs__text_stamp(struct fgs__stamp *out, const char *stem,
                     const struct fgs__shape *shape, const char *ptx_dir)
{
    const struct ask ask = { stem, ptx_dir, 0, shape };
    const struct fgs__variant *v = fgs__variant_find(stem);
    char name[64], ext[32];
    size_t n = 2;

    memset(out, 0, sizeof *out);
    if (!ptx_dir || !*ptx_dir || !is_stem(stem))
        return;
    own_ext(&ask, ext);
    stamp_file(&out->file[0], ptx_dir, stem, ext);
    if (!v)
        return;
    snprintf(name, sizeof name, "%s", v->file);
    if (shape->language == FGS_LANGUAGE_CUDA)
        twin_of(v, name);
    stamp_file(&out->file[1], ptx_dir, name, "");
    for (const struct fgs__embedded *e = fgs__embedded; e->name; e++) {
        if (!strstr(e->name, ".ptx.inc"))
            continue;
        assert(n < FGS__TEXT_FILES);
        stamp_file(&out->file[n++], ptx_dir, e->name, "");
    }
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
    if ((unsigned)d->language >= FGS_LANGUAGE_COUNT)
        return fgs__fail(err, FGS_E_INVAL, "%u is no language",
                         (unsigned)d->language);
    r = fgs__shape_check(shape, d->cc, err);
    return r < 0 ? r : fgs__text_load(t, d->stem, d->cc, shape, NULL,
                                      &fgs__malloc, err);
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
