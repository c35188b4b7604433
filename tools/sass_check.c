/* sass_check.c -- the rules of sass.def on the instructions of a kernel */
#include "sass.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------- marks -- */

enum mark {
    ENTRY = SASS_ENTRY, /* the kernel's beginning */
#define MARK(id, text, pattern) id,
#include "sass.def"
    MARKS
};
_Static_assert(MARKS <= 64, "marks are bits of a word");

static const struct {
    const char *text, *pattern;
} marks[] = {
    {NULL, NULL},
#define MARK(id, text, pattern) {text, pattern},
#include "sass.def"
};

static uint64_t bit(int mark)
{
    return UINT64_C(1) << mark;
}

/* A mark, or up to eight of them in one number. */
#define OR(a, b) ((uint64_t)(a) | (uint64_t)(b) << 8)

static uint64_t bits(uint64_t set)
{
    uint64_t all = bit((int)(set & 0xFF));

    for (set >>= 8; set; set >>= 8)
        all |= bit((int)(set & 0xFF));
    return all;
}

/* What nvdisasm calls a mechanism's pattern: the bits of one element at the
 * low end of a word, X for what is not looked at. */
static void pattern_name(fgs_element element, char name[64])
{
    const fgs_element_info *e = fgs_element_get_info(element);
    const fgs_mechanism_info *m = e ? fgs_mechanism_get_info(e->mechanism)
                                    : NULL;
    uint32_t digits = m ? m->bits / 4 : 0;

    if (!m || !digits)
        snprintf(name, 64, "NONE");
    else if (m->checks == 2)
        snprintf(name, 64, "EVERY_%02X", (unsigned)m->sentinel);
    else
        snprintf(name, 64, "%.*s%0*X", (int)(8 - digits), "XXXXXXXX",
                 (int)digits, (unsigned)m->sentinel);
}

/* All bits of a word of elements but the elements' top ones: 0x7fff7fff. */
static void low_name(fgs_element element, char name[64])
{
    const fgs_element_info *e = fgs_element_get_info(element);
    uint32_t top = 0, at;

    for (at = e->bits - 1; at < 32; at += e->bits)
        top |= UINT32_C(1) << at;
    snprintf(name, 64, "0x%08x", (unsigned)~top);
}

/* An element that is the sentinel, as it is or with its sign extended; `less`
 * below it. */
static void sentinel_name(fgs_element element, uint32_t less, char name[64])
{
    const fgs_element_info *e = fgs_element_get_info(element);
    uint32_t v = e->sentinel - less, top = UINT32_C(1) << (e->bits - 1);

    /* 0x80 of 8 bits is -0x80 too, 0xff -0x1 */
    snprintf(name, 64, "(0x%x|-0x%x)", (unsigned)v,
             (unsigned)(top - (v - top)));
}

/* The pattern with #, %, @ or & replaced, anchored. */
static bool compile(regex_t *re, const char *pattern, fgs_element element)
{
    char text[256], name[64] = "";
    const char *token = strpbrk(pattern, "#%@&");

    if (token && *token == '#')
        pattern_name(element, name);
    else if (token && *token == '%')
        low_name(element, name);
    else if (token)
        sentinel_name(element, *token == '&', name);
    if (token)
        snprintf(text, sizeof text, "^(%.*s%s%s)", (int)(token - pattern),
                 pattern, name, token + 1);
    else
        snprintf(text, sizeof text, "^(%s)", pattern);
    return !regcomp(re, text, REG_EXTENDED | REG_NOSUB);
}

/* Patterns see a blank behind the last operand. */
static void mark_all(struct sass_entry *e, const regex_t *re, int mark)
{
    char text[256];
    size_t i;

    for (i = 0; i < e->count; i++) {
        snprintf(text, sizeof text, "%s ", e->insn[i].text);
        if (!regexec(re, text, 0, NULL, 0))
            e->insn[i].marks |= bit(mark);
    }
}

/* What a copy brought into shared memory was not looked at. */
static void unmark_back(struct sass_entry *e)
{
    uint64_t all = 0;
    size_t i;

    for (i = 0; i < e->count; i++)
        all |= e->insn[i].marks;
    for (i = 0; all & bits(OR(COPY, ASYNC)) && i < e->count; i++)
        e->insn[i].marks &= ~bit(BACK);
}

bool sass_mark(struct sass_entry *e, fgs_element element)
{
    regex_t re;
    size_t i;
    int m;

    for (i = 0; i < e->count; i++)
        e->insn[i].marks = 0;
    for (m = ENTRY + 1; m < MARKS; m++) {
        if (!compile(&re, marks[m].pattern, element))
            return false;
        mark_all(e, &re, m);
        regfree(&re);
    }
    unmark_back(e);
    return true;
}

const char *sass_mark_text(uint64_t set)
{
    const char *text = NULL;
    int m;

    /* a later mark is the narrower one */
    for (m = ENTRY + 1; m < MARKS; m++)
        if (set & bit(m) && marks[m].text)
            text = marks[m].text;
    return text;
}

