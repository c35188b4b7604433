/* gen.h -- kernels made from the tables, to compare devices with each other
 *
 * A form is one instruction: a row of opcode.def with one choice of its types
 * and modifiers, which the checker takes for sm_90.  Each form's kernel code
 * loads the operands of case i, executes the instruction and stores what it
 * gave.  Everything follows from the tables and a seed.
 */
#ifndef GEN_H
#define GEN_H

#include "ptx/words.h"

enum { GEN_ARGS = 6, GEN_IN = 4, GEN_SLOT = 16 };

struct gen_arg {
    char role;       /* of the row: d w result, s source, p P c predicates   */
    uint8_t type;    /* enum fgs__ptx_type of the register                   */
    uint8_t in;      /* sources: number of the input                         */
    uint32_t imm;    /* role i                                               */
};

struct gen_form {
    uint16_t op;
    uint8_t ptx;     /* version of the text that takes it: 90, 94            */
    uint8_t args, ins;
    uint8_t type[2];
    uint16_t mod[FGS__G_COUNT];
    struct gen_arg arg[GEN_ARGS];
    char words[88];  /* "add.rn.ftz.f32"                                     */
    char text[160];  /* the whole statement                                  */
};

struct gen_forms {
    struct gen_form *form;
    uint32_t count, cap;
    uint32_t tried;
    uint32_t of[FGS__OP_COUNT]; /* how many of each opcode                   */
    bool failed;                /* out of memory                             */
};

/* All forms that the checker takes for sm_90. */
bool gen_forms_make(struct gen_forms *g);
void gen_forms_free(struct gen_forms *g);
/* Why an opcode has no forms, NULL = it should have some. */
const char *gen_no_forms(unsigned op);

/* Is the only source of 16 or 32 bits, so that it is swept? */
bool gen_form_sweeps(const struct gen_form *f);

/* Text into a place of `cap` bytes. */
struct gen_buf {
    char *s;
    size_t n, cap;
};
void gen_put(struct gen_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------- values -- */

/* Operand `pos` of case `i`, of a type. */
uint64_t gen_value(unsigned type, unsigned pos, uint32_t i);
/* The same, over all values of 16 bits, or all upper halves of 32. */
uint64_t gen_sweep(unsigned type, uint32_t i);
uint64_t gen_mix(uint64_t x);

/* --------------------------------------------------------------- text -- */

/* Operands lie in `in`: for each type and position 8 bytes a case; results in
 * `out`: for each form 16 bytes a case. */
static inline uint64_t gen_in_bytes(uint32_t cases)
{
    return (uint64_t)FGS__T_COUNT * GEN_IN * cases * 8;
}
void gen_fill_in(uint8_t *in, uint32_t cases, bool sweep);
uint64_t gen_input(const uint8_t *in, uint32_t cases, const struct gen_form *f,
                   unsigned k, uint32_t i);
/* A module with one entry "k" of forms [0, n); malloc'ed, NULL = no memory. */
char *gen_text(const struct gen_form *const *f, uint32_t n, uint32_t cases,
               unsigned ptx);
/* The same bytes on every run: where out holds nothing it is 0xcc. */

#endif
