/* text.h -- PTX texts by stem: found, expanded, ready for a loader
 *
 * A stem ("report_consume") names a kernel text; variant.def says which file
 * of ptx/ holds it and which tokens make it.  The entry of a stem's text is
 * "fgs_" and the stem.
 */
#ifndef FGS_TEXT_TEXT_H
#define FGS_TEXT_TEXT_H

#include <fgs/fgs.h>

/* Shape of the kernels in ptx/ where nothing else is asked (guide 4.6.6). */
enum {
    FGS__CHUNK_BYTES = 16,
    FGS__TILE_BYTES = 4096,
    FGS__TILE_CHUNKS = FGS__TILE_BYTES / FGS__CHUNK_BYTES,
    FGS__TILE_ELEMS = 1024,
    FGS__BLOCK_THREADS = 256,
    FGS__STAGES_MOST = 8, /* of a consumer with a warp a role (4.6.7)        */
    FGS__BOXES_MOST = 4   /* copies that fill a stage of it                  */
};

/* What a text is made for, besides its stem and the device. */
struct fgs__shape {
    fgs_element element;
    fgs_saturate saturate;
    uint32_t tile_bytes, threads;
    fgs_language language;
    uint32_t stages; /* of a pipeline's texts; the others have one tile       */
    uint32_t self_init; /* producer, relay: a block fills its own tile       */
    uint32_t persistent; /* producer: a block takes every grid-size-th tile  */
};
/* f32, 4096 bytes, 256 threads, 2 stages. */
extern const struct fgs__shape fgs__shape_default;

/*
 * Can kernels have this shape on a device of compute capability `cc`?
 *
 * FGS_E_INVAL  element, saturation or threads are none
 * FGS_E_ALIGN  the tile is no multiple of 16 bytes
 * FGS_E_SIZE   tile or block are smaller or larger than what a block can have;
 *              stages are none
 */
fgs_result fgs__shape_check(const struct fgs__shape *s, int cc,
                            fgs_error *err);

/* Do the stages of a pipeline's text fit into the shared memory of a block, and
 * are they as many as the pipeline has?  FGS_E_SIZE; FGS_OK for other texts. */
fgs_result fgs__shape_stages(const struct fgs__shape *s, const char *stem,
                             int cc, fgs_error *err);

/* Elements of a tile; bytes of the f32 input that they are made of. */
uint64_t fgs__shape_elems(const struct fgs__shape *s);
uint64_t fgs__shape_in_bytes(const struct fgs__shape *s);

/* Give-up records hold this chunk when none of the tile was bad any more. */
#define FGS__NO_CHUNK UINT32_MAX

/* Lines of a text that come from a file that its template includes. */
struct fgs__part {
    uint32_t line, lines;
    char *file;
};

enum { FGS__TEXT_PARTS = 32 };
struct fgs__text {
    char *text;  /* NUL behind `len` bytes, none inside                      */
    size_t len;
    char *file;  /* for messages: "DIR/NAME" or "<STEM.ptx>"; lines of the
                    text are lines of that file, where fgs__text_place does
                    not say otherwise                                        */
    struct fgs__part part[FGS__TEXT_PARTS];
    size_t parts;
    char note[400]; /* files of the folder that look as if they were meant and
                       are not read; "" = none                               */
    fgs_allocator alloc;
};

/*
 * The text of a stem for a device of compute capability `cc` (times ten) and a
 * shape that fgs__shape_check took; NULL = the default one.
 *
 * ptx_dir  NULL or "" = none.  Where it holds STEM.ptx, that file is the text
 *          as it stands (a stem that the library does not know is found so
 *          too), for an element other than f32 STEM.ELEMENT.ptx; else where it
 *          holds the file of the stem's template, that one is expanded; else
 *          the library's own text is.
 *          For CUDA C++ STEM.cu, then the template's twin (bulk_consume.cu),
 *          as they stand: their tokens are options of the compiler.
 *
 * FGS_E_INVAL        no text of that stem, or not for that element
 * FGS_E_UNSUPPORTED  the stem's kernel needs what `cc` has not
 * FGS_E_SIZE         the block has fewer threads than the stem's roles take
 * FGS_E_FILE         ptx_dir, or a file in it, could not be read
 * FGS_E_PTX          bad token, or a NUL in the text: file, line, column
 * FGS_E_NOMEM
 *
 * Owner: caller, fgs__text_free.  On failure *out is zeroed.  Threads: any.
 */
