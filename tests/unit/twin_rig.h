/* twin_rig.h -- a hand-over by the CUDA C++ twins of ptx/, for tests */
#ifndef TWIN_RIG_H
#define TWIN_RIG_H

#include "device_rig.h"
#include "element_model.h"
#include "table/record.h"

#include <stdatomic.h>

enum { TWIN_OPTIONS = 48, TWIN_ROOM = 40 };

struct twin_opts {
    const char *engine, *arch; /* "bulk", "compute_90"                       */
    const char *element;
    unsigned tile_bytes, threads, tiles;
    int saturate, store_bulk, weak, fault, leak, neg0;
    uint64_t bound_ns, max_tries, work_ns, fault_tile;
    uint32_t fault_chunk;
    bool aborted, alone; /* an abort before; no producer                     */
    /* Kernels of tests/device in place of the twins; the producer then fills
     * its own tiles, a consumer's block takes `stages` and more tiles. */
    const char *producer, *consumer;
    unsigned stages, per_block;
};

struct twin {
    struct fgs__ctl ctl;
    struct fgs__stat stat[3]; /* of the steps: fill, producer, consumer      */
    struct fgs__rec rec;
    unsigned elems, bytes; /* in all tiles                                   */
    float *in;
    unsigned char *mid, *out;
};

/* The tokens of a variant as options: a list that a NULL ends. */
static inline const char *const *twin_tokens(const struct twin_opts *o,
                                             const char *stem)
{
    static char text[TWIN_OPTIONS][TWIN_ROOM];
    static const char *list[TWIN_OPTIONS];
    struct model m = { .name = o->element };
    const fgs_element_info *e = model_info(&m);
    unsigned n = 0;

#define TOKEN(...) snprintf(text[n++], TWIN_ROOM, "-D" __VA_ARGS__)
    TOKEN("STEM=%s", stem);
    TOKEN("ELEMENT=%s", o->element);
    TOKEN("BITS=%u", e->bits);
    TOKEN("SENTINEL=0x%08xu", e->sentinel);
    TOKEN("FILL=0x%08xu", e->fill);
    TOKEN("TILE_BYTES=%u", o->tile_bytes);
    TOKEN("TILE_CHUNKS=%u", o->tile_bytes / 16);
    TOKEN("TILE_ELEMS=%u", o->tile_bytes * 8 / e->bits);
    TOKEN("THREADS=%u", o->threads);
    TOKEN("EAGER_TRIES=32");
    TOKEN("NAP_NS=4000");
    TOKEN("LANDING_NS=100000000");
    TOKEN("SATURATE=%d", o->saturate);
    TOKEN("WITH_BULK=%d", o->store_bulk);
    TOKEN("WITH_RELAY=0");
    TOKEN("WITH_SELF=0");
    TOKEN("WITH_LOOP=0");
    TOKEN("WITH_JOIN=0");
    TOKEN("WITH_TURNS=0");
    TOKEN("WITH_PRODUCT=0");
    TOKEN("SECOND_BYTES=0");
    TOKEN("SCALE_SHIFT=0");
    TOKEN("WITH_EARLY=1");
    TOKEN("WITH_SINK=%d", strstr(stem, "produce") == NULL);
    TOKEN("ROLE=%d", FGS_ROLE_CONSUMER);
    TOKEN("WITH_WEAK=%d", o->weak);
    TOKEN("WITH_FAULT=%d", o->fault);
    TOKEN("WITH_LEAK=%d", o->leak);
    TOKEN("WITH_NEG0=%d", o->neg0);
    TOKEN("GIVEUP_SENTINEL=4");
    TOKEN("ENGINE=%s", o->engine);
    TOKEN("STAGES=%u", o->stages ? o->stages : 1);
#undef TOKEN
    for (unsigned k = 0; k < n; k++)
        list[k] = text[k];
    list[n] = NULL;
    return list;
}

static inline CUmodule twin_load(const struct twin_opts *o, const char *stem,
                                 bool own)
{
    char path[60];

    snprintf(path, sizeof path, "%s/%s.cu", own ? "tests/device" : "ptx",
             stem);
    return load_source(path, o->arch, twin_tokens(o, stem));
}

/* Values of all kinds, none of which makes an integer's sentinel. */
static inline void twin_values(struct twin *t, uint32_t seed)
{
    static const uint32_t special[] = {
        0x80000000, 0x00000000, 0x80000001, 0x7f800000, 0xff800000,
        0x7fc00000, 0xffc00123, 0x7f7fffff, 0xff7fffff, 0x3f800000,
        0xbf000000, 0x33000000, 0xb3000000, 0x00800000, 0x47000000
    };

    for (unsigned k = 0; k < t->elems; k++) {
        uint32_t u = special[k % 15];
        float f;

        seed = seed * 1664525 + 1013904223;
        if (seed >> 28 > 2) { /* most are of a size that codes have */
            f = (float)((int)(seed >> 4 & 0xffff) - 0x8000) / 128;
            memcpy(&u, &f, sizeof u);
        }
        memcpy(t->in + k, &u, sizeof u);
    }
}

