/* variant.c -- the kernel texts there are, and the tokens of each */
#include "text/text.h"

#include "base/compat.h"
#include "base/error.h"
#include "table/record.h"
#include "table/table.h"
#include "text/embed.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#define FGS_ROLE_OTHER ((fgs_role)0)
static const struct fgs__variant variants[] = {
#define V(name, value) { name, value },
#define VARIANT(stem, file, role, feature, ptx, below, from90, ...)            \
    { stem, file, FGS_ROLE_##role, FGS__FEAT_##feature, ptx,                   \
      { below, from90 },                                                       \
      (const struct fgs__var[]){ __VA_ARGS__ { NULL, NULL } } },
#include "text/variant.def"
#undef VARIANT
#undef FGS_ROLE_OTHER
#undef V
};

/* Numbers that the kernels share with each other or with the library. */
static const struct {
    const char *name;
    uint32_t value;
} numbers[] = {
    { "CHUNK_BYTES", FGS__CHUNK_BYTES },
    { "WARP_BYTES", 32 * FGS__CHUNK_BYTES },       /* a chunk a lane         */
    { "EAGER_TRIES", 32 },      /* tries before a consumer begins to sleep   */
    { "NAP_NS", 4000 },         /* longest sleep: 2 s are < 10^6 re-issues   */
    { "NAP_FIRST_NS", 64 },     /* a retry warp's first sleep; they double   */
    { "NAP_LAST_NS", 2048 },    /* ... up to this                            */
    { "STAGES_MOST", FGS__STAGES_MOST },
    /* A copy that was issued has this much more time than the bound: it lands
     * within microseconds, or never (a barrier armed for other bytes). */
    { "LANDING_NS", 100000000 },
    { "TRACE_BYTES", sizeof(struct fgs__trace) },
#define ROLE(id, name, stem, bulk, regs, reads)                                \
    { "ROLE_" #id, FGS_ROLE_##id },
#include "table/role.def"
#undef ROLE
#define CTL(id, type, name) { "CTL_" #id, offsetof(struct fgs__ctl, name) },
#define STAT(id, type, name) { "STAT_" #id, offsetof(struct fgs__stat, name) },
#define TRACE(id, type, name)                                                  \
    { "TRACE_" #id, offsetof(struct fgs__trace, name) },
#define REC(id, type, name) { "REC_" #id, offsetof(struct fgs__rec, name) },
#define GIVEUP(id, value, text) { "GIVEUP_" #id, value },
#include "table/record.def"
};

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

static void flag(struct fgs__vars *out, const char *name, bool on)
{
    put(out, name, "%s", on ? "" : "// ");
}

/* ------------------------------------------------------------ elements -- */

enum shape { NONE, ONE, PAIR, NIBBLES };

static const struct convert {
    fgs_element element;
    int cc, exact, ptx;
    const char *target;
    int pzo;
    enum shape shape;
    const char *op;
} converts[] = {
#define CONVERT(element, cc, exact, ptx, target, pzo, shape, op)               \
    { FGS_ELEMENT_##element, cc, exact, ptx, target, pzo, shape, op },
#include "text/convert.def"
#undef CONVERT
};

/* How a producer makes the element on a device; NULL = by hand. */
static const struct convert *convert_find(fgs_element e, int cc)
{
    for (size_t i = 0; i < COUNT(converts); i++) {
        const struct convert *c = &converts[i];

        if (c->element == e && (c->exact ? cc == c->cc : cc >= c->cc))
            return c;
    }
    return NULL;
}

/* The same bits in each element of a 32-bit lane. */
static uint32_t each(uint32_t bits, uint32_t value)
{
    uint32_t lane = 0;

    for (uint32_t at = 0; at < 32; at += bits)
        lane |= value << at;
    return lane;
}

/* What a field of the element has in its top bit, in a lane. */
static uint32_t top_bits(const fgs_element_info *e)
{
    return each(e->bits, 1u << (e->bits - 1));
}

/* Where both inputs of a join are scanned by one text, but for another
 * sentinel, registers have what is looked for. */
static void put_scan(struct fgs__vars *out, const fgs_element_info *e,
                     bool scaled)
{
    const fgs_element_info *second =
        fgs_element_get_info(FGS_ELEMENT_UE8M0);
    uint32_t high = top_bits(e), second_high = top_bits(second);

    put(out, "SENTINEL", "0x%08x", e->sentinel);
    put(out, "FILL", "0x%08x", e->fill);
    put(out, "REPORT", "%s", fgs_mechanism_get_info(e->mechanism)->qualifier);
    put(out, "FIRST_HIGH", "0x%08x", high);
    put(out, "SECOND_FILL", "0x%08x", second->fill);
    put(out, "SECOND_HIGH", "0x%08x", second_high);
    if (scaled) {
        put(out, "SOUGHT", "%%sought");
        put(out, "HIGH", "%%tops");
        put(out, "LOW", "%%lows");
    } else {
        put(out, "SOUGHT", "0x%08x", e->fill);
        put(out, "HIGH", "0x%08x", high);
        put(out, "LOW", "0x%08x", ~high);
    }
    put(out, "REVERSE", "0x%s", e->bits == 16 ? "1032" : "0123");
    flag(out, "IF_W32", e->bits == 32 && !scaled);
    flag(out, "IF_FIELDS", e->bits < 32 || scaled);
    flag(out, "IF_NARROW", e->bits < 32);
    flag(out, "IF_NIBBLE", e->bits == 4);
}

/* A smaller float by hand: see scale_produce.ptx.in for what each does. */
static void put_soft(struct fgs__vars *out, const struct fgs__format *f,
                     uint32_t bits)
{
    uint32_t cut = f->form == FGS__MINI ? 23 - f->man : 1;

    put(out, "CUT", "%u", cut);
    put(out, "ROUND", "%u", (1u << (cut - 1)) - 1);
    put(out, "REBIAS", "0x%08x", (127 - f->bias) << 23);
    put(out, "NORMAL", "0x%08x", (128 - f->bias) << 23);
    put(out, "MAGIC", "%08x", (151 - f->bias - f->man) << 23);
    put(out, "SIGN_AT", "%u", bits - 1);
    put(out, "TOP", "0x%x", f->top);
    put(out, "LEAST", "%d", -(int32_t)(f->top & 0x7fffffff) - 1);
    put(out, "NAN", "0x%x", f->nan);
}

static void put_convert(struct fgs__vars *out, const struct fgs__shape *s,
                        const struct convert *c)
{
    const fgs_element_info *e = fgs_element_get_info(s->element);
    const struct fgs__format *f = fgs__element_format(s->element);
    enum shape shape = c ? c->shape : NONE;
    bool soft = f->form == FGS__MINI && !c;

    put(out, "ELEMENT", "%s", e->name);
    put(out, "BITS", "%u", e->bits);
    put(out, "ELEMS", "%u", 32 / e->bits);
    put(out, "SHIFT_IN", "%u", 32 - e->bits);
    put(out, "MASK", "0x%08x", UINT32_MAX >> (32 - e->bits));
    put_soft(out, f, e->bits);
    put(out, "CVT", "%s", c ? c->op : "");
    put(out, "MOVE", "%d", s->saturate == FGS_SATURATE_UP ? 1 : -1);
    put(out, "SATURATE", "%d", (int)s->saturate);
    flag(out, "IF_FLOAT", f->form == FGS__FLOAT);
    flag(out, "IF_ONE", shape == ONE);
    flag(out, "IF_PAIR", shape == PAIR);
    flag(out, "IF_NIBBLES", shape == NIBBLES);
    flag(out, "IF_SOFT", soft);
    flag(out, "IF_SIGN", soft && f->sign);
    flag(out, "IF_POWER", f->form == FGS__POWER);
    flag(out, "IF_PLAIN", f->form == FGS__POWER || (soft && !f->sign));
    flag(out, "IF_UINT", f->form == FGS__UINT);
    flag(out, "IF_SINT", f->form == FGS__SINT);
    flag(out, "IF_MOVE", f->form == FGS__SINT && s->saturate);
    flag(out, "IF_REFUSE", f->form == FGS__SINT && !s->saturate);
    flag(out, "IF_CANON", f->form == FGS__MINI &&
         e->rule == FGS_RULE_NEG0_TO_POS0 && !(c && c->pzo));
}

/* --------------------------------------------------------------- shapes -- */

const struct fgs__shape fgs__shape_default = {
    FGS_ELEMENT_F32, FGS_SATURATE_REFUSE, FGS__TILE_BYTES, FGS__BLOCK_THREADS,
    FGS_LANGUAGE_PTX, 2, 0, 0
};

uint64_t fgs__shape_elems(const struct fgs__shape *s)
{
    return (uint64_t)s->tile_bytes * 8 / fgs_element_get_info(s->element)->bits;
}

uint64_t fgs__shape_in_bytes(const struct fgs__shape *s)
{
    return fgs__shape_elems(s) * sizeof(float);
}

static void put_shape(struct fgs__vars *out, const struct fgs__shape *s)
{
    uint32_t elems = (uint32_t)fgs__shape_elems(s);
    uint32_t chunks = s->tile_bytes / FGS__CHUNK_BYTES;

    put(out, "TILE_BYTES", "%u", s->tile_bytes);
    put(out, "TILE_CHUNKS", "%u", chunks);
    put(out, "TILE_ELEMS", "%u", elems);
    put(out, "IN_BYTES", "%u", elems * (uint32_t)sizeof(float));
    put(out, "CHUNK_IN", "%u", elems / chunks * (uint32_t)sizeof(float));
    put(out, "LAST_CHUNK", "%u", s->tile_bytes - FGS__CHUNK_BYTES);
    put(out, "THREADS", "%u", s->threads);
    put(out, "STAGES", "%u", s->stages);
    put(out, "KEEP_GROUPS", "%u", s->stages - 1);
    put(out, "STAGED_BYTES", "%u", s->stages * s->tile_bytes);
}

/* A token of a variant's own, NULL = it has none of that name. */
static const char *own_value(const struct fgs__variant *v, const char *name)
{
    for (const struct fgs__var *own = v->var; own->name; own++) {
        if (!strcmp(own->name, name))
            return own->value;
    }
    return NULL;
}

static uint32_t least_threads(const struct fgs__variant *v)
{
    const char *value = own_value(v, "LEAST_THREADS");

    return value ? (uint32_t)strtoul(value, NULL, 10) : 32;
}

/* A template says itself whether it has a form that loops over tiles. */
static bool can_loop(const struct fgs__variant *v)
{
    const struct fgs__embedded *e = fgs__embedded;

    while (e->name && strcmp(e->name, v->file))
        e++;
    return e->name && strstr(e->text, "@IF_LOOP@");
}

fgs_result fgs__variant_takes(const struct fgs__variant *v,
                              const struct fgs__shape *s, int cc,
                              fgs_error *err)
{
    const char *only = own_value(v, "ONLY_ELEMENT");
    const char *only_cc = own_value(v, "ONLY_CC");
    uint32_t least = least_threads(v);

    if (s->threads < least)
        return fgs__fail(err, FGS_E_SIZE,
                         "%s has a warp for each role: blocks of %u threads at "
                         "least, not %u",
                         v->stem, least, s->threads);
    if (only && strcmp(only, fgs_element_get_info(s->element)->name))
        return fgs__fail(err, FGS_E_INVAL, "%s is for element %s alone",
                         v->stem, only);
    if (only_cc && cc != strtol(only_cc, NULL, 10))
        return fgs__fail(err, FGS_E_UNSUPPORTED,
                         "%s is for compute capability %c.%c alone", v->stem,
                         only_cc[0], only_cc[1]);
    if (v->role == FGS_ROLE_SCALED_JOIN &&
        (s->tile_bytes % (FGS__CHUNK_BYTES * FGS__SCALED_BYTES) ||
         !s->tile_bytes))
        return fgs__fail(err, FGS_E_SIZE,
                         "%s has a scale for each %d elements, in whole "
                         "chunks: tiles of a multiple of %d bytes, not %u",
                         v->stem, FGS__SCALE_ELEMS,
                         FGS__CHUNK_BYTES * FGS__SCALED_BYTES, s->tile_bytes);
    if (s->persistent && !can_loop(v))
        return fgs__fail(err, FGS_E_INVAL, "%s has no persistent form",
                         v->stem);
    if (s->self_init && v->role != FGS_ROLE_PRODUCER &&
        v->role <= FGS_ROLE_CONSUMER)
        return fgs__fail(err, FGS_E_INVAL, "%s fills no output of its own",
                         v->stem);
    return FGS_OK;
}

/* A second operand of a stage: a ue8m0 scale for each chunk of the tile, in
 * whole chunks of its own. */
static void put_scales(struct fgs__vars *out, const struct fgs__variant *v,
                       const struct fgs__shape *s)
{
    const fgs_element_info *e = fgs_element_get_info(FGS_ELEMENT_UE8M0);
    uint32_t chunks = s->tile_bytes / FGS__CHUNK_BYTES;
    uint32_t bytes = (chunks + FGS__CHUNK_BYTES - 1) & ~(FGS__CHUNK_BYTES - 1u);
    const char *scaled = own_value(v, "IF_SCALED");

    put(out, "SCALE_BYTES", "%u", bytes);
    put(out, "SCALE_PAD", "%u", bytes - chunks);
    put(out, "SCALE_REPORT", "%s",
        fgs_mechanism_get_info(e->mechanism)->qualifier);
    put(out, "STAGE_BYTES", "%u",
        s->tile_bytes + (scaled && !*scaled ? bytes : 0));
}

/* A join has two tiles in shared memory, one behind the other. */
static void put_join(struct fgs__vars *out, const struct fgs__variant *v,
                     const struct fgs__shape *s)
{
    bool join = fgs__role_joins(v->role);
    bool scaled = v->role == FGS_ROLE_SCALED_JOIN;
    fgs_element e = fgs__second_element(v->role, s->element);
    uint32_t second = fgs__second_bytes(v->role, s->tile_bytes);

    flag(out, "IF_JOIN", join);
    flag(out, "IF_LONE", !join);
    flag(out, "IF_TURNS", join && !scaled); /* chunks of both in turn        */
    flag(out, "IF_PRODUCT", scaled);
    put(out, "SCALE_SHIFT", "%d", __builtin_ctz(FGS__SCALED_BYTES));
    put(out, "SECOND_REPORT", "%s", fgs_mechanism_get_info(
        fgs_element_get_info(e)->mechanism)->qualifier);
    put(out, "SECOND_BYTES", "%u", second);
    put(out, "LOAD_CHUNKS", "%u", (s->tile_bytes + second) / FGS__CHUNK_BYTES);
    put(out, "SECOND_CHUNKS", "%u", second / FGS__CHUNK_BYTES);
    if (scaled)
        put(out, "SCAN_CHUNKS", "%%count"); /* of the input that is scanned  */
    else
        put(out, "SCAN_CHUNKS", "%u", s->tile_bytes / FGS__CHUNK_BYTES);
    if (join)
        put(out, "ARM_BYTES", "%%bytes"); /* of those that are copied        */
    else
        put(out, "ARM_BYTES", "%u", s->tile_bytes);
}

/* Of texts with a warp a role: a stage is filled by several copies, the last
 * of them perhaps shorter; two warps are no compute warps. */
static void put_ring(struct fgs__vars *out, const struct fgs__variant *v,
                     const struct fgs__shape *s)
{
    uint32_t chunks = s->tile_bytes / FGS__CHUNK_BYTES;
    uint32_t box = (chunks + FGS__BOXES_MOST - 1) / FGS__BOXES_MOST;
    uint32_t boxes = (chunks + box - 1) / box;
    const char *each = own_value(v, "IF_EACH");
    uint32_t bars = each && !*each ? boxes : 1;
    uint32_t workers = s->threads > 64 ? s->threads - 64 : 0;

    put(out, "BOX_ROWS", "%u", s->tile_bytes / 1024);
    put(out, "BOXES", "%u", boxes);
    put(out, "BOX_BYTES", "%u", box * FGS__CHUNK_BYTES);
    put(out, "BARS", "%u", bars);
    put(out, "ALL_BARS", "%u", bars * FGS__STAGES_MOST);
    put_scales(out, v, s);
    put(out, "WORKERS", "%u", workers);
    put(out, "WORKER_WARPS", "%u", workers / 32);
}

/* "sm_90", "sm_107a" as numbers, for which of two is the higher. */
static long target_cc(const char *target)
{
    return strtol(target + sizeof "sm_" - 1, NULL, 10);
}

void fgs__variant_vars(struct fgs__vars *out, const struct fgs__variant *v,
                       const struct fgs__shape *shape, int cc)
{
    const struct convert *c = v->role == FGS_ROLE_PRODUCER
        ? convert_find(shape->element, cc) : NULL;
    bool pdl = cc >= 90; /* griddepcontrol is there from sm_90 on */
    const char *target = v->target[pdl] ? v->target[pdl] : v->target[1];
    int ptx = c && c->ptx > v->ptx ? c->ptx : v->ptx;

    if (c && target_cc(c->target) > target_cc(target))
        target = c->target;
    out->count = 0;
    put(out, "STEM", "%s", v->stem);
    put(out, "ROLE", "%u", (unsigned)v->role);
    put(out, "VERSION", "%d.%d", ptx / 10, ptx % 10);
    put(out, "TARGET", "%s", target);
    flag(out, "IF_PDL", pdl);
    flag(out, "IF_RELAY", v->role > FGS_ROLE_CONSUMER);
    flag(out, "IF_SINK", v->role == FGS_ROLE_CONSUMER);
    if (v->role != FGS_ROLE_PRODUCER)
        flag(out, "IF_BULK", false); /* results by bulk copies */
    flag(out, "IF_SELF", shape->self_init);
    flag(out, "IF_LOOP", shape->persistent);
    flag(out, "IF_ONCE", !shape->persistent);
    put(out, "PHASE", "%s", shape->persistent ? "%phase" : "0");
    flag(out, "IF_MAKE", v->role == FGS_ROLE_PRODUCER);
    flag(out, "IF_EARLY", !shape->self_init);
    put(out, "NO_CHUNK", "0x%08x", FGS__NO_CHUNK);
    put_scan(out, fgs_element_get_info(shape->element),
             v->role == FGS_ROLE_SCALED_JOIN);
    put_convert(out, shape, c);
    put_shape(out, shape);
    put_join(out, v, shape);
    put_ring(out, v, shape);
    for (size_t i = 0; i < COUNT(numbers); i++)
        put(out, numbers[i].name, "%u", numbers[i].value);
    for (const struct fgs__var *own = v->var; own->name; own++)
        put(out, own->name, "%s", own->value);
}
