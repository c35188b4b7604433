/* module.h -- a PTX module in memory, as parser and checker leave it
 *
 * Everything hangs in the module's arena and is read-only after fgs__ptx_load,
 * except the fields that say "loader".
 */
#ifndef FGS_PTX_MODULE_H
#define FGS_PTX_MODULE_H

#include "base/alloc.h"
#include <stdbool.h>

enum fgs__ptx_type {
    FGS__T_NONE = 0,
#define TYPE(id, word, bits, kind) FGS__T_##id,
#include "ptx/type.def"
#undef TYPE
    FGS__T_COUNT
};
enum fgs__ptx_kind {
    FGS__K_NONE, FGS__K_PRED, FGS__K_BITS, FGS__K_UINT, FGS__K_SINT,
    FGS__K_FLOAT, FGS__K_PACK
};
struct fgs__ptx_type_info {
    const char *word;
    uint16_t bits;
    uint8_t kind; /* enum fgs__ptx_kind */
};
extern const struct fgs__ptx_type_info fgs__ptx_types[FGS__T_COUNT];
/* The integer type that .wide makes of a factor's. */
static inline enum fgs__ptx_type fgs__ptx_widened(enum fgs__ptx_type t)
{
    switch (t) {
    case FGS__T_U16:
        return FGS__T_U32;
    case FGS__T_S16:
        return FGS__T_S32;
    case FGS__T_U32:
        return FGS__T_U64;
    default:
        return FGS__T_S64;
    }
}

enum fgs__ptx_group {
#define GROUP(id) FGS__G_##id,
#include "ptx/modifier.def"
    FGS__G_COUNT
};
enum fgs__ptx_mod {
    FGS__M_NONE = 0,
#define MOD(id, group, word) FGS__M_##id,
#include "ptx/modifier.def"
    FGS__M_COUNT
};
enum fgs__ptx_op {
    FGS__OP_NONE = 0,
#define OP(id, ...) FGS__OP_##id,
#include "ptx/opcode.def"
#undef OP
    FGS__OP_COUNT
};
enum fgs__ptx_sreg {
    FGS__SR_NONE = 0,
#define SREG(id, ...) FGS__SR_##id,
#include "ptx/sreg.def"
#undef SREG
    FGS__SR_COUNT
};

struct fgs__ptx_pos {
    uint32_t line, column; /* from 1 */
};

/* ------------------------------------------------------------- symbols -- */

enum fgs__ptx_sym_kind {
    FGS__SYM_REG,
    FGS__SYM_VAR,
    FGS__SYM_LABEL,
    FGS__SYM_FUNC
};

enum fgs__ptx_linkage {
    FGS__LINK_NONE,
    FGS__LINK_VISIBLE,
    FGS__LINK_EXTERN,
    FGS__LINK_WEAK,
    FGS__LINK_COMMON
};

/* A variable that names an object of the driver (ISA 5.3); it has the object's
 * handle, 64 bits. */
enum fgs__ptx_opaque {
    FGS__OPAQUE_NONE, FGS__OPAQUE_TEXREF, FGS__OPAQUE_SURFREF
};

/* A word of an initializer that is the address of a variable. */
struct fgs__ptx_reloc {
    struct fgs__ptx_reloc *next;
    uint64_t at;                   /* byte offset in the variable            */
    struct fgs__ptx_sym *target;
    int64_t addend;
    bool generic;                  /* generic(sym)                           */
    uint8_t bytes;                 /* 8, or 1: the byte of the address from  */
    uint8_t shift;                 /* ... this bit on, 0xff00(sym)           */
};

struct fgs__ptx_sym {
    enum fgs__ptx_sym_kind kind;
    const char *name;
    struct fgs__ptx_pos pos;
    enum fgs__ptx_type type;       /* REG, VAR: element type                 */
    uint32_t index;                /* REG: number in its function, dense     */
    uint8_t vec;                   /* REG, VAR: 0, 2, 4 (.v2 .v4)            */
    /* VAR */
    enum fgs__ptx_mod space;       /* FGS__M_GLOBAL, SHARED, LOCAL, CONST ... */
    enum fgs__ptx_linkage linkage;
    uint32_t align;
    uint64_t bytes;                /* whole variable; 0 = extern x[]         */
    uint32_t dims;                 /* its array sizes but the first, hashed;
                                      0 = no array                           */
    const unsigned char *init;     /* `bytes` bytes, or NULL = zero          */
    struct fgs__ptx_reloc *relocs;
    uint64_t offset;               /* PARAM: in the parameter block;
                                      SHARED, LOCAL in a function: in its
                                      frame; loader: else                    */
    uint64_t address;              /* loader: GLOBAL, CONST                  */
    struct fgs__ptx_sym *def;      /* loader: the definition in another text,
                                      NULL = this one                        */
    bool managed;                  /* GLOBAL: host and device both reach it  */
    uint8_t opaque;                /* GLOBAL: enum fgs__ptx_opaque           */
    bool frame;                    /* PARAM: lies in the function's frame of
                                      local memory, for a call; offset there */
    /* LABEL */
    uint32_t target;               /* index of the insn that it precedes     */
    struct fgs__ptx_targets *targets; /* of a directive, NULL = a place      */
    /* FUNC */
    struct fgs__ptx_func *func;
    bool taken;                    /* its address is used as a value         */
    struct fgs__ptx_sym *next;     /* next of the same owner, in text order  */
};

