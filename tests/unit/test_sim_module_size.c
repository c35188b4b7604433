/* test_sim_module_size.c -- loading texts and variables of extreme sizes */
#include "sim_calls.h"
#include <sys/mman.h>
#include <unistd.h>

static struct sim open_sim(const char *text)
{
    fgs_sim_config cfg = sim_config();

    return sim_open(&cfg, text);
}

/* The text ends where the memory that may be read ends. */
static void image_is_not_read_past_its_end(void **state)
{
    struct sim s = open_sim(NULL);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUmodule m;

    (void)state;
    assert_ptr_not_equal(two, MAP_FAILED);
    assert_int_equal(mprotect(two + page, page, PROT_NONE), 0);
    /* nothing says what it is */
    CU(cuModuleLoadData(&m, two + page - 1), ERROR_INVALID_IMAGE);
    munmap(two, 2 * page);
    sim_close(&s);
}

static long resident_pages(void)
{
    long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &all, &resident), 2);
    fclose(f);
    return resident;
}

static void variables_are_committed_when_touched(void **state)
{
    struct sim s = open_sim(NULL);
    long before = resident_pages();
    CUmodule m;

    (void)state;
    OK(cuModuleLoadData(&m, HEAD ".global .b8 g[1073741824];\n" POKE));
    assert_true(resident_pages() - before < 16384); /* 64 MiB */
    sim_close(&s);
}

/* Memory that was another's before. */
static void variables_without_value_are_zero(void **state)
{
    enum { BYTES = 300 * 1024 + 700 };
    static unsigned char got[BYTES];
    fgs_sim_config cfg = sim_config();
    struct sim s;
    CUdeviceptr p, g;

    (void)state;
    cfg.memory = 1 << 20;
    s = sim_open(&cfg, NULL);
    for (int i = 0; i < 8; i++) {
        p = sim_alloc(BYTES);
        OK(cuMemsetD8(p, 0xff, BYTES));
        OK(cuMemFree(p));
    }
    OK(cuModuleLoadData(&s.module, HEAD ".global .b8 g[307900];\n" POKE));
    OK(cuModuleGetGlobal(&g, NULL, s.module, "g"));
    OK(cuMemcpyDtoH(got, g, BYTES));
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(got[i], 0);
    sim_close(&s);
}

/* Sizes that 32 bits do not hold. */
static void sizes_past_32_bits_do_not_wrap(void **state)
{
    static const char *const shared[] = {
        HEAD ".entry k() { .shared .b8 x[4294967312]; ret; }\n",
        HEAD ".shared .b8 x[4294967312];\n.entry k() { .reg .u64 a;\n"
             "mov.u64 a, x; st.shared.u32 [a], 5; ret; }\n",
    };
    struct sim s = open_sim(
        HEAD ".entry k() .maxntid 4194304, 4194304, 1048576 { ret; }\n");
    CUmodule m;
    int v = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(shared); i++)
        CU(cuModuleLoadData(&m, shared[i]), ERROR_INVALID_PTX);
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                          sim_func(&s, "k")));
    assert_int_equal(v, 1024);
    sim_close(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(image_is_not_read_past_its_end),
        cmocka_unit_test(variables_are_committed_when_touched),
        cmocka_unit_test(variables_without_value_are_zero),
        cmocka_unit_test(sizes_past_32_bits_do_not_wrap),
    };

    return cmocka_run_group_tests_name("sim_module_size", tests, NULL, NULL);
}
