/* reload.c -- a kernel's text loaded anew, and the watch for files */
#include "core/plan.h"

fgs_result fgs__kernel_read(struct fgs__kernel *k, const char *stem,
                            fgs_error *err)
{
    struct fgs__device *d = k->dev;
    struct fgs__text *t = &k->text;
    /* Before the reading: what changes after it is seen as a change. */
    fgs_result r = fgs__text_stamp(&k->stamp, stem, &k->shape, d->ptx_dir,
                                   &d->alloc, err);
    size_t n;

    if (r < 0)
        return r;
    r = fgs__text_load(t, stem, d->cc, &k->shape, d->ptx_dir, &d->alloc, err);
    if (r < 0)
        return r;
    n = strlen(t->note);
    if (d->watch && k->stamp.lost)
        snprintf(t->note + n, sizeof t->note - n,
                 "%s%u files that it includes are not watched",
                 n ? "; " : "", k->stamp.lost);
    if (t->note[0])
        fgs__log(&d->log, FGS__LOG_LOAD_UNREAD, "%s: %s", k->entry, t->note);
    return r;
}

struct fgs__loaded *fgs__loaded_ref(struct fgs__loaded *l)
{
    if (l)
        atomic_fetch_add(&l->refs, 1);
    return l;
}

void fgs__loaded_unref(struct fgs__loaded *l)
{
    while (l && atomic_fetch_sub(&l->refs, 1) == 1) {
        struct fgs__loaded *newer = l->newer;
        struct fgs__device *d = l->dev;

        if (l->module && fgs__device_enter_quiet(d)) {
            fgs__device_lost(d, d->cu.cuModuleUnload(l->module),
                             "cuModuleUnload", l->entry);
            fgs__device_leave(d);
        }
        fgs__free(&d->alloc, l);
        l = newer;
    }
}

/* What was loaded goes from `from` to `to`, what was there the other way. */
static void swap(struct fgs__kernel *to, struct fgs__kernel *from)
{
    struct fgs__text text = to->text;
    struct fgs__loaded *loaded = to->loaded;

    to->text = from->text;
    to->loaded = from->loaded;
    from->text = text;
    from->loaded = loaded;
    loaded->newer = fgs__loaded_ref(to->loaded);
    to->stamp = from->stamp;
    to->kept[0] = '\0';
    to->assembled_by = from->assembled_by;
    to->ptx_version = from->ptx_version;
    memcpy(to->ptx_target, from->ptx_target, sizeof to->ptx_target);
    to->waits = from->waits;
    to->triggers = from->triggers;
}

/* A text that is refused once is not tried before a file changes again: the
 * stamp is the one of before its reading. */
static void keep_old(struct fgs__kernel *k, const struct fgs__kernel *tried,
                     const char *why)
{
    pthread_mutex_lock(&k->dev->lock);
    k->stamp = tried->stamp;
    snprintf(k->kept, sizeof k->kept, "%s goes on with the text of before: "
             "%.400s", k->entry, why);
    k->generation++;
    k->dev->reloads++;
    pthread_mutex_unlock(&k->dev->lock);
    fgs__log(&k->dev->log, FGS__LOG_RELOAD_KEPT, "%s: %s", k->entry, why);
}

/* Load into `anew`, zeroed, and put it into k's place; then `anew` holds what
 * is to be given back, as after a failure. */
static fgs_result load_anew(struct fgs__kernel *k, struct fgs__kernel *anew,
                            fgs_error *err)
{
    struct fgs__device *d = k->dev;
    fgs_result r;

    anew->dev = d;
    anew->role = k->role;
    anew->engine = k->engine;
    anew->shape = k->shape;
    r = fgs__kernel_load(anew, k->stem, err);
    pthread_mutex_lock(&d->lock);
    k->compiled += anew->compiled;
    k->cached += anew->cached;
    if (r >= 0) {
        swap(k, anew);
        k->generation++;
        d->reloads++;
    }
    pthread_mutex_unlock(&d->lock);
    if (r >= 0)
        fgs__plans_let_go(d, (fgs_kernel *)k->obj.handle, 1);
    return r;
}

static void give_back(struct fgs__kernel *anew)
{
    fgs_allocator a = anew->dev->alloc;

    fgs__loaded_unref(anew->loaded);
    fgs__text_free(&anew->text);
    fgs__free(&a, anew);
}

static fgs_result reload(struct fgs__kernel *k, int watch, fgs_error *err)
{
    struct fgs__kernel *anew = fgs__zalloc(&k->dev->alloc, sizeof *anew);
    fgs_error why;
    fgs_result r;

    if (!anew)
        return fgs__nomem(err);
    r = load_anew(k, anew, &why);
    if (r >= 0)
        fgs__log(&k->dev->log, FGS__LOG_RELOAD, "%s anew", k->entry);
    /* Out of memory says nothing about the text: it is tried again. */
    else if (watch && r != FGS_E_NOMEM)
        keep_old(k, anew, why.text);
    if (r < 0 && err)
        *err = why;
    give_back(anew);
    return r;
}

void fgs__kernel_watch(struct fgs__kernel *k)
{
    struct fgs__device *d = k->dev;
    struct fgs__stamp was, now;
    int same;

    if (!d->ptx_dir[0])
        return;
    pthread_mutex_lock(&d->lock);
    was = k->stamp;
    pthread_mutex_unlock(&d->lock);
    now = was;
    fgs__text_stamp_again(&now, k->stem, &k->shape, d->ptx_dir);
    same = !memcmp(&now, &was, sizeof now);
    if (!same)
        reload(k, 1, NULL);
}

fgs_result fgs_kernel_reload(fgs_kernel *kernel, fgs_error *err)
{
    struct fgs__kernel *k;
    fgs_result r = fgs__kernel_get(&k, kernel, "k", err);

    return r < 0 ? r : reload(k, 0, err);
}
