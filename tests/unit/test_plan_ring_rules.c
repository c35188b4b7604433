/* test_plan_ring_rules.c -- rings that compose refuses, and why it has to
 *
 * Each rule of a ring with a plan that breaks it; then what a broken ring does
 * on the software device, whose stores land at once (test_ring_model.c has one
 * whose stores land late).
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "counting.h"
#include "ring_rig.h"

#include "core/plan.h"

/* ------------------------------------------------------------- refusals -- */

/* What a row needs beside the chain. */
static fgs_buffer *more;
static fgs_kernel *odd;

static void one_slot(void) { chain_make(5, 1, 1); }
static void two_slots(void) { chain_make(5, 2, 1); }

static void second_reader(void)
{
    chain_make(5, 3, 1);
    more = chain_buffer("more", 1);
    /* turn reads what the first `turn` has read */
    c.stage[3] = c.stage[2];
    c.stage[3].name = "late";
    c.stage[3].accesses = c.access[3];
    memcpy(c.access[3], c.access[2], sizeof c.access[3]);
    c.access[2][1] = (fgs_access){ .buffer = more, .write = 1 };
}

static void second_chain(void)
{
    chain_make(5, 3, 1);
    chain_stage("again", c.make, NULL, c.in, c.ring);
}

static void unread_end(void)
{
    chain_make(5, 3, 1);
    c.spec.stage_count = 4;
}

static void writer_before_a_reader(void)
{
    chain_make(5, 3, 1);
    chain_stage("eager", c.make, NULL, c.in, c.ring);
    c.stage[4] = c.stage[5];
}

static void reader_first(void)
{
    fgs_stage_desc s;

    chain_make(3, 3, 1);
    s = c.stage[0];
    c.stage[0] = c.stage[2];
    c.stage[2] = s;
}

static void not_written(void)
{
    chain_make(3, 3, 1);
    more = chain_buffer("more", 1);
    c.access[0][1].buffer = c.access[1][0].buffer = more;
    c.access[1][1].buffer = c.out;
    c.spec.stage_count = 2;
    c.stage[1].kernel = c.use;
    c.stage[1].ordered = c.use_plain;
}

static void other_tiles(void)
{
    chain_make(5, 3, 1);
    c.stage[2].grid[0] = 5;
    c.stage[3].grid[0] = c.stage[4].grid[0] = 5;
}

static void other_first(void)
{
    chain_make(5, 3, 1);
    c.access[2][0] = (fgs_access){ .buffer = c.ring, .first = 1, .step = 1,
                                   .count = 1 };
    c.stage[2].grid[0] = 5;
    c.stage[3].grid[0] = c.stage[4].grid[0] = 5;
}

static void by_table(void)
{
    static const uint32_t table[RING_TILES] = { 3, 0, 1, 2, 5, 4 };

    chain_make(5, 3, 1);
    c.access[3][0].table = table;
    c.access[3][0].tables = RING_TILES;
}

static void other_stream(void)
{
    chain_make(5, 3, 1);
    c.stage[3].stream = c.other;
}

static void other_domain(void)
{
    chain_make(5, 3, 1);
    c.spec.order = FGS_ORDER_PDL;
    c.access[2][0].order = c.access[4][0].order = FGS_ORDER_SENTINEL;
    c.stage[3].domain = 1;
    c.stage[4].domain = 1;
}

static void filled_by_its_writer(void)
{
    fgs_kernel_desc d = { .size = sizeof d, .role = FGS_ROLE_RELAY,
                          .tile_bytes = RING_TILE_BYTES, .self_init = 1 };
    fgs_error err;

    RIG_OK(fgs_kernel_make(&odd, c.dev, &d, &err), err);
    chain_make(5, 3, 1);
    c.stage[2].kernel = odd;
    c.stage[2].ordered = NULL;
}

static void own_kernel(void)
{
    chain_make(5, 3, 1);
    c.stage[2].kernel = c.stage[2].ordered = NULL;
    c.stage[2].function = (CUfunction)(uintptr_t)16;
    for (int i = 0; i < 3; i++)
        c.stage[2].grid[i] = c.stage[2].block[i] = 1;
}

static void producer_within(void)
{
    chain_make(5, 3, 1);
    c.stage[2].kernel = c.make;
    c.stage[2].ordered = NULL;
    c.access[2][0].order = FGS_ORDER_STREAM;
}

