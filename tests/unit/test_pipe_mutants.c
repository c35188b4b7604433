/* test_pipe_mutants.c -- full and empty barriers and a pair of blocks, broken
 *
 * What each barrier is for, left out of the kernels' texts: the software device
 * or the mirror must say so.  The right texts are right under each seed.
 */
#include "kernels.h"

#include <fgs/fgs_sim.h>

enum { SEEDS = 24, MOST = 2, ROWS = 2, STEPS = 3, COLUMNS = 2, BOX = 16384 };

/* `cause`: words of the fault, "" = the mirror, or the record, may say it. */
static const struct mutant {
    const char *name, *stem;
    struct { const char *from, *to; } change[MOST];
    const char *cause;
} mutants[] = {
    { "right", "gemm_stage", { { NULL, NULL } }, "" },
    { "right", "gemm_warp_stage", { { NULL, NULL } }, "" },
    { "right", "report_pair_consume", { { NULL, NULL } }, "" },
    { "copies into a stage that is read", "gemm_stage",
      { { "    @!%p_ready bra          L_empty;", "" } },
      "more arrivals than" },
    { "reads a stage that is not full", "gemm_warp_stage",
      { { "L_full:\n", "L_full:\n    bra L_use;\n" } },
      "more arrivals than" },
    { "a parity for one round alone", "gemm_stage",
      { { "    @!%p_more xor.b32       %round, %round, 1;", "" } },
      "more arrivals than" },
    { "one arrival too many is counted", "gemm_warp_stage",
      { { "[%s_gate], 4;", "[%s_gate], 5;" } },
      "lacks 1 of 5 arrivals" },
    { "one byte count too small", "gemm_stage",
      { { "_, [%s_bar], 16384;", "_, [%s_bar], 16368;" } },
      "lacks 0 of 1 arrivals and -16 bytes" },
    { "the other block is not told to copy again", "report_pair_consume",
      { { "    @%p_more bra            L_odd;", "" } },
      "4096 bytes" },
    { "the other block is not told that a try has ended", "report_pair_consume",
      { { "    @!%p_alone mbarrier.arrive.release.cluster.shared::cluster.b64\n"
          "                            _, [%s_odd];\n"
          "    bra                     L_issue;", "    bra L_issue;" } },
      "lacks 1 of 1 arrivals and 0 bytes" },
    { "the other block is not told that all is there", "report_pair_consume",
      { { "    @!%p_alone mbarrier.arrive.release.cluster.shared::cluster.b64\n"
          "                            _, [%s_odd];\n"
          "    setp.eq.u64             %p_none, %repeats, 0;\n",
          "    setp.eq.u64             %p_none, %repeats, 0;\n" } },
      "lacks 1 of 1 arrivals and 0 bytes" },
    { "armed for one block", "report_pair_consume",
      { { "4096, 2 * 4096, %p_alone;", "4096, 4096, %p_alone;" } },
      "" },
    { "the other block does not wait for a word", "report_pair_consume",
      { { "    @!%p_landed bra         L_told;", "" } },
      "4096 bytes" },
};
enum { MUTANTS = sizeof mutants / sizeof mutants[0], RIGHT = 3 };

static uint32_t want[WORDS];

static char *text_of(const struct mutant *m)
{
    fgs_ptx_desc d = { .size = sizeof d, .stem = m->stem, .cc = 107,
                       .element = *m->stem == 'g' ? FGS_ELEMENT_F16
                                                  : FGS_ELEMENT_F32 };
    size_t size = 0;
    char *text;

    fgs_ptx_expand(&d, NULL, &size, NULL);
    size += 100; /* room for what a change adds */
    text = malloc(size);
    assert_non_null(text);
    assert_int_equal(fgs_ptx_expand(&d, text, &size, NULL), FGS_OK);
    for (int i = 0; i < MOST && m->change[i].from; i++) {
        char *at = strstr(text, m->change[i].from);
        size_t was = strlen(m->change[i].from), is = strlen(m->change[i].to);

        if (!at)
            fail_msg("not in the text: %s", m->change[i].from);
        memmove(at + is, at + was, strlen(at + was) + 1);
        memcpy(at, m->change[i].to, is);
    }
    return text;
}

