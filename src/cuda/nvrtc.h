/* nvrtc.h -- CUDA C++ text, made into PTX text
 *
 * NVRTC is the toolkit's compiler as a library; no header of the toolkit is
 * needed, and no file of it but the library and its libnvrtc-builtins.
 */
#ifndef FGS_CUDA_NVRTC_H
#define FGS_CUDA_NVRTC_H

#include "base/alloc.h"
#include "cuda/dynlib.h"

/* What is used of nvrtc.h, declared here so that no toolkit is needed. */
typedef struct _nvrtcProgram *fgs__nvrtc_program;

/*   result        member       name                      parameters */
#define FGS__NVRTC(X)                                                          \
    X(int,          create,     "nvrtcCreateProgram",                          \
      (fgs__nvrtc_program *, const char *, const char *, int,                  \
       const char *const *, const char *const *))                              \
    X(int,          destroy,    "nvrtcDestroyProgram",                         \
      (fgs__nvrtc_program *))                                                  \
    X(int,          compile,    "nvrtcCompileProgram",                         \
      (fgs__nvrtc_program, int, const char *const *))                          \
    X(int,          ptx_size,   "nvrtcGetPTXSize",                             \
      (fgs__nvrtc_program, size_t *))                                          \
    X(int,          ptx,        "nvrtcGetPTX",                                 \
      (fgs__nvrtc_program, char *))                                            \
    X(int,          log_size,   "nvrtcGetProgramLogSize",                      \
      (fgs__nvrtc_program, size_t *))                                          \
    X(int,          log,        "nvrtcGetProgramLog",                          \
      (fgs__nvrtc_program, char *))                                            \
    X(const char *, error_text, "nvrtcGetErrorString", (int))

struct fgs__nvrtc {
#define FGS__NVRTC_MEMBER(result, member, name, params) result (*member) params;
    FGS__NVRTC(FGS__NVRTC_MEMBER)
#undef FGS__NVRTC_MEMBER
    struct fgs__dynlib lib;
};

/* Look for libnvrtc.so.13, .12 or $FGS_NVRTC ("none" hides all).  Never fails:
 * what was not found is said in lib.why. */
void fgs__nvrtc_open(struct fgs__nvrtc *n);

/* "NVRTC 13.4"; `buf` holds at least 24 bytes. */
const char *fgs__nvrtc_name(const struct fgs__nvrtc *n, char *buf);

enum { FGS__NVRTC_HEADERS = 16, FGS__NVRTC_OPTIONS = 144 };

/* Arrays, as NVRTC wants them. */
struct fgs__nvrtc_job {
    const char *file;           /* what messages and __FILE__ call the text  */
    const char *text;
    const char *const *header;  /* texts of the headers ...                  */
    const char *const *include; /* ... and what #include calls each          */
    size_t headers;             /* FGS__NVRTC_HEADERS at most                */
    const char *const *option;  /* "-DNAME=value"                            */
    size_t options;             /* FGS__NVRTC_OPTIONS at most                */
    const char *target;         /* "compute_90"                              */
};

/* The options that every text is compiled with, behind the job's own; the
 * i-th, NULL past the end.  They are part of the key of a cached result. */
const char *fgs__nvrtc_option(size_t i);

struct fgs__nvrtc_out {
    char *text;  /* PTX, NUL behind `len` bytes; of the allocator            */
    size_t len;
    char *log;   /* warnings, NULL = none; of the allocator                  */
};

/*
 * Compile for a target.
 *
 * FGS_E_UNSUPPORTED  there is no NVRTC; the text says why
 * FGS_E_FILE         $FGS_NVRTC names a library that cannot be used
 * FGS_E_COMPILE      refused: file, line and column of the first error
 * FGS_E_NOMEM
 *
 * On failure *out holds the log at most.  Owner: caller, fgs__nvrtc_free.
 */
fgs_result fgs__nvrtc_compile(const struct fgs__nvrtc *n,
                              const struct fgs__nvrtc_job *j,
                              const fgs_allocator *a,
                              struct fgs__nvrtc_out *out, fgs_error *err);
void fgs__nvrtc_free(struct fgs__nvrtc_out *out, const fgs_allocator *a);

/* The first error of a log: file, line, column (0 = none), message, each cut
 * at its end.  0 = no error of the log has a line. */
struct fgs__nvrtc_place {
    char file[256];
    uint32_t line, column;
    char text[512];
};
int fgs__nvrtc_log_place(const char *log, struct fgs__nvrtc_place *out);

/*
 * Does compiling read files that the job does not hold?  A text may: NVRTC
 * looks for #include "x" beside the text, or in the current folder, when no
 * header of the job has that name.  Such a result is not for a cache.  1 in
 * doubt.
 */
int fgs__nvrtc_reads_files(const struct fgs__nvrtc_job *j);

#endif