fgs_result fgs__text_load(struct fgs__text *out, const char *stem, int cc,
                          const struct fgs__shape *shape, const char *ptx_dir,
                          const fgs_allocator *a, fgs_error *err);
/* Accepts a zeroed struct. */
void fgs__text_free(struct fgs__text *t);

/* The file that a line of the text is from; *line becomes its line there. */
const char *fgs__text_place(const struct fgs__text *t, uint32_t *line);

/* The library's own text of a variant, with its shape; FGS_E_NULL, FGS_E_INVAL
 * for a desc that is none, else as fgs__text_load. */
fgs_result fgs__text_of_desc(struct fgs__text *out, struct fgs__shape *shape,
                             const fgs_ptx_desc *desc, fgs_error *err);
/* A text into the caller's room, as fgs_ptx_text. */
fgs_result fgs__text_give(const struct fgs__text *t, const char *stem,
                          char *buf, size_t *size, fgs_error *err);

/*
 * The state of the files that a stem's text is looked for in, of those that
 * would be told as unread, and of those that a file of the folder includes:
 * equal stamps, unchanged files.  A text that was renamed over another differs
 * by its inode, whatever its time is.
 */
enum {
    FGS__TEXT_FILES = 64,
    FGS__TEXT_MORE = 32,      /* files that are included, beside ptx/'s       */
    FGS__TEXT_NAME = 128      /* of such a file, from the folder on           */
};
struct fgs__stamp {
    struct fgs__file_stamp {
        uint64_t there, device, inode, size, mtime_s, mtime_ns;
    } file[FGS__TEXT_FILES], more[FGS__TEXT_MORE];
    char name[FGS__TEXT_MORE][FGS__TEXT_NAME];
    uint32_t count, lost;     /* names; files past what there is room for     */
};

/* Look at the files, and for those that are included.  FGS_E_NOMEM; a file
 * that cannot be read is left to fgs__text_load.  stamp.c */
fgs_result fgs__text_stamp(struct fgs__stamp *out, const char *stem,
                           const struct fgs__shape *shape, const char *ptx_dir,
                           const fgs_allocator *a, fgs_error *err);
/* The same files again, the ones included by the names of `s`. */
void fgs__text_stamp_again(struct fgs__stamp *s, const char *stem,
                           const struct fgs__shape *shape,
                           const char *ptx_dir);

/* ----------------------------------------------- parts, for their tests -- */

struct fgs__var {
    const char *name;
    const char *value;
};

/*
 * Replace every @NAME@ of `src` (NAME = capitals, digits, _).  An @ that no
 * capital follows stands for itself: a guard is @%p.  A line "@INCLUDE NAME@"
 * stays for fgs__text_include.  Values hold no newline, so lines keep their
 * numbers.  The result has a NUL behind *out_len bytes.
 *
 * FGS_E_PTX  unknown or unterminated token, or a NUL: file, line, column
 */
fgs_result fgs__text_expand(char **out, size_t *out_len, const char *src,
                            size_t len, const struct fgs__var *var,
                            size_t vars, const char *file,
                            const fgs_allocator *a, fgs_error *err);

/* FGS_E_PTX with the place when a NUL is among the `len` bytes. */
fgs_result fgs__text_check(const char *src, size_t len, const char *file,
                           fgs_error *err);

