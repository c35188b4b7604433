/* handoff_text.h -- the kernels' texts of fgs bench handoff, inside */
#ifndef FGS_TOOL_HANDOFF_TEXT_H
#define FGS_TOOL_HANDOFF_TEXT_H

#include "handoff.h"

struct text {
    char *text;
    size_t len, room;
    bool is_lost; /* no memory */
    const struct handoff_form *form;
    int warps, chunks; /* of a block; of a thread                            */
    int label;         /* the next number                                    */
};

/* A text; each # in it becomes the next argument, an int. */
void put(struct text *t, const char *s, ...);
/* The first of the four words of a chunk that load k brings. */
int put_word(const struct text *t, int k, int c);
/* What a 128-bit store takes. */
void put_pack(struct text *t);

/* ------------------------------------------------------ handoff_wait.c -- */

/* Load k of a bulk wait: its copy has ended. */
void put_land(struct text *t, int k);
/* The time between two loads in flight: a load's, by their number.  Of the
 * tile behind the last one, which is written last. */
void put_measure(struct text *t);
/* Wait and take.  A failed wait makes the later ones short; the run goes on
 * to its end. */
void put_receive(struct text *t);
/* Registers that a load in flight will write are taken for nothing else until
 * it has ended: an assembler that does not see them used may let the next
 * store wait for one of them. */
void put_fold(struct text *t);

#endif
