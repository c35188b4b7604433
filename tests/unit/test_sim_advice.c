/* test_sim_advice.c -- what a program says of managed memory, and asks then */
#include "sim_calls.h"

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    sim_open(&cfg, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static void range(int want, CUmem_range_attribute a, CUdeviceptr p, size_t n)
{
    int got = 77;

    OK(cuMemRangeGetAttribute(&got, sizeof got, a, p, n));
    assert_int_equal(got, want);
}

/* cuda.h, cuMemRangeGetAttribute: what holds for all pages of a range. */
static void advice_is_remembered(void **state)
{
    enum { PAGE = 65536, DEVICE = 1, HOST = 2 };
    CUdeviceptr p;
    int who[3];

    (void)state;
    OK(cuMemAllocManaged(&p, 4 * PAGE, CU_MEM_ATTACH_GLOBAL));
    range(0, 1, p, 4 * PAGE);
    range(-2, 2, p, 4 * PAGE);
    OK(cuMemAdvise(p + PAGE, 2 * PAGE, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    range(1, 1, p + PAGE, 2 * PAGE);
    range(0, 1, p, 2 * PAGE);
    range(0, 1, p + 2 * PAGE, 2 * PAGE);
    OK(cuMemAdvise(p, PAGE, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    range(1, 1, p, 3 * PAGE);
    OK(cuMemAdvise(p + PAGE, 1, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
    range(0, 1, p, 3 * PAGE);
    range(1, 1, p + 2 * PAGE, PAGE);

    OK(cuMemAdvise(p, 4 * PAGE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0));
    range(0, 2, p, 4 * PAGE);
    range(DEVICE, 5, p, 4 * PAGE);
    OK(cuMemAdvise(p, PAGE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, -1));
    range(-1, 2, p, PAGE);
    range(HOST, 5, p, PAGE);
    range(-2, 2, p, 2 * PAGE);
    range(0, 5, p, 2 * PAGE);
    OK(cuMemAdvise(p, PAGE, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 0));
    range(-2, 2, p, PAGE);

    range(-2, 4, p, PAGE);
    OK(cuMemPrefetchAsync(p, 2 * PAGE, 0, NULL));
    range(0, 4, p, 2 * PAGE);
    range(DEVICE, 7, p, 2 * PAGE);
    range(-2, 4, p, 3 * PAGE);
    OK(cuMemPrefetchAsync(p + PAGE, PAGE, -1, NULL));
    range(-2, 4, p, 2 * PAGE);
    range(-1, 8, p + PAGE, PAGE);

    OK(cuMemAdvise(p, 4 * PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
    OK(cuMemAdvise(p, PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, -1));
    OK(cuMemRangeGetAttribute(who, sizeof who, 3, p, 2 * PAGE));
    assert_int_equal(who[0], 0);
    assert_int_equal(who[1], -2);
    assert_int_equal(who[2], -2);
    OK(cuMemAdvise(p, PAGE, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 0));
    OK(cuMemRangeGetAttribute(who, 8, 3, p, PAGE));
    assert_int_equal(who[0], -1);
    assert_int_equal(who[1], -2);
    CU(cuMemRangeGetAttribute(who, 8, 1, p, PAGE), ERROR_INVALID_VALUE);
    CU(cuMemRangeGetAttribute(who, 4, 9, p, PAGE), ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    /* Nothing was said of what lies there next. */
    OK(cuMemAllocManaged(&p, 4 * PAGE, CU_MEM_ATTACH_GLOBAL));
    range(-2, 4, p, PAGE);
    range(0, 1, p + 2 * PAGE, PAGE);
    OK(cuMemFree(p));
}

/* Each place is for the ranges from its index on. */
static void batches_are_remembered(void **state)
{
    enum { PAGE = 65536 };
    CUmemLocation place[2] = { { .type = CU_MEM_LOCATION_TYPE_HOST },
                               { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    size_t bytes[3] = { PAGE, PAGE, PAGE }, first[2] = { 0, 2 };
    CUdeviceptr p, at[3];
    CUstream stream;

    (void)state;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocManaged(&p, 4 * PAGE, CU_MEM_ATTACH_GLOBAL));
    for (int i = 0; i < 3; i++)
        at[i] = p + (size_t)i * PAGE;
    OK(cuMemPrefetchBatchAsync(at, bytes, 3, place, first, 2, 0, stream));
    range(-1, 4, p, 2 * PAGE);
    range(0, 4, p + 2 * PAGE, PAGE);
    range(-2, 4, p + 3 * PAGE, PAGE);
    place[0].type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(cuMemDiscardAndPrefetchBatchAsync(at, bytes, 3, place, first, 1, 0,
                                         stream));
    range(0, 4, p, 3 * PAGE);
    OK(cuStreamSynchronize(stream));
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(p));
}

/* Ranges that overlap in all ways, against a table of single pages. */
static void ranges_are_the_sum_of_their_pages(void **state)
{
    enum { PAGES = 24, PAGE = 4096 };
    uint64_t draw = 1;
    int place[PAGES];
    CUdeviceptr p;

    (void)state;
    OK(cuMemAllocManaged(&p, PAGES * PAGE, CU_MEM_ATTACH_GLOBAL));
    for (int i = 0; i < PAGES; i++)
        place[i] = -2;
    for (int n = 0; n < 2000; n++) {
        unsigned lo, hi;
        int want;

        draw = draw * 6364136223846793005u + 1442695040888963407u;
        lo = (unsigned)(draw >> 33) % PAGES;
        hi = lo + 1 + (unsigned)(draw >> 48) % (PAGES - lo);
        if (n % 2) {
            want = place[lo];
            for (unsigned i = lo; i < hi; i++)
                want = place[i] == want ? want : -2;
            range(want, 4, p + lo * PAGE, (hi - lo) * PAGE);
            continue;
        }
        want = -(int)(draw >> 60 & 1);
        OK(cuMemPrefetchAsync(p + lo * PAGE, (hi - lo) * PAGE, want, NULL));
        for (unsigned i = lo; i < hi; i++)
            place[i] = want;
    }
    OK(cuMemFree(p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advice_is_remembered),
        cmocka_unit_test(batches_are_remembered),
        cmocka_unit_test(ranges_are_the_sum_of_their_pages),
    };

    return cmocka_run_group_tests_name("sim_advice", tests, setup, teardown);
}
