/* parse.h -- what the files of parser and checker share
 *
 * One pass: an instruction is parsed, its names are looked up and it is
 * checked before the next one is read; only labels are looked up when their
 * scope closes.  After an allocation failed (p->nomem) the text reads as if it
 * had ended and no more errors are recorded.
 */
#ifndef FGS_PTX_PARSE_H
#define FGS_PTX_PARSE_H

#include "ptx/words.h"

#include <string.h>

struct fgs__scope;

/* A symbol under a name in a scope; `outer` is what it hides. */
struct fgs__binding {
    struct fgs__binding *outer;
    struct fgs__binding *next;   /* of the same scope                        */
    struct fgs__scope *scope;
    struct fgs__name *name;
    struct fgs__ptx_sym *sym;    /* for a range: the pattern of its registers */
    uint64_t count;              /* range r<count>; 0 = a single symbol      */
    bool alias;                  /* a function's own copy of a module's
                                    shared variable: may be declared anew    */
};

/* A spelling.  r12 also belongs to the ranges that are declared under r. */
struct fgs__name {
    const char *text;            /* in the module's arena                    */
    uint32_t hash, len;
    struct fgs__name *chain;     /* of the hash slot                         */
    struct fgs__binding *single, *range;
    struct fgs__name *base;      /* name without its number, NULL = none     */
    struct fgs__name *numbered;  /* names whose base this is ...             */
    struct fgs__name *sibling;   /* ... in a list                            */
    uint64_t number;
    const struct fgs__word *word; /* special register or WARP_SZ, else NULL  */
    uint32_t reported;           /* function in which its lack was reported  */
};

/* A label that an operand names; looked up when the scope closes. */
struct fgs__pending {
    struct fgs__pending *next;
    struct fgs__name *name;
    struct fgs__ptx_pos pos;
    struct fgs__ptx_operand *operand; /* NULL = only has to exist            */
};

struct fgs__scope {
    struct fgs__scope *outer;
    struct fgs__binding *bindings;
    struct fgs__pending *pending;
    unsigned depth;              /* 0 module, 1 parameters and body          */
};

struct fgs__parse {
    struct fgs__lex lex;
    struct fgs__tok tok;         /* current token                            */
    struct fgs__ptx_module *m;
    struct fgs__ptx_diags *diags;
    const fgs_allocator *alloc;
    struct fgs__arena tmp;       /* names, bindings: dies with the parser    */
    bool nomem;
    bool failed;                 /* this statement has had its error         */
    unsigned lists;              /* its '{' of operands not yet closed       */

    struct fgs__name **slots;
    size_t slot_count, name_count;
    struct fgs__scope module_scope, *scope;

    uint64_t const_bytes;        /* of the module's .const variables         */
    struct fgs__ptx_sym **vars_end;
    struct fgs__ptx_func **funcs_end, *func;
    struct fgs__ptx_sym **syms_end;
    uint32_t func_number;
    struct fgs__ptx_insn *insn;  /* of the current function, by fgs__vec     */
    size_t insn_cap, insn_count;
    struct fgs__ptx_sym **regs;
    size_t reg_cap, reg_count;
    uint32_t dynamic_align;      /* of extern shared arrays in use, 0 = none */
    bool tensor;                 /* [map, {coordinates}] may stand here      */
    bool sum;                    /* register + constant may stand here       */
    bool video;                  /* a.b0 and -a may                          */
    struct fgs__ptx_sym *label;  /* declared by the statement before, or NULL */
    struct fgs__ptx_sym *twice;  /* a parameter whose name another has       */
    uint8_t *files;              /* numbers of .file, a bit each             */
    uint64_t param_top, param_most; /* places of the body's .param variables */
};

/* ----------------------------------------------- errors, tokens: parse.c -- */

