/* variant.c -- the kernel texts there are, and the tokens of each */
#include "text/text.h"

#include "base/compat.h"
#include "table/record.h"
#include "table/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>

static const struct fgs__variant variants[] = {
#define V(name, value) { name, value },
#define VARIANT(stem, file, role, feature, ptx, below, from90, ...)            \
    { stem, file, FGS_ROLE_##role, FGS__FEAT_##feature, ptx,                   \
      { below, from90 },                                                       \
      (const struct fgs__var[]){ __VA_ARGS__ { NULL, NULL } } },
#include "text/variant.def"
#undef VARIANT
#undef V
};

/* Numbers that the kernels share with each other or with the library. */
static const struct {
    const char *name;
    uint32_t value;
} numbers[] = {
    { "CHUNK_BYTES", FGS__CHUNK_BYTES },
    { "TILE_BYTES", FGS__TILE_BYTES },
    { "TILE_CHUNKS", FGS__TILE_CHUNKS },
    { "TILE_ELEMS", FGS__TILE_ELEMS },
    { "LAST_CHUNK", FGS__TILE_BYTES - FGS__CHUNK_BYTES },
    { "THREADS", FGS__BLOCK_THREADS },
    { "WARP_BYTES", 32 * FGS__CHUNK_BYTES },       /* a chunk a lane         */
    { "LANE_CHUNKS", FGS__TILE_CHUNKS / 32 },
    { "EAGER_TRIES", 32 },      /* tries before a consumer begins to sleep   */
    { "NAP_NS", 4000 },         /* longest sleep: 2 s are < 10^6 re-issues   */
    /* A copy that was issued has this much more time than the bound: it lands
     * within microseconds, or never (a barrier armed for other bytes). */
    { "LANDING_NS", 100000000 },
    { "ROLE_INIT", FGS_ROLE_INIT },
    { "ROLE_PRODUCER", FGS_ROLE_PRODUCER },
    { "ROLE_CONSUMER", FGS_ROLE_CONSUMER },
#define CTL(id, type, name) { "CTL_" #id, offsetof(struct fgs__ctl, name) },
#define REC(id, type, name) { "REC_" #id, offsetof(struct fgs__rec, name) },
#define GIVEUP(id, value, text) { "GIVEUP_" #id, value },
#include "table/record.def"
};

_Static_assert(FGS__TILE_CHUNKS == FGS__BLOCK_THREADS,
               "the kernels take a chunk a thread");

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct fgs__variant *fgs__variant_find(const char *stem)
{
    for (size_t i = 0; i < COUNT(variants); i++) {
        if (!strcmp(variants[i].stem, stem))
            return &variants[i];
    }
    return NULL;
}

const struct fgs__variant *fgs__variant_at(uint32_t index)
{
    return index < COUNT(variants) ? &variants[index] : NULL;
}

static void put(struct fgs__vars *out, const char *name, const char *fmt, ...)
    FGS__PRINTF(3, 4);

static void put(struct fgs__vars *out, const char *name, const char *fmt, ...)
{
    char *value = out->value[out->count];
    va_list ap;
    int n;

    assert(out->count < FGS__VARS_MAX);
    va_start(ap, fmt);
    n = vsnprintf(value, FGS__VALUE_MAX, fmt, ap);
    va_end(ap);
    assert(n >= 0 && n < FGS__VALUE_MAX);
    (void)n;
    out->var[out->count++] = (struct fgs__var){ name, value };
}

void fgs__variant_vars(struct fgs__vars *out, const struct fgs__variant *v,
                       int cc)
{
    const fgs_element_info *e = fgs_element_get_info(FGS_ELEMENT_F32);
    bool pdl = cc >= 90; /* griddepcontrol is there from sm_90 on */

    out->count = 0;
    put(out, "STEM", "%s", v->stem);
    put(out, "VERSION", "%d.%d", v->ptx / 10, v->ptx % 10);
    put(out, "TARGET", "%s", v->target[pdl] ? v->target[pdl] : v->target[1]);
    put(out, "IF_PDL", "%s", pdl ? "" : "// ");
    put(out, "SENTINEL", "0x%08x", e->sentinel);
    put(out, "FILL", "0x%08x", e->fill);
    put(out, "REPORT", "%s", fgs_mechanism_get_info(e->mechanism)->qualifier);
    put(out, "NO_CHUNK", "0x%08x", FGS__NO_CHUNK);
    for (size_t i = 0; i < COUNT(numbers); i++)
        put(out, numbers[i].name, "%u", numbers[i].value);
    for (const struct fgs__var *own = v->var; own->name; own++)
        put(out, own->name, "%s", own->value);
}
