/* test_pair.c -- a pair of blocks, one barrier for the copies into both (4.6.7)
 *
 * Digests are those of the other consumers; a leak in either block's tile is
 * named.  Needs a device of compute capability 10.7, by FGS_PROVIDER.
 */
#include "kernels_both.h"

static CUdeviceptr map;
static CUfunction pair;
static CUmodule module;

static void make_map(void)
{
    const cuuint64_t dims[] = { 256, WORDS / 256 }, strides[] = { 1024 };
    const cuuint32_t box[] = { 256, FGS__TILE_BYTES / 1024 }, step[] = { 1, 1 };
    _Alignas(64) CUtensorMap bits;

    /* f32; no interleave, swizzle, promotion; zeros outside */
    OK(cuTensorMapEncodeTiled(&bits, 7, 2, (void *)(uintptr_t)g.mid, dims,
                              strides, box, step, 0, 0, 0, 0));
    OK(cuMemAlloc(&map, sizeof bits));
    OK(cuMemcpyHtoD(map, &bits, sizeof bits));
}

static void run(uint64_t tiles, uint64_t bound_ns, uint64_t max_tries, int pdl)
{
    CUdeviceptr stat = g.stat + FGS_ROLE_CONSUMER * sizeof(struct fgs__stat);
    void *params[] = { &map, &g.mid, &g.out, &tiles, &g.ctl, &g.drec, &stat,
                       &bound_ns, &max_tries };
    CUlaunchAttribute attr = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    };
    CUlaunchConfig c = { .gridDimX = (unsigned)(tiles + 1) & ~1u, .gridDimY = 1,
                         .gridDimZ = 1, .blockDimX = FGS__BLOCK_THREADS,
                         .blockDimY = 1, .blockDimZ = 1,
                         .sharedMemBytes = FGS__TILE_BYTES, .attrs = &attr,
                         .numAttrs = pdl ? 1 : 0 };

    attr.value.programmaticStreamSerializationAllowed = 1;
    OK(cuLaunchKernelEx(&c, pair, params, NULL));
    finish_launches();
}

static void hand_over_to_pairs(const char *producer, struct args a)
{
    fgs_kernel *init = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);
    fgs_kernel *p = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, producer);

    hold_launches();
    launch(init, (struct args){ .tiles = a.tiles });
    launch(p, a);
    run(a.tiles, a.bound_ns, 0, 1);
    fgs_kernel_free(p);
    fgs_kernel_free(init);
}

static void both_tiles_of_a_pair_come_right(void **state)
{
    static uint32_t want[WORDS];
    uint64_t again = 0;

    (void)state;
    for (uint64_t tiles = 1; tiles <= TILES; tiles += tiles < 4 ? 1 : 5)
        for (int slow = 0; slow < 2; slow++) {
            reset(NULL);
            memset(want, 0xee, BYTES);
            fgs__ref_scale(host_mid, host_in, WORDS);
            fgs__ref_reverse(want, host_mid, tiles, FGS__TILE_ELEMS);
            hand_over_to_pairs(NULL, (struct args){
                .tiles = tiles, .work_ns = slow ? 40000 : 0,
                .bound_ns = 2000000000 });
            assert_int_equal(g.rec->code, 0);
            get(host_out, g.out, BYTES);
            same(host_out, want, WORDS, "pair");
            again += get_stat(FGS_ROLE_CONSUMER).reissues;
        }
    assert_true(again > 0);
}

/* By its first chunk that is missing, in either block's tile: a pair that is
 * waited for is copied again a few times, not each 2 us. */
static void late_tiles_are_looked_at(void **state)
{
    uint64_t again;

    (void)state;
    reset(NULL);
    hand_over_to_pairs(NULL, (struct args){
        .tiles = TILES, .work_ns = 200000, .bound_ns = 2000000000 });
    assert_int_equal(g.rec->code, 0);
    again = get_stat(FGS_ROLE_CONSUMER).reissues;
    assert_in_range(again, 1, 4 * TILES / 2);
    reset(NULL);
    hand_over_to_pairs("scale_produce_leak", (struct args){
        .tiles = 2, .fault_tile = 1, .fault_chunk = 99,
        .bound_ns = 2000000 });
    assert_true(g.rec->tries > 500);
    assert_in_range(get_stat(FGS_ROLE_CONSUMER).reissues, 0, 4);
}

static void leak_in_either_block_is_named(void **state)
{
    (void)state;
    for (uint64_t tile = 6; tile < 8; tile++) {
        reset(NULL);
        hand_over_to_pairs("scale_produce_leak", (struct args){
            .tiles = TILES, .fault_tile = tile, .fault_chunk = 99,
            .bound_ns = 2000000 });
        assert_int_equal(g.rec->code, FGS__GIVEUP_TIME);
        assert_int_equal(g.rec->block, 6);
        assert_int_equal(g.rec->tile, tile);
        assert_int_equal(g.rec->chunk, 99);
        assert_int_equal(g.rec->bits0, 0x8000000080000000u);
        assert_int_equal(get_ctl().abort, 1);
    }
}

static void bound_on_tries_is_exact(void **state)
{
    static const uint64_t bounds[] = { 1, 2, 40 };

    (void)state;
    for (size_t n = 0; n < 3; n++) {
        reset(NULL);
        memset(host_mid, 0, BYTES);
        fgs__ref_fill(host_mid + FGS__TILE_ELEMS, 4, 0x80000000u);
        put(g.mid, host_mid, BYTES);
        run(2, 0, bounds[n], 0);
        assert_int_equal(g.rec->code, FGS__GIVEUP_TRIES);
        assert_int_equal(g.rec->tile, 1);
        assert_int_equal(g.rec->chunk, 0);
        assert_int_equal(g.rec->tries, bounds[n]);
    }
}

static int open_pair(void **state)
{
    char *text;

    if (open_device(state))
        return -1;
    if (fgs_device_can(g.dev, FGS_ENGINE_REPORT, NULL) < 0) {
        print_message("no engine report on this device\n");
        exit(77);
    }
    text = both_image("report_pair_consume", 107, FGS_ELEMENT_F32);
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&pair, module, "fgs_report_pair_consume"));
    free(text);
    make_map();
    return 0;
}

static int close_pair(void **state)
{
    g.cuMemFree(map);
    g.cuModuleUnload(module);
    return close_device(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_tiles_of_a_pair_come_right),
        cmocka_unit_test(late_tiles_are_looked_at),
        cmocka_unit_test(leak_in_either_block_is_named),
        cmocka_unit_test(bound_on_tries_is_exact),
    };

    return run_both_with("pair", tests, sizeof tests / sizeof tests[0],
                         open_pair, close_pair);
}
