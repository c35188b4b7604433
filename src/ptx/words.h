/* words.h -- the tables of src/ptx as one hash: what a word can mean */
#ifndef FGS_PTX_WORDS_H
#define FGS_PTX_WORDS_H

#include "ptx/lex.h"

#define FGS__DIRECTIVES(X)                                                     \
    X(VERSION, "version") X(TARGET, "target") X(ADDRESS_SIZE, "address_size")  \
    X(ENTRY, "entry") X(FUNC, "func") X(VISIBLE, "visible")                    \
    X(EXTERN, "extern") X(WEAK, "weak") X(COMMON, "common") X(ALIAS, "alias")  \
    X(REG, "reg") X(TEX, "tex") X(ALIGN, "align") X(PTR, "ptr")                \
    X(MAXNTID, "maxntid") X(REQNTID, "reqntid")                                \
    X(MINNCTAPERSM, "minnctapersm") X(MAXNCTAPERSM, "maxnctapersm")            \
    X(MAXNREG, "maxnreg") X(REQNCTAPERCLUSTER, "reqnctapercluster")            \
    X(MINPERCTAMEMORY, "minperctamemory")                                      \
    X(EXPLICITCLUSTER, "explicitcluster")                                      \
    X(MAXCLUSTERRANK, "maxclusterrank")                                        \
    X(BLOCKSARECLUSTERS, "blocksareclusters") X(NORETURN, "noreturn")          \
    X(ABI_PRESERVE, "abi_preserve")                                            \
    X(ABI_PRESERVE_CONTROL, "abi_preserve_control") X(PRAGMA, "pragma")        \
    X(ATTRIBUTE, "attribute") X(MANAGED, "managed") X(UNIFIED, "unified")      \
    X(FILE, "file") X(LOC, "loc") X(SECTION, "section")                        \
    X(CALLPROTOTYPE, "callprototype") X(CALLTARGETS, "calltargets")            \
    X(BRANCHTARGETS, "branchtargets") X(TEXREF, "texref")                      \
    X(SAMPLERREF, "samplerref") X(SURFREF, "surfref")

enum fgs__directive {
    FGS__D_NONE = 0,
#define DIRECTIVE(id, word) FGS__D_##id,
    FGS__DIRECTIVES(DIRECTIVE)
#undef DIRECTIVE
};

/* A set of groups (enum fgs__ptx_group), of types one of 64 bits. */
__extension__ typedef unsigned __int128 fgs__groups;
_Static_assert(FGS__G_COUNT <= 128, "a bit a group");
_Static_assert(FGS__T_COUNT <= 64, "a bit a type");
_Static_assert(FGS__M_COUNT < UINT16_MAX, "words have 16-bit numbers");

struct fgs__word {
    const char *text;
    uint32_t hash;
    uint16_t len;
    uint16_t op;        /* enum fgs__ptx_op, of the words up to here          */
    bool prefix;        /* a longer opcode starts with these words            */
    bool known;         /* the ISA has it, we do not                          */
    uint8_t type;       /* enum fgs__ptx_type                                 */
    uint16_t mod;       /* first modifier of this spelling; fgs__mods chains  */
    uint8_t sreg;       /* text with the percent sign                         */
    uint8_t directive;
    uint8_t ptx;        /* of a second spelling: its lowest PTX version       */
};

struct fgs__mod {
    const char *word;
    uint8_t group;
    uint8_t bit;        /* its number in the group                            */
    uint16_t same;      /* next modifier of the same spelling                 */
};
extern struct fgs__mod fgs__mods[FGS__M_COUNT];
extern const char *const fgs__group_names[FGS__G_COUNT];

struct fgs__sreg_info {
    const char *name;
    uint8_t type, comps;
    int ptx, cc;
};
extern const struct fgs__sreg_info fgs__sregs[FGS__SR_COUNT];

/* ------------------------------------- rows of opcode.def, see check.c -- */

enum { FGS__ROW_MODS = 18, FGS__ROW_ARGS = 12, FGS__ROW_TYPES = 4 };

struct fgs__row_mod {
    uint8_t group;
    bool required;
    uint64_t bits;      /* allowed modifiers by their number in the group     */
    uint64_t types;     /* only with these instruction types                  */
};

struct fgs__row_arg {
    char role;          /* '*' first = the opcode's rule looks at operands    */
    bool vec;           /* a vector when the instruction has .v2 .v4 .v8      */
    bool optional;
    bool free_space;    /* a:-, the opcode's rule looks at the space          */
    bool unless;        /* ?! : present when the condition does not hold      */
    uint8_t type;       /* fixed type, or                                     */
    uint8_t index;      /* number of the instruction's type word              */
    uint8_t group;      /* present when this one is there: a group, or one    */
    uint16_t mod;       /* word of it                                         */
};

struct fgs__row {
    const char *word;
    int ptx, cc;
    uint8_t mods, args, types, types_least;
    uint8_t spaces;     /* how many state spaces it takes                     */
    fgs__groups groups; /* bit per group that has an item                     */
    uint64_t type[FGS__ROW_TYPES];
    struct fgs__row_mod mod[FGS__ROW_MODS];
    struct fgs__row_arg arg[FGS__ROW_ARGS];
};
extern struct fgs__row fgs__rows[FGS__OP_COUNT];

/* Build the tables once per process.  Returns how many rows are malformed: 0
 * unless a .def file is broken (a test looks).  Any thread. */
unsigned fgs__words_init(void);

/* Part of it, need.c. */
void fgs__needs_init(void);

/* NULL = no such word.  After fgs__words_init. */
const struct fgs__word *fgs__word_find(uint32_t hash, const char *s, size_t n);

#endif