static void second_input(void)
{
    fgs_kernel_desc d = { .size = sizeof d, .role = FGS_ROLE_JOIN,
                          .tile_bytes = RING_TILE_BYTES };
    fgs_error err;

    RIG_OK(fgs_kernel_make(&odd, c.dev, &d, &err), err);
    chain_make(5, 3, 1);
    more = chain_buffer("more", 1);
    c.stage[2].kernel = odd;
    c.stage[2].ordered = NULL;
    c.access[2][2] = c.access[2][1];
    c.access[2][1] = c.access[2][0];
    c.access[2][0] = (fgs_access){ .buffer = more };
    c.stage[2].access_count = 3;
}

static void named_twice(void)
{
    chain_make(5, 3, 1);
    c.uses[1] = (fgs_use){ .buffer = c.ring, .fill = FGS_FILL_MEMSET };
    c.spec.use_count = 2;
}

static void with_a_kernel(void)
{
    chain_make(5, 3, 1);
    c.uses[0].kernel = c.make;
}

static const struct {
    void (*make)(void);
    fgs_result want;
    const char *stage; /* "" = none is named */
    uint64_t tile;     /* UINT64_MAX = none */
    const char *words;
} rows[] = {
    { one_slot, FGS_E_PLAN, "make", 0, "has 1 slot; it needs three" },
    { two_slots, FGS_E_PLAN, "make", 0, "has 2 slots; it needs three" },
    { second_reader, FGS_E_PLAN, "late", 0,
      "late reads what turn wrote, and turn would clear tiles that it may" },
    { second_chain, FGS_E_PLAN, "again", 0,
      "its chain ended with use: again writes it" },
    { unread_end, FGS_E_PLAN, "turn", UINT64_MAX,
      "no stage reads what turn writes last" },
    { writer_before_a_reader, FGS_E_PLAN, "eager", 0,
      "eager writes it before a stage has read what turn wrote" },
    { reader_first, FGS_E_PLAN, "use", UINT64_MAX,
      "no stage above it writes that" },
    { not_written, FGS_E_PLAN, "", UINT64_MAX, "no stage writes it" },
    { other_tiles, FGS_E_PLAN, "turn", 5,
      "turn takes tiles 0 ... 4 of it, make 0 ... 5" },
    { other_first, FGS_E_PLAN, "turn", 0,
      "turn takes tiles 1 ... 5 of it, make 0 ... 5" },
    { by_table, FGS_E_PLAN, "turn", 3,
      "takes its tiles by a table: block 0 has tile 3" },
    { other_stream, FGS_E_PLAN, "turn", UINT64_MAX, "different streams" },
    { other_domain, FGS_E_PLAN, "turn", UINT64_MAX,
      "different memory synchronization domains" },
    { filled_by_its_writer, FGS_E_PLAN, "turn", UINT64_MAX,
      "is filled by its writer turn; fill `ring` would fill it again" },
    { own_kernel, FGS_E_PLAN, "turn", 0, "turn is no kernel of the library" },
    { producer_within, FGS_E_PLAN, "turn", 0,
      "a kernel for producer, does not clear what it has consumed" },
    { second_input, FGS_E_PLAN, "turn", 0, "clears along its first input" },
    { named_twice, FGS_E_INVAL, "", UINT64_MAX, "names buffer 'r' twice" },
    { with_a_kernel, FGS_E_INVAL, "", UINT64_MAX, "a kernel goes with fill" },
};

static void broken_rings_are_refused_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgs_error err;
        fgs_result r;

        more = NULL;
        odd = NULL;
        rows[i].make();
        memset(&err, 0, sizeof err);
        r = chain_compose(&err);
        if (r != rows[i].want || !strstr(err.text, rows[i].words))
            fail_msg("row %zu: %d, %s", i, (int)r, err.text);
        assert_string_equal(err.kernel, rows[i].stage);
        if (rows[i].tile != UINT64_MAX)
            assert_true(err.tile == rows[i].tile);
        assert_null(c.plan);
        chain_drop();
        fgs_buffer_free(more);
        fgs_kernel_free(odd);
    }
}