/*
 * A whole file.  *out is NULL, with FGS_OK, when there is no such file.
 * FGS_E_FILE names the file and the reason.
 */
fgs_result fgs__text_read(char **out, size_t *len, const char *path,
                          const fgs_allocator *a, fgs_error *err);

/* One row of variant.def. */
struct fgs__variant {
    const char *stem, *file;   /* the twin's file is FILE with .cu           */
    fgs_role role;
    int feature;               /* enum fgs__feature                          */
    int ptx;                   /* .version times ten                         */
    const char *target[2];     /* .target below cc 9.0 and from it on        */
    const struct fgs__var *var; /* its own tokens; ends with name NULL       */
};
/* NULL = no such stem, or past the end. */
const struct fgs__variant *fgs__variant_find(const char *stem);
const struct fgs__variant *fgs__variant_at(uint32_t index);

/*
 * Is there a text of the variant for a shape?
 *
 * FGS_E_SIZE   its roles take a larger block
 * FGS_E_INVAL  it is for another element alone
 * FGS_E_UNSUPPORTED  it is for another compute capability alone
 */
fgs_result fgs__variant_takes(const struct fgs__variant *v,
                              const struct fgs__shape *s, int cc,
                              fgs_error *err);

/* Letters, digits, _ and -: a part of a file's name, never a path. */
int fgs__text_is_stem(const char *s);
/* What is behind the stem in the name of its own file: STEM.ptx, for another
 * element than f32 STEM.ELEMENT.ptx, for CUDA C++ STEM.cu.  dir.c */
void fgs__text_own(const struct fgs__shape *shape, char ext[32]);
/* "bulk_consume.cu" of "bulk_consume.ptx.in". */
void fgs__text_twin(const struct fgs__variant *v, char name[64]);

/* A file of a folder that belongs to a stem, and when it is not read although
 * it is there.  dir.c */
enum fgs__file_use {
    FGS__USE_OWN,      /* it is the text                                     */
    FGS__USE_TEMPLATE, /* the text is made of it, when there is no own one   */
    FGS__USE_OTHER,    /* another element's or language's; only told when
                          nothing of the folder is the text                  */
    FGS__USE_ELEMENT,  /* told when there is no own one                      */
    FGS__USE_NEVER
};
struct fgs__dir_file {
    enum fgs__file_use use;
    char name[FGS__TEXT_NAME];
};
enum { FGS__DIR_FILES = 8 };
size_t fgs__dir_files(struct fgs__dir_file file[FGS__DIR_FILES],
                      const char *stem, const struct fgs__shape *shape);
int fgs__text_is_header(const char *name); /* of CUDA C++, in ptx/ or beside */
/* Write t->note. */
void fgs__text_unread(struct fgs__text *t, const char *stem,
                      const struct fgs__shape *shape, const char *dir);

/* All tokens of a variant of a shape on a device of compute capability cc. */
enum { FGS__VARS_MAX = 208, FGS__VALUE_MAX = 64 };
struct fgs__vars {
    size_t count;
    struct fgs__var var[FGS__VARS_MAX];
    char value[FGS__VARS_MAX][FGS__VALUE_MAX];
};
void fgs__variant_vars(struct fgs__vars *out, const struct fgs__variant *v,
                       const struct fgs__shape *shape, int cc);

/*
 * Put the file NAME, expanded, in place of each line "@INCLUDE NAME@" of
 * t->text: out of `dir` (NULL = none) when it is there, else the library's.  A
 * file that is included includes none.
 *
 * FGS_E_PTX  no such file, or one of its tokens is bad
 */
fgs_result fgs__text_include(struct fgs__text *t, const struct fgs__vars *vars,
                             const char *dir, fgs_error *err);
void fgs__text_drop_parts(struct fgs__text *t);
/* The next line that includes, from `at` on, NULL = none; its name, its end. */
const char *fgs__include_next(const char *at, char name[64], const char **end);

#endif
