/* test_retry_mutants.c -- what the chapter asks of a retry warp, left out
 *
 * Each rule of 4.6.7 is broken in the kernels' texts; the software device must
 * say so: a fault that names its cause, before a bound ends the wait (they have
 * one, so FGS_SIM_STUCK_NS).  The right texts are right under each seed.
 */
#include "kernels.h"

#include <fgs/fgs_sim.h>

enum { SEEDS = 100, MOST = 3 };

struct change {
    const char *from, *to;
};

static const char copy_report[] =
    "    @%p_valid bra           L_valid;\n"
    "    setp.eq.u32 %p_none, %t, 64;\n"
    "    mad.lo.u64 %a_box, %tile, 4096, %a_mid;\n"
    "    mov.u32 %s_chunk, s_tiles;\n"
    "    mad.lo.u32 %s_chunk, %stage, 4096, %s_chunk;\n"
    "    @%p_none mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _,\n"
    "        [%s_at], 4096;\n"
    "    @%p_none cp.async.bulk.relaxed.gpu.shared::cta.global"
    ".mbarrier::complete_tx::bytes"
    ".mbarrier::report::validity::per_16bytes::80000000.b128\n"
    "        [%s_chunk], [%a_box], 4096, [%s_at];\n";

static const char copy_bulk[] =
    "    @%p_valid bra           L_valid;\n"
    "    setp.eq.u32 %p_none, %t, 64;\n"
    "    mad.lo.u64 %a_box, %tile, 4096, %a_mid;\n"
    "    mov.u32 %s_chunk, s_tiles;\n"
    "    mad.lo.u32 %s_chunk, %stage, 4096, %s_chunk;\n"
    "    mov.u32 %s_bar, s_landed;\n"
    "    mad.lo.u32 %s_bar, %stage, 8, %s_bar;\n"
    "    @%p_none mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _,\n"
    "        [%s_bar], 4096;\n"
    "    @%p_none cp.async.bulk.relaxed.gpu.shared::cta.global"
    ".mbarrier::complete_tx::bytes.b128\n"
    "        [%s_chunk], [%a_box], 4096, [%s_bar];\n";

/* As slow as it may be: what protects it is its arrival, not its speed. */
#define SLOW { "L_turn:\n", "L_turn:\n    nanosleep.u32 20000;\n" }

#define ARRIVAL                                                                \
    "    mbarrier.arrive.release.cta.shared::cta.b64\n"                        \
    "                            _, [%s_gate];\nL_turned:"

static const struct mutant {
    const char *name, *stem;
    struct change change[MOST];
    const char *cause; /* NULL = any of its faults                          */
} mutants[] = {
    { "right", "report_retry_consume", { { NULL, NULL } }, NULL },
    { "a slow retry warp", "report_retry_consume", { SLOW }, NULL },
    { "a slow retry warp", "bulk_retry_consume", { SLOW }, NULL },
    { "right", "report_retry_box_consume", { { NULL, NULL } }, NULL },
    { "right", "bulk_retry_consume", { { NULL, NULL } }, NULL },
    { "the retry warp does not arrive, nor is it counted",
      "report_retry_consume",
      { { ARRIVAL, "L_turned:" }, { "6 + 1;", "6;" },
        SLOW }, "lacks 1 of 1 arrivals and 0 bytes" },
    { "the retry warp does not arrive", "report_retry_consume",
      { { ARRIVAL, "L_turned:" } }, "lacks 1 of 7 arrivals and 0 bytes" },
    { "one parity for all stages", "report_retry_consume",
      { { "add.u32                 %x, %bit, %j;", "mov.u32 %x, 0;" } },
      "lacks 1 of 7 arrivals and 0 bytes" },
    { "one parity for all stages", "bulk_retry_consume",
      { { "shl.b32                 %bit, 1, %stage;", "mov.u32 %bit, 1;" },
        { "shr.b32                 %parity, %phases, %stage;",
          "mov.u32 %parity, %phases;" } }, NULL },
    { "waits again for the phase that reported", "report_retry_consume",
      { { "    xor.b32                 %phases, %phases, %y;",
          "    @!%p_sentinel xor.b32 %phases, %phases, %y;" } }, NULL },
    { "waits again for the phase that was bad", "bulk_retry_consume",
      { { "    xor.b32                 %phases, %phases, %bit;", "" },
        { "L_whole:\n", "L_whole:\n    xor.b32 %phases, %phases, %bit;\n" } },
      NULL },
    { "arms the next stage's barrier", "report_retry_consume",
      { { "    mov.u32                 %s_at, %s_bar;",
          "    add.u32 %s_bar, %s_bar, 8;\n    mov.u32 %s_at, %s_bar;" } },
      NULL },
    { "a compute warp issues", "report_retry_consume",
      { { "    @%p_valid bra           L_valid;\n", copy_report } }, NULL },
    { "a compute warp issues", "bulk_retry_consume",
      { { "    @%p_valid bra           L_valid;\n", copy_bulk } }, NULL },
};
enum { MUTANTS = sizeof mutants / sizeof mutants[0], RIGHT = 5 };

