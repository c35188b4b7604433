/* table.c -- the rows of the .def files as arrays */
#include "table/table.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const fgs_mechanism_info mechanisms[FGS_MECHANISM_COUNT] = {
#define MECH(id, name, sentinel, bits, checks)                                 \
    [FGS_MECHANISM_##id] = { name, bits, sentinel, FGS__##checks },
#include "table/mechanism.def"
#undef MECH
};

static const struct {
    fgs_element_info info;
    struct fgs__format format;
} elements[FGS_ELEMENT_COUNT] = {
#define ELEM(id, name, bits, sentinel, fill, mech, rule, form, sign, exp, man, \
             bias, top, nan)                                                   \
    [FGS_ELEMENT_##id] = {                                                     \
        { name, bits, sentinel, fill, FGS_MECHANISM_##mech,                    \
          FGS_RULE_##rule },                                                   \
        { FGS__##form, sign, exp, man, bias, top, nan } },
#include "table/element.def"
#undef ELEM
};

const struct fgs__engine fgs__engines[FGS_ENGINE_COUNT] = {
    [FGS_ENGINE_AUTO] = { .name = "auto" },
#define ENGINE(id, name, ptx, cc, feature, consumer, weak, weak_ptx, regs)     \
    [FGS_ENGINE_##id] = { name, ptx, cc, FGS__FEAT_##feature, consumer, weak,  \
                          weak_ptx, regs },
#include "table/engine.def"
#undef ENGINE
};

const struct fgs__role fgs__roles[FGS__ROLE_COUNT] = {
#define ROLE(id, name, stem, bulk, regs, reads)                                \
    [FGS_ROLE_##id] = { name, stem, bulk, regs, reads },
#include "table/role.def"
#undef ROLE
};

const struct fgs__order fgs__orders[FGS_ORDER_COUNT] = {
    [FGS_ORDER_AUTO] = { .name = "auto" },
#define ORDER(id, name, early, cc, what)                                       \
    [FGS_ORDER_##id] = { name, early, cc, what },
#include "table/order.def"
#undef ORDER
};

const struct fgs__fill fgs__fills[FGS_FILL_COUNT] = {
    [FGS_FILL_AUTO] = { .name = "auto" },
#define FILL(id, name, reuse) [FGS_FILL_##id] = { name, reuse },
#include "table/fill.def"
#undef FILL
};

const struct fgs__cross fgs__crosses[FGS__CROSS_COUNT] = {
#define CROSS(id, name, covers, filled, attr, cc)                              \
    [FGS__CROSS_##id] = { name, covers, filled, attr, cc },
#include "table/cross.def"
#undef CROSS
};

static const struct {
    int cuda, ptx;
} isas[] = {
#define ISA(cuda, ptx) { cuda, ptx },
#include "table/isa.def"
#undef ISA
};

static const struct fgs__arch archs[] = {
#define ARCH(cc, b128, async, bulk, report, claim, smem, blk, thr, blks)       \
    { cc, { b128, async, bulk, report, claim }, smem, blk, thr, blks },
#include "table/arch.def"
#undef ARCH
};

static const struct fgs__launch_attr attrs[] = {
#define LATTR(id, num, cc, needs) { #id, num, cc, needs },
#include "table/launchattr.def"
#undef LATTR
};

static const fgs_pipeline_info pipelines[] = {
#define PIPELINE(id, name, stems, engines, cc, lo, hi, purpose)                \
    { name, stems, engines, cc, lo, hi, purpose },
#include "table/pipeline.def"
#undef PIPELINE
};

/* A row without a public constant does not compile above; a constant without
 * a row shows here. */
#define ONE(...) +1
#define MECH ONE
_Static_assert(FGS_MECHANISM_COUNT == 0
#include "table/mechanism.def"
               , "mechanism.def and fgs_mechanism disagree");
#define ELEM ONE
_Static_assert(FGS_ELEMENT_COUNT == 0
#include "table/element.def"
               , "element.def and fgs_element disagree");
#define ENGINE ONE
_Static_assert(FGS_ENGINE_COUNT == 1
#include "table/engine.def"
               , "engine.def and fgs_engine disagree");

const fgs_mechanism_info *fgs_mechanism_get_info(fgs_mechanism m)
{
    return (unsigned)m < FGS_MECHANISM_COUNT ? &mechanisms[m] : NULL;
}

const fgs_element_info *fgs_element_get_info(fgs_element e)
{
    return (unsigned)e < FGS_ELEMENT_COUNT ? &elements[e].info : NULL;
}

const struct fgs__format *fgs__element_format(fgs_element e)
{
    return &elements[e].format;
}

const char *fgs_engine_name(fgs_engine e)
{
    return (unsigned)e < FGS_ENGINE_COUNT ? fgs__engines[e].name : NULL;
}

const fgs_pipeline_info *fgs_pipeline_get_info(uint32_t index)
{
    return index < COUNT(pipelines) ? &pipelines[index] : NULL;
}

const fgs_pipeline_info *fgs__pipeline_of(const char *stem)
{
    size_t len = strlen(stem);

    for (size_t i = 0; i < COUNT(pipelines); i++) {
        for (const char *s = pipelines[i].stems; *s; s += *s == ' ') {
            size_t n = strcspn(s, " ");

            if (n == len && !memcmp(s, stem, n))
                return &pipelines[i];
            s += n;
        }
    }
    return NULL;
}

uint32_t fgs_role_registers(fgs_role role, fgs_engine engine)
{
    if (fgs__role_loads(role) && (unsigned)role < FGS__ROLE_COUNT)
        return (unsigned)engine < FGS_ENGINE_COUNT ? fgs__engines[engine].regs
                                                   : 0;
    return (unsigned)role < FGS__ROLE_COUNT ? fgs__roles[role].regs : 0;
}

fgs_element fgs__second_element(fgs_role role, fgs_element first)
{
    return role == FGS_ROLE_SCALED_JOIN ? FGS_ELEMENT_UE8M0 : first;
}

uint32_t fgs__second_bytes(fgs_role role, uint32_t tile_bytes)
{
    return !fgs__role_joins(role)         ? 0
           : role == FGS_ROLE_SCALED_JOIN ? tile_bytes / FGS__SCALED_BYTES
                                          : tile_bytes;
}

fgs_result fgs_engine_find(const char *name, fgs_engine *out)
{
    if (!name || !out)
        return FGS_E_NULL;
    for (int i = 0; i < FGS_ENGINE_COUNT; i++) {
        if (!strcmp(fgs__engines[i].name, name)) {
            *out = (fgs_engine)i;
            return FGS_OK;
        }
    }
    return FGS_E_INVAL;
}

const char *fgs_order_name(fgs_order o)
{
    return (unsigned)o < FGS_ORDER_COUNT ? fgs__orders[o].name : NULL;
}

fgs_result fgs_order_find(const char *name, fgs_order *out)
{
    if (!name || !out)
        return FGS_E_NULL;
    for (int i = 0; i < FGS_ORDER_COUNT; i++) {
        if (!strcmp(fgs__orders[i].name, name)) {
            *out = (fgs_order)i;
            return FGS_OK;
        }
    }
    return FGS_E_INVAL;
}

const char *fgs_fill_name(fgs_fill f)
{
    return (unsigned)f < FGS_FILL_COUNT ? fgs__fills[f].name : NULL;
}

fgs_result fgs_fill_find(const char *name, fgs_fill *out)
{
    if (!name || !out)
        return FGS_E_NULL;
    for (int i = 0; i < FGS_FILL_COUNT; i++) {
        if (!strcmp(fgs__fills[i].name, name)) {
            *out = (fgs_fill)i;
            return FGS_OK;
        }
    }
    return FGS_E_INVAL;
}

fgs_result fgs_element_find(const char *name, fgs_element *out)
{
    if (!name || !out)
        return FGS_E_NULL;
    for (int i = 0; i < FGS_ELEMENT_COUNT; i++) {
        if (!strcmp(elements[i].info.name, name)) {
            *out = (fgs_element)i;
            return FGS_OK;
        }
    }
    return FGS_E_INVAL;
}

fgs_result fgs_mechanism_find(const char *name, fgs_mechanism *out)
{
    if (!name || !out)
        return FGS_E_NULL;
    for (int i = 0; i < FGS_MECHANISM_COUNT; i++) {
        if (!strcmp(mechanisms[i].qualifier, name)) {
            *out = (fgs_mechanism)i;
            return FGS_OK;
        }
    }
    return FGS_E_INVAL;
}

const struct fgs__arch *fgs__arch_find(int cc)
{
    const struct fgs__arch *best = NULL;

    for (size_t i = 0; i < COUNT(archs); i++) {
        if (archs[i].cc <= cc && archs[i].cc / 10 == cc / 10)
            best = &archs[i];
    }
    if (best)
        return best;
    for (size_t i = 0; i < COUNT(archs); i++) {
        if (archs[i].cc <= cc)
            best = &archs[i];
    }
    return best;
}

const struct fgs__launch_attr *fgs__launch_attr_find(const char *name)
{
    for (size_t i = 0; i < COUNT(attrs); i++) {
        if (!strcmp(attrs[i].name, name))
            return &attrs[i];
    }
    return NULL;
}

int fgs__isa_of_cuda(int version)
{
    int ptx = 0;

    for (size_t i = 0; i < COUNT(isas); i++) {
        if (isas[i].cuda <= version)
            ptx = isas[i].ptx;
    }
    return ptx;
}

const char *fgs__feature_text(enum fgs__feature f)
{
    static const char *const text[FGS__FEAT_COUNT] = {
        [FGS__FEAT_B128] = "128-bit strong loads and stores",
        [FGS__FEAT_ASYNC] = "asynchronous copies (cp.async)",
        [FGS__FEAT_BULK] = "bulk copies (cp.async.bulk)",
        [FGS__FEAT_REPORT] = "bulk copies that report validity",
        [FGS__FEAT_CLAIM] = "cluster launch control",
    };

    return text[f];
}
