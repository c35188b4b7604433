/* test_sim_bulk.c -- bulk copies in flight: order, times, groups, failures */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/bulk.h"
#include "sim/cluster.h"
#include "sim/mbar.h"

/* ----------------------------------------------- a block and its memory -- */

enum { BYTES = 4096, BAR = BYTES, SHARED = BYTES + 64, NS = 600 };

static FGS__ALIGN(128) unsigned char global[BYTES];
static FGS__ALIGN(128) unsigned char shared[SHARED];
static uint8_t mbar_live[SHARED / 8];
static bool freed;
static CUresult fault;
static char fault_text[200];
static struct fgs__sim_code code;
static struct fgs__sim_grid grid;
static fgs_sim_config cfg;
static struct fgs__sim_sm sm;
static struct fgs__sim_block block;

enum { GLOBAL_AT = 0x10000 };

/* These three stand for the memory and the fault report of the device. */
bool fgs__sim_mem_find(struct fgs__sim_mem *mem, uint64_t addr,
                       struct fgs__sim_range *out)
{
    (void)mem;
    if (freed || addr < GLOBAL_AT || addr >= GLOBAL_AT + BYTES)
        return false;
    *out =
        (struct fgs__sim_range){GLOBAL_AT, GLOBAL_AT + BYTES, (char *)global};
    return true;
}

uint32_t fgs__sim_mem_generation(struct fgs__sim_mem *mem)
{
    (void)mem;
    return freed;
}

/* A block without a cluster. */
struct fgs__sim_block *fgs__sim_peer(const struct fgs__sim_block *b,
                                     uint32_t rank, const char **why)
{
    (void)why;
    return rank ? NULL : (struct fgs__sim_block *)(uintptr_t)b;
}

void fgs__sim_peer_event(struct fgs__sim_block *b, uint64_t ps)
{
    fgs__sim_block_event(b, ps);
}

void fgs__sim_fault(struct fgs__sim_grid *g, CUresult cu,
                    const struct fgs__ptx_insn *at, uint64_t linear,
                    int64_t thread, const char *fmt, ...)
{
    va_list ap;

    (void)g, (void)at, (void)linear, (void)thread;
    fault = cu;
    va_start(ap, fmt);
    vsnprintf(fault_text, sizeof fault_text, fmt, ap);
    va_end(ap);
}

/* Fails from the n-th call on (0 = never) and counts live blocks. */
static struct {
    unsigned at, calls;
    int live;
} heap;

static void *heap_alloc(void *cookie, size_t size)
{
    (void)cookie;
    if (heap.at && ++heap.calls >= heap.at)
        return NULL;
    heap.live++;
    return malloc(size);
}

static void heap_free(void *cookie, void *p)
{
    (void)cookie;
    heap.live -= p != NULL;
    free(p);
}

static const fgs_allocator allocator = {heap_alloc, heap_free, NULL};

static int setup(void **state)
{
    (void)state;
    memset(&heap, 0, sizeof heap);
    memset(mbar_live, 0, sizeof mbar_live);
    memset(shared, 0xcc, sizeof shared);
    for (unsigned n = 0; n < BYTES; n++)
        global[n] = (unsigned char)(n * 7 + n / 256 + 1);
    freed = false;
    fault = CUDA_SUCCESS;
    fault_text[0] = 0;
    code = (struct fgs__sim_code){.alloc = &allocator};
    grid = (struct fgs__sim_grid){.code = &code, .shared_bytes = SHARED};
    cfg = (fgs_sim_config){.copy_ns = NS};
    sm = (struct fgs__sim_sm){.cfg = &cfg};
    block = (struct fgs__sim_block){.grid = &grid,
                                    .sm = &sm,
                                    .shared = shared,
                                    .mbar_live = mbar_live,
                                    .rng = 1};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fgs__sim_copies_free(&block);
    assert_int_equal(heap.live, 0);
    return 0;
}

static uint64_t *bar_init(int layout)
{
    uint64_t *bar = (uint64_t *)(void *)(shared + BAR);

    fgs__mbar_init(bar, layout, 1);
    mbar_live[BAR / 8] = 1;
    return bar;
}

static bool load(uint32_t bytes, fgs_mechanism mech, uint64_t now_ps)
{
    struct fgs__sim_copy_req r = {.global = GLOBAL_AT,
                                  .host = (char *)global,
                                  .bytes = bytes,
                                  .bar = BAR,
                                  .mech = mech};

    return fgs__sim_copy_start(&block, &r, now_ps);
}

