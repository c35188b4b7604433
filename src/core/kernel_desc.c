/* kernel_desc.c -- what a description of a kernel may ask for */
#include "core/kernel.h"

fgs_result fgs__kernel_check(const fgs_kernel_desc *d, fgs_error *err)
{
    if (d->role < FGS_ROLE_INIT || (unsigned)d->role >= FGS__ROLE_COUNT)
        return fgs__fail(err, FGS_E_INVAL, "%u is no role", (unsigned)d->role);
    if ((unsigned)d->engine >= FGS_ENGINE_COUNT)
        return fgs__fail(err, FGS_E_INVAL, "%u is no engine",
                         (unsigned)d->engine);
    if (!fgs__role_loads(d->role) &&
        (d->engine != FGS_ENGINE_AUTO || d->weak))
        return fgs__fail(err, FGS_E_INVAL,
                         "only a consumer has an engine; this is the %s",
                         fgs__roles[d->role].name);
    if (d->weak > 1 || (d->weak && !fgs__engines[d->engine].weak))
        return fgs__fail(err, FGS_E_INVAL, "engine %s has no weak form %u",
                         fgs_engine_name(d->engine), d->weak);
    if (d->weak && d->stem)
        return fgs__fail(err, FGS_E_INVAL,
                         "weak and stem both name a text; give one");
    if (d->bulk_store > 1 ||
        (d->bulk_store && !fgs__roles[d->role].bulk))
        return fgs__fail(err, FGS_E_INVAL,
                         "the %s has no form %u that stores by bulk copies",
                         fgs__roles[d->role].name, d->bulk_store);
    if (d->bulk_store && d->stem)
        return fgs__fail(err, FGS_E_INVAL,
                         "bulk_store and stem both name a text; give one");
    if (d->saturate && d->role != FGS_ROLE_PRODUCER)
        return fgs__fail(err, FGS_E_INVAL,
                         "only a producer saturates; this is the %s",
                         fgs__roles[d->role].name);
    if (d->persistent > 1 || (d->persistent && d->role < FGS_ROLE_PRODUCER))
        return fgs__fail(err, FGS_E_INVAL,
                         "the %s has no persistent form %u",
                         fgs__roles[d->role].name, d->persistent);
    if (d->self_init > 1 ||
        (d->self_init && d->role != FGS_ROLE_PRODUCER &&
         d->role < FGS_ROLE_RELAY))
        return fgs__fail(err, FGS_E_INVAL,
                         "the %s has no form %u that fills its own output",
                         fgs__roles[d->role].name, d->self_init);
    if ((unsigned)d->language >= FGS_LANGUAGE_COUNT)
        return fgs__fail(err, FGS_E_INVAL, "%u is no language",
                         (unsigned)d->language);
    return fgs__pair_check(d->element, d->mechanism, err);
}

struct fgs__shape fgs__kernel_shape(const fgs_kernel_desc *d)
{
    struct fgs__shape s = fgs__shape_default;

    s.element = d->element;
    s.saturate = d->saturate;
    s.language = d->language;
    s.self_init = d->self_init;
    s.persistent = d->persistent;
    if (d->tile_bytes)
        s.tile_bytes = d->tile_bytes;
    if (d->threads)
        s.threads = d->threads;
    return s;
}
