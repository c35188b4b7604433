/* program.h -- random small programs that give every device the same memory
 *
 * Everything follows from a seed.  Threads share words through barriers,
 * shuffles and atomic operations whose order does not show; what else they
 * write is their own.
 */
#ifndef GEN_PROGRAM_H
#define GEN_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { GEN_PROGRAM_IN = 16384, GEN_PROGRAM_THREAD = 256 };

struct gen_program {
    char *text;        /* of its functions and its entry, no .version      */
    unsigned blocks, threads;
    size_t out_bytes;  /* a thread's bytes each, then the atomic places    */
};

/* What p_in points to, for all programs. */
void gen_program_fill_in(uint8_t *in);
/* Entry `name`(p_in, p_out); text NULL = no memory. */
struct gen_program gen_program_make(uint64_t seed, const char *name);
/* What p_out points to before. */
void gen_program_fill_out(const struct gen_program *p, uint64_t seed,
                          uint8_t *out);
/* .version and .target, and the text; malloc'ed, NULL = no memory. */
char *gen_program_module(const struct gen_program *p);
/* Names the bytes at `at` of out: "block 1 thread 3: %r4". */
void gen_program_place(const struct gen_program *p, size_t at, char *text,
                       size_t cap);

#endif
