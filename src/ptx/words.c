/* words.c -- the tables of src/ptx as one hash: what a word can mean */
#include "ptx/words.h"
#include "base/compat.h"

#include <pthread.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct fgs__ptx_type_info fgs__ptx_types[FGS__T_COUNT] = {
#define TYPE(id, word, bits, kind)                                             \
    [FGS__T_##id] = { word, bits, FGS__K_##kind },
#include "ptx/type.def"
#undef TYPE
};

struct fgs__mod fgs__mods[FGS__M_COUNT] = {
#define MOD(id, grp, text) [FGS__M_##id] = { .word = text,                     \
                                             .group = FGS__G_##grp },
#include "ptx/modifier.def"
};

const char *const fgs__group_names[FGS__G_COUNT] = {
#define GROUP(id) #id,
#include "ptx/modifier.def"
};

const struct fgs__sreg_info fgs__sregs[FGS__SR_COUNT] = {
#define SREG(id, name, type, comps, ptx, cc)                                   \
    [FGS__SR_##id] = { "%" name, FGS__T_##type, comps, ptx, cc },
#include "ptx/sreg.def"
#undef SREG
};

struct fgs__row fgs__rows[FGS__OP_COUNT];

static const struct {
    const char *shape, *types, *mods;
} columns[FGS__OP_COUNT] = {
#define OP(id, word, shape, types, mods, ptx, cc, exec)                        \
    [FGS__OP_##id] = { shape, types, mods },
#include "ptx/opcode.def"
#undef OP
};

/* Sets of types that columns name. */
static const struct {
    const char *name, *words;
} classes[] = {
    { "bits", "b16|b32|b64" },
    { "int", "u16|u32|u64|s16|s32|s64" },
    { "flt", "f32|f64" },
    { "half", "f16|f16x2|bf16|bf16x2" },
    { "simd", "u16x2|s16x2|u8x4|s8x4" },
    { "packed",
      "tf32|e4m3x2|e5m2x2|e2m3x2|e3m2x2|ue8m0x2|ue5m3x2|s2f6x2|"
      "e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4|e2m1x2" },
};

/* ---------------------------------------------------------------- hash -- */

enum { SLOTS = 2048 };
static struct fgs__word table[SLOTS];
static unsigned broken;

const struct fgs__word *fgs__word_find(uint32_t hash, const char *s, size_t n)
{
    for (uint32_t i = hash & (SLOTS - 1); table[i].text;
         i = (i + 1) & (SLOTS - 1)) {
        if (table[i].hash == hash && table[i].len == n &&
            !memcmp(table[i].text, s, n))
            return &table[i];
    }
    return NULL;
}

/* The entry of the first n characters of `s`, made when it is not there.
 * SLOTS is three times what the tables need; a test looks at `broken`. */
static struct fgs__word *entry(const char *s, size_t n)
{
    uint32_t hash = fgs__hash_more(FGS__HASH_START, s, n);
    uint32_t i = hash & (SLOTS - 1);

    for (; table[i].text; i = (i + 1) & (SLOTS - 1)) {
        if (table[i].hash == hash && table[i].len == n &&
            !memcmp(table[i].text, s, n))
            return &table[i];
    }
    table[i].text = s;
    table[i].hash = hash;
    table[i].len = (uint16_t)n;
    return &table[i];
}

static struct fgs__word *word(const char *s)
{
    return entry(s, strlen(s));
}

/* An opcode's spelling; what it starts with are prefixes. */
static struct fgs__word *opcode(const char *s)
{
    for (const char *dot = strchr(s, '.'); dot; dot = strchr(dot + 1, '.'))
        entry(s, (size_t)(dot - s))->prefix = true;
    return word(s);
}

static void fill_words(void)
{
#define TYPE(id, text, bits, kind) word(text)->type = FGS__T_##id;
#include "ptx/type.def"
#undef TYPE
#define SREG(id, name, type, comps, ptx, cc)                                   \
    word("%" name)->sreg = FGS__SR_##id;
#include "ptx/sreg.def"
#undef SREG
#define DIRECTIVE(id, text) word(text)->directive = FGS__D_##id;
    FGS__DIRECTIVES(DIRECTIVE)
#undef DIRECTIVE
#define OP(id, text, ...) opcode(text)->op = FGS__OP_##id;
#include "ptx/opcode.def"
#undef OP
#define KNOWN_OP(text) opcode(text)->known = true;
#define KNOWN_SREG(text) word(text)->known = true;
#define KNOWN_WORD(text) word(text)->known = true;
#define ALIAS_OP(text, id, version)                                            \
    opcode(text)->op = FGS__OP_##id;                                           \
    word(text)->ptx = version;
#include "ptx/known.def"
}

static void fill_mods(void)
{
    uint8_t bits[FGS__G_COUNT] = { 0 };

    for (unsigned i = 1; i < FGS__M_COUNT; i++) {
        struct fgs__mod *m = &fgs__mods[i];
        struct fgs__word *w = word(m->word);

        m->bit = bits[m->group]++;
        broken += m->bit > 63;
        m->same = w->mod;
        w->mod = (uint16_t)i;
    }
}

/* ------------------------------------------------------------- columns -- */

static bool same(const char *s, size_t n, const char *word_)
{
    return strlen(word_) == n && !memcmp(s, word_, n);
}

/* Length of what stands before the first character of `stops`. */
static size_t part(const char *s, const char *stops)
{
    return strcspn(s, stops);
}

static unsigned group_of(const char *s, size_t n)
{
    for (unsigned g = 0; g < FGS__G_COUNT; g++) {
        if (same(s, n, fgs__group_names[g]))
            return g;
    }
    return FGS__G_COUNT;
}

static unsigned mod_of(const char *s, size_t n, unsigned group)
{
    for (unsigned i = 1; i < FGS__M_COUNT; i++) {
        if (same(s, n, fgs__mods[i].word) &&
            (group == FGS__G_COUNT || fgs__mods[i].group == group))
            return i;
    }
    broken++;
    return FGS__M_NONE;
}

/* u32|int|...: one bit a type; the text up to a blank. */
static uint64_t types_of(const char *s)
{
    uint64_t set = 0;

    for (size_t n; n = part(s, "| ?"), n; s += n + (s[n] == '|')) {
        uint64_t found = 0;

        for (size_t i = 0; i < COUNT(classes); i++) {
            if (same(s, n, classes[i].name))
                found = types_of(classes[i].words);
        }
        for (unsigned i = 1; i < FGS__T_COUNT && !found; i++) {
            if (same(s, n, fgs__ptx_types[i].word))
                found = (uint64_t)1 << i;
        }
        broken += !found;
        set |= found;
        if (s[n] != '|')
            break;
    }
    return set;
}

static void read_types(struct fgs__row *row, const char *s)
{
    while (*s) {
        bool optional = *s == '?';

        if (row->types == FGS__ROW_TYPES) {
            broken++;
            return;
        }
        row->type[row->types++] = types_of(s + optional);
        row->types_least += !optional;
        s += part(s, " ");
        s += *s == ' ';
    }
}

/* GROUP[2][!][=word,word][:types] */
static void read_mod(struct fgs__row *row, const char *s)
{
    size_t n = part(s, "2!=: ");
    unsigned group = group_of(s, n);
    struct fgs__row_mod *m = &row->mod[row->mods];

    if (group == FGS__G_COUNT && (s[n] == '1' || s[n] == '2')) {
        n++; /* EVICT2 */
        group = group_of(s, n);
    }
    if (group == FGS__G_COUNT || row->mods == FGS__ROW_MODS) {
        broken++;
        return;
    }
    row->mods++;
    row->groups |= (fgs__groups)1 << group;
    m->group = (uint8_t)group;
    m->types = m->bits = UINT64_MAX;
    s += n;
    if (group == FGS__G_SPACE)
        row->spaces = *s == '2' ? 2 : 1;
    s += *s == '2';
    m->required = *s == '!';
    s += *s == '!';
    if (*s == '=') {
        m->bits = 0;
        do {
            n = part(++s, ",: ");
            /* shared::cta: a colon of a word is one of two */
            while (s[n] == ':' && s[n + 1] == ':')
                n += 2 + part(s + n + 2, ",: ");
            m->bits |= (uint64_t)1 << fgs__mods[mod_of(s, n, group)].bit;
            s += n;
        } while (*s == ',');
    }
    if (*s == ':')
        m->types = types_of(s + 1);
}

/* role[v][:type|:1|:-][?[!][condition]] */
static void read_arg(struct fgs__row *row, const char *s)
{
    struct fgs__row_arg *a = &row->arg[row->args];
    size_t n;

    if (row->args == FGS__ROW_ARGS) {
        broken++;
        return;
    }
    row->args++;
    a->role = *s++;
    a->vec = *s == 'v';
    s += *s == 'v';
    if (*s == ':') {
        s++;
        if (*s == '1')
            a->index = 1;
        else if (*s == '-')
            a->free_space = true;
        else
            for (uint64_t t = types_of(s); t > 1; t >>= 1)
                a->type++;
        s += part(s, "? ");
    }
    a->optional = *s == '?';
    s += *s == '?';
    a->unless = *s == '!';
    s += *s == '!';
    n = part(s, " ");
    if (!n)
        return;
    a->group = (uint8_t)group_of(s, n);
    if (a->group != FGS__G_COUNT)
        a->mod = UINT16_MAX;
    else
        a->mod = (uint16_t)mod_of(s, n, FGS__G_COUNT);
    if (a->mod != UINT16_MAX)
        a->group = fgs__mods[a->mod].group;
}

static void read_list(struct fgs__row *row, const char *s,
                      void (*item)(struct fgs__row *, const char *))
{
    while (*s) {
        item(row, s);
        s += part(s, " ");
        s += *s == ' ';
    }
}

static void build(void)
{
    fill_words();
    fill_mods();
    fgs__needs_init();
#define OP(id, text, shape, types, mods, ptx_, cc_, exec)                      \
    fgs__rows[FGS__OP_##id].word = text;                                       \
    fgs__rows[FGS__OP_##id].ptx = ptx_;                                        \
    fgs__rows[FGS__OP_##id].cc = cc_;
#include "ptx/opcode.def"
#undef OP
    for (unsigned i = 1; i < FGS__OP_COUNT; i++) {
        read_list(&fgs__rows[i], columns[i].shape, read_arg);
        read_types(&fgs__rows[i], columns[i].types);
        read_list(&fgs__rows[i], columns[i].mods, read_mod);
    }
}

unsigned fgs__words_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, build);
    return broken;
}
