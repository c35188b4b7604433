/* decl_head.c -- a declaration up to its names: space, alignment, type */
#include "ptx/decl.h"
#include "base/compat.h"

/* The strictest of several counts, as the assembler has it. */
static bool parse_align(struct fgs__parse *p, uint32_t *align)
{
    struct fgs__ptx_pos pos;
    uint64_t v;

    fgs__parse_next(p);
    pos = p->tok.pos;
    if (!fgs__parse_number(p, 1u << 30, &v, "an alignment"))
        return false;
    if (!v || (v & (v - 1))) {
        fgs__parse_error(p, pos, "the alignment must be a power of two");
        return false;
    }
    if (*align < v)
        *align = (uint32_t)v;
    return true;
}

void fgs__decl_align(struct fgs__parse *p, struct fgs__decl_head *h)
{
    while (!p->failed && fgs__parse_word(p)->directive == FGS__D_ALIGN)
        parse_align(p, &h->align);
}

void fgs__decl_skip_ptr(struct fgs__parse *p, bool entry)
{
    uint32_t align = 0;

    if (!entry)
        fgs__parse_error(p, p->tok.pos, "'.ptr' is for parameters of kernels");
    fgs__check_version(p, p->tok.pos, 22, 0, 0, "'.ptr'");
    fgs__parse_next(p);
    switch (fgs__parse_word(p)->mod) {
    case FGS__M_GLOBAL:
    case FGS__M_CONST:
    case FGS__M_LOCAL:
    case FGS__M_SHARED:
        fgs__parse_next(p);
        break;
    default:
        break;
    }
    if (fgs__parse_word(p)->directive == FGS__D_ALIGN)
        parse_align(p, &align);
}

/* Types that registers and variables can have (ISA 5.2.2): not the formats
 * that only instructions know. */
static bool fundamental(enum fgs__ptx_type t)
{
    return t != FGS__T_NONE && t != FGS__T_BF16 &&
        (fgs__ptx_types[t].kind != FGS__K_PACK || t == FGS__T_F16X2);
}

/* .attribute(.managed, .unified(1, 2)) of a variable (ISA 5.4.8). */
static bool parse_attribute(struct fgs__parse *p, struct fgs__decl_head *h)
{
    struct fgs__ptx_pos pos = p->tok.pos;

    h->attribute = pos;
    fgs__parse_next(p);
    if (!fgs__parse_expect(p, '(', "'('"))
        return false;
    do {
        bool managed = !strcmp(fgs__parse_word(p)->text, "managed");

        if (managed) {
            fgs__check_version(p, pos, 40, 30, 0, ".attribute(.managed)");
            fgs__parse_next(p);
            h->managed = true;
        } else if (strcmp(fgs__parse_word(p)->text, "unified")) {
            fgs__parse_expected(p, ".managed or .unified");
        } else {
            fgs__skip_unified(p);
        }
    } while (!p->failed && fgs__parse_accept(p, ','));
    return !p->failed && fgs__parse_expect(p, ')', "')'");
}

/* .texref or .surfref: a type that only .global variables have here. */
static bool opaque_word(struct fgs__parse *p, struct fgs__decl_head *h,
                        const struct fgs__word *w)
{
    if (h->vec || h->type)
        return false;
    if (h->space != FGS__M_GLOBAL || p->func) {
        fgs__parse_error(p, p->tok.pos, "'.%s' is not supported here, but of "
                         "global variables of a module", w->text);
        return false;
    }
    h->type = FGS__T_B64;
    h->opaque = w->directive == FGS__D_TEXREF ? FGS__OPAQUE_TEXREF
                                              : FGS__OPAQUE_SURFREF;
    fgs__parse_next(p);
    return true;
}

static bool head_word(struct fgs__parse *p, struct fgs__decl_head *h)
{
    const struct fgs__word *w = fgs__parse_word(p);
    bool space = w->mod && fgs__mods[w->mod].group == FGS__G_SPACE;

    if (!h->placed && (space || w->directive == FGS__D_REG)) {
        h->space = space ? (enum fgs__ptx_mod)w->mod : FGS__M_NONE;
        h->pos = p->tok.pos;
        h->placed = true;
        fgs__parse_next(p);
        return true;
    }
    if (w->directive == FGS__D_ALIGN)
        return !h->vec && parse_align(p, &h->align);
    if (w->directive == FGS__D_ATTRIBUTE)
        return !h->vec && parse_attribute(p, h);
    if (w->directive == FGS__D_SAMPLERREF) {
        fgs__parse_error(p, p->tok.pos, "'.%s' is not supported yet", w->text);
        return false;
    }
    if (w->directive == FGS__D_TEXREF || w->directive == FGS__D_SURFREF)
        return opaque_word(p, h, w);
    if (w->mod == FGS__M_V2 || w->mod == FGS__M_V4) {
        if (h->vec || h->type)
            return false;
        h->vec = w->mod == FGS__M_V2 ? 2 : 4;
    } else if (w->type && !h->type) {
        if (!fundamental((enum fgs__ptx_type)w->type)) {
            fgs__parse_error(p, p->tok.pos,
                             "no register or variable has type .%s", w->text);
            return false;
        }
        h->type = (enum fgs__ptx_type)w->type;
    } else {
        return false;
    }
    fgs__parse_next(p);
    return true;
}

bool fgs__decl_head(struct fgs__parse *p, struct fgs__decl_head *h)
{
    const struct fgs__word *w = fgs__parse_word(p);

    memset(h, 0, sizeof *h);
    h->pos = p->tok.pos;
    if (w->directive == FGS__D_TEX) {
        fgs__parse_error(p, h->pos, "'.tex' is not supported: PTX dropped it "
                         "in version 1.5");
        return false;
    }
    /* Alignment and attributes may stand before the space, too. */
    while (p->tok.kind == FGS__TOK_WORD && !p->failed && !h->type) {
        if (!head_word(p, h)) {
            fgs__parse_expected(p, "a type");
            return false;
        }
    }
    if (!h->type)
        fgs__parse_expected(p, "a type");
    if (!h->placed)
        fgs__parse_error(p, h->pos, "a state space is missing");
    if (h->attribute.line && h->space != FGS__M_GLOBAL)
        fgs__parse_error(p, h->attribute,
                         "only .global variables have attributes");
    if (h->type == FGS__T_PRED && h->vec)
        fgs__parse_error(p, h->pos, "there are no vectors of predicates");
    if (h->type == FGS__T_PRED && h->space)
        fgs__parse_error(p, h->pos, "predicates live in registers only");
    if (h->type == FGS__T_B128)
        fgs__check_version(p, h->pos, 83, 70, 0, "type .b128");
    if (h->type == FGS__T_F16X2)
        fgs__check_version(p, h->pos, 10, 53, 0, "type .f16x2");
    if (h->opaque)
        fgs__check_version(p, h->pos, 15, 10, 0, "a reference");
    if (h->vec && fgs__ptx_types[h->type].bits * h->vec > 128)
        fgs__parse_error(p, h->pos, "a vector has 128 bits at most");
    return !p->failed;
}
