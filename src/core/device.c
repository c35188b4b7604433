/* device.c -- a provider's device and its context */
#include "core/device.h"

#include <stdarg.h>

fgs_result fgs__device_get(struct fgs__device **out, fgs_device *dev,
                           fgs_error *err)
{
    struct fgs__obj *o;
    fgs_result r = fgs__obj_get(&o, dev, FGS__DEVICE, "dev", err);

    *out = (struct fgs__device *)(void *)o;
    return r;
}

fgs_result fgs__device_enter(struct fgs__device *d, fgs_error *err)
{
    CUresult r;

    if (!d->obj.handle)
        return fgs__fail(err, FGS_E_FREED,
                         "the device that the object was made from was closed");
    r = d->cu.cuCtxPushCurrent(d->ctx);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuCtxPushCurrent",
                                "the context of device %d", (int)d->ordinal);
    return FGS_OK;
}

int fgs__device_enter_quiet(struct fgs__device *d)
{
    CUresult r = d->cu.cuCtxPushCurrent(d->ctx);

    if (r == CUDA_SUCCESS)
        return 1;
    fgs__device_lost(d, r, "cuCtxPushCurrent", "the context");
    return 0;
}

void fgs__device_leave(struct fgs__device *d)
{
    CUcontext was;
    CUresult r = d->cu.cuCtxPopCurrent(&was);

    if (r != CUDA_SUCCESS)
        fgs__log(&d->log, FGS__LOG_CONTEXT, "cuCtxPopCurrent: %s",
                 fgs__cu_error_name(&d->cu, r));
}

fgs_result fgs__device_fail(struct fgs__device *d, fgs_error *err, CUresult r,
                            const char *call, const char *fmt, ...)
{
    char what[512];
    const char *fault = "";
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if ((fgs__cu_sticky(r) || r == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ||
         r == CUDA_ERROR_OPERATING_SYSTEM) &&
        d->provider->fault_text)
        fault = d->provider->fault_text();
    return fgs__cu_fail(&d->cu, err, r, call, "%s%s%s", what,
                        *fault ? ": " : "", fault);
}

void fgs__device_lost(struct fgs__device *d, CUresult r, const char *call,
                      const char *what)
{
    if (r != CUDA_SUCCESS)
        fgs__log(&d->log, FGS__LOG_RELEASE, "%s: %s: %s", call,
                 fgs__cu_error_name(&d->cu, r), what);
}

const struct fgs__nvjitlink *fgs__device_linker(struct fgs__device *d)
{
    pthread_mutex_lock(&d->lock);
    if (!d->linker_open) {
        d->linker_open = 1;
        if (d->provider->cubins)
            fgs__nvjitlink_open(&d->linker);
        else
            memset(&d->linker, 0, sizeof d->linker);
    }
    pthread_mutex_unlock(&d->lock);
    return &d->linker;
}

const struct fgs__nvrtc *fgs__device_nvrtc(struct fgs__device *d)
{
    pthread_mutex_lock(&d->lock);
    if (!d->nvrtc_open) {
        d->nvrtc_open = 1;
        fgs__nvrtc_open(&d->nvrtc);
    }
    pthread_mutex_unlock(&d->lock);
    return &d->nvrtc;
}

struct fgs__cache *fgs__device_cache(struct fgs__device *d)
{
    pthread_mutex_lock(&d->lock);
    if (!d->cache_open) {
        d->cache_open = 1;
        fgs__cache_open(&d->cache, d->cache_dir, d->cache_bytes, &d->log);
    }
    pthread_mutex_unlock(&d->lock);
    return &d->cache;
}

void fgs__device_key(const struct fgs__device *d, struct fgs__key *k)
{
    char text[64];

    snprintf(text, sizeof text, "%d", FGS_VERSION);
    fgs__key_text(k, "fgsync", text);
    snprintf(text, sizeof text, "%s %d", d->provider->name, d->cu.version);
    fgs__key_text(k, "driver", text);
}

/* The application's context must be one of this device. */
static fgs_result adopt(struct fgs__device *d, CUcontext ctx, fgs_error *err)
{
    CUdevice of = -1;
    CUcontext was;
    CUresult r = d->cu.cuCtxPushCurrent(ctx);

    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuCtxPushCurrent",
                                "the context of the options");
    r = d->cu.cuCtxGetDevice(&of);
    d->cu.cuCtxPopCurrent(&was);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuCtxGetDevice",
                                "the context of the options");
    if (of != d->id)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "the context of the options is not on device %d of "
                         "provider %s",
                         (int)d->ordinal, d->provider->name);
    d->ctx = ctx;
    return FGS_OK;
}

