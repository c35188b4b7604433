/* bench_rows.c -- kernels measured in turn on one device */
#include "bench_rows.h"

#include <stdlib.h>
#include <string.h>

static struct bench_row *next_row(struct bench_rows *b, const char *name,
                                  const char *what)
{
    struct bench_row *r = &b->row[b->count++];

    memset(r, 0, sizeof *r);
    r->name = name;
    r->what = what;
    return r;
}

void bench_rows_stem(struct bench_rows *b, const char *name, const char *what,
                     const fgs_ptx_desc *desc)
{
    struct bench_row *r = next_row(b, name, what);

    r->there = pipe_load(&b->d, desc, &r->k);
    if (!r->there)
        snprintf(r->why, sizeof r->why, "%.590s", b->d.why);
}

void bench_rows_cuda(struct bench_rows *b, const char *name, const char *what,
                     const char *source, const char *entry,
                     const char *const *options)
{
    struct bench_row *r = next_row(b, name, what);
    bool sim = !strcmp(b->d.provider, "sim");
    void *code = compile_cuda(name, source, b->d.info.cc, sim, options, r->why,
                              sizeof r->why);

    r->there = code && pipe_load_image(&b->d, code, entry, &r->k);
    if (code && !r->there)
        snprintf(r->why, sizeof r->why, "%.590s", b->d.why);
    free(code);
}

void bench_rows_other(struct bench_rows *b, const char *name,
                      const char *what)
{
    next_row(b, name, what)->there = true;
}

void bench_rows_absent(struct bench_rows *b, const char *name,
                       const char *what, const char *why)
{
    struct bench_row *r = next_row(b, name, what);

    snprintf(r->why, sizeof r->why, "%s", why);
}

static bool launch(struct bench_rows *b, struct bench_row *r,
                   struct pipe_clock *c, double *ns)
{
    return pipe_clock_start(&b->d, c) && b->launch(b, r) &&
           pipe_clock_stop(&b->d, c) && pipe_wait(&b->d) &&
           pipe_clock_read(&b->d, c, ns);
}

/* A launch each, whose result is looked at. */
static bool warm(struct bench_rows *b, struct pipe_clock *c)
{
    unsigned i;
    double ns;

    for (i = 0; i < b->count; i++) {
        struct bench_row *r = &b->row[i];

        if (!r->there)
            continue;
        r->ns = calloc(b->repeat, sizeof *r->ns);
        if (!r->ns) {
            snprintf(b->d.why, sizeof b->d.why, "no memory");
            return false;
        }
        if (!launch(b, r, c, &ns))
            return false;
        r->there = b->verify(b, r);
    }
    return true;
}

bool bench_rows_run(struct bench_rows *b)
{
    struct pipe_clock c;
    uint64_t k;
    unsigned i;
    bool good = pipe_clock_make(&b->d, &c) && warm(b, &c);

    for (k = 0; good && k < b->repeat; k++)
        for (i = 0; good && i < b->count; i++)
            if (b->row[i].there)
                good = launch(b, &b->row[i], &c, &b->row[i].ns[k]);
    pipe_clock_free(&b->d, &c);
    return good;
}

/* ------------------------------------------------------------- figures -- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct figures {
    double median, low, high;
};

static struct figures figures_of(const struct bench_rows *b,
                                 const struct bench_row *r)
{
    size_t n = b->repeat;

    qsort(r->ns, n, sizeof *r->ns, by_size);
    return (struct figures){r->ns[n / 2], r->ns[n / 4],
                            r->ns[n - 1 - n / 4]};
}

void bench_rows_print(const struct bench_rows *b)
{
    struct figures first = {0, 0, 0}, f;
    unsigned i;

    printf("%-14s %12s %25s %9s %8s  %s\n", "kernel", "median us",
           "middle half", "GB/s", "speed", "what");
    for (i = 0; i < b->count; i++) {
        const struct bench_row *r = &b->row[i];

        if (!r->there) {
            printf("%-14s absent: %s\n", r->name, r->why);
            continue;
        }
        f = figures_of(b, r);
        if (!first.median)
            first = f;
        printf("%-14s %12.3f %12.3f-%12.3f %9.1f %8.3f  %s\n", r->name,
               f.median / 1e3, f.low / 1e3, f.high / 1e3,
               (double)b->bytes / f.median, first.median / f.median, r->what);
    }
}

void bench_rows_json(const struct bench_rows *b, struct json *j)
{
    unsigned i;

    json_open(j, "kernels", '[');
    for (i = 0; i < b->count; i++) {
        const struct bench_row *r = &b->row[i];
        struct figures f;

        json_open(j, NULL, '{');
        json_text(j, "name", r->name);
        json_text(j, "what", r->what);
        json_bool(j, "measured", r->there);
        if (r->there) {
            f = figures_of(b, r);
            json_number(j, "median_ns", (uint64_t)f.median);
            json_number(j, "quarter_ns", (uint64_t)f.low);
            json_number(j, "three_quarters_ns", (uint64_t)f.high);
        } else {
            json_text(j, "why", r->why);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}

void bench_rows_free(struct bench_rows *b)
{
    unsigned i;

    for (i = 0; i < b->count; i++) {
        pipe_unload(&b->d, &b->row[i].k);
        free(b->row[i].ns);
    }
}
