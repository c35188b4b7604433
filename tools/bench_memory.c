/* bench_memory.c -- fgs bench: what resident blocks and device memory take */
#include "bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------ an allocator that counts */

/* Two threads of the device may be in it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t now, most;

enum { HEAD = 16 }; /* before each piece: its size */

static void *count_alloc(void *user, size_t bytes)
{
    char *p = malloc(bytes + HEAD);

    (void)user;
    if (!p)
        return NULL;
    memcpy(p, &bytes, sizeof bytes);
    pthread_mutex_lock(&lock);
    now += bytes;
    if (now > most)
        most = now;
    pthread_mutex_unlock(&lock);
    return p + HEAD;
}

static void count_release(void *user, void *at)
{
    char *p = at;
    size_t bytes;

    (void)user;
    if (!p)
        return;
    p -= HEAD;
    memcpy(&bytes, p, sizeof bytes);
    pthread_mutex_lock(&lock);
    now -= bytes;
    pthread_mutex_unlock(&lock);
    free(p);
}

static size_t taken(void)
{
    size_t bytes;

    pthread_mutex_lock(&lock);
    bytes = now;
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* From here on; what is taken now.  An idle device gives memory back a little
 * after its last kernel: until nothing has changed for a while. */
static size_t mark(void)
{
    size_t at;
    int calm;

    for (calm = 0, at = taken(); calm < 20; calm++) {
        usleep(2000);
        if (taken() != at)
            calm = 0;
        at = taken();
    }
    pthread_mutex_lock(&lock);
    at = most = now;
    pthread_mutex_unlock(&lock);
    return at;
}

static size_t over(size_t from)
{
    size_t bytes;

    pthread_mutex_lock(&lock);
    bytes = most - from;
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* ------------------------------------------------------------------ blocks */

/* While a kernel has as many blocks as the device holds. */
struct memory {
    double least, most;       /* times registers and shared memory modelled  */
    const char *most_name;    /* of the kernel                               */
    size_t most_bytes;        /* that it took                                */
    size_t lazy, committed;   /* bytes of device memory that were allocated,
                                 and of the host that this took              */
};

/* Long enough that every block has begun before one ends. */
enum { INSTRUCTIONS = 20000 };

static bool one_kernel(struct bench_device *d, const struct bench_kernel *k,
                       struct memory *out)
{
    char *text = bench_kernel_text(k);
    uint64_t blocks = 0, bytes = 1;
    size_t from = 0;
    double times;
    bool ok;

    ok = text && bench_load(d, text, "k") &&
         bench_model(d, k->threads, &blocks, &bytes) && bench_wait(d);
    if (ok) {
        from = mark();
        ok = bench_launch(d, (unsigned)blocks, k->threads,
                          (uint32_t)(INSTRUCTIONS /
                                     bench_kernel_instructions(k))) &&
             bench_wait(d);
    }
    free(text);
    bench_unload(d);
    if (!ok)
        return false;
    times = (double)over(from) / (double)(blocks * bytes);
    if (!out->most || times < out->least)
        out->least = times;
    if (times > out->most) {
        out->most = times;
        out->most_name = k->name;
        out->most_bytes = over(from);
    }
    return true;
}

/* ----------------------------------------------------------- device memory */

static size_t resident(void)
{
    unsigned long pages = 0, size = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f && fscanf(f, "%lu %lu", &size, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static bool look(void *cookie)
{
    *(size_t *)cookie = resident();
    return true;
}

enum { LAZY_MB = 4096 };

static bool measure(struct bench_device *d, struct memory *out)
{
    static const fgs_allocator counting = {count_alloc, count_release, NULL};
    const struct bench_kernel *k;
    size_t before, behind = 0;
    bool ok = bench_open_with(d, 1, BENCH_BYTES, &counting);

    memset(out, 0, sizeof *out);
    for (k = bench_kernels; ok && k->name; k++)
        ok = one_kernel(d, k, out);
    if (ok) {
        out->lazy = (size_t)LAZY_MB << 20;
        before = resident();
        ok = bench_touch_nothing(d, out->lazy, look, &behind);
        out->committed = behind > before ? behind - before : 0;
    }
    bench_close(d);
    return ok;
}

bool bench_memory_row(const struct bench_asked *a, struct json *j)
{
    struct bench_device d;
    struct memory m;

    if (!measure(&d, &m)) {
        failure("bench", "memory: %s: error %d: %s", d.what, d.code, d.log);
        return false;
    }
    if (a->json) {
        json_number(j, "memory_most_percent", (uint64_t)(m.most * 100));
        json_number(j, "memory_least_percent", (uint64_t)(m.least * 100));
        json_number(j, "memory_most_bytes", m.most_bytes);
        json_number(j, "device_allocated_bytes", m.lazy);
        json_number(j, "device_committed_bytes", m.committed);
        return true;
    }
    printf("memory     %.2f to %.2f x the registers and shared memory of all "
           "resident blocks\n           (%s: %.1f MB); %.0f MB of device "
           "memory that nobody touches: %.1f MB\n", m.least, m.most,
           m.most_name, m.most_bytes / 1e6, m.lazy / 1e6, m.committed / 1e6);
    return true;
}