static void second_live_round_is_refused(void **state)
{
    fgs_plan *first;
    fgs_error err;

    (void)state;
    chain_make(5, 3, 1);
    c.stage[0].work_ns = 50000000;
    c.spec.bound_ns = 1000000000;
    RIG_OK(chain_compose(&err), err);
    first = c.plan;
    c.plan = NULL;
    RIG_OK(chain_compose(&err), err);
    chain_write(1);
    RIG_OK(fgs_plan_run(first, c.run, 1, &err), err);
    assert_int_equal(fgs_plan_run(first, c.run, 1, &err), FGS_E_BUSY);
    assert_int_equal(fgs_plan_run(c.plan, c.other, 1, &err), FGS_E_BUSY);
    assert_non_null(strstr(err.text, "an unfinished run of another plan"));
    RIG_OK(fgs_plan_wait(first, &err), err);
    assert_int_equal(chain_wrong(RING_TILES), 0);
    fgs_plan_free(first);
}

/* Stage k reads slot k - 1, writes k and clears k - 2, counted on over
 * rounds. */
static void stage_clears_what_the_one_two_before_it_wrote(void **state)
{
    struct fgs__plan *p;
    CUdeviceptr at;
    fgs_error err;

    (void)state;
    for (uint32_t slots = 3; slots < 6; slots++) {
        chain_make(6, slots, 1);
        RIG_OK(chain_compose(&err), err);
        RIG_OK(fgs__plan_get(&p, c.plan, &err), err);
        at = fgs_buffer_get_pointer(c.ring);
        for (uint32_t round = 0; round < 7; round++) {
            chain_write(round);
            chain_run(1);
            assert_int_equal(p->stage[0].args.p_clear, 0);
            for (uint32_t k = 1; k < 6; k++) {
                const struct fgs__args *a = &p->stage[k].args;
                uint32_t edge = slots + 5 * round + k; /* no sum below 0 */

                assert_int_equal(a->p_mid,
                                 at + (edge - 1) % slots * RING_BYTES);
                assert_int_equal(a->p_clear,
                                 at + (edge - 2) % slots * RING_BYTES);
                if (k < 5)
                    assert_int_equal(a->p_out,
                                     at + edge % slots * RING_BYTES);
            }
        }
    }
}

/* Each allocation of compose fails once; nothing is lost. */
static void allocation_that_fails_leaves_nothing(void **state)
{
    struct counting counts;
    fgs_allocator a = counting_allocator(&counts);
    struct rig_opts o = { .allocator = &a };
    fgs_device *was = c.dev;
    fgs_kernel *k[5] = { c.make, c.turn, c.turn_plain, c.use, c.use_plain };
    fgs_result r;
    fgs_error err;
    long live;

    (void)state;
    memset(&counts, 0, sizeof counts);
    RIG_OK(rig_open(&c.dev, &o, &err), err);
    c.make = chain_kernel(FGS_ROLE_PRODUCER, 0, 0);
    c.turn = chain_kernel(FGS_ROLE_RELAY, 0, 0);
    c.turn_plain = chain_kernel(FGS_ROLE_RELAY, FGS_ENGINE_PLAIN, 0);
    c.use = chain_kernel(FGS_ROLE_CONSUMER, 0, 0);
    c.use_plain = chain_kernel(FGS_ROLE_CONSUMER, FGS_ENGINE_PLAIN, 0);
    chain_make(5, 3, 1);
    live = counts.live;
    for (long n = 1;; n++) {
        counts.at = counts.calls + n;
        r = chain_compose(&err);
        if (r != FGS_E_NOMEM)
            break;
        assert_int_equal(counts.live, live);
    }
    counts.at = 0;
    RIG_OK(r, err);
    chain_write(1);
    chain_run(4);
    assert_int_equal(chain_wrong(RING_TILES), 0);
    chain_drop();
    fgs_kernel_free(c.make);
    fgs_kernel_free(c.turn);
    fgs_kernel_free(c.turn_plain);
    fgs_kernel_free(c.use);
    fgs_kernel_free(c.use_plain);
    fgs_device_close(c.dev);
    c.dev = was;
    c.make = k[0], c.turn = k[1], c.turn_plain = k[2], c.use = k[3],
    c.use_plain = k[4];
}

/* -------------------------------------------------------------- mutants -- */

/* Texts of relay and consumer in a folder: the trigger at their start, or the
 * clear before the loads. */
static const struct {
    const char *name, *from; /* from: what is left out */
} mutants[] = {
    { "right", NULL },
    { "clears first", NULL },
    { "clears behind the trigger",
      "setp.eq.and.u64         %p_opens, %a_clear, 0, %p_opens;" },
    { "clears first, two slots", NULL },
};
enum { RIGHT, FIRST, BEHIND, TWO, MUTANTS, SEEDS = 12 };

