/* test_record.c -- what kernels left, read by the host: records, boards */
#include "base/compat.h"
#include "table/record.h"

#include <fgs/fgs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* At an odd address: a program copies it from anywhere. */
static unsigned char room[FGS_RECORD_BYTES + 1];

static const void *put(const struct fgs__rec *r)
{
    memset(room, 0, sizeof room);
    memcpy(room + 1, r, sizeof *r);
    return room + 1;
}

static void record_of_nothing_is_good(void **state)
{
    const struct fgs__rec r = { .code = FGS__GIVEUP_NONE };

    (void)state;
    assert_int_equal(fgs_record_read(put(&r), "k", "b", NULL), FGS_OK);
}

static void record_of_a_leak_names_its_place(void **state)
{
    const struct fgs__rec r = { .code = FGS__GIVEUP_TIME, .block = 7,
                                .tile = 9, .chunk = 3, .stage = 2, .tries = 5,
                                .elapsed_ns = 1234567 };
    fgs_error err;

    (void)state;
    assert_int_equal(fgs_record_read(put(&r), "k", "b", NULL), FGS_E_LEAK);
    assert_int_equal(fgs_record_read(put(&r), "k", "b", &err), FGS_E_LEAK);
    assert_non_null(strstr(err.text, "k, block 7: buffer 'b' tile 9 chunk 3"));
    assert_non_null(strstr(err.text, "1.234 ms and 5 tries"));
    assert_string_equal(err.kernel, "k");
    assert_string_equal(err.buffer, "b");
    assert_int_equal(err.tile, 9);
    assert_int_equal(err.stage, 2);
}

/* The sentence has its end whatever the names are. */
static void names_of_any_length(void **state)
{
    const struct fgs__rec r = { .code = FGS__GIVEUP_TIME, .tries = 5 };
    static char name[5000];
    fgs_error err;

    (void)state;
    memset(name, 'x', sizeof name - 1);
    assert_int_equal(fgs_record_read(put(&r), name, name, &err), FGS_E_LEAK);
    assert_int_equal(strlen(err.kernel), 63);
    assert_int_equal(strlen(err.buffer), 31);
    assert_non_null(strstr(err.text, " and 5 tries"));
    assert_int_equal(fgs_record_read(put(&r), "", "", &err), FGS_E_LEAK);
}

static void nothing_to_read_from(void **state)
{
    const struct fgs__rec r = { .code = FGS__GIVEUP_TIME };
    fgs_counts c = { .size = sizeof c };
    fgs_error err;

    (void)state;
    assert_int_equal(fgs_record_read(NULL, "k", "b", &err), FGS_E_NULL);
    assert_int_equal(fgs_record_read(put(&r), NULL, "b", &err), FGS_E_NULL);
    assert_int_equal(fgs_record_read(put(&r), "k", NULL, &err), FGS_E_NULL);
    assert_int_equal(fgs_board_read(NULL, &c), FGS_E_NULL);
    assert_int_equal(fgs_board_read(room, NULL), FGS_E_NULL);
    c.size--;
    assert_int_equal(fgs_board_read(room, &c), FGS_E_INVAL);
}

/* `first` is a complement: all ones is the earliest start, 0 none. */
static void board_tells_overlap_from_its_times(void **state)
{
    static unsigned char board[FGS_BOARD_BYTES + 1];
    struct fgs__stat p = { .last = 100 }, k = { .reissues = 3 };
    fgs_counts c = { .size = sizeof c };

    (void)state;
    for (uint64_t start = 99; start < 101; start++) {
        k.first = ~start;
        memcpy(board + 1 + FGS_BOARD_PRODUCER, &p, sizeof p);
        memcpy(board + 1 + FGS_BOARD_CONSUMER, &k, sizeof k);
        assert_int_equal(fgs_board_read(board + 1, &c), FGS_OK);
        assert_int_equal(c.overlap, start < 100);
        assert_int_equal(c.reissues, 3);
        assert_int_equal(c.aborted, 0);
    }
    k.first = 0;
    memcpy(board + 1 + FGS_BOARD_CONSUMER, &k, sizeof k);
    assert_int_equal(fgs_board_read(board + 1, &c), FGS_OK);
    assert_int_equal(c.overlap, 0);
}

static void mirror_of_tiles_that_are_none(void **state)
{
    static const uint32_t in[4] = { 1, 2, 3, 4 };
    uint32_t out[4];

    (void)state;
    assert_int_equal(fgs_ref_consume(FGS_ELEMENT_F32, in, out, 1, 16), FGS_OK);
    assert_int_equal(out[0], 4);
    assert_int_equal(fgs_ref_consume(FGS_ELEMENT_F32, in, out, 1, 8),
                     FGS_E_SIZE);
    assert_int_equal(fgs_ref_consume(FGS_ELEMENT_F32, in, out, UINT64_MAX, 16),
                     FGS_E_SIZE);
    assert_int_equal(fgs_ref_consume(FGS_ELEMENT_F32, in, out, 0, 16), FGS_OK);
}

static void reserved_members_are_zero(void **state)
{
    fgs_ptx_desc d = { .size = sizeof d, .stem = "poll_consume", .cc = 90,
                       .reserved = 1 };
    static char text[65536];
    size_t size = sizeof text;
    fgs_error err;

    (void)state;
    assert_int_equal(fgs_ptx_expand(&d, text, &size, &err), FGS_E_ABI);
    assert_int_equal(fgs_ptx_compile(&d, text, &size, &err), FGS_E_ABI);
    d.reserved = 0;
    assert_int_equal(fgs_ptx_expand(&d, text, &size, &err), FGS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_of_nothing_is_good),
        cmocka_unit_test(record_of_a_leak_names_its_place),
        cmocka_unit_test(names_of_any_length),
        cmocka_unit_test(nothing_to_read_from),
        cmocka_unit_test(board_tells_overlap_from_its_times),
        cmocka_unit_test(mirror_of_tiles_that_are_none),
        cmocka_unit_test(reserved_members_are_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
