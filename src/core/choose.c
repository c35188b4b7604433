/* choose.c -- which provider, and what its device can run */
#include "core/device.h"
#include "table/table.h"

/* Open a provider and ask its device for its facts. */
static fgs_result ask_facts(struct fgs__device *d, fgs_error *err)
{
    static const struct {
        CUdevice_attribute id;
        const char *name;
    } asked[] = {
        { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, "cc major" },
        { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, "cc minor" },
        { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "SM count" },
    };
    int value[3];
    size_t bytes = 0;
    CUresult r;

    r = d->cu.cuDeviceGetName(d->name, (int)sizeof d->name, d->id);
    if (r != CUDA_SUCCESS)
        return fgs__cu_fail(&d->cu, err, r, "cuDeviceGetName", "device %d",
                            (int)d->ordinal);
    for (int i = 0; i < 3; i++) {
        r = d->cu.cuDeviceGetAttribute(&value[i], asked[i].id, d->id);
        if (r != CUDA_SUCCESS)
            return fgs__cu_fail(&d->cu, err, r, "cuDeviceGetAttribute",
                                "%s of device %d", asked[i].name,
                                (int)d->ordinal);
    }
    r = d->cu.cuDeviceTotalMem(&bytes, d->id);
    if (r != CUDA_SUCCESS)
        return fgs__cu_fail(&d->cu, err, r, "cuDeviceTotalMem", "device %d",
                            (int)d->ordinal);
    d->cc = value[0] * 10 + value[1];
    d->sm_count = value[2];
    d->memory = bytes;
    d->isa = fgs__isa_of_cuda(d->cu.version);
    return FGS_OK;
}

static fgs_result start(struct fgs__device *d, const struct fgs__provider *p,
                        int32_t ordinal, fgs_error *err)
{
    fgs_result result;
    int count = 0;
    CUresult r;

    d->provider = p;
    d->ordinal = ordinal;
    d->linker_open = 0;
    result = p->open(&d->cu, err);
    if (result < 0)
        return result;
    r = d->cu.cuInit(0);
    if (r == CUDA_ERROR_NO_DEVICE)
        return fgs__fail(err, FGS_E_NODEVICE, "%s: cuInit finds no device",
                         d->cu.library);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuInit", "%s", d->cu.library);
    r = d->cu.cuDeviceGetCount(&count);
    if (r != CUDA_SUCCESS)
        return fgs__cu_fail(&d->cu, err, r, "cuDeviceGetCount", "%s",
                            d->cu.library);
    if (ordinal < 0 || ordinal >= count)
        return fgs__fail(err, FGS_E_NODEVICE,
                         "provider %s has no device %d; it has %d", p->name,
                         (int)ordinal, count);
    r = d->cu.cuDeviceGet(&d->id, ordinal);
    if (r != CUDA_SUCCESS)
        return fgs__cu_fail(&d->cu, err, r, "cuDeviceGet", "device %d",
                            (int)ordinal);
    return ask_facts(d, err);
}

/* A provider that was asked for is taken or fails: no other takes its place. */
static fgs_result take(struct fgs__device *d, const char *name,
                       int32_t ordinal, const char *who, fgs_error *err)
{
    const struct fgs__provider *p = fgs__provider_find(name, err);

    if (!p)
        return FGS_E_INVAL;
    snprintf(d->why, sizeof d->why, "%s", who);
    return start(d, p, ordinal, err);
}

