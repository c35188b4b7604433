/* config.c -- the knobs of the software device */
#include "base/error.h"
#include "sim/device.h"
#include "table/table.h"
#include <errno.h>
#include <stdlib.h>

struct knob {
    const char *name, *env;
    size_t offset, bytes;
    uint64_t def, least, most;
};

static const struct knob knobs[] = {
#define KNOB(name, type, env, def, lo, hi, text)                               \
    { #name, env, offsetof(fgs_sim_config, name), sizeof(type), def, lo, hi },
    FGS_SIM_KNOBS(KNOB)
#undef KNOB
};

enum { KNOBS = sizeof knobs / sizeof knobs[0] };

static uint64_t get(const fgs_sim_config *cfg, const struct knob *k)
{
    const char *at = (const char *)cfg + k->offset;
    uint64_t wide;
    uint32_t word;

    if (k->bytes == sizeof wide) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&word, at, sizeof word);
    return word;
}

static void put(fgs_sim_config *cfg, const struct knob *k, uint64_t v)
{
    char *at = (char *)cfg + k->offset;
    uint32_t word = (uint32_t)v;

    if (k->bytes == sizeof v)
        memcpy(at, &v, sizeof v);
    else
        memcpy(at, &word, sizeof word);
}

static bool in_range(const struct knob *k, uint64_t v)
{
    return v == k->def || (v >= k->least && v <= k->most);
}

/* The row of exactly that compute capability is there. */
static fgs_result check_cc(uint32_t cc, const char *who, fgs_error *err)
{
    const struct fgs__arch *arch = fgs__arch_find((int)cc);

    return arch && arch->cc == (int)cc
        ? FGS_OK
        : fgs__fail(err, FGS_E_INVAL,
                    "%s is %u: no such compute capability (107 = 10.7)", who,
                    (unsigned)cc);
}

/* A check repeats exactly, which several host threads do not. */
static fgs_result check_mode(const fgs_sim_config *cfg, const char *mode,
                             const char *threads, fgs_error *err)
{
    return !cfg->mode || cfg->threads <= 1
        ? FGS_OK
        : fgs__fail(err, FGS_E_INVAL, "%s is 1 (check), which has one host "
                    "thread, and %s is %u", mode, threads,
                    (unsigned)cfg->threads);
}

/* What is left to the compute capability, and the mode. */
void fgs__sim_config_fill(fgs_sim_config *cfg)
{
    const struct fgs__arch *arch = fgs__arch_find((int)cfg->cc);

    if (cfg->mode)
        cfg->threads = 1;
    if (!cfg->sm_threads)
        cfg->sm_threads = arch->threads;
    if (!cfg->sm_blocks)
        cfg->sm_blocks = arch->blocks;
    if (!cfg->sm_shared)
        cfg->sm_shared = arch->smem_kib * 1024;
}

static fgs_result from_env(fgs_sim_config *cfg, const struct knob *k,
                           fgs_error *err)
{
    const char *text = getenv(k->env);
    char *end;
    uint64_t v;

    if (!text || !*text)
        return FGS_OK;
    errno = 0;
    v = strtoull(text, &end, 0);
    if (text[0] < '0' || text[0] > '9' || *end || errno || !in_range(k, v))
        return fgs__fail(err, FGS_E_INVAL,
                         "%s=%s is no number in %llu..%llu", k->env, text,
                         (unsigned long long)k->least,
                         (unsigned long long)k->most);
    put(cfg, k, v);
    return FGS_OK;
}

fgs_result fgs_sim_config_get(fgs_sim_config *cfg, fgs_error *err)
{
    fgs_sim_config c = { .size = sizeof c };
    fgs_result r;

    if (!cfg)
        return fgs__fail(err, FGS_E_NULL, "fgs_sim_config_get: cfg is NULL");
    for (int i = 0; i < KNOBS; i++) {
        put(&c, &knobs[i], knobs[i].def);
        r = from_env(&c, &knobs[i], err);
        if (r)
            return r;
    }
    *cfg = c;
    r = check_cc(c.cc, "FGS_SIM_CC", err);
    return r ? r : check_mode(&c, "FGS_SIM_MODE", "FGS_SIM_THREADS", err);
}

static fgs_result check(const fgs_sim_config *cfg, fgs_error *err)
{
    fgs_result r = fgs__check_size(err, "fgs_sim_config", cfg, cfg->size,
                                   sizeof *cfg, sizeof *cfg);

    for (int i = 0; !r && i < KNOBS; i++) {
        uint64_t v = get(cfg, &knobs[i]);

        if (!in_range(&knobs[i], v))
            r = fgs__fail(err, FGS_E_INVAL,
                          "fgs_sim_config.%s is %llu, not in %llu..%llu",
                          knobs[i].name, (unsigned long long)v,
                          (unsigned long long)knobs[i].least,
                          (unsigned long long)knobs[i].most);
    }
    if (!r)
        r = check_cc(cfg->cc, "fgs_sim_config.cc", err);
    if (!r)
        r = check_mode(cfg, "fgs_sim_config.mode", "threads", err);
    if (!r && cfg->allocator &&
        (!cfg->allocator->alloc || !cfg->allocator->release))
        r = fgs__fail(err, FGS_E_NULL,
                      "fgs_sim_config.allocator lacks alloc or release");
    return r;
}

fgs_result fgs_sim_config_set(const fgs_sim_config *cfg, fgs_error *err)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    fgs_result r;

    if (!cfg)
        return fgs__fail(err, FGS_E_NULL, "fgs_sim_config_set: cfg is NULL");
    r = check(cfg, err);
    if (r)
        return r;
    pthread_mutex_lock(&d->lock);
    if (d->dev) {
        r = fgs__fail(err, FGS_E_BUSY,
                      "a context of the software device is alive");
    } else {
        d->cfg = *cfg;
        fgs__sim_config_fill(&d->cfg);
        d->alloc = cfg->allocator ? *cfg->allocator : fgs__malloc;
        d->configured = true;
    }
    pthread_mutex_unlock(&d->lock);
    return r;
}
