/* test_tensor.c -- tensor copies on the software device and on a GPU
 *
 * Random maps and coordinates; what both drivers say of the map, the shared
 * memory that a load leaves, the global memory that a store or reduction
 * leaves, and whether the barrier counts the bytes, must be the same.
 * FGS_GEN_PROVIDER names the second device, FGS_GEN_SHORT=1 takes fewer cases.
 */
#include "../gen/device.h"
#include "base/compat.h"
#include "tensor_case.h"
#include "tensor_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { CASES = 300 };

typedef CUresult (*tiled_fn)(CUtensorMap *, unsigned, cuuint32_t, void *,
                             const cuuint64_t *, const cuuint64_t *,
                             const cuuint32_t *, const cuuint32_t *, unsigned,
                             unsigned, unsigned, unsigned);
typedef CUresult (*column_fn)(CUtensorMap *, unsigned, cuuint32_t, void *,
                              const cuuint64_t *, const cuuint64_t *,
                              const int *, const int *, cuuint32_t, cuuint32_t,
                              const cuuint32_t *, unsigned, unsigned, unsigned,
                              unsigned);

static struct side {
    struct gen_device d;
    tiled_fn tiled;
    column_fn column;
    CUdeviceptr tensor, out;
    unsigned char *got; /* SHARED + 16 bytes, then GLOBAL */
} side[2];

static unsigned char data[GLOBAL];

static int open_both(void **state)
{
    const char *second = getenv("FGS_GEN_PROVIDER");
    fgs_error err;
    void *fn;

    (void)state;
    setenv("FGS_SIM_CC", "90", 1);
    for (int k = 0; k < 2; k++) {
        struct side *s = &side[k];
        const char *name = k ? second ? second : "cuda" : "sim";

        if (gen_open(&s->d, name, &err) < 0) {
            print_message("%s\n", err.text);
            exit(77);
        }
        fn = fgs_device_get_proc(s->d.dev, "cuTensorMapEncodeTiled");
        memcpy(&s->tiled, &fn, sizeof fn);
        fn = fgs_device_get_proc(s->d.dev, "cuTensorMapEncodeIm2col");
        memcpy(&s->column, &fn, sizeof fn);
        s->got = malloc(SHARED + 16 + GLOBAL);
        assert_non_null(s->got);
        if (!s->tiled || !s->column) {
            print_message("%s: no tensor maps\n", name);
            exit(77);
        }
        assert_int_equal(s->d.push(s->d.ctx), 0);
        assert_int_equal(s->d.alloc(&s->tensor, GLOBAL), 0);
        assert_int_equal(s->d.alloc(&s->out, SHARED + 256), 0);
    }
    return 0;
}

static int close_both(void **state)
{
    CUcontext was;

    (void)state;
    for (int k = 1; k >= 0; k--) {
        side[k].d.dealloc(side[k].tensor);
        side[k].d.dealloc(side[k].out);
        side[k].d.pop(&was);
        free(side[k].got);
        gen_close(&side[k].d);
    }
    return 0;
}

/* --------------------------------------------------------------------- run */

static CUresult encode(const struct side *s, const struct test *t,
                       CUtensorMap *map)
{
    void *at = (void *)(uintptr_t)s->tensor;

    memset(map, 0, sizeof *map);
    return t->column
        ? s->column(map, t->type, t->rank, at, t->dim, t->stride, t->lower,
                    t->upper, t->channels, t->pixels, t->step, t->interleave,
                    t->swizzle, 0, t->fill)
        : s->tiled(map, t->type, t->rank, at, t->dim, t->stride, t->box,
                   t->step, t->interleave, t->swizzle, 0, t->fill);
}

static void tell(const struct test *t, size_t at, const char *why)
{
    print_message("%s%s: type %u rank %u swizzle %u fill %u interleave %u, at "
                  "%zu sim %02x gpu %02x\n  ", why, t->op ? t->op : "",
                  t->type, t->rank, t->swizzle, t->fill, t->interleave, at,
                  side[0].got[at], side[1].got[at]);
    for (unsigned d = 0; d < t->rank && d < 5; d++)
        print_message("dim %llu stride %llu box %u step %u coord %d; ",
                      t->dim[d], t->stride[d], t->box[d], t->step[d],
                      t->coord[d]);
    print_message("\n");
}