/* A parameter x[]: the last of a function, which takes an array of any size or
 * none (ISA, .func: unsized array parameter). */
static inline bool fgs__ptx_unsized(const struct fgs__ptx_sym *v)
{
    return v->kind == FGS__SYM_VAR && !v->bytes;
}

/* ------------------------------------------------------- instructions -- */

/* What stands behind a label instead of instructions: .branchtargets (labels),
 * .calltargets (functions), .callprototype (`proto`, a function without name
 * or body). */
struct fgs__ptx_targets {
    struct fgs__ptx_func *proto;
    struct fgs__ptx_operand *list; /* LABEL or SYM                           */
    uint32_t count;
    bool labels;
};

enum fgs__ptx_operand_kind {
    FGS__O_REG,   /* sym; neg for !%p                                        */
    FGS__O_INT,   /* imm: 64 bits, sign-extended when written negative       */
    FGS__O_F32,   /* imm: bits of 0fXXXXXXXX                                 */
    FGS__O_F64,   /* imm: bits of a double literal or 0dX...                 */
    FGS__O_SREG,  /* sreg; comp 0 x, 1 y, 2 z                                */
    FGS__O_SYM,   /* address of a variable or function, + offset             */
    FGS__O_LABEL, /* sym                                                     */
    FGS__O_ADDR,  /* [base + offset]: sym is a REG or VAR, NULL = [offset];
                     child...: a tensor map's coordinates                    */
    FGS__O_VEC,   /* {child...}                                              */
    FGS__O_PAIR,  /* child[0] | child[1]                                     */
    FGS__O_SINK   /* _                                                       */
};

struct fgs__ptx_operand {
    uint8_t kind;  /* enum fgs__ptx_operand_kind */
    uint8_t comp;  /* SREG; or REG of a vector: 1 + component (.x = 1)       */
    bool neg;      /* !p, or -reg where the opcode allows it                 */
    uint8_t children;
    bool indexed;  /* SYM: written name[number]                              */
    uint16_t sreg; /* enum fgs__ptx_sreg */
    uint16_t select; /* .b3210, .h1 ... of a video instruction, 0 = none      */
    struct fgs__ptx_pos pos;
    struct fgs__ptx_sym *sym;
    int64_t offset;
    uint64_t imm;
    struct fgs__ptx_operand *child; /* array of `children`                   */
};

/* A selector: its letter is h, so many digits, digit k counted from the last
 * one that is written. */
#define FGS__SELECT(half, count, digits)                                       \
    ((uint16_t)((half) << 15 | (count) << 12 | (digits)))
#define FGS__SELECT_HALF(s)     ((s) >> 15 != 0)
#define FGS__SELECT_COUNT(s)    ((s) >> 12 & 7u)
#define FGS__SELECT_DIGIT(s, k) ((s) >> 3 * (k) & 7u)

enum { FGS__PTX_TYPES = 4 };

struct fgs__ptx_insn {
    uint16_t op;               /* enum fgs__ptx_op                           */
    uint8_t types;             /* how many type words                        */
    uint8_t type[FGS__PTX_TYPES]; /* in written order                        */
    uint8_t space[2];          /* SPACE words in written order, M_NONE       */
    uint16_t mod[FGS__G_COUNT]; /* the word of each group, M_NONE = absent    */
    bool guard_neg;            /* @!p                                        */
    struct fgs__ptx_sym *guard; /* REG or NULL                               */
    struct fgs__ptx_pos pos;
    uint8_t operands;
    struct fgs__ptx_operand *operand; /* array, in written order             */
};

/* ------------------------------------------------- functions, module -- */