static fgs_result attach(struct fgs__device *d, CUcontext ctx, fgs_error *err)
{
    fgs_result result;
    CUresult r;

    if (ctx)
        return adopt(d, ctx, err);
    result = FGS__NEED(d, err, FGS__CU_cuDevicePrimaryCtxRetain,
                       FGS__CU_cuDevicePrimaryCtxRelease);
    if (result < 0)
        return result;
    r = d->cu.cuDevicePrimaryCtxRetain(&d->ctx, d->id);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuDevicePrimaryCtxRetain",
                                "device %d", (int)d->ordinal);
    d->primary = 1;
    return FGS_OK;
}

static void destroy(struct fgs__device *d)
{
    fgs_allocator a = d->alloc;

    if (d->primary)
        fgs__device_lost(d, d->cu.cuDevicePrimaryCtxRelease(d->id),
                         "cuDevicePrimaryCtxRelease", d->name);
    pthread_mutex_destroy(&d->lock);
    if (d->cache_open)
        fgs__cache_close(&d->cache);
    fgs__free(&a, d->cache_dir);
    fgs__free(&a, d->ptx_dir);
    fgs__free(&a, d);
}

void fgs__device_ref(struct fgs__device *d)
{
    atomic_fetch_add(&d->refs, 1);
}

void fgs__device_unref(struct fgs__device *d)
{
    if (atomic_fetch_sub(&d->refs, 1) == 1)
        destroy(d);
}

/* Bytes of the first release: a program may know no more. */
static fgs_result check_opts(const fgs_device_opts *o, fgs_error *err)
{
    fgs_result r = fgs__check_size(err, "fgs_device_opts", o, o->size,
                                   offsetof(fgs_device_opts, cache_dir),
                                   sizeof *o);

    if (r < 0)
        return r;
    if (o->reserved)
        return fgs__fail(err, FGS_E_ABI,
                         "fgs_device_opts.reserved is not zero");
    if (o->size > offsetof(fgs_device_opts, watch) && o->watch > 1)
        return fgs__fail(err, FGS_E_INVAL, "fgs_device_opts.watch is %u",
                         o->watch);
    if (o->size > offsetof(fgs_device_opts, reserved2) && o->reserved2)
        return fgs__fail(err, FGS_E_ABI,
                         "fgs_device_opts.reserved2 is not zero");
    if (o->allocator && (!o->allocator->alloc || !o->allocator->release))
        return fgs__fail(err, FGS_E_NULL,
                         "fgs_device_opts.allocator: alloc or release is NULL");
    return FGS_OK;
}

static fgs_result set_watch(struct fgs__device *d, const fgs_device_opts *o,
                            fgs_error *err)
{
    const char *env = getenv("FGS_PTX_WATCH");

    d->watch = (int)o->watch;
    if (d->watch || !env || !*env || !strcmp(env, "0"))
        return FGS_OK;
    d->watch = 1;
    if (!strcmp(env, "1"))
        return FGS_OK;
    return fgs__fail(err, FGS_E_INVAL, "FGS_PTX_WATCH is \"%.40s\"; it is 0 "
                     "or 1", env);
}

/* Folders and bounds, from the options or the environment. */
static fgs_result set_paths(struct fgs__device *d, const fgs_device_opts *o,
                            fgs_error *err)
{
    const char *dir = o->ptx_dir ? o->ptx_dir : getenv("FGS_PTX_DIR");
    fgs_result r = FGS_OK;

    r = set_watch(d, o, err);
    d->cache_bytes = o->cache_bytes;
    if (r >= 0 && !d->cache_bytes)
        r = fgs__cache_bytes(&d->cache_bytes, err);
    if (r < 0)
        return r;
    d->ptx_dir = fgs__strdup(&d->alloc, dir ? dir : "");
    if (!d->ptx_dir)
        return fgs__nomem(err);
    if (!o->cache_dir)
        return FGS_OK;
    d->cache_dir = fgs__strdup(&d->alloc, o->cache_dir);
    return d->cache_dir ? FGS_OK : fgs__nomem(err);
}

