/* test_fused.c -- both ends in one kernel: every round by every engine, by
 * index and by launch control, and what a missing order does */
#include "lone.h"

#include "table/record.h"

enum { TILES = 5, ROUNDS = 4, TILE = 1024, WORDS = TILES * TILE / 4,
       SEEDS = 100 };

static uint32_t input[WORDS], want[ROUNDS][WORDS], got[ROUNDS][WORDS],
    left[WORDS];
static struct fgs__rec record;
static const char *fault; /* "" = none; of the last run                      */
static uint32_t taken;    /* blocks that were taken over, in it               */

static const char *const stems[] = { "fused_poll", "fused_bulk",
                                     "fused_report" };
static const char *const claims[] = { "fused_claim_poll", "fused_claim_bulk",
                                      "fused_claim_report" };

static void make_values(void)
{
    static uint32_t made[WORDS], turned[WORDS];

    for (uint32_t i = 0; i < WORDS; i++) {
        float v = i % 7 == 3 ? -0.0f : (float)(int)(i * 2654435761u) / 3e3f;

        memcpy(&input[i], &v, sizeof v);
    }
    fgs_ref_produce(FGS_ELEMENT_F32, FGS_SATURATE_REFUSE, input, made, WORDS,
                    NULL);
    fgs_ref_consume(FGS_ELEMENT_F32, made, turned, TILES, TILE);
    for (uint32_t r = 0; r < ROUNDS; r++)
        for (uint32_t t = 0; t < TILES; t++)
            memcpy(want[r] + t * TILE / 4,
                   turned + (t + ROUNDS - 1 - r) % TILES * TILE / 4, TILE);
}

struct how {
    const char *stem;
    uint32_t producers, consumers, threads;
    uint64_t work_ns, bound_ns, max_tries, leak; /* leak: + 1, 0 = none     */
};

static char *text_of(const struct how *h, const struct lone_edit *edits)
{
    const fgs_ptx_desc d = { .stem = h->stem, .tile_bytes = TILE,
                             .threads = h->threads };

    return lone_text(&d, edits);
}

/* Words that differ, in any round, a record or a fault; sentinels are left in
 * mid. */
static int run(const char *text, const struct how *h, uint64_t seed)
{
    uint64_t step = sizeof got[0], tiles = TILES, bound = h->bound_ns;
    uint64_t tries = h->max_tries, work = h->work_ns, leak = h->leak - 1;
    uint32_t rounds = ROUNDS, producers = h->producers, zero[64] = { 0 };
    CUdeviceptr in, mid, out, ready, ctl, rec, none = 0;
    void *params[] = { &in, &mid, &out, &step, &tiles, &ready, &ctl, &rec,
                       &none, &none, &bound, &tries, &work, &leak,
                       &rounds, &producers };
    char entry[40];
    bool claim = strstr(h->stem, "_claim");
    uint32_t blocks = claim ? 2 * TILES * ROUNDS : h->producers + h->consumers;
    struct lone l;
    int wrong = 0;

    snprintf(entry, sizeof entry, "fgs_%s", h->stem);
    /* few places, so that others are taken over; answers are late at times */
    l = claim ? lone_open_small(text, entry, seed, 1 + (uint32_t)seed % 2,
                                1 + (uint32_t)seed % 5,
                                600 + (uint32_t)seed % 4 * 3000)
              : lone_open(text, entry, seed);
    for (uint32_t i = 0; i < WORDS; i++)
        left[i] = 0x80000000u;
    memset(got, 0x5a, sizeof got);
    in = lone_put(input, sizeof input);
    mid = lone_put(left, sizeof left);
    out = lone_put(got, sizeof got);
    ready = lone_put(zero, sizeof zero);
    ctl = lone_put(zero, sizeof zero);
    rec = lone_put(zero, sizeof zero);
    memset(&record, 0, sizeof record);
    fault = "";
    if (lone_run(l.function, blocks, h->threads, TILE, params)) {
        fault = fgs_sim_last_fault();
        lone_close(&l);
        return 1;
    }
    OK(cuMemcpyDtoH(got, out, sizeof got));
    OK(cuMemcpyDtoH(left, mid, sizeof left));
    OK(cuMemcpyDtoH(&record, rec, sizeof record));
    OK(cuMemcpyDtoH(&taken, ready + 4 * (TILES + 1), sizeof taken));
    for (uint32_t r = 0; r < ROUNDS; r++)
        for (uint32_t i = 0; i < WORDS; i++)
            wrong += got[r][i] != want[r][i];
    for (uint32_t i = 0; i < WORDS; i++)
        wrong += left[i] != 0x80000000u;
    lone_close(&l);
    return wrong + (record.code != 0);
}

