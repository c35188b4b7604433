/* text.c -- a module whose kernel executes forms one after the other
 *
 * A case is a thread.  What a form writes lies in 16 bytes of `out`, of form f
 * and case i at (f * cases + i) * 16: the result in the first 8, in the other 8
 * predicates, the carry, or what an atomic operation left in memory.
 */
#include "gen.h"
#include "base/compat.h"

#include <stdlib.h>

static const char prologue[] =
    ".visible .entry k(.param .u64 p_in, .param .u64 p_out)\n{\n"
    ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>, %t, %n, %x;\n"
    ".reg .b64 %d<8>, %in, %out, %slot, %y;\n"
    "ld.param.u64 %in, [p_in];\nld.param.u64 %out, [p_out];\n"
    "mov.u32 %t, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmov.u32 %x, %tid.x;\n"
    "mad.lo.u32 %t, %t, %n, %x;\n"
    "mul.wide.u32 %y, %t, 8;\nadd.u64 %in, %in, %y;\n"
    "mul.wide.u32 %y, %t, 16;\nadd.u64 %out, %out, %y;\n";

static char letter(unsigned type)
{
    unsigned bits = fgs__ptx_types[type].bits;

    return bits <= 16 ? 'h' : bits == 32 ? 'r' : 'd';
}

static unsigned width(unsigned type)
{
    unsigned bits = fgs__ptx_types[type].bits;

    return bits <= 16 ? 16 : bits;
}

static uint64_t place(unsigned type, unsigned k, uint32_t cases)
{
    return ((uint64_t)type * GEN_IN + k) * cases * 8;
}

static void load(struct gen_buf *b, const struct gen_arg *a, uint32_t cases)
{
    unsigned k = a->in;

    if (a->type == FGS__T_PRED) {
        gen_put(b, "ld.global.b32 %%x, [%%in+%llu];\n"
                "setp.ne.b32 %%p%u, %%x, 0;\n",
                (unsigned long long)place(a->type, k, cases), k + 2);
        return;
    }
    gen_put(b, "ld.global.b%u %%%c%u, [%%in+%llu];\n", width(a->type),
            letter(a->type), k + 2,
            (unsigned long long)place(a->type, k, cases));
}

/* Equal values must meet in a warp. */
static void narrow(struct gen_buf *b, const struct gen_form *f)
{
    unsigned bits = width(f->type[0]);

    if (f->op == FGS__OP_MATCH_ANY || f->op == FGS__OP_MATCH_ALL)
        gen_put(b, "and.b%u %%%c2, %%%c2, 1;\n", bits, letter(f->type[0]),
                letter(f->type[0]));
}

/* A mask of lanes is all of them. */
static bool takes_mask(const struct gen_form *f)
{
    switch (f->op) {
    case FGS__OP_SHFL:
    case FGS__OP_VOTE:
    case FGS__OP_MATCH_ANY:
    case FGS__OP_MATCH_ALL:
    case FGS__OP_REDUX:
    case FGS__OP_ELECT:
        return true;
    default:
        return false;
    }
}

static bool reads_carry(unsigned op)
{
    return op == FGS__OP_ADDC || op == FGS__OP_SUBC || op == FGS__OP_MADC;
}

static bool sets_carry(const struct gen_form *f)
{
    return f->mod[FGS__G_CC] != FGS__M_NONE;
}

/* A borrow is set by sub and read by subc, a carry by the others. */
static bool borrows(unsigned op)
{
    return op == FGS__OP_SUB || op == FGS__OP_SUBC;
}

static void before(struct gen_buf *b, const struct gen_form *f, uint32_t cases)
{
    if (takes_mask(f))
        gen_put(b, "mov.b32 %%r%u, -1;\n", f->arg[f->args - 1].in + 2u);
    narrow(b, f);
    if (reads_carry(f->op))
        gen_put(b, "ld.global.b32 %%x, [%%in+%llu];\n%s %%x, %s;\n",
                (unsigned long long)place(FGS__T_PRED, 0, cases),
                borrows(f->op) ? "sub.cc.u32" : "add.cc.u32",
                borrows(f->op) ? "0, %x" : "%x, -1");
}

