/* test_retry_scaled.c -- two operands in a stage, each with its own sentinel
 *
 * f32 tiles (-0.0) and a ue8m0 scale for each chunk (0xFF), by producers of
 * their own; the retry warp copies both again while one of them reports.  In
 * PTX, then by the twins, on the device that FGS_PROVIDER names.
 */
#include "kernels_both.h"

enum { SCALE_TILE = FGS__TILE_CHUNKS, SCALES = TILES * SCALE_TILE };

static CUdeviceptr scales_in, scales; /* f32; ue8m0 */
static float host_scales_in[SCALES];
static uint8_t host_scales[SCALES];
static fgs_kernel *ring, *fill, *fill_scales, *produce[2], *produce_scales[2];

static fgs_kernel *make_for(fgs_role role, fgs_element e, uint32_t tile_bytes,
                            const char *stem)
{
    return make_as((fgs_kernel_desc){ .role = role, .element = e,
                                      .tile_bytes = tile_bytes,
                                      .stem = stem });
}

/* A kernel of the library on the scales in place of the tiles. */
static void launch_on_scales(fgs_kernel *k, struct args a)
{
    CUdeviceptr in = g.in, mid = g.mid;

    g.in = scales_in;
    g.mid = scales;
    launch(k, a);
    g.in = in;
    g.mid = mid;
}

/* leak: 1 = of a chunk of the tiles, 2 = of the scales. */
static void hand_over_both(struct args a, int leak, uint64_t late)
{
    struct args each = { .tiles = TILES, .work_ns = a.work_ns,
                         .fault_tile = a.fault_tile,
                         .fault_chunk = a.fault_chunk }, other = each;

    other.work_ns = late;
    other.pdl = 1; /* else the tiles were there before the ring starts */
    reset(NULL);
    put(scales_in, host_scales_in, sizeof host_scales_in);
    hold_launches();
    launch(fill, (struct args){ .tiles = TILES });
    launch_on_scales(fill_scales, (struct args){ .tiles = TILES });
    launch(produce[leak == 1], each);
    launch_on_scales(produce_scales[leak == 2], other);
    a.tiles = TILES;
    a.mid2 = scales;
    a.pdl = 1;
    launch(ring, a);
    finish_launches();
}

/* x * 2^(s - 127), rounded once; a NaN is the GPU's. */
static uint32_t scaled(uint32_t x, uint8_t s)
{
    uint32_t power = s ? (uint32_t)s << 23 : 0x00400000;
    float a, b;

    memcpy(&a, &x, sizeof a);
    memcpy(&b, &power, sizeof b);
    if (a != a)
        return 0x7fffffff;
    a *= b;
    memcpy(&x, &a, sizeof a);
    return x;
}

static void expect_products(void)
{
    static uint32_t want[WORDS];

    fgs__ref_scale(host_mid, host_in, WORDS);
    assert_int_equal(fgs_ref_produce(FGS_ELEMENT_UE8M0, FGS_SATURATE_REFUSE,
                                     host_scales_in, host_scales, SCALES,
                                     NULL), FGS_OK);
    for (uint32_t i = 0; i < WORDS; i++)
        host_mid[i] = scaled(host_mid[i], host_scales[i / 4]);
    fgs__ref_reverse(want, host_mid, TILES, FGS__TILE_ELEMS);
    get(host_out, g.out, BYTES);
    same(host_out, want, WORDS, "scaled");
}

static uint32_t stage_bytes(uint32_t stages)
{
    return stages * (FGS__TILE_BYTES + SCALE_TILE);
}

static void products_whichever_operand_is_late(void **state)
{
    (void)state;
    for (uint32_t stages = 1; stages <= 8; stages++)
        for (int late = 0; late < 3; late++) {
            hand_over_both((struct args){ .grid = 3, .bound_ns = 2000000000,
                                          .work_ns = late == 1 ? 30000 : 0,
                                          .shared = stage_bytes(stages) },
                           0, late == 2 ? 30000 : 0);
            assert_int_equal(g.rec->code, 0);
            expect_products();
            if (late)
                assert_true(get_stat(FGS_ROLE_CONSUMER).reissues > 0);
        }
}

/* Chunks of the scales are counted behind those of the tile. */
static void leak_of_either_operand_is_named(void **state)
{
    (void)state;
    for (uint32_t stages = 1; stages <= 8; stages++)
        for (int leak = 1; leak <= 2; leak++) {
            hand_over_both((struct args){ .grid = 2, .bound_ns = 2000000,
                                          .fault_tile = 11, .fault_chunk = 9,
                                          .shared = stage_bytes(stages) },
                           leak, 0);
            assert_int_equal(g.rec->code, FGS__GIVEUP_TIME);
            assert_int_equal(g.rec->tile, 11);
            assert_int_equal(g.rec->stage, 5 % stages);
            assert_int_equal(g.rec->chunk,
                             leak == 1 ? 9 : FGS__TILE_CHUNKS + 9);
            assert_true(g.rec->bits0 == (leak == 1 ? 0x8000000080000000
                                                   : UINT64_MAX));
        }
}

static int open_all(void **state)
{
    if (open_device(state))
        return -1;
    if (fgs_device_can(g.dev, FGS_ENGINE_REPORT, NULL) < 0) {
        print_message("no engine report on this device\n");
        exit(77);
    }
    OK(cuMemAlloc(&scales_in, sizeof host_scales_in));
    OK(cuMemAlloc(&scales, SCALES));
    ring = make(FGS_ROLE_CONSUMER, FGS_ENGINE_REPORT, 0,
                "report_retry_scaled_consume");
    fill = make_for(FGS_ROLE_INIT, FGS_ELEMENT_F32, 4096, NULL);
    fill_scales = make_for(FGS_ROLE_INIT, FGS_ELEMENT_UE8M0, SCALE_TILE, NULL);
    for (int leak = 0; leak < 2; leak++) {
        const char *stem = leak ? "scale_produce_leak" : NULL;

        produce[leak] = make_for(FGS_ROLE_PRODUCER, FGS_ELEMENT_F32, 4096,
                                 stem);
        produce_scales[leak] = make_for(FGS_ROLE_PRODUCER, FGS_ELEMENT_UE8M0,
                                        SCALE_TILE, stem);
    }
    for (uint32_t i = 0; i < SCALES; i++) {
        uint32_t bits = (i * 2654435761u >> 1) % 0x7f800000;

        if (i % 3) /* mostly scales that leave numbers as they are */
            bits = 0x3e000000 + bits % 0x03000000;
        memcpy(&host_scales_in[i], &bits, sizeof bits);
    }
    return 0;
}

static int close_all(void **state)
{
    fgs_kernel *all[] = { ring, fill, fill_scales, produce[0], produce[1],
                          produce_scales[0], produce_scales[1] };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        fgs_kernel_free(all[i]);
    g.cuMemFree(scales);
    g.cuMemFree(scales_in);
    return close_device(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_whichever_operand_is_late),
        cmocka_unit_test(leak_of_either_operand_is_named),
    };

    return run_both_with("retry_scaled", tests, sizeof tests / sizeof tests[0],
                         open_all, close_all);
}