static inline void twin_make(struct twin *t, const struct twin_opts *o)
{
    struct model m = { .name = o->element };
    const fgs_element_info *e = model_info(&m);

    memset(t, 0, sizeof *t);
    t->bytes = o->tiles * o->tile_bytes;
    t->elems = t->bytes * 8 / e->bits;
    t->in = calloc(t->elems, sizeof *t->in);
    t->mid = calloc(1, t->bytes);
    t->out = calloc(1, t->bytes);
    assert_true(t->in && t->mid && t->out);
    twin_values(t, o->tile_bytes + o->threads);
}

static inline void twin_free(struct twin *t)
{
    free(t->in);
    free(t->mid);
    free(t->out);
}

static inline uint32_t twin_element(const unsigned char *from, unsigned bits,
                                    unsigned k)
{
    uint32_t v = 0;

    if (bits == 4)
        return from[k / 2] >> k % 2 * 4 & 15;
    memcpy(&v, from + k * bits / 8, bits / 8);
    return v;
}

/* Until all is launched: the device has no work before, so that producer and
 * consumer run at once however slow this thread is. */
static inline void twin_hold(void *go)
{
    while (!atomic_load((atomic_int *)go))
        usleep(100);
}

/* The whole run: fill, producer, consumer.  An abort is no failure here. */
static inline void twin_run(struct twin *t, const struct twin_opts *o)
{
    struct { const char *stem; unsigned shared; bool pdl, own; } step[] = {
        { "sentinel_fill", 0, false, false },
        { "scale_produce", o->store_bulk ? o->tile_bytes : 0, false, false },
        { NULL, o->tile_bytes * (o->stages ? o->stages : 1),
          cc_of(o->arch) >= 90, o->consumer != NULL },
    };
    char consumer[40];
    struct fgs__args a = {
        .p_tiles = o->tiles, .p_bound_ns = o->bound_ns,
        .p_max_tries = o->max_tries, .p_work_ns = o->work_ns,
        .p_fault_tile = o->fault_tile, .p_fault_chunk = o->fault_chunk,
        .p_round = 1
    };
    CUdeviceptr in, mid, out, ctl, stat, rec;
    void *host, *params[] = {
#define PARAM(name, type, meaning) &a.name,
#include "table/param.def"
#undef PARAM
    };
    CUmodule mod[3];
    uint32_t one = 1;
    atomic_int go = 0;

    snprintf(consumer, sizeof consumer, "%s_consume", o->engine);
    step[2].stem = o->consumer ? o->consumer : consumer;
    if (o->producer) {
        step[1].stem = o->producer;
        step[1].own = true;
    }
    for (int k = 0; k < 3; k++)
        mod[k] = twin_load(o, step[k].stem, step[k].own);
    OK(cuMemAlloc(&in, 4ull * t->elems));
    OK(cuMemAlloc(&mid, t->bytes));
    OK(cuMemAlloc(&out, t->bytes));
    OK(cuMemAlloc(&ctl, sizeof t->ctl));
    OK(cuMemAlloc(&stat, sizeof t->stat));
    OK(cuMemHostAlloc(&host, sizeof t->rec, 0));
    OK(cuMemHostGetDevicePointer(&rec, host, 0));
    memset(host, 0, sizeof t->rec);
    a.p_in = in;
    a.p_mid = mid;
    a.p_out = out;
    a.p_ctl = ctl;
    a.p_rec = rec;
    OK(cuMemcpyHtoD(in, t->in, 4ull * t->elems));
    OK(cuMemsetD8(mid, 0x11, t->bytes));
    OK(cuMemsetD8(out, 0x22, t->bytes));
    OK(cuMemsetD8(ctl, 0, sizeof t->ctl));
    OK(cuMemsetD8(stat, 0, sizeof t->stat));
    if (o->aborted)
        OK(cuMemcpyHtoD(ctl, &one, sizeof one));
    OK(cuLaunchHostFunc(NULL, twin_hold, &go));
    for (int k = 0; k < 3; k++) {
        char entry[60];

        unsigned blocks =
            k == 2 && o->per_block ? o->tiles / o->per_block : o->tiles;

        if (k == (o->producer ? 0 : 1) && (o->producer || o->alone))
            continue;
        snprintf(entry, sizeof entry, "fgs_%s", step[k].stem);
        a.p_stat = stat + (unsigned)k * sizeof *t->stat;
        launch_on(NULL, mod[k], entry, blocks, o->threads, step[k].shared,
                  step[k].pdl, params);
    }
    atomic_store(&go, 1);
    finish();
    OK(cuMemcpyDtoH(t->mid, mid, t->bytes));
    OK(cuMemcpyDtoH(t->out, out, t->bytes));
    OK(cuMemcpyDtoH(&t->ctl, ctl, sizeof t->ctl));
    OK(cuMemcpyDtoH(t->stat, stat, sizeof t->stat));
    memcpy(&t->rec, host, sizeof t->rec);
    OK(cuMemFreeHost(host));
    OK(cuMemFree(in));
    OK(cuMemFree(mid));
    OK(cuMemFree(out));
    OK(cuMemFree(ctl));
    OK(cuMemFree(stat));
    for (int k = 0; k < 3; k++)
        OK(cuModuleUnload(mod[k]));
}

#endif