static uint32_t want[WORDS];

/* One change in a text from malloc; it must be there. */
static char *changed(char *text, const struct change *c)
{
    char *at = strstr(text, c->from), *out;
    size_t head;

    if (!at)
        fail_msg("not in the text: %s", c->from);
    head = (size_t)(at - text);
    out = malloc(strlen(text) + strlen(c->to) + 1);
    assert_non_null(out);
    memcpy(out, text, head);
    strcpy(out + head, c->to);
    strcat(out, at + strlen(c->from));
    free(text);
    return out;
}

static char *text_of(const struct mutant *m)
{
    size_t size = 0;
    char *text;

    fgs_ptx_text(m->stem, 107, NULL, &size, NULL);
    text = malloc(size);
    assert_non_null(text);
    assert_int_equal(fgs_ptx_text(m->stem, 107, text, &size, NULL), FGS_OK);
    for (int i = 0; i < MOST && m->change[i].from; i++)
        text = changed(text, &m->change[i]);
    return text;
}

static CUfunction load(const struct mutant *m, const char *text)
{
    char entry[64];
    CUmodule module;
    CUfunction f;

    OK(cuModuleLoadData(&module, text));
    snprintf(entry, sizeof entry, "fgs_%s", m->stem);
    OK(cuModuleGetFunction(&f, module, entry));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          8 * FGS__TILE_BYTES));
    return f;
}

static void configure(uint64_t seed)
{
    fgs_sim_config cfg = { .size = sizeof cfg };
    fgs_error err;

    assert_int_equal(fgs_sim_config_get(&cfg, &err), FGS_OK);
    cfg.seed = seed;
    cfg.limit = 4000000; /* none comes near it */
    cfg.stuck_ns = 1000000;
    cfg.sample = (uint32_t)(seed % 4);
    assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_OK);
}

/* What came of a hand-over under a seed; "" = all is right. */
static const char *outcome(const struct mutant *m, const char *text,
                           uint64_t seed)
{
    static char why[1024];
    fgs_kernel *init, *producer;
    struct args a = { .tiles = TILES, .grid = 2, .bound_ns = 3000000,
                      .work_ns = seed % 3 * 15000,
                      .shared = (uint32_t)(1 + seed % 8) * FGS__TILE_BYTES };
    CUfunction f;
    CUresult cu;

    configure(seed);
    assert_int_equal(open_device(NULL), 0);
    reset(NULL);
    init = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);
    producer = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);
    f = load(m, text);
    launch(init, (struct args){ .tiles = TILES });
    launch(producer, (struct args){ .tiles = TILES, .work_ns = a.work_ns });
    a.pdl = 1;
    launch_function(NULL, f, FGS_ROLE_CONSUMER, a);
    cu = g.cuCtxSynchronize();
    why[0] = 0;
    if (g.rec->code)
        snprintf(why, sizeof why, "gave up: code %u, tile %u, stage %u",
                 g.rec->code, (unsigned)g.rec->tile, g.rec->stage);
    else if (cu != CUDA_SUCCESS)
        snprintf(why, sizeof why, "%s", fgs_sim_last_fault());
    else
        get(host_out, g.out, BYTES);
    if (!why[0] && memcmp(host_out, want, BYTES))
        snprintf(why, sizeof why, "wrong data, and nobody said so");
    fgs_kernel_free(producer);
    fgs_kernel_free(init);
    close_device(NULL);
    return why;
}

static void expect_right(const struct mutant *m)
{
    char *text = text_of(m);

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char *why = outcome(m, text, seed);

        if (why[0])
            fail_msg("%s, seed %u: %s", m->stem, (unsigned)seed, why);
    }
    free(text);
}

/* Found under some seed, and never silent. */
static void expect_found(const struct mutant *m)
{
    char *text = text_of(m);
    unsigned found = 0, named = 0;

    for (uint64_t seed = 1; seed <= SEEDS && found < 5; seed++) {
        const char *why = outcome(m, text, seed);

        if (getenv("FGS_SHOW") && why[0])
            print_message("%s, %s, seed %u: %s\n", m->stem, m->name,
                          (unsigned)seed, why);
        if (strstr(why, "FGS_SIM_LIMIT") || strstr(why, "gave up"))
            fail_msg("%s, %s: no cause: %s", m->stem, m->name, why);
        found += why[0] && !strstr(why, "nobody");
        named += m->cause && strstr(why, m->cause);
    }
    if (!found)
        fail_msg("%s, %s: not found", m->stem, m->name);
    if (m->cause && !named)
        fail_msg("%s, %s: not \"%s\"", m->stem, m->name, m->cause);
    free(text);
}

static void right_texts_are_right_under_each_seed(void **state)
{
    (void)state;
    for (int i = 0; i < RIGHT; i++)
        expect_right(&mutants[i]);
}

static void each_broken_rule_is_found(void **state)
{
    (void)state;
    for (int i = RIGHT; i < MUTANTS; i++)
        expect_found(&mutants[i]);
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

    return cmocka_run_group_tests_name("retry_mutants", tests, expectations,
                                       NULL);
}
