/* bench_bound.c -- what plain C reaches on this CPU, one thread
 *
 * The lane loops do what a handler has to: 32 lanes from memory, one
 * operation, 32 lanes to memory; without a dispatch and without NaN rules.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 32, CHAINS = 16 };

#if defined(__x86_64__)
#define AVX2   __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))
#endif
#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define FAST
#else
#define FAST __attribute__((optimize("O3")))
#endif

struct lanes {
    _Alignas(64) float f[8][LANES];
    _Alignas(64) uint32_t u[8][LANES];
    uint64_t n;
    _Alignas(64) float chain[CHAINS][16];
};

/* Keep what is in memory as it is. */
#define SEEN(p) __asm__ volatile("" : : "r"(p) : "memory")

#define EACH(d, x)                                                             \
    for (k = 0; k < LANES; k++)                                                \
        (d)[k] = (x);                                                          \
    SEEN(l);

#define F32_LOOP                                                               \
    {                                                                          \
        uint64_t i;                                                            \
        int k;                                                                 \
        for (i = 0; i < l->n; i++) {                                           \
            EACH(l->f[3], __builtin_fmaf(l->f[3][k], l->f[1][k], l->f[2][k]))  \
            EACH(l->f[4], l->f[4][k] + l->f[2][k])                             \
            EACH(l->f[5], __builtin_fmaf(l->f[5][k], l->f[1][k], l->f[2][k]))  \
            EACH(l->f[6], l->f[6][k] * l->f[1][k])                             \
        }                                                                      \
    }
#define INT_LOOP                                                               \
    {                                                                          \
        uint64_t i;                                                            \
        int k;                                                                 \
        for (i = 0; i < l->n; i++) {                                           \
            EACH(l->u[3], l->u[3][k] + l->u[1][k])                             \
            EACH(l->u[4], l->u[4][k] ^ l->u[3][k])                             \
            EACH(l->u[5], l->u[4][k] << 3)                                     \
            EACH(l->u[6], l->u[6][k] - l->u[5][k])                             \
        }                                                                      \
    }
/* Independent chains in registers. */
#define PEAK_LOOP(W)                                                           \
    {                                                                          \
        typedef float vec __attribute__((vector_size(4 * (W))));               \
        vec a[12], x, y;                                                       \
        uint64_t i;                                                            \
        int c;                                                                 \
        memcpy(&x, l->f[1], sizeof x);                                         \
        memcpy(&y, l->f[2], sizeof y);                                         \
        for (c = 0; c < 12; c++)                                               \
            a[c] = x;                                                          \
        for (i = 0; i < l->n; i++) {                                           \
            ROUND12(a, x, y)                                                   \
        }                                                                      \
        for (c = 0; c < 12; c++)                                               \
            memcpy(l->chain[c], &a[c], sizeof x);                              \
    }
#define ROUND12(a, x, y)                                                       \
    CHAIN(a[0], x, y) CHAIN(a[1], x, y) CHAIN(a[2], x, y) CHAIN(a[3], x, y)    \
    CHAIN(a[4], x, y) CHAIN(a[5], x, y) CHAIN(a[6], x, y) CHAIN(a[7], x, y)    \
    CHAIN(a[8], x, y) CHAIN(a[9], x, y) CHAIN(a[10], x, y) CHAIN(a[11], x, y)
#ifdef __x86_64__
#define CHAIN(a, x, y)                                                         \
    __asm__("vfmadd213ps %2, %1, %0" : "+v"(a) : "v"(x), "v"(y));
#else
#define CHAIN(a, x, y) a = a * x + y;
#endif

FAST static void f32_plain(struct lanes *l) F32_LOOP
FAST static void int_plain(struct lanes *l) INT_LOOP
#ifdef __x86_64__
FAST AVX2 static void f32_avx2(struct lanes *l) F32_LOOP
FAST AVX2 static void int_avx2(struct lanes *l) INT_LOOP
AVX2 static void peak_avx2(struct lanes *l) PEAK_LOOP(8)
AVX512 static void peak_avx512(struct lanes *l) PEAK_LOOP(16)
#else
static void peak_plain(struct lanes *l) PEAK_LOOP(4)
#endif

struct loop {
    void (*run)(struct lanes *);
    struct lanes *l;
};

static bool once(void *cookie)
{
    struct loop *p = cookie;

    p->run(p->l);
    return true;
}

/* Lane operations a second, `ops` in a round. */
static double rate(const struct bench_asked *a, void (*run)(struct lanes *),
                   struct lanes *l, double ops)
{
    struct loop p = {run, l};
    struct bench_time t;

    for (l->n = 1000; ; l->n *= 2) {
        double began = bench_cpu_seconds();

        run(l);
        if ((bench_cpu_seconds() - began) * 8000 > (double)a->ms)
            break;
    }
    l->n *= 4;
    bench_time(a, once, &p, &t);
    return ops * (double)l->n / t.cpu;
}

struct copy {
    char *to, *from;
};

static bool copy_once(void *cookie)
{
    struct copy *c = cookie;

    memcpy(c->to, c->from, BENCH_BYTES);
    SEEN(c->to);
    return true;
}

static double copy_rate(const struct bench_asked *a)
{
    struct copy c = {malloc(BENCH_BYTES), malloc(BENCH_BYTES)};
    struct bench_time t = {0, 0};

    if (c.to && c.from) {
        memset(c.to, 1, BENCH_BYTES);
        memset(c.from, 2, BENCH_BYTES);
        copy_once(&c);
        bench_time(a, copy_once, &c, &t);
    }
    free(c.to);
    free(c.from);
    return t.cpu > 0 ? 2.0 * BENCH_BYTES / t.cpu : 0;
}

void bench_bounds(const struct bench_asked *a, struct bench_bounds *b)
{
    static struct lanes l;
    int c, k;

    for (c = 0; c < 8; c++)
        for (k = 0; k < LANES; k++) {
            l.f[c][k] = c == 1 ? 0.5f : (float)k;
            l.u[c][k] = (uint32_t)(c * 77 + k);
        }
    b->copy = copy_rate(a);
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        bool wide = __builtin_cpu_supports("avx512f");

        b->f32 = rate(a, f32_avx2, &l, 4.0 * LANES);
        b->integer = rate(a, int_avx2, &l, 4.0 * LANES);
        b->peak = wide ? rate(a, peak_avx512, &l, 12.0 * 16)
                       : rate(a, peak_avx2, &l, 12.0 * 8);
        b->vectors = wide ? "AVX-512" : "AVX2";
        return;
    }
    b->peak = 0;
#else
    b->peak = rate(a, peak_plain, &l, 12.0 * 4);
#endif
    b->f32 = rate(a, f32_plain, &l, 4.0 * LANES);
    b->integer = rate(a, int_plain, &l, 4.0 * LANES);
    b->vectors = "the portable ones";
}
