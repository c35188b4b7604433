/* test_kernels_join_shape.c -- any element, tile and block; FGS_PROVIDER */
#include "join_rig.h"

static void one_shape(const struct kind *kind, fgs_element e,
                      uint32_t tile_bytes, uint32_t threads)
{
    uint32_t tiles = 3, words = tiles * tile_bytes / 4;
    fgs_kernel_desc desc = { .size = sizeof desc, .role = FGS_ROLE_JOIN,
                             .engine = kind->engine, .weak = kind->weak,
                             .element = e, .tile_bytes = tile_bytes,
                             .threads = threads, .language = language };
    fgs_kernel_info info = { .size = sizeof info };
    fgs_kernel *k;
    fgs_error err;

    /* the software device gives a twin of two inputs more registers than a
     * block of 1024 threads has: it assembles for no number of threads */
    if (fgs_device_can(g.dev, kind->engine, NULL) < 0 ||
        (language == FGS_LANGUAGE_CUDA && threads > 512))
        return;
    start(NULL);
    if (fgs_kernel_make(&k, g.dev, &desc, &err) < 0)
        fail_msg("%s", err.text);
    fgs_kernel_get_info(k, &info);
    assert_int_equal(info.shared_bytes, 2 * tile_bytes);
    /* fields of 1 to 7: no element of these is a sentinel of any type */
    make_words(host_mid, 0);
    for (uint32_t i = 0; i < words; i++) {
        host_second[i] = (~host_mid[i] & 0x77777777) | 0x11111111;
        host_mid[i] = (host_mid[i] & 0x77777777) | 0x22222222;
    }
    put(g.mid, host_mid, BYTES);
    put(second, host_second, BYTES);
    launch(k, (struct args){ .tiles = tiles, .block = threads, .mid2 = second,
                             .shared = info.shared_bytes,
                             .max_tries = 100 });
    OK(cuCtxSynchronize());
    assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
    assert_int_equal(fgs_ref_join(e, host_mid, host_second, want, tiles,
                                  tile_bytes), FGS_OK);
    get(host_out, g.out, BYTES);
    same(host_out, want, words, kind->name);
    fgs_kernel_free(k);
}

static void elements_tiles_and_blocks_of_any_kind_do(void **state)
{
    static const struct {
        uint32_t tile_bytes, threads;
    } row[] = { { 16, 32 }, { 48, 64 }, { 528, 32 }, { 4112, 1024 } };

    (void)state;
    for (int i = 0; i < KINDS; i++) {
        const struct kind *k = kind_at(i);

        for (int e = 0; e < FGS_ELEMENT_COUNT; e++)
            one_shape(k, (fgs_element)e, 4096, 256);
        for (size_t n = 0; n < sizeof row / sizeof row[0]; n++)
            one_shape(k, FGS_ELEMENT_E4M3, row[n].tile_bytes, row[n].threads);
    }
}

static void mirror_takes_chunks_in_turn(void **state)
{
    (void)state;
    make_words(host_mid, 0);
    make_words(host_second, 1);
    join(host_out, host_mid, host_second, TILES);
    assert_int_equal(fgs_ref_join(FGS_ELEMENT_F32, host_mid, host_second, want,
                                  TILES, FGS__TILE_BYTES), FGS_OK);
    same(want, host_out, WORDS, "fgs_ref_join");
    assert_int_equal(fgs_ref_join(FGS_ELEMENT_F32, host_mid, NULL, want, 1,
                                  16), FGS_E_NULL);
    assert_int_equal(fgs_ref_join(FGS_ELEMENT_COUNT, host_mid, host_mid, want,
                                  1, 16), FGS_E_INVAL);
}

static void refused(fgs_kernel_desc d, fgs_result r, const char *text)
{
    fgs_kernel *k;
    fgs_error err;

    d.size = sizeof d;
    d.role = FGS_ROLE_JOIN;
    assert_int_equal(fgs_kernel_make(&k, g.dev, &d, &err), r);
    if (!strstr(err.text, text))
        fail_msg("%s", err.text);
}

static void what_a_join_cannot_be_is_refused(void **state)
{
    (void)state;
    refused((fgs_kernel_desc){ .tile_bytes = 128 * 1024,
                               .engine = FGS_ENGINE_POLL },
            FGS_E_SIZE, "262144 bytes");
    refused((fgs_kernel_desc){ .bulk_store = 1 }, FGS_E_INVAL, "the join");
    refused((fgs_kernel_desc){ .saturate = FGS_SATURATE_UP }, FGS_E_INVAL,
            "only a producer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(elements_tiles_and_blocks_of_any_kind_do),
        T(mirror_takes_chunks_in_turn),
        T(what_a_join_cannot_be_is_refused),
    };

    return run_both_with("kernels_join_shape", tests,
                         sizeof tests / sizeof tests[0], open_all, close_all);
}