static void configure(uint64_t seed)
{
    fgs_sim_config cfg = { .size = sizeof cfg };
    fgs_error err;

    assert_int_equal(fgs_sim_config_get(&cfg, &err), FGS_OK);
    cfg.seed = seed;
    cfg.limit = 4000000; /* none comes near it */
    cfg.stuck_ns = 1000000;
    cfg.copy_ns = (uint32_t)(600 + seed % 5 * 2000);
    assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_OK);
}

static CUdeviceptr map_of(CUdeviceptr at, int type, const cuuint64_t *dims,
                          cuuint64_t stride, const cuuint32_t *box)
{
    const cuuint32_t step[] = { 1, 1 };
    _Alignas(64) CUtensorMap bits;
    CUdeviceptr map;

    OK(cuTensorMapEncodeTiled(&bits, (CUtensorMapDataType)type, 2,
                              (void *)(uintptr_t)at, dims, &stride, box, step,
                              0, 0, 0, 0));
    OK(cuMemAlloc(&map, sizeof bits));
    OK(cuMemcpyHtoD(map, &bits, sizeof bits));
    return map;
}

static void launch_cu(CUfunction f, unsigned grid, unsigned shared, int pdl,
                      void **params)
{
    CUlaunchAttribute attr = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    };
    CUlaunchConfig c = { .gridDimX = grid, .gridDimY = 1, .gridDimZ = 1,
                         .blockDimX = 256, .blockDimY = 1, .blockDimZ = 1,
                         .sharedMemBytes = shared, .attrs = &attr,
                         .numAttrs = pdl ? 1 : 0 };

    attr.value.programmaticStreamSerializationAllowed = 1;
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          8 * BOX));
    OK(cuLaunchKernelEx(&c, f, params, NULL));
}

/* Integers as f16; no sum of f32 is rounded.  True = the product is right. */
static int run_gemm(CUfunction f, uint64_t seed)
{
    enum { IN = ROWS * 64 * STEPS * 128, W = COLUMNS * 16 * STEPS * 128,
           OUT = ROWS * 64 * COLUMNS * 16 };
    static uint16_t x[IN], w[W], packed[W], should[OUT], is[OUT];
    static const uint16_t whole[] = { 0xc000, 0xbc00, 0, 0x3c00, 0x4000 };
    const cuuint64_t dims[] = { STEPS * 128, ROWS * 64 };
    const cuuint32_t box[] = { 128, 64 };
    uint32_t rows = ROWS, columns = COLUMNS, steps = STEPS;
    uint64_t none = 0, leak = UINT64_MAX;
    CUdeviceptr in, weights, out, map;
    void *params[] = { &map, &in, &weights, &out, &rows, &columns, &steps,
                       &g.ctl, &g.drec, &none, &none, &none, &none, &leak };
    CUresult r;

    for (uint32_t i = 0; i < IN; i++)
        x[i] = whole[(i * 2654435761u >> 13) % 5];
    for (uint32_t i = 0; i < W; i++)
        w[i] = whole[(i * 2246822519u >> 13) % 5];
    fgs_ref_gemm(x, w, should, ROWS * 64, STEPS * 128, COLUMNS * 16);
    fgs_ref_gemm_pack(w, packed, STEPS * 128, COLUMNS * 16);
    OK(cuMemAlloc(&in, sizeof x));
    OK(cuMemAlloc(&weights, sizeof packed));
    OK(cuMemAlloc(&out, sizeof is));
    put(in, x, sizeof x);
    put(weights, packed, sizeof packed);
    map = map_of(in, 6, dims, STEPS * 256, box);
    launch_cu(f, 1 + seed % 2, (unsigned)(1 + seed % 8) * BOX, 0, params);
    r = g.cuCtxSynchronize();
    if (r != CUDA_SUCCESS)
        return 0;
    get(is, out, sizeof is);
    return !memcmp(is, should, sizeof is);
}