static bool store(uint32_t at, uint32_t bytes, int64_t thread, uint64_t now_ps)
{
    struct fgs__sim_copy_req r = {.thread = thread,
                                  .global = GLOBAL_AT + at,
                                  .shared = at,
                                  .host = (char *)global + at,
                                  .bytes = bytes,
                                  .store = true};

    return fgs__sim_copy_start(&block, &r, now_ps);
}

/* ------------------------------------------------------- times and order -- */

/* Run until the copy has ended; the time of its end. */
static uint64_t run_out(uint64_t now_ps)
{
    uint64_t due;

    while ((due = fgs__sim_copies_run(&block, now_ps)) != FGS__SIM_NEVER) {
        assert_true(due > now_ps);
        now_ps = due;
    }
    return now_ps;
}

static unsigned chunks_moved(void)
{
    unsigned n = 0;

    for (unsigned k = 0; k < BYTES / 16; k++)
        n += memcmp(shared + 16 * k, global + 16 * k, 16) == 0;
    return n;
}

static void load_ends_between_one_and_three_times_the_copy_time(void **state)
{
    uint64_t least = UINT64_MAX, most = 0;

    (void)state;
    for (unsigned n = 0; n < 200; n++) {
        uint64_t *bar = (uint64_t *)(void *)(shared + BAR), end;

        bar_init(1);
        memset(shared, 0, BYTES);
        fgs__mbar_expect_tx(bar, BYTES);
        fgs__mbar_arrive(bar, 1, 0);
        assert_true(load(BYTES, FGS_MECHANISM_DISABLED, 5000));
        assert_int_equal(fgs__sim_copies_run(&block, 5000 + NS * 1000 - 1) !=
                             FGS__SIM_NEVER,
                         1);
        assert_int_equal(chunks_moved(), 0);
        end = run_out(5000 + NS * 1000 - 1) - 5000;
        assert_int_equal(chunks_moved(), BYTES / 16);
        assert_true(fgs__mbar_done_primary(*bar, 0));
        assert_true(fgs__mbar_done_conditional(*bar, 0));
        least = end < least ? end : least;
        most = end > most ? end : most;
    }
    assert_true(least >= NS * 1000);
    assert_true(least < NS * 1300);
    assert_true(most <= NS * 3000 + 4);
    assert_true(most > NS * 1900);
}

/* Partial visibility: after the first part some chunks are there, scattered
 * over the tile, and no chunk is always among them. */
static void load_lands_part_by_part_in_an_order_of_the_seed(void **state)
{
    unsigned partial = 0, borders = 0, first = 0;

    (void)state;
    for (unsigned seed = 0; seed < 40; seed++) {
        bool before = false;
        uint64_t due;

        block.rng = seed;
        bar_init(1);
        memset(shared, 0, BYTES);
        fgs__mbar_expect_tx((uint64_t *)(void *)(shared + BAR), BYTES);
        assert_true(load(BYTES, FGS_MECHANISM_DISABLED, 0));
        due = fgs__sim_copies_run(&block, 0);
        due = fgs__sim_copies_run(&block, due);
        for (unsigned k = 0; k < BYTES / 16 && due != FGS__SIM_NEVER; k++) {
            bool here = !memcmp(shared + 16 * k, global + 16 * k, 16);

            borders += here != before;
            before = here;
            first += k == 0 && here;
        }
        if (due != FGS__SIM_NEVER) {
            partial++;
            assert_in_range(chunks_moved(), 1, BYTES / 16 - 1);
        }
        run_out(due == FGS__SIM_NEVER ? 0 : due);
        assert_int_equal(chunks_moved(), BYTES / 16);
    }
    assert_true(partial > 20);
    assert_true(borders > 10 * partial);
    assert_in_range(first, 1, partial - 1);
}

/* The chunk is read when its part is due, and what was read is inspected. */
static void load_reads_its_source_late(void **state)
{
    uint64_t *bar = bar_init(1), due;
    uint8_t value;

    (void)state;
    memset(global, 0, BYTES);
    global[3] = 0x80; /* 0x80000000 in the first word */
    cfg.sample = FGS_SIM_SAMPLE_FIRST;
    fgs__mbar_expect_tx(bar, 2 * BYTES);
    fgs__mbar_arrive(bar, 1, 0);
    assert_true(load(BYTES, FGS_MECHANISM_W32, 0));
    global[3] = 0;
    run_out(0);
    global[3] = 0x80;
    assert_false(fgs__mbar_done_primary(*bar, 0));
    assert_true(load(BYTES, FGS_MECHANISM_W32, 0));
    due = fgs__sim_copies_run(&block, 0);
    assert_int_equal(shared[3], 0);
    run_out(due);
    assert_int_equal(shared[3], 0x80);
    assert_true(fgs__mbar_done_primary(*bar, 0));
    assert_true(fgs__mbar_reported(*bar, &value));
    assert_false(fgs__mbar_done_conditional(*bar, 0));
}

