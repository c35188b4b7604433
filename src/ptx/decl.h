/* decl.h -- what stands before the names of a declaration */
#ifndef FGS_PTX_DECL_H
#define FGS_PTX_DECL_H

#include "ptx/parse.h"

struct fgs__decl_head {
    struct fgs__ptx_pos pos;
    enum fgs__ptx_mod space;   /* NONE = registers                           */
    enum fgs__ptx_type type;
    uint8_t vec, opaque;
    bool managed, placed;      /* its space or .reg was read                 */
    struct fgs__ptx_pos attribute; /* line 0 = none                          */
    uint32_t align;
};

/* decl_head.c: space word (current token), alignment, vector, type. */
bool fgs__decl_head(struct fgs__parse *p, struct fgs__decl_head *h);

/* .ptr{.space}{.align N} of a kernel's parameter: a promise about what the
 * caller passes, of which nothing is used. */
void fgs__decl_skip_ptr(struct fgs__parse *p, bool entry);

/* .align behind the type, which parameters may have there. */
void fgs__decl_align(struct fgs__parse *p, struct fgs__decl_head *h);

#endif