static void after(struct gen_buf *b, const struct gen_form *f,
                  unsigned long long at)
{
    if (sets_carry(f))
        gen_put(b, "%s %%x, 0, 0;\nst.global.b32 [%%out+%llu], %%x;\n",
                borrows(f->op) ? "subc.u32" : "addc.u32", at + 8);
    for (unsigned k = 0; k < f->args; k++) {
        const struct gen_arg *a = &f->arg[k];

        switch (a->role) {
        case 'Q':
        case 'V':
        case 'E':
            gen_put(b, "selp.b32 %%x, 1, 0, %%p0;\n"
                    "st.global.b32 [%%out+%llu], %%x;\n", at + 8);
            break;
        case 'P':
            gen_put(b, "selp.b32 %%x, 1, 0, %%p1;\n"
                    "st.global.b32 [%%out+%llu], %%x;\n", at + 8);
            break;
        default:
            break;
        }
        if (a->role == 'p' || a->role == 'P' ||
            (a->type == FGS__T_PRED && a->role == 'd'))
            gen_put(b, "selp.b32 %%x, 1, 0, %%p0;\n"
                    "st.global.b32 [%%out+%llu], %%x;\n", at);
        else if (strchr("dwDeQVE", a->role))
            gen_put(b, "st.global.b%u [%%out+%llu], %%%c0;\n", width(a->type),
                    at, letter(a->type));
    }
}

/* The place of an atomic operation: the second half of the form's 16 bytes, or
 * of shared memory, from where it is copied to there. */
static void atomic(struct gen_buf *b, const struct gen_form *f, uint32_t cases,
                   unsigned long long at)
{
    unsigned type = f->type[0], w = width(type);
    unsigned space = f->mod[FGS__G_SPACE];
    bool global = !space || space == FGS__M_GLOBAL;
    char c = letter(type);

    gen_put(b, "ld.global.b%u %%%c1, [%%in+%llu];\n", w, c,
            (unsigned long long)place(type, f->ins - 1u, cases));
    if (global)
        gen_put(b, "add.u64 %%slot, %%out, %llu;\n", at + 8);
    else
        gen_put(b, "mov.u32 %%x, %%tid.x;\nshl.b32 %%x, %%x, 3;\n"
                "cvt.u64.u32 %%slot, %%x;\nmov.u64 %%y, s_place;\n"
                "add.u64 %%slot, %%slot, %%y;\n");
    gen_put(b, "st.%s.b%u [%%slot], %%%c1;\n%s\n",
            global ? "global" : "shared", w, c, f->text);
    if (!global)
        gen_put(b, "ld.shared.b%u %%%c1, [%%slot];\n"
                "st.global.b%u [%%out+%llu], %%%c1;\n", w, c, w, at + 8, c);
}

static void form(struct gen_buf *b, const struct gen_form *f, uint32_t n,
                 uint32_t cases)
{
    unsigned long long at = (unsigned long long)n * cases * GEN_SLOT;
    bool atom = f->op == FGS__OP_ATOM || f->op == FGS__OP_RED;

    gen_put(b, "// -- %s\n", f->words);
    for (unsigned k = 0; k < f->args; k++) {
        if (strchr("sc", f->arg[k].role))
            load(b, &f->arg[k], cases);
    }
    before(b, f, cases);
    if (atom)
        atomic(b, f, cases, at);
    else
        gen_put(b, "%s\n", f->text);
    after(b, f, at);
}

char *gen_text(const struct gen_form *const *f, uint32_t n, uint32_t cases,
               unsigned ptx)
{
    struct gen_buf b = { NULL, 0, 2048 + (size_t)n * 1200 };

    b.s = malloc(b.cap);
    if (!b.s)
        return NULL;
    gen_put(&b, ".version %u.%u\n.target sm_90\n.address_size 64\n"
            ".shared .align 8 .b8 s_place[2048];\n%s", ptx / 10, ptx % 10,
            prologue);
    for (uint32_t k = 0; k < n; k++)
        form(&b, f[k], k, cases);
    gen_put(&b, "ret;\n}\n");
    return b.s;
}