/* One sentinel anywhere in the tile reaches the phase that the copy's last
 * byte completes, whichever part it was in. */
static void report_never_misses_its_phase(void **state)
{
    (void)state;
    cfg.sample = FGS_SIM_SAMPLE_ALL;
    memset(global, 0, BYTES);
    for (unsigned k = 0; k < BYTES / 16; k++) {
        uint64_t *bar = bar_init(1);
        uint8_t value;

        global[16 * k + 11] = 0x80;
        fgs__mbar_expect_tx(bar, BYTES);
        fgs__mbar_arrive(bar, 1, 0);
        assert_true(load(BYTES, FGS_MECHANISM_W32, 0));
        run_out(0);
        global[16 * k + 11] = 0;
        assert_true(fgs__mbar_done_primary(*bar, 0));
        assert_true(fgs__mbar_reported(*bar, &value));
        assert_false(fgs__mbar_done_conditional(*bar, 0));
    }
}

/* tx-count goes through negative values when the copy is first. */
static void load_may_end_before_its_bytes_are_expected(void **state)
{
    uint64_t *bar = bar_init(1);

    (void)state;
    assert_true(load(BYTES, FGS_MECHANISM_W32, 0));
    run_out(0);
    assert_int_equal(fgs__mbar_tx(*bar), -BYTES);
    fgs__mbar_expect_tx(bar, BYTES);
    fgs__mbar_arrive(bar, 1, 0);
    assert_true(fgs__mbar_done_primary(*bar, 0));
}

static void load_of_every_size_moves_exactly_its_bytes(void **state)
{
    (void)state;
    for (uint32_t bytes = 0; bytes <= BYTES; bytes += bytes < 1100 ? 16 : 496) {
        uint64_t *bar = bar_init(1);

        memset(shared, 0xcc, BYTES);
        fgs__mbar_expect_tx(bar, bytes);
        assert_true(load(bytes, FGS_MECHANISM_EACH_FF, 0));
        run_out(0);
        fgs__mbar_arrive(bar, 1, 0);
        assert_true(fgs__mbar_done_primary(*bar, 0));
        assert_memory_equal(shared, global, bytes);
        for (uint32_t n = bytes; n < BYTES; n++)
            assert_int_equal(shared[n], 0xcc);
    }
}

static void phase_completion_wakes_the_block(void **state)
{
    uint64_t *bar = bar_init(1), end;

    (void)state;
    fgs__mbar_expect_tx(bar, BYTES);
    fgs__mbar_arrive(bar, 1, 0);
    assert_true(load(BYTES, FGS_MECHANISM_W32, 0));
    fgs__sim_copies_run(&block, NS * 1000 - 1);
    assert_int_equal(block.events, 0);
    end = run_out(0);
    assert_int_equal(block.events, 1);
    assert_int_equal(block.event_ps, end);
}

/* ---------------------------------------------------------------- stores -- */

static void store_reads_first_and_writes_later(void **state)
{
    uint64_t due;

    (void)state;
    memset(shared, 0x5a, BYTES);
    memset(global, 0, BYTES);
    assert_true(store(0, BYTES, 7, 0));
    fgs__sim_copies_commit(&block, 7);
    assert_true(fgs__sim_copies_pending(&block, 7, 0, true));
    due = fgs__sim_copies_run(&block, 0);
    due = fgs__sim_copies_run(&block, due);
    /* Source read: wait_group.read returns, wait_group does not. */
    assert_false(fgs__sim_copies_pending(&block, 7, 0, true));
    assert_true(fgs__sim_copies_pending(&block, 7, 0, false));
    assert_int_equal(global[0] | global[BYTES - 1] | global[BYTES / 2], 0);
    memset(shared, 0, BYTES);
    run_out(due);
    assert_false(fgs__sim_copies_pending(&block, 7, 0, false));
    for (unsigned n = 0; n < BYTES; n++)
        assert_int_equal(global[n], 0x5a);
}