/* --------------------------------------------------------------- rules -- */

enum { I = 1 << FGS_ROLE_INIT, P = 1 << FGS_ROLE_PRODUCER,
       X = 1 << FGS_ROLE_SCALED_JOIN, J = 1 << FGS_ROLE_JOIN | X,
       R = 1 << FGS_ROLE_RELAY | J, C = 1 << FGS_ROLE_CONSUMER | R,
       S = 1 << SASS_STAGE, F = 1 << SASS_FUSED };
enum { ANY = -1, E_REPORT = 1 << FGS_ENGINE_REPORT,
       E_BULK = 1 << FGS_ENGINE_BULK, E_POLL = 1 << FGS_ENGINE_POLL,
       E_ASYNC = 1 << FGS_ENGINE_ASYNC, E_PLAIN = 1 << FGS_ENGINE_PLAIN };
enum { ALWAYS = 0, PDL = 1, IS_STRONG = 2, INITS = 4, OWN = 8, PLUS = 16,
       DATA = 32, PACKED = 64, SINGLE = 128, STAGED = 256, ONE = 512,
       TWO = 1024, CLAMPED = 2048, INTEGER = 4096, HAND = 8192,
       PAIR = 16384, ROWS = 32768, AHEAD = 65536, CLAIMS = 131072,
       MMA = 262144, THEIRS = 524288 };
enum kind { K_SOME, K_NONE, K_ONLY, K_PATH, K_FRAME, K_REGISTERS };

struct what {
    enum kind kind;
    uint64_t a, b, c;
};
#define SOME(a, n) {K_SOME, a, n, 0}
#define NONE(a) {K_NONE, a, 0, 0}
#define ONLY(a, b) {K_ONLY, a, b, 0}
#define PATH(a, b, c) {K_PATH, a, b, c}
#define FRAME {K_FRAME, 0, 0, 0}
#define REGISTERS {K_REGISTERS, 0, 0, 0}