struct fgs__ptx_func {
    const char *name;
    struct fgs__ptx_pos pos;
    bool entry;                /* .entry, else .func                         */
    bool body;                 /* false = declaration                        */
    enum fgs__ptx_linkage linkage;
    struct fgs__ptx_sym *params, *rets; /* VAR in PARAM space, or REG        */
    uint32_t param_count;
    uint64_t param_bytes;
    struct fgs__ptx_sym *syms; /* all of the body: regs, vars, labels        */
    uint32_t reg_count;
    struct fgs__ptx_sym **regs; /* by index                                  */
    struct fgs__ptx_insn *insn;
    uint32_t insn_count;
    uint64_t shared_bytes;     /* of .shared variables of the body           */
    uint32_t shared_align;
    uint64_t call_bytes;       /* of .param variables of the body            */
    struct fgs__ptx_sym *unsized; /* the parameter x[], NULL = none: it begins
                                  where the frame ends                       */
    uint64_t local_bytes;      /* the frame: .local variables, call_bytes and
                                  the .param parameters of a .func           */
    uint32_t frame_align;
    struct fgs__ptx_sym *sym;  /* its own                                    */
    struct fgs__ptx_module *module;
    uint64_t address;          /* loader: as a value in a register           */
    uint32_t number;           /* loader: in the code that is decoded        */
    uint32_t maxntid[3], reqntid[3]; /* 0 = not given                        */
    uint32_t minnctapersm, maxnreg;
    uint32_t reqcluster[3];    /* 0 = not given                              */
    uint32_t maxclusterrank;
    bool explicitcluster, blocksareclusters;
    bool noreturn, abi_preserve, abi_preserve_control;
    struct fgs__ptx_func *next;
};

struct fgs__ptx_module {
    struct fgs__arena arena;
    int version;               /* .version times ten                         */
    struct fgs__ptx_pos version_pos;
    int target_cc;             /* .target times ten: sm_107a = 107           */
    char target_suffix;        /* 'a', 'f' or 0                              */
    const char *target;        /* "sm_107a"                                  */
    int address_size;          /* 64                                         */
    struct fgs__ptx_sym *vars; /* module-scope variables, in text order      */
    struct fgs__ptx_func *funcs;
    const char *name;          /* loader: what messages call it              */
    struct fgs__ptx_module *next; /* loader: linked with it                  */
    struct fgs__ptx_module *whole; /* loader: whose lists hold all texts     */
};

/* Registers a thread that setmaxnreg starts from; 0 = the text does not say,
 * and setmaxnreg does nothing.  registers.c */
uint32_t fgs__ptx_entry_registers(const struct fgs__ptx_func *f);

/* -------------------------------------------------------- diagnostics -- */

struct fgs__ptx_diag {
    struct fgs__ptx_pos pos;
    const char *text;
};

enum { FGS__PTX_DIAGS = 32 };

/* Errors in text order; past FGS__PTX_DIAGS they are only counted.  When the
 * text's .version is above what is known, `newer_version` holds it and that
 * error stands alone. */
struct fgs__ptx_diags {
    struct fgs__arena arena;   /* initialized by fgs__ptx_diags_init         */
    struct fgs__ptx_diag item[FGS__PTX_DIAGS];
    uint32_t count;            /* all errors, kept or not                    */
    int newer_version;
    bool nomem;                /* a text could not be kept                   */
};
void fgs__ptx_diags_init(struct fgs__ptx_diags *d, const fgs_allocator *a);
void fgs__ptx_diags_free(struct fgs__ptx_diags *d);
void fgs__ptx_diag_add(struct fgs__ptx_diags *d, struct fgs__ptx_pos pos,
                       const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Highest PTX ISA version that is understood, times ten. */
enum { FGS__PTX_VERSION_MAX = 95 };

/*
 * Parse and check `len` bytes of PTX (a NUL ends it early).  FGS_OK; FGS_E_PTX
 * with at least one diagnostic; FGS_E_PTXVERSION when the text is newer than
 * FGS__PTX_VERSION_MAX; FGS_E_NOMEM.  *out is NULL on failure.
 */
fgs_result fgs__ptx_load(struct fgs__ptx_module **out, const char *text,
                         size_t len, const fgs_allocator *a,
                         struct fgs__ptx_diags *diags);
void fgs__ptx_free(struct fgs__ptx_module *m);

/* The function or variable of a name; NULL = none. */
struct fgs__ptx_func *fgs__ptx_find_func(const struct fgs__ptx_module *m,
                                         const char *name);
struct fgs__ptx_sym *fgs__ptx_find_var(const struct fgs__ptx_module *m,
                                       const char *name);

/* Does the function contain an instruction with this opcode? */
bool fgs__ptx_has_op(const struct fgs__ptx_func *f, enum fgs__ptx_op op);

/* "add.rn.f32" as far as the table knows it: root spelling of an opcode. */
const char *fgs__ptx_op_name(enum fgs__ptx_op op);

#endif
