/* bench_cores.c -- fgs bench: two host threads and one, by the clock
 *
 * What two cores do for blocks that know nothing of each other is seen only
 * where two cores are there: so one and two threads of plain C are measured in
 * turn with the two devices, in short pieces.  Medians, since the best of two
 * cores is rarer on a machine that others use than the best of one.
 */
#include "bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 1 << 17, CHAINS = 8, PIECES = 5, KINDS = 4 };
enum { COPY_BYTES = BENCH_BYTES / 2 };

struct work {
    uint64_t rounds, value;
    char *from, *to; /* NULL = arithmetic */
};

/* Chains that fill a core's multiplier: two threads of one core, which a
 * machine may call two, take twice as long. */
static void spin(struct work *w)
{
    uint64_t x[CHAINS];

    for (int k = 0; k < CHAINS; k++)
        x[k] = w->value + (uint64_t)k;
    for (uint64_t n = w->rounds * STEPS; n; n--)
        for (int k = 0; k < CHAINS; k++)
            x[k] = x[k] * 6364136223846793005u + 1442695040888963407u;
    for (int k = 0; k < CHAINS; k++)
        w->value ^= x[k];
}

static void copy(struct work *w)
{
    for (uint64_t n = w->rounds; n; n--) {
        memcpy(w->to, w->from, COPY_BYTES);
        w->from[n % COPY_BYTES]++; /* the next is no repetition */
    }
}

static void *work(void *cookie)
{
    struct work *w = cookie;

    if (w->from)
        copy(w);
    else
        spin(w);
    return NULL;
}

static bool work_one(void *cookie)
{
    work(cookie);
    return true;
}

static bool work_two(void *cookie)
{
    struct work *w = cookie, other = *w;
    pthread_t t;

    if (w->from) {
        other.from += COPY_BYTES;
        other.to += COPY_BYTES;
    }
    if (pthread_create(&t, NULL, work, &other))
        return false;
    work(w);
    return !pthread_join(t, NULL);
}

/* Seconds of a round. */
static bool time_work(const struct bench_asked *once, uint32_t threads,
                      struct work *w, double *wall)
{
    struct bench_time t;

    if (!bench_time(once, threads == 1 ? work_one : work_two, w, &t))
        return false;
    *wall = t.wall / (double)w->rounds / threads;
    return true;
}

/* Seconds of an instruction. */
static bool time_device(const struct bench_asked *once, uint32_t threads,
                        const struct bench_kernel *k, double *wall,
                        struct bench_device *d)
{
    struct bench_time t;
    double count;
    bool good = bench_open(d, threads, BENCH_BYTES) &&
                bench_measure(once, d, k, &t, &count);

    bench_close(d);
    if (good)
        *wall = t.wall / count;
    return good;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_size);
    return v[n / 2];
}

/* v: KINDS times n. */
static bool measure(const struct bench_asked *once,
                    const struct bench_kernel *k, struct work *w, double *v,
                    size_t n, struct bench_device *d)
{
    if (!time_work(once, 1, w, v))
        return false;
    w->rounds = (uint64_t)((double)once->ms / 1000 / v[0]) + 1;
    for (size_t i = 0; i < n; i++)
        if (!time_device(once, 1, k, &v[i], d) ||
            !time_work(once, 1, w, &v[n + i]) ||
            !time_device(once, 2, k, &v[2 * n + i], d) ||
            !time_work(once, 2, w, &v[3 * n + i]))
            return false;
    return true;
}

bool bench_cores_row(const struct bench_asked *a, const char *kernel,
                     double *device, double *host, struct bench_device *d)
{
    struct bench_asked once = {a->ms / PIECES + 1, 1, NULL, false};
    const struct bench_kernel *k = bench_kernels;
    size_t n = (size_t)a->repeat * PIECES;
    double *v = calloc(n * KINDS, sizeof *v);
    char *bytes = NULL;
    struct work w = {1, 1, NULL, NULL};
    bool good = v;

    while (strcmp(k->name, kernel))
        k++;
    if (good && k->bound == BOUND_COPY) {
        bytes = malloc(4 * (size_t)COPY_BYTES);
        good = bytes;
    }
    if (good && bytes) {
        memset(bytes, 1, 4 * (size_t)COPY_BYTES);
        w.from = bytes;
        w.to = bytes + 2 * (size_t)COPY_BYTES;
    }
    if (good && measure(&once, k, &w, v, n, d)) {
        *device = median(v, n) / median(v + 2 * n, n);
        *host = median(v + n, n) / median(v + 3 * n, n);
    } else {
        good = false;
    }
    free(bytes);
    free(v);
    return good;
}
