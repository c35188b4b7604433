/* compile.c -- a kernel's CUDA C++ text into PTX: by NVRTC, or the cache */
#include "core/kernel.h"
#include "table/table.h"
#include "text/embed.h"

#include <assert.h>
#include <stddef.h>

enum { OPTION_BYTES = 80 };

/* The tokens as options, and the arrays that NVRTC wants. */
struct job {
    struct fgs__vars vars;
    char option[FGS__VARS_MAX][OPTION_BYTES];
    const char *options[FGS__VARS_MAX];
    const char *header[FGS__NVRTC_HEADERS], *include[FGS__NVRTC_HEADERS];
    char target[32];
    struct fgs__nvrtc_job nvrtc;
};

/* -DNAME=value; a line that a template leaves out or not, IF_NAME, is
 * -DWITH_NAME=0 or 1. */
static void set_options(struct job *j)
{
    for (size_t i = 0; i < j->vars.count; i++) {
        const struct fgs__var *v = &j->vars.var[i];

        if (!strncmp(v->name, "IF_", 3))
            snprintf(j->option[i], OPTION_BYTES, "-DWITH_%s=%d", v->name + 3,
                     !*v->value);
        else
            snprintf(j->option[i], OPTION_BYTES, "-D%s=%s", v->name, v->value);
        j->options[i] = j->option[i];
    }
}

static const char *value_of(const struct fgs__vars *vars, const char *name)
{
    for (size_t i = 0; i < vars->count; i++) {
        if (!strcmp(vars->var[i].name, name))
            return vars->var[i].value;
    }
    return "";
}

/* The header's files, by the names that #include has for them. */
static size_t set_headers(struct job *j)
{
    size_t n = 0;

    for (const struct fgs__embedded *e = fgs__embedded; e->name; e++) {
        if (!fgs__text_is_header(e->name))
            continue;
        assert(n < FGS__NVRTC_HEADERS);
        j->header[n] = e->text;
        j->include[n++] = e->name;
    }
    return n;
}

/* What is compiled for whom. */
struct twin {
    const char *stem;
    fgs_role role;
    const struct fgs__shape *shape;
    int cc;
    const struct fgs__text *text;
};

static void make_job(struct job *j, const struct twin *w)
{
    const struct fgs__variant *v = fgs__variant_find(w->stem);
    const struct fgs__variant own = { .stem = w->stem, .role = w->role,
        .target = { "sm_70", "sm_90" },
        .var = &(const struct fgs__var){ NULL, NULL } };
    const char *target;

    memset(j, 0, sizeof *j);
    fgs__variant_vars(&j->vars, v ? v : &own, w->shape, w->cc);
    target = value_of(&j->vars, "TARGET");
    /* NVRTC of CUDA 13 begins with compute_75: a text that is below is
     * compiled for the device itself. */
    if (!strcmp(target, "sm_70") || !strcmp(target, "sm_80"))
        snprintf(j->target, sizeof j->target, "compute_%d", w->cc);
    else
        snprintf(j->target, sizeof j->target, "compute_%s", target + 3);
    set_options(j);
    j->nvrtc = (struct fgs__nvrtc_job){
        .file = w->text->file, .text = w->text->text, .header = j->header,
        .include = j->include, .headers = set_headers(j),
        .option = j->options, .options = j->vars.count, .target = j->target
    };
}

static void make_key(struct fgs__key *key, const struct fgs__kernel *k,
                     const struct fgs__nvrtc *n,
                     const struct fgs__nvrtc_job *j)
{
    char version[16];

    snprintf(version, sizeof version, "%d", n->lib.version);
    fgs__device_key(k->dev, key);
    fgs__key_text(key, "nvrtc", version);
    fgs__key_text(key, "build", n->lib.build);
    fgs__key_text(key, "target", j->target);
    for (size_t i = 0; i < j->options; i++)
        fgs__key_text(key, "option", j->option[i]);
    for (size_t i = 0; fgs__nvrtc_option(i); i++)
        fgs__key_text(key, "option", fgs__nvrtc_option(i));
    for (size_t i = 0; i < j->headers; i++) {
        fgs__key_text(key, "include", j->include[i]);
        fgs__key_text(key, "header", j->header[i]);
    }
    /* __FILE__ */
    fgs__key_text(key, "file", j->file);
    fgs__key_text(key, "text", j->text);
}

static fgs_result compile(struct fgs__kernel *k, const struct fgs__nvrtc *n,
                          const struct fgs__nvrtc_job *j,
                          const struct fgs__key *key,
                          struct fgs__nvrtc_out *out, fgs_error *err)
{
    struct fgs__device *d = k->dev;
    fgs_result r = fgs__nvrtc_compile(n, j, &d->alloc, out, err);
    char who[24];