static void every_engine_and_split_is_right(void **state)
{
    static const struct {
        uint32_t producers, consumers, threads;
        uint64_t work_ns;
    } row[] = { { 1, 1, 64, 0 }, { 2, 3, 32, 500 }, { 5, 5, 96, 3000 },
                { 7, 1, 64, 100 }, { 1, 6, 128, 0 } };

    (void)state;
    for (size_t k = 0; k < COUNT(stems); k++) {
        for (size_t i = 0; i < COUNT(row); i++) {
            struct how h = { stems[k], row[i].producers, row[i].consumers,
                             row[i].threads, row[i].work_ns, 0, 0, 0 };
            char *text = text_of(&h, NULL);
            int wrong = run(text, &h, i);

            if (wrong)
                fail_msg("%s, split %u: %d words, code %u, %s", stems[k],
                         (unsigned)i, wrong, record.code, fault);
            free(text);
        }
    }
}

static void right_code_is_right_for_100_seeds(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(stems); k++) {
        struct how h = { stems[k], 2, 2, 64, 0, 0, 0, 0 };
        char *text = text_of(&h, NULL);

        for (uint64_t seed = 0; seed < SEEDS; seed++)
            assert_int_equal(run(text, &h, seed), 0);
        free(text);
    }
}

/* Blocks take over blocks: no order among them is asked for, nor that they be
 * resident together, down to one place. */
static void launch_control_is_right_for_100_seeds(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(claims); k++) {
        struct how h = { claims[k], 1, 0, 64, 0, 0, 0, 0 };

        uint32_t all = 0;

        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            char *text;
            int wrong;

            h.producers = 1 + (uint32_t)seed % TILES;
            h.work_ns = seed % 3 * 400;
            text = text_of(&h, NULL);
            wrong = run(text, &h, seed);
            if (wrong)
                fail_msg("%s, seed %u: %d words, code %u, %s", claims[k],
                         (unsigned)seed, wrong, record.code, fault);
            all += taken;
            free(text);
        }
        assert_true(all > SEEDS * TILES * ROUNDS);
    }
}

/* A warp that is late with its part of the fill. */
#define LATE                                                                   \
    { "L_clear:\n", "L_clear:\n    setp.ge.u32 %p_more, %t, 32;\n"            \
                   "    @%p_more nanosleep.u32 5000;\n" }

static void late_warp_is_waited_for(void **state)
{
    static const struct lone_edit late[] = { LATE, { NULL, NULL } };

    (void)state;
    for (size_t k = 0; k < COUNT(stems); k++) {
        struct how h = { stems[k], 5, 5, 64, 0, 0, 0, 0 };
        char *text = text_of(&h, late);

        assert_int_equal(run(text, &h, k), 0);
        free(text);
    }
}

static void each_missing_order_shows(void **state)
{
    static const struct {
        const char *what;
        struct lone_edit edit[3];
    } row[] = {
        { "no wait for the consumer",
          { { "setp.ge.u32             %p_none, %flag, %round;",
              "setp.ge.u32             %p_none, %flag, 0;" } } },
        { "no barrier before the release",
          { { "bar.sync                0;\n    @%p_helper bra          L_given",
              "@%p_helper bra          L_given" }, LATE } },
        { "no fill", { { "L_clear:\n", "L_clear:\n    bra L_filled;\n" } } },
    };

    (void)state;
    for (size_t k = 0; k < COUNT(stems); k++) {
        for (size_t i = 0; i < COUNT(row); i++) {
            struct how h = { stems[k], 5, 5, 64, 0, 200000, 0, 0 };
            char *text = text_of(&h, row[i].edit);
            int n = 0;

            for (uint64_t seed = 0; seed < 20; seed++)
                n += run(text, &h, seed) != 0;
            free(text);
            print_message("%s, %s: in %d of 20 seeds\n", h.stem, row[i].what,
                          n);
            if (!n)
                fail_msg("%s: %s is not seen", h.stem, row[i].what);
        }
    }
}

/* The item by the index of the block that was taken over, which may be the
 * grid's last one: those that are to make its tile find no place. */