static void run(struct side *s, const char *text, CUtensorMap *map,
                const struct test *t)
{
    CUresult r;
    CUdeviceptr src = s->tensor + GLOBAL - SHARED;
    void *params[] = { map, &s->out, &src };
    CUcontext was;
    CUfunction f;
    CUmodule mod;

    assert_int_equal(s->d.push(s->d.ctx), 0);
    assert_int_equal(s->d.to_device(s->tensor, data, GLOBAL), 0);
    assert_int_equal(s->d.load(&mod, text, 0, NULL, NULL), 0);
    assert_int_equal(s->d.entry(&f, mod, "k"), 0);
    assert_int_equal(s->d.launch(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
                     0);
    r = s->d.wait();
    if (r)
        tell(t, 0, s == side ? "the software device faults "
                             : "the GPU faults ");
    assert_int_equal(r, 0);
    assert_int_equal(s->d.to_host(s->got, s->out, SHARED + 16), 0);
    assert_int_equal(s->d.to_host(s->got + SHARED + 16, s->tensor, GLOBAL), 0);
    s->d.unload(mod);
    s->d.pop(&was);
}

/* The first difference, or SIZE_MAX; the barrier's word is at 0. */
static size_t differ(void)
{
    for (size_t n = 0; n < SHARED + 16 + GLOBAL; n++)
        if (side[0].got[n] != side[1].got[n] && (n < 4 || n >= 16))
            return n;
    return SIZE_MAX;
}

/* 1 = they differ.  With `other` the kernel gets its map and replaces. */
static unsigned compare_from(const struct test *t, const struct test *other)
{
    FGS__ALIGN(64) CUtensorMap map[2];
    char copy[6000] = "", text[9000];
    CUresult r[2];
    size_t at;

    for (int k = 0; k < 2; k++)
        r[k] = encode(&side[k], other ? other : t, &map[k]);
    if (r[0] != r[1]) {
        tell(t, 0, "the drivers differ about a map ");
        print_message("  sim %d gpu %d\n", (int)r[0], (int)r[1]);
        return 1;
    }
    if (r[0])
        return 0;
    if (other)
        write_replace(copy, sizeof copy, t, draw(2));
    write_copy(copy + strlen(copy), 400, t);
    snprintf(text, sizeof text, text_form,
             other ? "3\n.target sm_90a" : "0\n.target sm_90", copy);
    for (int k = 0; k < 2; k++)
        run(&side[k], text, &map[k], t);
    assert_int_equal(side[0].got[0], 1); /* the barrier's phase is over */
    at = differ();
    if (at != SIZE_MAX)
        tell(t, at, t->store ? "a store " : "a load ");
    return at != SIZE_MAX;
}

static unsigned compare(const struct test *t)
{
    return compare_from(t, NULL);
}

static unsigned cases(void)
{
    return getenv("FGS_GEN_SHORT") ? CASES / 8 : CASES;
}

static void fill_data(bool plain)
{
    for (size_t n = 0; n < GLOBAL; n++)
        data[n] = (unsigned char)draw(256);
    for (size_t n = 0; plain && n < GLOBAL; n += 2)
        data[n + 1] = (unsigned char)(0x38 + draw(8)); /* no NaN, no inf */
}

/* ------------------------------------------------------------------- tests */

static void narrow_or_not(bool narrow)
{
    unsigned bad = 0;

    fill_data(false);
    for (unsigned n = 0; n < cases(); n++) {
        struct test t = { .swizzle = draw(4), .type = draw(10) };
        unsigned wide;

        draw_tile(&t);
        wide = t.box[0] * bits[t.type] / 8;
        if (t.swizzle && (wide < 16u << t.swizzle) != narrow)
            t.swizzle = 0;
        t.fill = t.type >= 6 && draw(2);
        bad += compare(&t);
    }
    assert_int_equal(bad, 0);
}

static void tiles_are_loaded_alike(void **state)
{
    (void)state;
    narrow_or_not(false);
}

static void rows_narrower_than_the_swizzle_are_loaded_alike(void **state)
{
    (void)state;
    narrow_or_not(true);
}

static void columns_are_loaded_alike(void **state)
{
    unsigned bad = 0;

    (void)state;
    fill_data(false);
    for (unsigned n = 0; n < cases(); n++) {
        struct test t = { .type = draw(10) };

        draw_column(&t);
        bad += compare(&t);
    }
    assert_int_equal(bad, 0);
}

static void converted_elements_are_alike(void **state)
{
    unsigned bad = 0;

    (void)state;
    fill_data(false);
    for (unsigned n = 0; n < cases(); n++) {
        struct test t = { .type = 10 + draw(3), .store = draw(2) };

        for (size_t k = 0; k < GLOBAL; k += 4 * (1 + draw(8)))
            data[k + 3] &= 0x80, data[k + 2] &= 0x7f; /* subnormals */
        draw_tile(&t);
        bad += compare(&t);
    }
    assert_int_equal(bad, 0);
}

static void stores_are_alike(void **state)
{
    unsigned bad = 0;

    (void)state;
    fill_data(false);
    for (unsigned n = 0; n < cases(); n++) {
        struct test t = { .type = draw(10), .store = true };

        if (draw(3))
            draw_tile(&t);
        else
            draw_column(&t);
        bad += compare(&t);
    }
    assert_int_equal(bad, 0);
}

static void reductions_are_alike(void **state)
{
    static const struct {
        unsigned type;
        const char *op;
    } row[] = {
        { 2, "add" }, { 3, "add" }, { 4, "add" }, { 6, "add" }, { 7, "add" },
        { 9, "add" }, { 10, "add" }, { 2, "min" }, { 3, "max" }, { 4, "min" },
        { 5, "max" }, { 6, "min" }, { 6, "max" }, { 9, "min" }, { 9, "max" },
        { 2, "inc" }, { 2, "dec" }, { 2, "and" }, { 4, "or" }, { 2, "xor" },
    };
    unsigned bad = 0;

    (void)state;
    for (unsigned n = 0; n < cases(); n++) {
        unsigned k = n % (sizeof row / sizeof *row);
        struct test t = { .type = row[k].type, .op = row[k].op,
                          .store = true };

        fill_data(draw(2));
        draw_tile(&t);
        bad += compare(&t);
    }
    assert_int_equal(bad, 0);
}

static void replaced_maps_are_alike(void **state)
{
    unsigned bad = 0;

    (void)state;
    fill_data(false);
    for (unsigned n = 0; n < cases() / 2; n++) {
        struct test t = { .type = draw(10), .swizzle = draw(4),
                          .store = draw(2) };
        struct test other = { .type = draw(10), .swizzle = draw(4) };

        t.fill = !t.store && t.type >= 6 && draw(2);
        draw_tile(&t);
        draw_tile(&other);
        bad += compare_from(&t, &other);
    }
    assert_int_equal(bad, 0);
}

/* Arguments at and over their bounds: the results of both drivers. */
static void maps_are_refused_alike(void **state)
{
    unsigned bad = 0;

    (void)state;
    for (unsigned n = 0; n < 20 * cases(); n++) {
        struct test t = { .swizzle = draw(4), .type = draw(13) };
        FGS__ALIGN(64) CUtensorMap map;
        CUresult r[2];

        if (draw(2))
            draw_tile(&t);
        else
            draw_column(&t);
        switch (draw(10)) {
        case 0: t.stride[draw(4)] += 8; break;
        case 1: t.box[draw(5)] = draw(2) ? 0 : 256 + draw(2); break;
        case 2: t.step[draw(5)] = draw(10); break;
        case 3: t.interleave = draw(4); break;
        case 4: t.swizzle = draw(9); break;
        case 5: t.fill = draw(3); break;
        case 6: t.dim[draw(5)] = draw(2) ? 0 : (1ull << 32) + draw(2); break;
        case 7: t.rank = draw(7) % 6; break;
        case 8: t.channels = draw(300); t.pixels = draw(1100); break;
        default: t.stride[draw(4)] = (1ull << 40) - 16 * draw(2); break;
        }
        for (int k = 0; k < 2; k++)
            r[k] = encode(&side[k], &t, &map);
        if (r[0] != r[1] && bad++ < 40) {
            tell(&t, 0, t.column ? "im2col map " : "tiled map ");
            print_message("  sim %d gpu %d\n", (int)r[0], (int)r[1]);
        }
    }
    assert_int_equal(bad, 0);
}

/* Pixels of 16 or 32 bytes, whatever the elements are. */
static void interleaved_slices_are_alike(void **state)
{
    unsigned bad = 0;

    (void)state;
    fill_data(false);
    for (unsigned n = 0; n < cases(); n++) {
        struct test t = { .type = draw(10), .interleave = 1 + draw(2),
                          .swizzle = draw(4), .store = draw(2) };

        t.fill = !t.store && t.type >= 6 && draw(2);
        if (draw(2))
            draw_tile(&t);
        else
            draw_column(&t);
        bad += compare(&t);
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_refused_alike),
        cmocka_unit_test(tiles_are_loaded_alike),
        cmocka_unit_test(rows_narrower_than_the_swizzle_are_loaded_alike),
        cmocka_unit_test(columns_are_loaded_alike),
        cmocka_unit_test(converted_elements_are_alike),
        cmocka_unit_test(stores_are_alike),
        cmocka_unit_test(reductions_are_alike),
        cmocka_unit_test(replaced_maps_are_alike),
        cmocka_unit_test(interleaved_slices_are_alike),
    };

    return cmocka_run_group_tests_name("tensor", tests, open_both, close_both);
}