static int run_pair(CUfunction f, uint64_t seed)
{
    const cuuint64_t dims[] = { 256, WORDS / 256 };
    const cuuint32_t box[] = { 256, 4 };
    uint64_t tiles = TILES, bound = 3000000, none = 0;
    fgs_kernel *init = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);
    fgs_kernel *p = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);
    CUdeviceptr map = map_of(g.mid, 7, dims, 1024, box);
    void *params[] = { &map, &g.mid, &g.out, &tiles, &g.ctl, &g.drec, &none,
                       &bound, &none };
    int right = 0;

    launch(init, (struct args){ .tiles = TILES });
    launch(p, (struct args){ .tiles = TILES, .work_ns = seed % 3 * 15000 });
    launch_cu(f, TILES, FGS__TILE_BYTES, 1, params);
    if (g.cuCtxSynchronize() == CUDA_SUCCESS && !g.rec->code) {
        get(host_out, g.out, BYTES);
        right = !memcmp(host_out, want, BYTES);
    }
    fgs_kernel_free(p);
    fgs_kernel_free(init);
    return right;
}

/* Seeds under which a text is right, until `enough` were not. */
static unsigned right_seeds(const struct mutant *m, unsigned enough)
{
    char *text = text_of(m), entry[64];
    unsigned wrong = 0, right = 0, other = 0;

    snprintf(entry, sizeof entry, "fgs_%s", m->stem);
    for (uint64_t seed = 1; seed <= SEEDS && wrong < enough; seed++) {
        CUmodule module;
        CUfunction f;
        int good;

        configure(seed);
        assert_int_equal(open_device(NULL), 0);
        reset(NULL);
        OK(cuModuleLoadData(&module, text));
        OK(cuModuleGetFunction(&f, module, entry));
        good = *m->stem == 'g' ? run_gemm(f, seed) : run_pair(f, seed);
        if (!good && getenv("FGS_SHOW"))
            print_message("%s, %s, seed %u: code %u, tile %u, %s\n", m->stem,
                          m->name, (unsigned)seed, g.rec->code,
                          (unsigned)g.rec->tile, fgs_sim_last_fault());
        if (!good && (!strstr(fgs_sim_last_fault(), m->cause) ||
                      strstr(fgs_sim_last_fault(), "FGS_SIM_LIMIT")))
            other++;
        right += (unsigned)good;
        wrong += !good;
        close_device(NULL);
    }
    free(text);
    if (other)
        fail_msg("%s, %s: %s", m->stem, m->name, fgs_sim_last_fault());
    return right;
}

static void right_texts_are_right_under_each_seed(void **state)
{
    (void)state;
    for (int i = 0; i < RIGHT; i++)
        assert_int_equal(right_seeds(&mutants[i], 1), SEEDS);
}

static void each_broken_rule_is_found(void **state)
{
    (void)state;
    for (int i = RIGHT; i < MUTANTS; i++)
        if (right_seeds(&mutants[i], 2) == SEEDS)
            fail_msg("%s, %s: not found", mutants[i].stem, mutants[i].name);
}

static int expectations(void **state)
{
    (void)state;
    make_words(host_in, 0);
    fgs__ref_scale(host_mid, host_in, WORDS);
    fgs__ref_reverse(want, host_mid, TILES, FGS__TILE_ELEMS);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_texts_are_right_under_each_seed),
        cmocka_unit_test(each_broken_rule_is_found),
    };

    return cmocka_run_group_tests_name("pipe_mutants", tests, expectations,
                                       NULL);
}
