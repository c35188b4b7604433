/* bench_rows.h -- kernels measured in turn on one device: fgs bench async */
#ifndef FGS_TOOL_BENCH_ROWS_H
#define FGS_TOOL_BENCH_ROWS_H

#include "pipe.h"

enum { BENCH_ROWS = 6 };

struct bench_rows;
struct bench_row {
    const char *name, *what;
    struct pipe_kernel k;
    bool there;          /* loaded, and it left the right result            */
    char why[600];       /* why not                                         */
    double *ns;          /* of each launch                                  */
};

struct bench_rows {
    const char *verb;    /* "async", for messages                            */
    struct pipe_device d;
    struct bench_row row[BENCH_ROWS];
    unsigned count;
    uint64_t repeat, bytes; /* bytes: moved by a launch                      */
    /* Launch a row once, what it writes cleared before; false: d.why. */
    bool (*launch)(struct bench_rows *b, struct bench_row *r);
    /* Is its result right?  False: r->why says why not. */
    bool (*verify)(struct bench_rows *b, struct bench_row *r);
    void *cookie;
};

/* The library's text of a stem as the next row. */
void bench_rows_stem(struct bench_rows *b, const char *name, const char *what,
                     const fgs_ptx_desc *desc);
/* CUDA C++ by NVRTC as the next row; absent where there is none. */
void bench_rows_cuda(struct bench_rows *b, const char *name, const char *what,
                     const char *source, const char *entry,
                     const char *const *options);
/* A row that `launch` knows how to launch. */
void bench_rows_other(struct bench_rows *b, const char *name,
                      const char *what);
/* A row that cannot be. */
void bench_rows_absent(struct bench_rows *b, const char *name,
                       const char *what, const char *why);
/* All rows in turn, `repeat` times, after a launch each that is verified. */
bool bench_rows_run(struct bench_rows *b);
/* Medians, the middle half, what a second moves, against the first row. */
void bench_rows_print(const struct bench_rows *b);
void bench_rows_json(const struct bench_rows *b, struct json *j);
void bench_rows_free(struct bench_rows *b);

/* compile_cuda.c: code of the source for sm_CC, from malloc; NULL: why says
 * what is lacking. */
void *compile_cuda(const char *name, const char *source, int32_t cc, bool ptx,
                   const char *const *options, char *why, size_t room);

int bench_async(int argc, char **argv);
int bench_histogram(int argc, char **argv);

#endif
