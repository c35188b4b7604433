/* program_maker.h -- what the two halves of the maker of programs share */
#ifndef GEN_PROGRAM_MAKER_H
#define GEN_PROGRAM_MAKER_H

#include "gen.h"
#include "program.h"

#include <stdbool.h>

enum {
    R_REGS = 8, D_REGS = 4, F_REGS = 6, G_REGS = 3, H_REGS = 4, P_REGS = 4,
    FUNCS = 2, DEEPEST = 3, CHECKS = 32, PLACES = 32,
    /* where a thread's registers lie in its bytes */
    AT_R = 0, AT_D = 32, AT_F = 64, AT_H = 88, AT_G = 96, AT_P = 120,
    AT_CHECK = 128,
    TEXT_CAP = 1 << 18
};

enum kind { ALU, FREE, MEM, WARP, FULL, BLOCK, ATOM, CALL, KINDS };

/* The statements of program.def. */
struct program_row {
    uint8_t kind;
    const char *text;
};
extern const struct program_row program_rows[];
extern const unsigned program_row_count;

struct maker {
    struct gen_buf b;
    uint64_t state;
    const char *name;
    unsigned threads;
    unsigned depth;      /* of the mask: %m0 ... */
    unsigned nested;     /* control statements around this one */
    unsigned labels, checks, funcs;
    unsigned last[6];    /* register of each kind */
    int budget;          /* statements left */
    bool in_func;
    bool uniform;        /* all threads of the block are here */
    bool full;           /* no lane is missing in any warp */
};

#define PUT(...) gen_put(&m->b, __VA_ARGS__)

/* One of 0 ... n - 1. */
static inline unsigned draw(struct maker *m, unsigned n)
{
    m->state = gen_mix(m->state);
    return (unsigned)(m->state >> 33) % n;
}

/* 1 ... `most` statements or control statements, while there is budget. */
void program_body(struct maker *m, unsigned most);

#endif