#define BY_INDEX                                                               \
    { "    @%p_more bra  L_taken;",                                            \
      "    @%p_more clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32"  \
      ".b128 %b, %q;\n    @%p_more bra L_taken;" },                            \
    { "    atom.relaxed.gpu.global.add.u32 %item, [%a_flag], 1;",              \
      "    mov.u32 %item, %b;" }

static void each_broken_claim_shows(void **state)
{
    static const struct {
        const char *what, *cause;
        struct lone_edit edit[3];
        uint64_t leak;
    } row[] = {
        { "in the order of the blocks", "code 1", { BY_INDEX }, 0 },
        /* wrong words, or a tile that nobody makes any more */
        { "loads before the last round's reader filled", "",
          { { "    mov.u32                 %gate, 1;\n",
              "    setp.eq.u32 %p_more, %role, 3;\n"
              "    @%p_more bra L_free;\n"
              "    mov.u32                 %gate, 1;\n" }, LATE }, 0 },
        { "asks again behind a no", "it may make no other",
          { { "    @%p_more bra  L_taken;", "    bra L_taken;" } }, 0 },
        { "reads an answer that is not there", "before this response",
          { { "    @%p_landed bra L_answered;", "    bra L_answered;" } }, 0 },
        { "gives up and leaves before the answer", "before this response",
          { { "L_leave:\n", "L_leave:\n    bra L_drained;\n" } }, 20 },
    };

    (void)state;
    for (size_t k = 0; k < COUNT(claims); k++) {
        for (size_t i = 0; i < COUNT(row); i++) {
            struct how h = { claims[k], 2, 0, 64, 0, 200000, 0, row[i].leak };
            char *text = text_of(&h, row[i].edit), cause[200];
            uint64_t seed = 0;
            bool found = false;

            /* Some need two warps in a certain order: rare, and not in the
             * same seeds after a change of the software device. */
            for (; !found && seed < 1000; seed++) {
                int wrong = run(text, &h, seed);

                snprintf(cause, sizeof cause, "%.150s%s", fault,
                         *fault ? "" : !record.code ? "words"
                         : record.code == FGS__GIVEUP_TIME ? "code 1" : "?");
                found = wrong && strstr(cause, row[i].cause);
            }
            free(text);
            print_message("%s, %s: seed %d\n", h.stem, row[i].what,
                          (int)seed - 1);
            if (!found)
                fail_msg("%s: %s is not seen, but %s", h.stem, row[i].what,
                         cause);
        }
    }
}

/* A producer that leaves out a chunk: the record names tile, chunk and, as
 * the stage, the round, the last one. */
static void lost_chunk_is_recorded(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2 * COUNT(stems); k++) {
        const char *stem = k < COUNT(stems) ? stems[k]
                                            : claims[k - COUNT(stems)];
        struct how h = { stem, 2, 2, 64, 0, 300000, 0,
                         3 * TILE / 16 + 17 + 1 };
        char *text = text_of(&h, NULL);

        run(text, &h, 1);
        assert_int_equal(record.code, FGS__GIVEUP_TIME);
        assert_int_equal(record.role, FGS_ROLE_CONSUMER);
        assert_int_equal(record.tile, 3);
        assert_int_equal(record.chunk, 17);
        assert_int_equal(record.stage, ROUNDS - 1);
        h.bound_ns = 0;
        h.max_tries = 400;
        run(text, &h, 1);
        assert_int_equal(record.code, FGS__GIVEUP_TRIES);
        assert_int_equal(record.tries, 400);
        free(text);
    }
}

static void twins_are_right(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2 * COUNT(stems); k++) {
        const char *stem = k < COUNT(stems) ? stems[k]
                                            : claims[k - COUNT(stems)];
        struct how h = { stem, 2, 3, 64, 300, 0, 0, 0 };
        const fgs_ptx_desc d = { .stem = stem, .tile_bytes = TILE,
                                 .threads = 64 };
        char *text = lone_twin(&d);

        for (uint64_t seed = 0; seed < 5; seed++)
            assert_int_equal(run(text, &h, seed), 0);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_engine_and_split_is_right),
        cmocka_unit_test(right_code_is_right_for_100_seeds),
        cmocka_unit_test(launch_control_is_right_for_100_seeds),
        cmocka_unit_test(late_warp_is_waited_for),
        cmocka_unit_test(each_missing_order_shows),
        cmocka_unit_test(each_broken_claim_shows),
        cmocka_unit_test(lost_chunk_is_recorded),
        cmocka_unit_test(twins_are_right),
    };

    make_values();
    return cmocka_run_group_tests_name("fused", tests, NULL, NULL);
}
