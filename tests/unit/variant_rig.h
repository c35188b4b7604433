/* variant_rig.h -- one round of a variant: element, engine, shape, language
 *
 * `dev` is the device that the kernels are made for.
 */
#ifndef VARIANT_RIG_H
#define VARIANT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/compat.h"
#include "core/ref.h"

#include <fgs/fgs_sim.h>

static fgs_device *dev;

/* Halfway points of narrow formats, their limits, zeros of both signs,
 * subnormals, infinities, NaNs, and noise of all sizes. */
static inline void make_input(uint32_t *x, uint64_t count)
{
    static const uint32_t special[] = {
        0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff,
        0x00400000, 0x00200000, 0x00200001, 0x7f800000, 0xff800000, 0x7fc00000,
        0xffc12345, 0x7f800001, 0x7f7fffff, 0xff7fffff, 0x477fe000, 0x477ff000,
        0x477fefff, 0x43e00000, 0x43e80000, 0x47600000, 0x47680000, 0xbf000000,
        0x3e800000, 0xbe800000, 0x3f400000, 0x42fe0000, 0x42ff0000, 0xc2800000,
        0xc6800000, 0xce800000, 0x4e7fffff, 0xce7fffff, 0xcf000000, 0x33000000,
        0xb3000000, 0x32ffffff, 0xb2800000, 0x3a800000, 0xba800000, 0xbb000000,
    };
    uint64_t s = 0x9e3779b97f4a7c15u;

    for (uint64_t i = 0; i < count; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        x[i] = (uint32_t)(s >> 32);
        if (s & 1) /* near one: what narrow formats can tell apart */
            x[i] = (x[i] & 0x80ffffff) | (0x37u + (s >> 8) % 16) << 24;
        if (i < sizeof special / sizeof special[0])
            x[i] = special[i];
    }
}

struct job {
    fgs_element element;
    fgs_engine engine;
    fgs_saturate saturate;
    uint32_t bulk_store, tile_bytes, threads;
    uint64_t tiles;
    fgs_language language;
    uint64_t max_tries; /* of a wait; 0 = none                               */
};

static inline fgs_kernel *kernel(fgs_role role, const struct job *j)
{
    int producer = role == FGS_ROLE_PRODUCER;
    int consumer = role == FGS_ROLE_CONSUMER;
    fgs_kernel_desc d = {
        .size = sizeof d, .role = role, .element = j->element,
        .engine = consumer ? j->engine : FGS_ENGINE_AUTO,
        .saturate = producer ? j->saturate : FGS_SATURATE_REFUSE,
        .bulk_store = producer ? j->bulk_store : 0,
        .tile_bytes = j->tile_bytes, .threads = j->threads,
        .language = j->language,
    };
    fgs_kernel *k;
    fgs_error err;

    if (fgs_kernel_make(&k, dev, &d, &err) < 0)
        fail_msg("%s", err.text);
    return k;
}

static inline fgs_buffer *buffer(fgs_element e, uint64_t tiles,
                                 uint64_t tile_bytes)
{
    fgs_buffer_desc d = { .size = sizeof d, .element = e, .tiles = tiles,
                          .tile_bytes = tile_bytes };
    fgs_buffer *b;
    fgs_error err;

    if (fgs_buffer_make(&b, dev, &d, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

/* One round; the result of the wait, `mid` and `out` filled. */
static inline fgs_result hand_over(const struct job *j, const uint32_t *x,
                                   void *mid, void *out, fgs_error *err)
{
    uint64_t bytes = j->tiles * j->tile_bytes;
    uint64_t in_tile = (uint64_t)j->tile_bytes * 32 /
                       fgs_element_get_info(j->element)->bits;
    fgs_plan_desc d = {
        .size = sizeof d,
        .init = kernel(FGS_ROLE_INIT, j),
        .producer = kernel(FGS_ROLE_PRODUCER, j),
        .consumer = kernel(FGS_ROLE_CONSUMER, j),
        .in = buffer(FGS_ELEMENT_F32, j->tiles, in_tile),
        .mid = buffer(j->element, j->tiles, j->tile_bytes),
        .out = buffer(j->element, j->tiles, j->tile_bytes),
        .max_tries = j->max_tries,
    };
    fgs_plan *p = NULL;
    fgs_result r;

    if (fgs_buffer_write(d.in, 0, x, j->tiles * in_tile, err) < 0 ||
        fgs_plan_make(&p, dev, &d, err) < 0 ||
        fgs_plan_run(p, NULL, 1, err) < 0)
        fail_msg("%s", err->text);
    r = fgs_plan_wait(p, err);
    fgs_plan_free(p);
    assert_int_equal(fgs_buffer_read(d.mid, 0, mid, bytes, NULL), FGS_OK);
    assert_int_equal(fgs_buffer_read(d.out, 0, out, bytes, NULL), FGS_OK);
    fgs_buffer_free(d.in);
    fgs_buffer_free(d.mid);
    fgs_buffer_free(d.out);
    fgs_kernel_free(d.init);
    fgs_kernel_free(d.producer);
    fgs_kernel_free(d.consumer);
    return r;
}

static inline fgs_saturate saturation(fgs_element e)
{
    return fgs__element_format(e)->form == FGS__SINT ? FGS_SATURATE_UP
                                                     : FGS_SATURATE_REFUSE;
}

/* The software device of a compute capability, 0 = its own; the texts of a
 * folder before the library's. */
static inline void open_as(uint32_t cc, const char *ptx_dir)
{
    fgs_device_opts o = { .size = sizeof o, .provider = "sim",
                          .ptx_dir = ptx_dir ? ptx_dir : "" };
    fgs_sim_config c = { .size = sizeof c };
    fgs_error err;

    if (fgs_sim_config_get(&c, &err) < 0)
        fail_msg("%s", err.text);
    if (cc)
        c.cc = cc;
    if (fgs_sim_config_set(&c, &err) < 0 ||
        fgs_device_open(&dev, &o, &err) < 0)
        fail_msg("%s", err.text);
}

#endif
