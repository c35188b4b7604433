/* test_sim_image.c -- fat binaries, machine code, files, damaged images
 *
 * Which results a driver gives was seen on an H200 (driver 580).
 */
#include "fatbin_data.h"
#include "sim_calls.h"
#include <unistd.h>

static struct sim s;

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

/* ------------------------------------------------------ a fat binary ---- */

struct fat {
    unsigned char *data;
    size_t bytes;
};

static void put(unsigned char *at, uint64_t v, unsigned bytes)
{
    while (bytes--) {
        *at++ = (unsigned char)v;
        v >>= 8;
    }
}

static struct fat fat_begin(void)
{
    struct fat f = { calloc(1, 16), 16 };

    put(f.data, 0xba55ed50, 4);
    put(f.data + 4, 1, 2);
    put(f.data + 6, 16, 2);
    return f;
}

/* `kind` 1 PTX, 2 machine code; flags 0x100000 a, 0x200000 f. */
static void fat_add(struct fat *f, unsigned kind, unsigned arch, uint64_t flags,
                    const char *text)
{
    size_t n = strlen(text) + 1;
    unsigned char *at;

    f->data = realloc(f->data, f->bytes + 64 + n);
    at = f->data + f->bytes;
    memset(at, 0, 64);
    put(at, kind, 2);
    put(at + 4, 64, 4);
    put(at + 8, n, 8);
    put(at + 28, arch, 4);
    put(at + 40, flags | 0x11, 8);
    memcpy(at + 64, text, n);
    f->bytes += 64 + n;
    put(f->data + 8, f->bytes - 16, 8);
}

static void runs_poke(CUmodule m, unsigned words)
{
    CUdeviceptr x = sim_alloc(16);
    uint32_t got[4] = { 0 };
    CUfunction f;

    OK(cuModuleGetFunction(&f, m, "poke"));
    OK(cuMemsetD32(x, 0, 4));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &x }, NULL));
    OK(cuMemcpyDtoH(got, x, sizeof got));
    for (unsigned k = 0; k < 4; k++)
        assert_int_equal(got[k], k < words ? 7 : 0);
    OK(cuMemFree(x));
}

static void packed_ptx_is_unpacked_and_runs(void **state)
{
    CUmodule m;

    (void)state;
    OK(cuModuleLoadData(&m, packed_lz4));
    runs_poke(m, 4);
    OK(cuModuleLoadFatBinary(&m, packed_zstd));
    runs_poke(m, 4);
}

static CUresult load_log(CUmodule *m, const void *image, char *log, size_t size)
{
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *value[] = { log, (void *)(uintptr_t)size };

    return fgs__sim_cuModuleLoadDataEx(m, image, 2, option, value);
}

/* The kernel's name says which text was taken. */
#define NAMED(version, target, name)                                           \
    ".version " version "\n.target " target "\n.address_size 64\n"             \
    ".visible .entry " name "()\n{\n    ret;\n}\n"

static void highest_architecture_that_runs_here_is_taken(void **state)
{
    struct fat f = fat_begin();
    CUfunction func;
    CUmodule m;

    (void)state;
    fat_add(&f, 2, 107, 0, "\177ELF");
    fat_add(&f, 1, 120, 0, NAMED("8.7", "sm_120", "later"));
    fat_add(&f, 1, 103, 0x100000, NAMED("8.8", "sm_103a", "other"));
    fat_add(&f, 1, 75, 0, NAMED("6.3", "sm_75", "old"));
    fat_add(&f, 1, 100, 0, NAMED("8.6", "sm_100", "plain"));
    OK(cuModuleLoadData(&m, f.data));
    OK(cuModuleGetFunction(&func, m, "plain"));
    fat_add(&f, 1, 100, 0x200000, NAMED("8.8", "sm_100f", "family"));
    OK(cuModuleLoadData(&m, f.data));
    OK(cuModuleGetFunction(&func, m, "family"));
    fat_add(&f, 1, 107, 0, NAMED("9.4", "sm_107", "exact"));
    fat_add(&f, 1, 107, 0x100000, NAMED("9.4", "sm_107a", "special"));
    fat_add(&f, 1, 107, 0x200000, NAMED("9.4", "sm_107f", "less"));
    OK(cuModuleLoadData(&m, f.data));
    OK(cuModuleGetFunction(&func, m, "special"));
    free(f.data);
}

