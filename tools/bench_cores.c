/* bench_cores.c -- fgs bench: two host threads and one, by the clock
 *
 * What two cores do for blocks that know nothing of each other is seen only
 * where two cores are there: so two threads of plain C are measured between
 * the two devices, in the same run.
 */
#include "bench.h"

#include <pthread.h>
#include <string.h>

enum { STEPS = 1 << 17, CHAINS = 8 };

struct spin {
    uint64_t rounds, value;
};

/* Chains that fill a core's multiplier: two threads of one core, which a
 * machine may call two, take twice as long. */
static void *spin(void *cookie)
{
    struct spin *s = cookie;
    uint64_t x[CHAINS];

    for (int k = 0; k < CHAINS; k++)
        x[k] = s->value + (uint64_t)k;
    for (uint64_t n = s->rounds * STEPS; n; n--)
        for (int k = 0; k < CHAINS; k++)
            x[k] = x[k] * 6364136223846793005u + 1442695040888963407u;
    for (int k = 0; k < CHAINS; k++)
        s->value ^= x[k];
    return NULL;
}

static bool spin_one(void *cookie)
{
    spin(cookie);
    return true;
}

static bool spin_two(void *cookie)
{
    struct spin other = *(struct spin *)cookie;
    pthread_t t;

    if (pthread_create(&t, NULL, spin, &other))
        return false;
    spin(cookie);
    return !pthread_join(t, NULL);
}

static bool time_spins(const struct bench_asked *a, double wall[2])
{
    struct bench_asked once = {a->ms, 1, NULL, false};
    struct spin s = {1, 1};
    struct bench_time t;

    if (!bench_time(&once, spin_one, &s, &t))
        return false;
    s.rounds = (uint64_t)((double)a->ms / 1000 / t.wall) + 1;
    if (!bench_time(&once, spin_one, &s, &t))
        return false;
    wall[0] = t.wall / (double)s.rounds;
    if (!bench_time(&once, spin_two, &s, &t))
        return false;
    wall[1] = t.wall / (double)s.rounds / 2;
    return true;
}

/* Seconds of an instruction. */
static bool time_device(const struct bench_asked *a, uint32_t threads,
                        const struct bench_kernel *k, double *wall,
                        struct bench_device *d)
{
    struct bench_asked once = {a->ms, 1, NULL, false};
    struct bench_time t;
    double count;
    bool good = bench_open(d, threads, 1 << 20) &&
                bench_measure(&once, d, k, &t, &count);

    bench_close(d);
    if (good)
        *wall = t.wall / count;
    return good;
}

static void keep_least(double *best, double v)
{
    if (v < *best)
        *best = v;
}

bool bench_cores_row(const struct bench_asked *a, const char *kernel,
                     double *device, double *host, struct bench_device *d)
{
    double best[4] = {1e9, 1e9, 1e9, 1e9}, spins[2], v;
    const struct bench_kernel *k = bench_kernels;

    while (strcmp(k->name, kernel))
        k++;
    for (uint64_t n = 0; n < a->repeat; n++)
        for (uint32_t threads = 1; threads <= 2; threads++) {
            if (!time_device(a, threads, k, &v, d) || !time_spins(a, spins))
                return false;
            keep_least(&best[threads - 1], v);
            keep_least(&best[2], spins[0]);
            keep_least(&best[3], spins[1]);
        }
    *device = best[0] / best[1];
    *host = best[2] / best[3];
    return true;
}