static void wait_group_counts_the_newest_groups_of_its_thread(void **state)
{
    (void)state;
    assert_true(store(0, 16, 1, 0));
    /* Not committed yet: in no group. */
    assert_false(fgs__sim_copies_pending(&block, 1, 0, false));
    fgs__sim_copies_commit(&block, 1);
    assert_true(fgs__sim_copies_pending(&block, 1, 0, false));
    assert_false(fgs__sim_copies_pending(&block, 1, 1, false));
    assert_false(fgs__sim_copies_pending(&block, 2, 0, false));
    /* An empty group counts as the newest one. */
    fgs__sim_copies_commit(&block, 1);
    assert_true(fgs__sim_copies_pending(&block, 1, 1, false));
    assert_false(fgs__sim_copies_pending(&block, 1, 2, false));
    /* Another thread's commit changes nothing. */
    fgs__sim_copies_commit(&block, 2);
    assert_false(fgs__sim_copies_pending(&block, 1, 2, false));
    run_out(0);
    assert_false(fgs__sim_copies_pending(&block, 1, 0, false));
}

/* ---------------------------------------------------------------- faults -- */

static void freed_source_is_reported(void **state)
{
    (void)state;
    bar_init(1);
    assert_true(load(BYTES, FGS_MECHANISM_W32, 0));
    freed = true;
    fgs__sim_copies_run(&block, NS * 9000);
    assert_int_equal(fault, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_non_null(strstr(fault_text, "freed"));
    assert_true(block.faulted);
}

static void invalidated_barrier_is_reported(void **state)
{
    (void)state;
    bar_init(1);
    assert_true(load(BYTES, FGS_MECHANISM_W32, 0));
    mbar_live[BAR / 8] = 0;
    fgs__sim_copies_run(&block, NS * 9000);
    assert_int_equal(fault, CUDA_ERROR_ILLEGAL_INSTRUCTION);
    assert_non_null(strstr(fault_text, "invalidated"));
}

static void block_must_not_end_before_its_copies(void **state)
{
    (void)state;
    bar_init(1);
    assert_false(fgs__sim_copies_orphaned(&block));
    assert_true(load(BYTES, FGS_MECHANISM_W32, 0));
    assert_true(fgs__sim_copies_orphaned(&block));
    assert_non_null(strstr(fault_text, "wait for its mbarrier"));
    fgs__sim_copies_free(&block);
    assert_true(store(0, BYTES, 0, 0));
    assert_true(fgs__sim_copies_orphaned(&block));
    assert_non_null(strstr(fault_text, "wait_group"));
}

/* Writes that are still on their way do not use shared memory. */
static void block_may_end_when_a_store_has_read_its_source(void **state)
{
    (void)state;
    assert_true(store(0, BYTES, 0, 0));
    fgs__sim_copies_run(&block, fgs__sim_copies_run(&block, 0));
    assert_false(fgs__sim_copies_orphaned(&block));
    assert_int_equal(fault, CUDA_SUCCESS);
}

static void copy_without_memory_leaves_nothing(void **state)
{
    (void)state;
    bar_init(1);
    for (unsigned n = 1; n <= 2; n++) {
        heap.calls = 0;
        heap.at = n;
        assert_false(store(0, BYTES, 0, 0));
        assert_int_equal(heap.live, 0);
        assert_null(block.copies);
    }
    heap.calls = 0;
    heap.at = 1;
    assert_false(load(BYTES, FGS_MECHANISM_W32, 0));
    assert_null(block.copies);
    heap.at = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(load_ends_between_one_and_three_times_the_copy_time),
        TEST(load_lands_part_by_part_in_an_order_of_the_seed),
        TEST(load_reads_its_source_late),
        TEST(report_never_misses_its_phase),
        TEST(load_may_end_before_its_bytes_are_expected),
        TEST(load_of_every_size_moves_exactly_its_bytes),
        TEST(phase_completion_wakes_the_block),
        TEST(store_reads_first_and_writes_later),
        TEST(wait_group_counts_the_newest_groups_of_its_thread),
        TEST(freed_source_is_reported),
        TEST(invalidated_barrier_is_reported),
        TEST(block_must_not_end_before_its_copies),
        TEST(block_may_end_when_a_store_has_read_its_source),
        TEST(copy_without_memory_leaves_nothing),
    };

    return cmocka_run_group_tests_name("sim_bulk", tests, NULL, NULL);
}