    if (out->log)
        fgs__log(&d->log, r < 0 ? FGS__LOG_LOAD_REFUSED : FGS__LOG_LOAD_JIT,
                 "%s: %s", j->file, out->log);
    if (r < 0)
        return r;
    fgs__log(&d->log, FGS__LOG_LOAD_NVRTC, "%s by %s for %s", j->file,
             fgs__nvrtc_name(n, who), j->target);
    k->compiled++;
    atomic_fetch_add(&d->compiled, 1);
    if (key)
        fgs__cache_put(fgs__device_cache(d), key, out->text, out->len);
    return FGS_OK;
}

/* The PTX in place of the text that it was made of. */
static fgs_result take(struct fgs__kernel *k, char *ptx, size_t len,
                       fgs_error *err)
{
    size_t size = strlen(k->text.file) + sizeof ".ptx";
    char *file = fgs__alloc(&k->dev->alloc, size);

    if (!file) {
        fgs__free(&k->dev->alloc, ptx);
        return fgs__nomem(err);
    }
    snprintf(file, size, "%s.ptx", k->text.file);
    fgs__free(&k->dev->alloc, k->text.text);
    fgs__free(&k->dev->alloc, k->text.file);
    k->text.text = ptx;
    k->text.len = len;
    k->text.file = file;
    return FGS_OK;
}

static fgs_result make_ptx(struct fgs__kernel *k, struct job *j,
                           fgs_error *err)
{
    struct fgs__device *d = k->dev;
    const struct fgs__nvrtc *n = fgs__device_nvrtc(d);
    struct fgs__key key = { .alloc = &d->alloc };
    struct fgs__nvrtc_out out = { NULL, 0, NULL };
    fgs_result r = FGS_OK;
    void *ptx = NULL;
    size_t len = 0;
    int keep;

    make_job(j, &(struct twin){ k->stem, k->role, &k->shape, d->cc, &k->text });
    keep = n->lib.found && !fgs__nvrtc_reads_files(&j->nvrtc);
    if (keep) {
        make_key(&key, k, n, &j->nvrtc);
        r = fgs__cache_get(fgs__device_cache(d), &key, &ptx, &len);
    }
    if (r < 0) {
        fgs__nomem(err);
    } else if (ptx) {
        k->cached++;
        atomic_fetch_add(&d->cached, 1);
    } else {
        r = compile(k, n, &j->nvrtc, keep ? &key : NULL, &out, err);
        ptx = out.text;
        len = out.len;
        out.text = NULL;
    }
    fgs__key_free(&key);
    fgs__nvrtc_free(&out, &d->alloc);
    return r < 0 ? r : take(k, ptx, len, err);
}

fgs_result fgs__kernel_compile(struct fgs__kernel *k, fgs_error *err)
{
    /* Some 20 KiB: too much for the stack of a thread that calls. */
    struct job *j = fgs__alloc(&k->dev->alloc, sizeof *j);
    fgs_result r;

    if (!j)
        return fgs__nomem(err);
    r = make_ptx(k, j, err);
    fgs__free(&k->dev->alloc, j);
    return r;
}

fgs_result fgs_ptx_compile(const fgs_ptx_desc *desc, char *buf, size_t *size,
                           fgs_error *err)
{
    struct fgs__nvrtc_out out = { NULL, 0, NULL };
    struct fgs__shape shape;
    struct fgs__text t, ptx;
    struct fgs__nvrtc n;
    fgs_ptx_desc d = { 0 };
    struct job *j;
    fgs_result r;

    if (!desc || !size || (!buf && *size))
        return fgs__fail(err, FGS_E_NULL, "fgs_ptx_compile: %s is NULL",
                         !desc ? "desc" : !size ? "size" : "buf");
    r = fgs__check_size(err, "fgs_ptx_desc", desc, desc->size,
                        offsetof(fgs_ptx_desc, stages), sizeof d);
    if (r < 0)
        return r;
    memcpy(&d, desc, desc->size < sizeof d ? desc->size : sizeof d);
    d.language = FGS_LANGUAGE_CUDA;
    r = fgs__text_of_desc(&t, &shape, &d, err);
    if (r < 0)
        return r;
    j = fgs__alloc(&fgs__malloc, sizeof *j);
    if (!j) {
        r = fgs__nomem(err);
        goto free_text;
    }
    make_job(j, &(struct twin){ d.stem, 0, &shape, d.cc, &t });
    fgs__nvrtc_open(&n);
    r = fgs__nvrtc_compile(&n, &j->nvrtc, &fgs__malloc, &out, err);
    ptx = (struct fgs__text){ .text = out.text, .len = out.len };
    if (r >= 0)
        r = fgs__text_give(&ptx, d.stem, buf, size, err);
    fgs__nvrtc_free(&out, &fgs__malloc);
    fgs__free(&fgs__malloc, j);
free_text:
    fgs__text_free(&t);
    return r;
}
