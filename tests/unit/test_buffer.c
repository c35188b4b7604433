/* test_buffer.c -- buffers on any provider: shapes, copies, wrong calls
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "rig.h"
#include "table/cu.h"

static fgs_device *dev;

static int open_device(void **state)
{
    struct rig_opts o = { 0 };
    fgs_error err;
    fgs_result r = rig_open(&dev, &o, &err);

    (void)state;
    if (r < 0 && !strcmp(rig_provider(), "cuda")) {
        print_message("%s\n", err.text);
        exit(77);
    }
    return r < 0;
}

static int close_device(void **state)
{
    (void)state;
    fgs_device_close(dev);
    return 0;
}

static fgs_result make(fgs_buffer **b, const fgs_buffer_desc *d, fgs_error *err)
{
    *b = (fgs_buffer *)16;
    return fgs_buffer_make(b, dev, d, err);
}

static void bytes_come_back_as_written(void **state)
{
    static uint8_t host[8192], got[8192];
    fgs_buffer *b = NULL;
    fgs_error err;

    (void)state;
    RIG_OK(rig_buffer(&b, dev, "b", 2, &err), err);
    assert_int_equal(fgs_buffer_get_bytes(b), 8192);
    assert_true(fgs_buffer_get_pointer(b) != 0);
    assert_int_equal(fgs_buffer_get_pointer(b) % 16, 0);
    for (size_t i = 0; i < sizeof host; i++)
        host[i] = (uint8_t)(i * 7);
    RIG_OK(fgs_buffer_write(b, 0, host, sizeof host, &err), err);
    RIG_OK(fgs_buffer_write(b, 4095, "\1\2\3", 3, &err), err);
    memcpy(host + 4095, "\1\2\3", 3);
    RIG_OK(fgs_buffer_read(b, 0, got, sizeof got, &err), err);
    assert_memory_equal(host, got, sizeof got);
    RIG_OK(fgs_buffer_read(b, 8192, NULL, 0, &err), err);
    fgs_buffer_free(b);
}

static void copy_past_the_end_is_refused(void **state)
{
    fgs_buffer *b = NULL;
    fgs_error err;
    char x[2] = { 0 };

    (void)state;
    RIG_OK(rig_buffer(&b, dev, "edge", 1, &err), err);
    assert_int_equal(fgs_buffer_write(b, 4095, x, 2, &err), FGS_E_SIZE);
    assert_non_null(strstr(err.text, "'edge'"));
    assert_int_equal(fgs_buffer_read(b, 4097, x, 0, &err), FGS_E_SIZE);
    assert_int_equal(fgs_buffer_read(b, UINT64_MAX, x, 2, &err), FGS_E_SIZE);
    assert_int_equal(fgs_buffer_write(b, 1, x, UINT64_MAX, &err), FGS_E_SIZE);
    assert_int_equal(fgs_buffer_write(b, 0, NULL, 1, &err), FGS_E_NULL);
    assert_int_equal(fgs_buffer_read(b, 0, NULL, 1, &err), FGS_E_NULL);
    fgs_buffer_free(b);
}

static void shape_that_is_wrong_is_refused(void **state)
{
    static const struct {
        uint64_t tiles, tile_bytes;
        fgs_result want;
        const char *text;
    } rows[] = {
        { 0, 4096, FGS_E_SIZE, "tiles is 0" },
        { 0x80000000u, 4096, FGS_E_SIZE, "tiles is 2147483648" },
        { UINT64_MAX, 4096, FGS_E_SIZE, "not in 1 ... 2147483647" },
        { 1, 24, FGS_E_ALIGN, "tile_bytes is 24, no multiple of 16" },
        { 1, 4095, FGS_E_ALIGN, "4095" },
        { 3, 0x7ffffffffffffff0u, FGS_E_SIZE, "overflow" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fgs_buffer_desc d = { .size = sizeof d, .tiles = rows[i].tiles,
                              .tile_bytes = rows[i].tile_bytes };
        fgs_buffer *b;
        fgs_error err;

        assert_int_equal(make(&b, &d, &err), rows[i].want);
        assert_null(b);
        assert_non_null(strstr(err.text, rows[i].text));
    }
}

static void description_that_is_wrong_is_refused(void **state)
{
    fgs_buffer_desc d = { .size = sizeof d, .tiles = 1 };
    fgs_buffer *b;
    fgs_error err;

    (void)state;
    assert_int_equal(fgs_buffer_make(NULL, dev, &d, &err), FGS_E_NULL);
    assert_int_equal(fgs_buffer_make(&b, NULL, &d, &err), FGS_E_NULL);
    assert_int_equal(make(&b, NULL, &err), FGS_E_NULL);
    d.size = 8;
    assert_int_equal(make(&b, &d, &err), FGS_E_INVAL);
    d = (fgs_buffer_desc){ .size = sizeof d, .tiles = 1, .slots = 65 };
    assert_int_equal(make(&b, &d, &err), FGS_E_SIZE);
    d = (fgs_buffer_desc){ .size = sizeof d, .tiles = 1,
                           .element = FGS_ELEMENT_COUNT };
    assert_int_equal(make(&b, &d, &err), FGS_E_INVAL);
    d = (fgs_buffer_desc){ .size = sizeof d, .tiles = 1,
                           .name = "a name that is longer than it may be" };
    assert_int_equal(make(&b, &d, &err), FGS_E_SIZE);
    d = (fgs_buffer_desc){ .size = sizeof d, .tiles = 1, .pointer_bytes = 9 };
    assert_int_equal(make(&b, &d, &err), FGS_E_INVAL);
    assert_null(b);
}

static void wrapped_memory_stays_the_application_s(void **state)
{
    fgs_buffer_desc d = { .size = sizeof d, .tiles = 1, .name = "wrap" };
    fgs_buffer *own = NULL, *b;
    fgs_error err;
    char got[4];

    (void)state;
    RIG_OK(rig_buffer(&own, dev, "own", 3, &err), err);
    d.pointer = fgs_buffer_get_pointer(own) + 4096;
    d.pointer_bytes = 4096;
    RIG_OK(make(&b, &d, &err), err);
    assert_true(fgs_buffer_get_pointer(b) == d.pointer);
    RIG_OK(fgs_buffer_write(b, 0, "abc", 4, &err), err);
    fgs_buffer_free(b);
    RIG_OK(fgs_buffer_read(own, 4096, got, 4, &err), err);
    assert_string_equal(got, "abc");
    d.pointer += 8;
    assert_int_equal(make(&b, &d, &err), FGS_E_ALIGN);
    assert_non_null(strstr(err.text, "'wrap'"));
    d.pointer -= 8;
    d.pointer_bytes = 4095;
    assert_int_equal(make(&b, &d, &err), FGS_E_SIZE);
    d.pointer = (CUdeviceptr)0xfffffffffffffff0u;
    d.pointer_bytes = 4096;
    assert_int_equal(make(&b, &d, &err), FGS_E_SIZE);
    fgs_buffer_free(own);
}

static void freed_buffer_is_known_as_freed(void **state)
{
    fgs_buffer *b = NULL, *next = NULL;
    fgs_error err;
    char x = 0;

    (void)state;
    RIG_OK(rig_buffer(&b, dev, "b", 1, &err), err);
    fgs_buffer_free(b);
    RIG_OK(rig_buffer(&next, dev, "next", 1, &err), err);
    assert_int_equal(fgs_buffer_write(b, 0, &x, 1, &err), FGS_E_FREED);
    assert_int_equal(fgs_buffer_read(b, 0, &x, 1, &err), FGS_E_FREED);
    assert_true(fgs_buffer_get_pointer(b) == 0);
    assert_true(fgs_buffer_get_bytes(b) == 0);
    /* A kernel's call on a buffer's handle, through a careless cast. */
    assert_null(fgs_kernel_get_function((fgs_kernel *)(void *)next));
    assert_int_equal(fgs_buffer_write(NULL, 0, &x, 1, &err), FGS_E_NULL);
    fgs_buffer_free(b);
    fgs_buffer_free(NULL);
    fgs_buffer_free(next);
}