static void path_of(char *path, size_t size, const char *stem)
{
    snprintf(path, size, "%s/%s.ptx", chain_dir, stem);
}

/* The clear, without its trigger, goes up to where a block begins a tile. */
static void clear_first(char *text)
{
    char *to = strstr(text, "\nL_started:\n") + 12, *from, *end, *piece;
    size_t n;

    from = strstr(text, "    .reg .u32   %void;");
    assert_non_null(from);
    end = strstr(from, "    // -- the dependent grid may start only now");
    assert_non_null(end);
    assert_true(to < from);
    n = (size_t)(end - from);
    piece = malloc(n);
    assert_non_null(piece);
    memcpy(piece, from, n);
    memmove(to + n, to, (size_t)(from - to));
    memcpy(to, piece, n);
    free(piece);
}

/* The library's text of a stem into the folder, with the change. */
static void put_text(const char *stem, int mutant)
{
    fgs_ptx_desc x = { .size = sizeof x, .stem = stem, .cc = 107,
                       .tile_bytes = RING_TILE_BYTES };
    char *text, *at, path[128];
    size_t size = 0;
    fgs_error err;
    FILE *f;

    fgs_ptx_expand(&x, NULL, &size, NULL);
    text = malloc(size);
    assert_non_null(text);
    RIG_OK(fgs_ptx_expand(&x, text, &size, &err), err);
    if (mutants[mutant].from) {
        at = strstr(text, mutants[mutant].from);
        assert_non_null(at);
        memset(at, ' ', strlen(mutants[mutant].from));
    }
    if (mutant == FIRST || mutant == TWO)
        clear_first(text);
    path_of(path, sizeof path, stem);
    f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    free(text);
}

/* A chain of uneven stages; two slots are a half of three each. */
static int is_bad(int mutant, uint32_t seed)
{
    struct fgs__plan *p;
    fgs_error err;

    chain_make(9, 3, 3);
    c.spec.bound_ns = 2000000;
    for (uint32_t i = 0; i < 9; i++)
        c.stage[i].spread_ns = 20000;
    RIG_OK(chain_compose(&err), err);
    RIG_OK(fgs__plan_get(&p, c.plan, &err), err);
    for (uint32_t i = 0; mutant == TWO && i < p->uses; i++) {
        if (p->use[i].ring != FGS__NOWHERE)
            p->use[i].slots = 2;
    }
    chain_write(seed);
    RIG_OK(fgs_plan_run(c.plan, c.run, 3, &err), err);
    return fgs_plan_wait(c.plan, &err) < 0 || chain_wrong(RING_TILES);
}

static uint32_t bad_runs(int mutant)
{
    static const char *const stems[] = { "poll_relay", "poll_consume" };
    char dir[] = "/tmp/fgs_ring.XXXXXX", path[128];
    uint32_t bad = 0;

    chain_dir = mkdtemp(dir);
    assert_non_null(chain_dir);
    for (int i = 0; i < 2; i++)
        put_text(stems[i], mutant);
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        chain_close();
        chain_present(1, seed);
        chain_open(FGS_ENGINE_POLL, 0);
        bad += (uint32_t)is_bad(mutant, seed);
    }
    for (int i = 0; i < 2; i++) {
        path_of(path, sizeof path, stems[i]);
        remove(path);
    }
    remove(dir);
    chain_dir = NULL;
    return bad;
}

static void clear_behind_the_trigger_and_two_slots_are_found(void **state)
{
    (void)state;
    if (!chain_is_sim())
        skip();
    for (int i = 0; i < MUTANTS; i++) {
        uint32_t bad = bad_runs(i);

        print_message("%s: %u of %d runs are wrong\n", mutants[i].name, bad,
                      SEEDS);
        if (i <= FIRST)
            assert_int_equal(bad, 0);
        else
            assert_true(bad > 0);
    }
    chain_close();
    chain_present(1, 1);
    chain_open(FGS_ENGINE_AUTO, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAIN_TEST(broken_rings_are_refused_with_their_place),
        CHAIN_TEST(second_live_round_is_refused),
        CHAIN_TEST(stage_clears_what_the_one_two_before_it_wrote),
        CHAIN_TEST(allocation_that_fails_leaves_nothing),
        CHAIN_TEST(clear_behind_the_trigger_and_two_slots_are_found),
    };

    return cmocka_run_group_tests(tests, rig_group, NULL);
}