static const struct rule {
    const char *id;
    int roles, engines, when;
    struct what what;
    const char *sentence;
} rules[] = {
#define RULE(id, roles, engines, when, what, sentence)                         \
    {#id, roles, engines, when, what, sentence},
#include "sass.def"
};
enum { RULES = sizeof rules / sizeof rules[0] };
_Static_assert((int)RULES <= (int)SASS_RULES_MAX, "a verdict holds all rules");

const char *sass_rule(size_t index, const char **sentence)
{
    if (index >= RULES)
        return NULL;
    *sentence = rules[index].sentence;
    return rules[index].id;
}

static bool is_in(const char *list, const char *id)
{
    size_t len = strlen(id);

    for (; list && *list; list += strcspn(list, ",")) {
        list += *list == ',';
        if (!strncmp(list, id, len) && (!list[len] || list[len] == ','))
            return true;
    }
    return false;
}

/* Which conditions hold. */
static int conditions(const struct sass_what *w)
{
    const fgs_element_info *e = fgs_element_get_info(w->element);
    int have = 0;

    if (w->cc >= 90)
        have |= PDL;
    if (!w->weak)
        have |= IS_STRONG;
    have |= w->inits ? INITS : DATA;
    if (!sass_joins(w))
        have |= w->staged ? STAGED : w->pair ? PAIR : SINGLE;
    have |= w->two || w->role == FGS_ROLE_SCALED_JOIN ? TWO : ONE;
    if (!w->pair)
        have |= ROWS;
    have |= w->own ? OWN : THEIRS;
    if (!w->group)
        have |= MMA;
    if (w->claims)
        have |= CLAIMS;
    if (w->ahead)
        have |= AHEAD;
    if (!w->twin)
        have |= HAND;
    /* a float with -0 for its sentinel: the sign bit alone */
    if (e->rule == FGS_RULE_NEG0_TO_POS0)
        have |= e->bits == 32 ? PLUS : PACKED;
    else
        have |= e->rule == FGS_RULE_NEVER_SENTINEL ? INTEGER : CLAMPED;
    return have;
}

static bool applies(const struct rule *r, const struct sass_what *w)
{
    if (!(r->roles & 1 << w->role) ||
        ((sass_loads(w) || w->role == (fgs_role)SASS_FUSED) &&
         !(r->engines & 1 << w->engine)))
        return false;
    return !(r->when & ~conditions(w));
}

/* --------------------------------------------------------------- verdict -- */

static void place_of(char place[160], const struct sass_entry *e, uint32_t i,
                     const char *lead)
{
    snprintf(place, 160, "%s%04x: %.120s", lead, (unsigned)e->insn[i].at,
             e->insn[i].text);
}

static uint32_t first_of(const struct sass_entry *e, uint64_t is, uint64_t isnt,
                         size_t *count)
{
    uint32_t i, first = SASS_NONE;

    for (*count = i = 0; i < e->count; i++) {
        if (!(e->insn[i].marks & is) || e->insn[i].marks & isnt)
            continue;
        first = first == SASS_NONE ? i : first;
        ++*count;
    }
    return first;
}

/* True = the rule holds; else where it does not. */
static bool holds(const struct sass_entry *e, const struct sass_what *w,
                  const struct what *x, char place[160], bool *good)
{
    uint32_t at = SASS_NONE, most = sass_registers(w);
    size_t n;

    switch (x->kind) {
    case K_SOME:
        first_of(e, bits(x->a), 0, &n);
        snprintf(place, 160, "%zu instructions in place of %zu", n,
                 (size_t)x->b);
        return n >= (size_t)x->b;
    case K_NONE:
        at = first_of(e, bits(x->a), 0, &n);
        break;
    case K_ONLY:
        at = first_of(e, bits(x->a), bits(x->b), &n);
        break;
    case K_PATH:
        at = sass_way(e, bits(x->a), bits(x->b), bits(x->c), false, good);
        if (at == SASS_NONE && *good)
            at = sass_way(e, bits(x->a), bits(x->b), bits(x->c), true, good);
        break;
    case K_FRAME:
        snprintf(place, 160, "%u bytes of a thread", (unsigned)e->frame);
        return !e->frame;
    case K_REGISTERS:
        snprintf(place, 160, "%u in place of %u", (unsigned)e->registers,
                 (unsigned)most);
        return !most || !e->has_resources || e->registers <= most;
    }
    if (at != SASS_NONE)
        place_of(place, e, at, "");
    return at == SASS_NONE;
}

bool sass_check(const struct sass_entry *e, const struct sass_what *w,
                const char *skip, struct sass_verdict *v)
{
    bool good = true;
    size_t i;

    v->rules = v->broken = 0;
    for (i = 0; i < RULES && good; i++) {
        struct sass_broken *b = &v->list[v->broken];

        if (!applies(&rules[i], w) || is_in(skip, rules[i].id))
            continue;
        v->rules++;
        if (holds(e, w, &rules[i].what, b->place, &good))
            continue;
        b->rule = rules[i].id;
        b->sentence = rules[i].sentence;
        v->broken++;
    }
    return good;
}

uint32_t sass_registers(const struct sass_what *w)
{
    uint32_t most = w->own ? fgs_role_registers(w->role, w->engine) : 0;

    /* they are given by eights: a compiler's choices may cost one of them */
    return most && w->twin ? most + 8 : most;
}

/* ----------------------------------------------------------------- guess -- */

static const struct {
    const char *word;
    fgs_role role;
} role_words[] = {
    {"gemm_", (fgs_role)SASS_STAGE},
    {"fused_", (fgs_role)SASS_FUSED},
    {"consume", FGS_ROLE_CONSUMER},
    {"relay", FGS_ROLE_RELAY},
    {"scaled_join", FGS_ROLE_SCALED_JOIN},
    {"join", FGS_ROLE_JOIN},
    {"produce", FGS_ROLE_PRODUCER},
    {"fill", FGS_ROLE_INIT},
    {"init", FGS_ROLE_INIT},
};

/* Instructions that only one kind of kernel has; the first that is there. */
static const struct {
    int mark;
    fgs_role role;
    fgs_engine engine;
} signs[] = {
    {REPORTS, FGS_ROLE_CONSUMER, FGS_ENGINE_REPORT},
    {COPY, FGS_ROLE_CONSUMER, FGS_ENGINE_BULK},
    {ASYNC, FGS_ROLE_CONSUMER, FGS_ENGINE_ASYNC},
    {CHUNK_IN, FGS_ROLE_CONSUMER, FGS_ENGINE_POLL},
    /* A producer loads its f32 input so too, but stores no chunk weakly. */
    {TILE_OUT, FGS_ROLE_CONSUMER, FGS_ENGINE_PLAIN},
    {CHUNK_OUT, FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO},
    {BULK_OUT, FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO},
};

const char *sass_guess(const struct sass_entry *e, struct sass_what *w)
{
    fgs_engine engine;
    size_t i, n;

    for (i = 0; !w->role && i < sizeof role_words / sizeof role_words[0]; i++)
        if (strstr(e->name, role_words[i].word))
            w->role = role_words[i].role;
    for (engine = FGS_ENGINE_AUTO + 1; engine < FGS_ENGINE_COUNT; engine++)
        if (!w->engine && strstr(e->name, fgs_engine_name(engine)))
            w->engine = engine;
    w->ahead = strstr(e->name, "async_stages");
    w->claims = strstr(e->name, "_claim");
    w->group = strstr(e->name, "_wgmma");
    if (w->role && (!sass_loads(w) || w->engine))
        return "by its name";
    for (i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        first_of(e, bit(signs[i].mark), 0, &n);
        if (!n || (w->role && w->role != signs[i].role))
            continue;
        w->role = signs[i].role;
        w->engine = w->engine ? w->engine : signs[i].engine;
        return "by its instructions";
    }
    return NULL;
}
