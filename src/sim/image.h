/* image.h -- what a program hands over as code: texts of PTX in a wrapping */
#ifndef FGS_SIM_IMAGE_H
#define FGS_SIM_IMAGE_H

#include "sim/device.h"

struct fgs__sim_text {
    const char *name;          /* as cuLinkAdd was told, else ""             */
    const char *text;          /* need not end with a NUL                    */
    size_t bytes;
};

struct fgs__sim_image {
    const fgs_allocator *alloc;
    struct fgs__sim_text *text;
    uint32_t texts;
    bool linked;               /* made by cuLinkComplete                     */
    struct fgs__sim_text one;
    char *unpacked;            /* what `one` lies in, where it was packed    */
};

/*
 * Find the texts in PTX, a fat binary or what cuLinkComplete made; of a fat
 * binary that for the highest architecture whose code runs here.  At most
 * `most` bytes at `data` are looked at; SIZE_MAX where nobody knows, then the
 * image says itself how long it is.  The texts point into `data`, or into
 * memory of the image.
 *
 * NO_BINARY_FOR_GPU  machine code, or nothing that runs on this device
 * INVALID_IMAGE      damaged, or none of these
 */
CUresult fgs__sim_image_read(struct fgs__sim_image *img, const void *data,
                             size_t most, const fgs_allocator *a,
                             struct fgs__sim_log *log);
void fgs__sim_image_free(struct fgs__sim_image *img);

/* A file's bytes and a NUL behind them. */
CUresult fgs__sim_file_read(const char *name, const fgs_allocator *a,
                            char **out, size_t *bytes);

/* What cuLinkComplete gives back: these texts, one after another. */
char *fgs__sim_image_write(const struct fgs__sim_text *text, uint32_t count,
                           const fgs_allocator *a, size_t *bytes);

/* All texts as modules, each name bound to what it means, the first one's
 * lists with those of the others behind; module.c.  After a failure what is
 * there must be freed all the same. */
CUresult fgs__sim_texts_load(struct fgs__ptx_module **first,
                             const struct fgs__sim_image *img,
                             const fgs_allocator *a, struct fgs__sim_jit *jit);
/* One that another text's takes the place of is none. */
bool fgs__sim_is_kernel(const struct fgs__ptx_func *f);

/* A fat binary: fatbin.c.  False = `data` is none. */
bool fgs__sim_fatbin_read(struct fgs__sim_image *img, const void *data,
                          size_t most, struct fgs__sim_log *log, CUresult *r);

/* Which symbol a name means in all texts of a module: join.c. */
struct fgs__sim_names;
struct fgs__sim_names *fgs__sim_names_make(const fgs_allocator *a);
void fgs__sim_names_free(struct fgs__sim_names *t);
/* The next text; INVALID_PTX where two of them disagree, with log lines as
 * the device linker's. */
CUresult fgs__sim_names_add(struct fgs__sim_names *t,
                            struct fgs__ptx_module *m,
                            struct fgs__sim_log *log);
/* Bind every declaration to its definition; `linked` = several texts, where a
 * variable without definition is an error. */
CUresult fgs__sim_names_bind(struct fgs__sim_names *t,
                             struct fgs__ptx_module *first, bool linked,
                             struct fgs__sim_log *error,
                             struct fgs__sim_log *info);

#endif