fgs_result fgs_device_open(fgs_device **out, const fgs_device_opts *opts,
                           fgs_error *err)
{
    static const fgs_device_opts defaults = { .size = sizeof defaults };
    const fgs_device_opts *given = opts ? opts : &defaults;
    fgs_device_opts all = { .size = 0 }, *const o = &all;
    struct fgs__device *d;
    fgs_result r;

    if (!out)
        return fgs__fail(err, FGS_E_NULL, "out is NULL");
    *out = NULL;
    r = check_opts(given, err);
    if (r < 0)
        return r;
    memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
    d = fgs__zalloc(o->allocator ? o->allocator : &fgs__malloc, sizeof *d);
    if (!d)
        return fgs__nomem(err);
    d->alloc = o->allocator ? *o->allocator : fgs__malloc;
    atomic_init(&d->refs, 1);
    pthread_mutex_init(&d->lock, NULL);
    r = fgs__log_init(&d->log, o->log, o->log_cookie, err);
    if (r < 0)
        goto fail;
    r = set_paths(d, o, err);
    if (r < 0)
        goto fail;
    r = fgs__device_choose(d, o->provider, o->ordinal, err);
    if (r < 0)
        goto fail;
    r = attach(d, o->context, err);
    if (r < 0)
        goto fail;
    *out = fgs__obj_add(&d->obj, FGS__DEVICE);
    fgs__log(&d->log, FGS__LOG_DEVICE_OPEN, "%s device %d: %s, %d.%d; %s",
             d->provider->name, (int)d->ordinal, d->name, (int)d->cc / 10,
             (int)d->cc % 10, d->why);
    return FGS_OK;
fail:
    destroy(d);
    return r;
}

void fgs_device_close(fgs_device *dev)
{
    struct fgs__obj *o = fgs__obj_take(dev, FGS__DEVICE);
    struct fgs__device *d = (struct fgs__device *)(void *)o;

    if (!d)
        return;
    if (atomic_load(&d->refs) > 1)
        fgs__log(&d->log, FGS__LOG_DEVICE_EARLY,
                 "device %d was closed before %u objects made from it",
                 (int)d->ordinal, atomic_load(&d->refs) - 1);
    fgs__log(&d->log, FGS__LOG_DEVICE_CLOSE, "%s device %d", d->provider->name,
             (int)d->ordinal);
    fgs__device_unref(d);
}

fgs_result fgs_device_get_info(fgs_device *dev, fgs_device_info *info,
                               fgs_error *err)
{
    fgs_device_info all = { .size = 0 };
    const struct fgs__nvjitlink *n;
    struct fgs__device *d;
    fgs_result r = fgs__device_get(&d, dev, err);

    if (r < 0)
        return r;
    if (!info)
        return fgs__fail(err, FGS_E_NULL, "info is NULL");
    if (info->size < offsetof(fgs_device_info, compiled))
        return fgs__fail(err, FGS_E_INVAL,
                         "fgs_device_info.size is %zu; set it to %zu",
                         info->size, sizeof *info);
    n = fgs__device_linker(d);
    all.size = info->size;
    all.provider = d->provider->name;
    all.why = d->why;
    memcpy(all.name, d->name, sizeof all.name);
    all.ordinal = d->ordinal;
    all.cc = d->cc;
    all.driver_version = d->cu.version;
    all.sm_count = d->sm_count;
    all.memory = d->memory;
    all.ptx_version = d->isa;
    all.nvjitlink = n->lib.found ? n->lib.version : 0;
    all.compiled = atomic_load(&d->compiled);
    all.cached = atomic_load(&d->cached);
    /* A program of an earlier header has room for less. */
    memcpy(info, &all, info->size < sizeof all ? info->size : sizeof all);
    return FGS_OK;
}

fgs_result fgs_device_can(fgs_device *dev, fgs_engine engine, fgs_error *err)
{
    struct fgs__device *d;
    fgs_result r = fgs__device_get(&d, dev, err);

    if (r < 0)
        return r;
    if ((unsigned)engine >= FGS_ENGINE_COUNT)
        return fgs__fail(err, FGS_E_INVAL, "%u is no engine",
                         (unsigned)engine);
    return fgs__device_can(d, engine, err);
}

void *fgs_device_get_proc(fgs_device *dev, const char *name)
{
    struct fgs__device *d;

    if (fgs__device_get(&d, dev, NULL) < 0 || !name)
        return NULL;
    return fgs__cu_find(&d->cu, name);
}
