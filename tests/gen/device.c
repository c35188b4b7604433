/* device.c -- run generated kernels through the driver API of a provider */
#include "device.h"
#include "base/compat.h"

static bool procs(struct gen_device *d)
{
    const struct {
        void *fn;
        const char *name;
    } list[] = {
        { &d->push, "cuCtxPushCurrent" },
        { &d->pop, "cuCtxPopCurrent" },
        { &d->retain, "cuDevicePrimaryCtxRetain" },
        { &d->release, "cuDevicePrimaryCtxRelease" },
        { &d->load, "cuModuleLoadDataEx" },
        { &d->unload, "cuModuleUnload" },
        { &d->entry, "cuModuleGetFunction" },
        { &d->alloc, "cuMemAlloc" },
        { &d->dealloc, "cuMemFree" },
        { &d->to_device, "cuMemcpyHtoD" },
        { &d->to_host, "cuMemcpyDtoH" },
        { &d->fill, "cuMemsetD8" },
        { &d->launch, "cuLaunchKernel" },
        { &d->wait, "cuCtxSynchronize" },
    };

    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        void *p = fgs_device_get_proc(d->dev, list[k].name);

        if (!p)
            return false;
        memcpy(list[k].fn, &p, sizeof p);
    }
    return true;
}

fgs_result gen_open(struct gen_device *d, const char *provider, fgs_error *err)
{
    fgs_device_opts o = { .size = sizeof o, .provider = provider };
    fgs_result r;

    memset(d, 0, sizeof *d);
    r = fgs_device_open(&d->dev, &o, err);
    if (r < 0)
        return r;
    d->info.size = sizeof d->info;
    r = fgs_device_get_info(d->dev, &d->info, err);
    fgs__nvjitlink_open(&d->njl);
    if (r >= 0 && (!procs(d) || d->retain(&d->ctx, 0)))
        r = FGS_E_DRIVER;
    if (r < 0)
        gen_close(d);
    return r;
}

void gen_close(struct gen_device *d)
{
    CUcontext was;

    if (d->ctx && !d->push(d->ctx)) {
        if (d->in)
            d->dealloc(d->in);
        if (d->out)
            d->dealloc(d->out);
        d->pop(&was);
        d->release(0);
    }
    if (d->dev)
        fgs_device_close(d->dev);
    memset(d, 0, sizeof *d);
}

static bool grow(struct gen_device *d, CUdeviceptr *p, size_t *have,
                 size_t want)
{
    if (*have >= want)
        return true;
    if (*p)
        d->dealloc(*p);
    *p = 0;
    *have = 0;
    if (d->alloc(p, want))
        return false;
    *have = want;
    return true;
}

bool gen_set_in(struct gen_device *d, const void *in, size_t bytes)
{
    CUcontext was;
    bool good = !d->push(d->ctx);

    if (!good)
        return false;
    good = grow(d, &d->in, &d->in_bytes, bytes) &&
        !d->to_device(d->in, in, bytes);
    d->pop(&was);
    return good;
}

static bool load(struct gen_device *d, const struct gen_launch *l,
                 CUmodule *mod)
{
    CUjit_option opt[] = { (CUjit_option)CU_JIT_ERROR_LOG_BUFFER,
                           (CUjit_option)CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                           (CUjit_option)CU_JIT_OPTIMIZATION_LEVEL };
    void *val[] = { d->text, (void *)(sizeof d->text - 1), (void *)0 };
    struct fgs__cubin cubin = { NULL, 0 };
    char arch[16];
    CUresult cu;

    d->text[0] = 0;
    if ((int)l->ptx <= d->info.ptx_version) {
        cu = d->load(mod, l->text, l->unoptimized ? 3 : 2, opt, val);
    } else {
        snprintf(arch, sizeof arch, "sm_%d", (int)d->info.cc);
        if (fgs__nvjitlink_assemble(&d->njl, l->text, strlen(l->text), "k",
                                    arch, &fgs__malloc, &cubin, d->text,
                                    sizeof d->text) < 0)
            return false;
        cu = d->load(mod, cubin.data, 2, opt, val);
        fgs__free(&fgs__malloc, cubin.data);
    }
    if (cu && !d->text[0])
        snprintf(d->text, sizeof d->text, "load: %d", (int)cu);
    return !cu;
}

static bool launch(struct gen_device *d, const struct gen_launch *l,
                   CUmodule mod)
{
    void *params[] = { &d->in, &d->out };
    CUfunction f;
    CUresult cu = d->entry(&f, mod, "k");

    if (!cu)
        cu = l->keep ? d->to_device(d->out, l->out, l->out_bytes)
                     : d->fill(d->out, 0xcc, l->out_bytes);
    if (!cu)
        cu = d->launch(f, l->blocks, 1, 1, l->threads, 1, 1, 0, NULL, params,
                       NULL);
    if (!cu)
        cu = d->wait();
    if (!cu)
        cu = d->to_host(l->out, d->out, l->out_bytes);
    if (cu)
        snprintf(d->text, sizeof d->text, "launch: %d", (int)cu);
    return !cu;
}

bool gen_run(struct gen_device *d, const struct gen_launch *l)
{
    CUmodule mod = NULL;
    CUcontext was;
    bool good;

    if (d->push(d->ctx))
        return false;
    snprintf(d->text, sizeof d->text, "no memory");
    good = grow(d, &d->out, &d->out_bytes, l->out_bytes) && load(d, l, &mod) &&
        launch(d, l, mod);
    if (mod)
        d->unload(mod);
    d->pop(&was);
    return good;
}