/* The first error of a statement is kept, the rest are its consequences. */
void fgs__parse_error(struct fgs__parse *p, struct fgs__ptx_pos pos,
                      const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* An error that says what stands at the current token instead. */
void fgs__parse_expected(struct fgs__parse *p, const char *what);
void fgs__parse_next(struct fgs__parse *p);
bool fgs__parse_accept(struct fgs__parse *p, int kind);
bool fgs__parse_expect(struct fgs__parse *p, int kind, const char *what);
/* Behind the ';' that ends a broken statement, or at the '}' of its block. */
void fgs__parse_recover(struct fgs__parse *p);
/* Zeroed memory of the module, or of the parser; NULL = p->nomem is set. */
void *fgs__parse_alloc(struct fgs__parse *p, size_t size);
void *fgs__parse_tmp(struct fgs__parse *p, size_t size);
/* What the current WORD token means, never NULL. */
const struct fgs__word *fgs__parse_word(const struct fgs__parse *p);
/* An unsigned number token; the value may not exceed `max`. */
bool fgs__parse_number(struct fgs__parse *p, uint64_t max, uint64_t *out,
                       const char *what);
/* WARP_SZ is a number wherever one is (ISA 4.5.3). */
static inline bool fgs__is_warp_size(const struct fgs__tok *t)
{
    return t->kind == FGS__TOK_NAME && t->n == 7 &&
        !memcmp(t->s, "WARP_SZ", 7);
}
/* The text of a token for messages, cut when it is long. */
struct fgs__text {
    char s[64];
};
struct fgs__text fgs__parse_text(const struct fgs__tok *tok);

/* ------------------------------------------------------ names: scope.c -- */

struct fgs__name *fgs__name_get(struct fgs__parse *p,
                                const struct fgs__tok *tok);
void fgs__scope_open(struct fgs__parse *p, struct fgs__scope *s);
void fgs__scope_close(struct fgs__parse *p);
/* Bind a symbol in the current scope; an error when the name is taken. */
bool fgs__scope_declare(struct fgs__parse *p, struct fgs__name *n,
                        struct fgs__ptx_sym *sym, uint64_t count);
/* The symbol of a name, NULL = none (no error).  Makes a range's register,
 * and a function's own symbol for a shared variable of the module. */
struct fgs__ptx_sym *fgs__scope_find(struct fgs__parse *p, struct fgs__name *n);
/* A label that must exist in this scope or around it when it closes. */
void fgs__scope_want_label(struct fgs__parse *p, struct fgs__name *n,
                           struct fgs__ptx_pos pos,
                           struct fgs__ptx_operand *operand);
/* "unknown name 'x'", once a function. */
void fgs__scope_unknown(struct fgs__parse *p, struct fgs__name *n,
                        struct fgs__ptx_pos pos);

/* ------------------------------------- declarations: decl.c, init.c -- */

/* Variables or registers behind their space word, up to and with the ';'. */
void fgs__decl_vars(struct fgs__parse *p, enum fgs__ptx_linkage linkage);
/* One parameter of a function: .param or .reg.  That of a prototype is not
 * declared and may be named _. */
enum fgs__param_of { FGS__PARAM_ENTRY, FGS__PARAM_FUNC, FGS__PARAM_PROTO };
struct fgs__ptx_sym *fgs__decl_param(struct fgs__parse *p,
                                     enum fgs__param_of of);
/* The initializer behind '='.  `dims` of the array, outermost first. */
void fgs__init_parse(struct fgs__parse *p, struct fgs__ptx_sym *var,
                     const uint64_t *dims, unsigned count, bool open);

/* --------------------------------------------- constants: const.c -- */

struct fgs__const {
    int kind;         /* FGS__TOK_INT, F32, F64; 0 = an error was reported   */
    uint64_t value;
    bool is_unsigned;
};
struct fgs__const fgs__const_parse(struct fgs__parse *p);
/* Does a number fit in `bits`, as signed or as unsigned? */
bool fgs__const_fits(const struct fgs__const *c, unsigned bits);

/* ------------------------------ functions: func.c, layout.c, insn.c -- */

static inline uint64_t fgs__align_up(uint64_t v, uint64_t align)
{
    return (v + align - 1) & ~(align - 1);
}
/* Offsets of shared and local variables, bytes of the frames. */
void fgs__func_lay_out(struct fgs__ptx_func *f);
/* What setmaxnreg may ask for, behind the body: registers.c */
void fgs__func_registers(struct fgs__parse *p, const struct fgs__ptx_func *f);

void fgs__func_parse(struct fgs__parse *p, bool entry,
                     enum fgs__ptx_linkage linkage);
void fgs__insn_parse(struct fgs__parse *p, const struct fgs__tok *guard,
                     bool guard_neg, const struct fgs__tok *root);
/* ( param, param ): appended to *list with offsets; bytes of .param ones. */
uint64_t fgs__func_params(struct fgs__parse *p, enum fgs__param_of of,
                          struct fgs__ptx_sym **list, uint32_t *count);
/* The same for results, of f. */
void fgs__func_results(struct fgs__parse *p, enum fgs__param_of of,
                       struct fgs__ptx_func *f);
/* How the parameters or results of two declarations differ, NULL = they are
 * the same but for their names. */
const char *fgs__other_head(const struct fgs__ptx_func *a,
                            const struct fgs__ptx_func *b);
/* One directive between a function's head and body; false = there is none. */
bool fgs__func_directive(struct fgs__parse *p, struct fgs__ptx_func *f);
/* One operand; `label` = a bare name is a label. */
bool fgs__operand_parse(struct fgs__parse *p, struct fgs__ptx_operand *o,
                        bool label, bool strict);
/* Behind the words of a call: {(ret),} name {, (args)} {, targets};  The
 * operands are always four: results, callee, arguments, targets; what is not
 * written has no children, or kind SINK.  call.c */
bool fgs__call_parse(struct fgs__parse *p, struct fgs__ptx_insn *i);
/* .branchtargets, .calltargets, .callprototype behind p->label. */
void fgs__targets_parse(struct fgs__parse *p);
/* Skip .loc, .file, .pragma, .section ... at the current word. */
void fgs__skip_loc(struct fgs__parse *p);
void fgs__skip_section(struct fgs__parse *p);
void fgs__skip_file(struct fgs__parse *p);
enum fgs__pragma_at { FGS__PRAGMA_MODULE, FGS__PRAGMA_HEAD, FGS__PRAGMA_BODY };
void fgs__skip_pragma(struct fgs__parse *p, enum fgs__pragma_at at);
bool fgs__skip_unified(struct fgs__parse *p);
void fgs__skip_attribute(struct fgs__parse *p);
void fgs__alias_parse(struct fgs__parse *p);

/* ----------------------------------------------------- checker: check.c -- */

enum { FGS__OPERANDS = 16 };

/* Of registers and symbols as operands `sreg` says while they are parsed
 * whether + constant is written behind them. */
static inline bool fgs__is_sum(const struct fgs__ptx_operand *o)
{
    return o->sreg && (o->kind == FGS__O_REG || o->kind == FGS__O_SYM);
}

struct fgs__check {
    struct fgs__parse *p;
    struct fgs__ptx_insn *i;
    const struct fgs__row *row;
    const char *name;            /* the opcode for messages                  */
    fgs__groups groups;          /* a bit for each group that is there       */
    fgs__groups strays;          /* ... and means nothing here, see check.c  */
    /* Places of the words that are there. */
    struct fgs__ptx_pos type_at[FGS__PTX_TYPES], mod_at[FGS__G_COUNT];
    /* Types that register + constant is read as, 0 = there is none: sum.c. */
    uint8_t sum[FGS__OPERANDS];
};

/* Operand `o` is register + constant, read as `t`; false = none of the
 * instruction's own operands. */
bool fgs__sum_note(struct fgs__check *c, const struct fgs__ptx_operand *o,
                   enum fgs__ptx_type t);
/* Put what adds in front of the instruction, which moves behind it. */
void fgs__sum_expand(struct fgs__check *c);

/* Words behind the opcode; false = an error was reported. */
bool fgs__check_word(struct fgs__check *c, const struct fgs__tok *tok,
                     bool first);
/* Everything else, when words and operands are known. */
void fgs__check_insn(struct fgs__check *c);
/* Its operands against the shape of its row. */
void fgs__check_operands(struct fgs__check *c);
/* The opcodes' own rules: check_mem.c, check_barrier.c, check_value.c. */
void fgs__check_memory(struct fgs__check *c);
void fgs__check_order(struct fgs__check *c);
void fgs__check_cp_fence(struct fgs__check *c);
void fgs__check_fence(struct fgs__check *c);
void fgs__check_barrier(struct fgs__check *c);
void fgs__check_bar_red(struct fgs__check *c);
void fgs__check_mbarrier(struct fgs__check *c);
void fgs__check_send(struct fgs__check *c);
void fgs__check_bulk(struct fgs__check *c);
void fgs__check_arith(struct fgs__check *c);
void fgs__check_float(struct fgs__check *c);
void fgs__check_set(struct fgs__check *c);
void fgs__check_cvt(struct fgs__check *c);
void fgs__check_pack(struct fgs__check *c);
void fgs__check_video(struct fgs__check *c);
void fgs__check_mov(struct fgs__check *c);
void fgs__check_atom(struct fgs__check *c);
void fgs__check_setp(struct fgs__check *c);
void fgs__check_unsynced(struct fgs__check *c);
void fgs__check_async(struct fgs__check *c);
void fgs__check_hint(struct fgs__check *c);
void fgs__check_tensor(struct fgs__check *c);
void fgs__check_tensormap(struct fgs__check *c);
void fgs__check_reduce(struct fgs__check *c);
void fgs__check_bulk_size(struct fgs__check *c);
void fgs__check_ldmatrix(struct fgs__check *c);
void fgs__check_mma(struct fgs__check *c);
void fgs__check_wmma(struct fgs__check *c);
void fgs__check_texture(struct fgs__check *c);
void fgs__check_surface(struct fgs__check *c);
void fgs__check_query(struct fgs__check *c);
void fgs__check_call(struct fgs__check *c);
bool fgs__check_branches(struct fgs__check *c,
                         const struct fgs__ptx_operand *o);
void fgs__check_stack(struct fgs__check *c);

/* Versions and targets: need.c. */
void fgs__check_needs(struct fgs__check *c);
/* Is PTX `ptx` and target `cc` declared?  `family`: an a or f target of that
 * one.  Else an error that says what `fmt` needs. */
bool fgs__check_version(struct fgs__parse *p, struct fgs__ptx_pos pos, int ptx,
                        int cc, int family, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/* Errors at the instruction, at a word of a group, at an operand (from 0). */
void fgs__check_error(struct fgs__check *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void fgs__check_mod_error(struct fgs__check *c, unsigned group, const char *fmt,
                          ...) __attribute__((format(printf, 3, 4)));
void fgs__check_operand_error(struct fgs__check *c,
                              const struct fgs__ptx_operand *o, const char *fmt,
                              ...) __attribute__((format(printf, 3, 4)));
/* Register or immediate against a type: the result's place, or a source. */
enum fgs__use { FGS__USE_SOURCE = 0, FGS__USE_DEST = 1, FGS__USE_WIDE = 2,
                FGS__USE_SREG = 4, FGS__USE_SINK = 8,
                FGS__USE_EXACT = 16 /* see check_value.c */ };
bool fgs__check_value(struct fgs__check *c, const struct fgs__ptx_operand *o,
                      enum fgs__ptx_type t, unsigned use);
/* Does a register of type `reg` take values of type `t`? */
bool fgs__check_fits(enum fgs__ptx_type reg, enum fgs__ptx_type t, bool wide);
/* Orders and scopes that go together. */
bool fgs__check_scope(struct fgs__check *c);
bool fgs__check_addr(struct fgs__check *c, const struct fgs__ptx_operand *o,
                     enum fgs__ptx_mod space);
/* An immediate's value must lie in a range. */
bool fgs__check_range(struct fgs__check *c, const struct fgs__ptx_operand *o,
                      int64_t low, int64_t high, const char *what);

static inline bool fgs__mod_is(const struct fgs__ptx_insn *i, unsigned mod)
{
    return i->mod[fgs__mods[mod].group] == mod;
}

#endif