static void what_does_not_run_is_listed(void **state)
{
    struct fat f = fat_begin();
    char log[512];
    CUmodule m;

    (void)state;
    fat_add(&f, 2, 90, 0, "\177ELF");
    fat_add(&f, 2, 100, 0x200000, "\177ELF");
    fat_add(&f, 1, 120, 0, NAMED("8.7", "sm_120", "later"));
    assert_int_equal(load_log(&m, f.data, log, sizeof log),
                     CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert_string_equal(log, "error   : no PTX for sm_107 in the fat binary: "
                             "machine code for sm_90, machine code for "
                             "sm_100f, PTX for sm_120");
    assert_int_equal(load_log(&m, "\177ELF\2\1\1", log, sizeof log),
                     CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert_string_equal(log, "error   : the image is machine code; this "
                             "device runs PTX");
    assert_int_equal(load_log(&m, "rubbish", log, sizeof log),
                     CUDA_ERROR_INVALID_IMAGE);
    assert_string_equal(log, "error   : Binary format for key='0', ident='' "
                             "is not recognized");
    free(f.data);
}

/* As the compiler puts it into programs. */
static void wrapper_points_to_the_container(void **state)
{
    struct {
        uint32_t magic, version;
        const void *data, *more;
    } w = { 0x466243b1, 1, packed_lz4, NULL };
    CUmodule m;

    (void)state;
    OK(cuModuleLoadFatBinary(&m, &w));
    runs_poke(m, 4);
    w.data = NULL;
    CU(cuModuleLoadData(&m, &w), ERROR_INVALID_IMAGE);
}

/* Every field of the heads with other values; packed bytes that are wrong. */
static void damaged_fat_binary_is_refused(void **state)
{
    static const unsigned char odd[] = { 0xff, 0, 1, 0x7f };
    unsigned char *copy = malloc(sizeof packed_zstd);
    unsigned refused = 0;
    CUmodule m;

    (void)state;
    for (size_t k = 4; k < sizeof packed_zstd; k++)
        for (size_t o = 0; o < COUNT(odd); o++) {
            CUresult r;

            memcpy(copy, packed_zstd, sizeof packed_zstd);
            copy[k] = odd[o];
            /* The size of the whole is what nobody can check. */
            if (k >= 8 && k < 16 && copy[k] > packed_zstd[k])
                continue;
            r = fgs__sim_cuModuleLoadData(&m, copy);
            refused += r != CUDA_SUCCESS;
            if (!r)
                OK(cuModuleUnload(m));
        }
    assert_true(refused > 400);
    free(copy);
}

/* ---------------------------------------------------------------- files -- */

static const char *file_of(const void *data, size_t bytes)
{
    static char path[64];
    int fd;

    snprintf(path, sizeof path, P_tmpdir "/fgs-image-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, bytes), (ssize_t)bytes);
    close(fd);
    return path;
}

static void files_of_every_kind_are_loaded(void **state)
{
    static const char text[] = HEAD POKE;
    const char *path;
    CUmodule m;

    (void)state;
    path = file_of(packed_zstd, sizeof packed_zstd);
    OK(cuModuleLoad(&m, path));
    runs_poke(m, 4);
    unlink(path);
    path = file_of(text, sizeof text - 1); /* without a NUL */
    OK(cuModuleLoad(&m, path));
    runs_poke(m, 1);
    unlink(path);
    path = file_of(packed_zstd, sizeof packed_zstd - 30);
    CU(cuModuleLoad(&m, path), ERROR_INVALID_IMAGE);
    unlink(path);
    path = file_of("root:x:0:0", 10);
    CU(cuModuleLoad(&m, path), ERROR_INVALID_IMAGE);
    unlink(path);
    CU(cuModuleLoad(&m, "/nonexistent"), ERROR_FILE_NOT_FOUND);
    CU(cuModuleLoad(&m, NULL), ERROR_INVALID_VALUE);
}

static void ptx_may_begin_with_comments(void **state)
{
    CUmodule m;

    (void)state;
    OK(cuModuleLoadData(&m, "\n//\n// by a compiler\n/* .version 9 */\n" HEAD));
    CU(cuModuleLoadData(&m, "// .version 9.0"), ERROR_INVALID_IMAGE);
    CU(cuModuleLoadData(&m, "/* .version 9.0"), ERROR_INVALID_IMAGE);
}

static CUresult load_packed(void *module)
{
    return fgs__sim_cuModuleLoadData(module, packed_zstd);
}

static void failing_allocation_leaves_nothing_behind(void **state)
{
    struct counting c = { 0 };
    fgs_allocator a;
    CUmodule m = NULL;

    (void)state;
    s = sim_counted(&c, &a);
    sim_fail_each(&c, load_packed, &m, 10);
    runs_poke(m, 4);
    sim_counted_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(packed_ptx_is_unpacked_and_runs),
        TEST(highest_architecture_that_runs_here_is_taken),
        TEST(what_does_not_run_is_listed),
        TEST(wrapper_points_to_the_container),
        TEST(damaged_fat_binary_is_refused),
        TEST(files_of_every_kind_are_loaded),
        TEST(ptx_may_begin_with_comments),
        TEST(failing_allocation_leaves_nothing_behind),
    };

    return cmocka_run_group_tests_name("sim_image", tests, NULL, NULL);
}