/* 4 GiB + 64 KiB: a 32-bit byte count would wrap to 64 KiB. */
static void buffer_above_4_gib_is_addressed_in_64_bits(void **state)
{
    const uint64_t tiles = (1ull << 20) + 16, end = tiles * 4096;
    fgs_buffer *b = NULL;
    char got[8];
    fgs_error err;

    (void)state;
    RIG_OK(rig_buffer(&b, dev, "large", tiles, &err), err);
    assert_true(fgs_buffer_get_bytes(b) == end);
    RIG_OK(fgs_buffer_write(b, end - 8, "the end", 8, &err), err);
    RIG_OK(fgs_buffer_write(b, 65528, "elsewh.", 8, &err), err);
    RIG_OK(fgs_buffer_read(b, end - 8, got, 8, &err), err);
    assert_string_equal(got, "the end");
    assert_int_equal(fgs_buffer_read(b, end - 7, got, 8, &err), FGS_E_SIZE);
    fgs_buffer_free(b);
}

static void memory_that_cannot_be_had_is_the_driver_s_error(void **state)
{
    fgs_buffer *b = NULL;
    fgs_error err;

    (void)state;
    assert_int_equal(rig_buffer(&b, dev, "huge", 0x7fffffff, &err),
                     FGS_E_DRIVER);
    assert_string_equal(err.name, "CUDA_ERROR_OUT_OF_MEMORY");
    assert_non_null(strstr(err.text, "buffer 'huge' of 8796093018112 bytes"));
    assert_null(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_back_as_written),
        cmocka_unit_test(copy_past_the_end_is_refused),
        cmocka_unit_test(shape_that_is_wrong_is_refused),
        cmocka_unit_test(description_that_is_wrong_is_refused),
        cmocka_unit_test(wrapped_memory_stays_the_application_s),
        cmocka_unit_test(freed_buffer_is_known_as_freed),
        cmocka_unit_test(buffer_above_4_gib_is_addressed_in_64_bits),
        cmocka_unit_test(memory_that_cannot_be_had_is_the_driver_s_error),
    };

    return cmocka_run_group_tests_name("buffer", tests, open_device,
                                       close_device);
}
