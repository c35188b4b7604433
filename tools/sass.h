/* sass.h -- machine code of kernels: made, read, checked by the rules */
#ifndef FGS_TOOL_SASS_H
#define FGS_TOOL_SASS_H

#include "program.h"

/* ------------------------------------------------------- sass_read.c -- */

struct sass_insn {
    char *text;      /* opcode and operands, no guard, no semicolon          */
    size_t line;     /* in the listing, from 0                               */
    uint32_t at;     /* address                                              */
    uint32_t target; /* instruction that it names, SASS_NONE = none          */
    bool guarded;    /* by a predicate ...                                   */
    int8_t guard;    /* ... P0 to P6, -1 = another                           */
    bool guard_not;  /* ... that must be false                               */
    bool in_table;   /* a BRX of the entry may go there                      */
    uint64_t marks;  /* a bit a mark                                         */
};
#define SASS_NONE UINT32_MAX

struct sass_entry {
    char *name;
    struct sass_insn *insn;
    size_t count;
    bool has_resources;
    uint32_t registers, frame; /* of a thread: registers, bytes              */
};

/* A disassembler's listing of a cubin. */
struct sass_code {
    char *listing; /* as it was printed                                      */
    char *own;     /* the same, cut into strings                             */
    struct sass_entry *entry;
    size_t count;
};

/* Takes both from malloc, in any case; cubin may be NULL.  EXIT_GOOD, or
 * EXIT_BAD after a message. */
int sass_read(struct sass_code *c, char *listing, unsigned char *cubin,
              size_t size);
void sass_free(struct sass_code *c);

/* -------------------------------------------------------- sass_way.c -- */

enum { SASS_ENTRY = 0 }; /* the mark of a kernel's beginning */

/*
 * An instruction of marks `to`, guarded or not as asked, that can be reached
 * from one of `from` (bit SASS_ENTRY: from the beginning) without one of `by`;
 * SASS_NONE = none.  A `by` with a guard may not have been executed, so it
 * stands in the way of a guarded `to` alone: the assembler gives the same
 * guard to a pair that one thread executes.  *good is false without memory.
 */
uint32_t sass_way(const struct sass_entry *e, uint64_t from, uint64_t to,
                  uint64_t by, bool guarded, bool *good);

/* ------------------------------------------------------ sass_check.c -- */

/* What a kernel is for; two roles more than a plan has: it multiplies boxes,
 * it is both ends of a hand-over. */
enum { SASS_STAGE = FGS_ROLE_SCALED_JOIN + 1, SASS_FUSED };
struct sass_what {
    fgs_role role;
    fgs_engine engine; /* consumers */
    fgs_element element;
    int32_t cc;
    bool weak;  /* its copy is meant to be weak                              */
    bool inits; /* it writes the sentinels itself                            */
    bool own;   /* a kernel of the library                                   */
    bool ahead; /* its next tiles are copied while it uses one               */
    bool staged; /* it has a ring of stages                                  */
    bool pair;   /* of a cluster of two blocks                               */
    bool two;    /* a stage has two operands                                 */
    bool group;  /* a warpgroup multiplies                                   */
    bool claims; /* its blocks take over others                              */
    bool twin;  /* in CUDA C++                                               */
    fgs_saturate saturate; /* integers: how it stays off the sentinel        */
};

static inline bool sass_loads(const struct sass_what *w)
{
    return w->role >= FGS_ROLE_CONSUMER && w->role <= FGS_ROLE_SCALED_JOIN;
}

static inline bool sass_joins(const struct sass_what *w)
{
    return w->role == FGS_ROLE_JOIN || w->role == FGS_ROLE_SCALED_JOIN;
}

struct sass_broken {
    const char *rule, *sentence;
    char place[160];
};
enum { SASS_RULES_MAX = 96 };
struct sass_verdict {
    size_t rules, broken; /* rules that apply; those that do not hold        */
    struct sass_broken list[SASS_RULES_MAX];
};

/* Set the marks of an entry's instructions.  False = no memory. */
bool sass_mark(struct sass_entry *e, fgs_element element);
/* The text of the most telling mark, NULL = none. */
const char *sass_mark_text(uint64_t marks);
/* All rules that apply, less those whose ids are in `skip` ("a,b"; NULL =
 * none).  After sass_mark. */
bool sass_check(const struct sass_entry *e, const struct sass_what *w,
                const char *skip, struct sass_verdict *v);
/* The index-th rule, NULL past the end. */
const char *sass_rule(size_t index, const char **sentence);
/* Most registers of a thread; 0 = not stated. */
uint32_t sass_registers(const struct sass_what *w);
/* What a kernel seems to be, by its name, else by its instructions (marked).
 * Says how. */
const char *sass_guess(const struct sass_entry *e, struct sass_what *w);

/* ------------------------------------------------------- sass_show.c -- */

/* The listing of marked entries, a mark behind its instruction.  `by` is NULL
 * for what came assembled. */
void sass_show(const struct sass_code *c);
void sass_show_json(const struct sass_code *c, const char *target,
                    const char *by, const char *read_by);
void sass_list_rules(bool as_json);

/* ------------------------------------------------------- sass_make.c -- */

/* A text to assemble. */
struct sass_text {
    const char *name;   /* for messages                                      */
    char *text;
    char target[16];
    struct sass_code *code; /* of the text's batch                           */
    size_t entry;           /* in it                                         */
    int result;             /* EXIT_...                                      */
};

/* "sm_" digits and at most one letter: it becomes an argument. */
bool sass_target_is_sound(const char *target);
/* One text, or a cubin, to a listing.  `by` and `read_by` are the programs
 * that did it. */
int sass_of_text(const char *name, const char *text, const char *target,
                 struct sass_code *c, char by[PROGRAM_PATH],
                 char read_by[PROGRAM_PATH]);
int sass_of_cubin(const unsigned char *cubin, size_t size, struct sass_code *c,
                  char read_by[PROGRAM_PATH]);
/*
 * All texts, many in one run of the assembler.  Results are in the rows; the
 * codes that they share are in *codes, *count of them.  EXIT_GOOD, or
 * EXIT_BAD after a message when nothing could be run.
 */
int sass_of_texts(struct sass_text *t, size_t n, struct sass_code **codes,
                  size_t *count);

#endif