fgs_result fgs__device_choose(struct fgs__device *d, const char *name,
                              int32_t ordinal, fgs_error *err)
{
    const char *env = getenv("FGS_PROVIDER");
    const struct fgs__provider *cuda = fgs__provider_find("cuda", NULL);
    fgs_engine e = FGS_ENGINE_AUTO;
    fgs_error no;
    fgs_result r;

    if (name)
        return take(d, name, ordinal, "the caller asked for it", err);
    if (env && *env) {
        char who[128];

        snprintf(who, sizeof who, "FGS_PROVIDER=%.40s asks for it", env);
        return take(d, env, ordinal, who, err);
    }
    r = start(d, cuda, ordinal, &no);
    if (r >= 0) {
        /* Rows stand in the order in which they are tried. */
        for (e = FGS_ENGINE_AUTO + 1; e < FGS_ENGINE_COUNT; e++) {
            r = fgs__device_can(d, e, &no);
            if (r >= 0)
                break;
        }
    }
    if (r >= 0) {
        snprintf(d->why, sizeof d->why,
                 "nothing was asked for, and %s can run engine %s", d->name,
                 fgs_engine_name(e));
        return FGS_OK;
    }
    r = take(d, "sim", ordinal, "", err);
    snprintf(d->why, sizeof d->why,
             "nothing was asked for, and no GPU can be used: %s", no.text);
    return r;
}

const char *fgs__device_assemblers(struct fgs__device *d, char *buf,
                                   size_t size)
{
    const struct fgs__nvjitlink *n = fgs__device_linker(d);
    char v[16];
    int used;

    used = snprintf(buf, size, "the %s (%s) takes PTX up to %d.%d",
                    d->provider->assembler,
                    fgs__cu_version_text(d->cu.version, v), d->isa / 10,
                    d->isa % 10);
    if (used < 0 || (size_t)used >= size || !d->provider->cubins)
        return buf;
    if (n->lib.found)
        snprintf(buf + used, size - (size_t)used,
                 ", nvJitLink %d.%d (%s) up to %d.%d", n->lib.version / 10,
                 n->lib.version % 10, n->lib.library, n->isa / 10, n->isa % 10);
    else
        snprintf(buf + used, size - (size_t)used, ", no nvJitLink: %s",
                 n->lib.why);
    return buf;
}

static fgs_result lacks_feature(struct fgs__device *d,
                                const struct fgs__engine *row, fgs_error *err)
{
    return fgs__fail(err, FGS_E_UNSUPPORTED,
                     "engine %s needs %s, compute capability %d.%d%s; %s has "
                     "compute capability %d.%d",
                     row->name, fgs__feature_text(row->feature), row->cc / 10,
                     row->cc % 10,
                     row->feature == FGS__FEAT_REPORT
                         ? " or a later one of its family" : " or later",
                     d->name, (int)d->cc / 10, (int)d->cc % 10);
}

static fgs_result any_engine(struct fgs__device *d, fgs_error *err)
{
    fgs_result r = FGS_E_UNSUPPORTED;

    for (fgs_engine e = FGS_ENGINE_AUTO + 1; e < FGS_ENGINE_COUNT; e++) {
        r = fgs__device_can(d, e, err);
        if (r >= 0)
            break;
    }
    return r;
}

fgs_result fgs__device_can(struct fgs__device *d, fgs_engine engine,
                           fgs_error *err)
{
    const struct fgs__engine *row = &fgs__engines[engine];
    const struct fgs__arch *arch = fgs__arch_find(d->cc);
    const struct fgs__nvjitlink *n;
    char who[800];

    if (engine == FGS_ENGINE_AUTO)
        return any_engine(d, err);
    if (!arch || d->cc < row->cc || !arch->has[row->feature])
        return lacks_feature(d, row, err);
    if (row->ptx <= d->isa)
        return FGS_OK;
    n = fgs__device_linker(d);
    if (n->lib.found && row->ptx <= n->isa)
        return FGS_OK;
    if (n->lib.asked_for && !n->lib.found)
        return fgs__fail(err, FGS_E_FILE, "FGS_NVJITLINK: %s", n->lib.why);
    if (row->weak && row->weak_ptx <= d->isa)
        return FGS_OK;
    return fgs__fail(err, FGS_E_PTXVERSION,
                     "engine %s needs PTX %d.%d; on %s %s", row->name,
                     row->ptx / 10, row->ptx % 10, d->name,
                     fgs__device_assemblers(d, who, sizeof who));
}
