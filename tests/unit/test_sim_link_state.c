/* test_sim_link_state.c -- cuLink*: the life of a link and of its result */
#include "sim_link.h"

static void refused_input_is_left_out(void **state)
{
    static const struct {
        CUjitInputType type;
        const char *data;
        CUresult r, after;
    } row[] = {
        { CU_JIT_INPUT_PTX, "rubbish", CUDA_ERROR_INVALID_IMAGE, 0 },
        { CU_JIT_INPUT_PTX, TEXT "rubbish", CUDA_ERROR_INVALID_PTX, 0 },
        { CU_JIT_INPUT_PTX, ".version 9.9\n",
          CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 0 },
        { CU_JIT_INPUT_PTX, ".version 9.0\n.target sm_120\n",
          CUDA_ERROR_INVALID_PTX, 0 },
        { CU_JIT_INPUT_CUBIN, "\177ELF\2\1", CUDA_ERROR_NO_BINARY_FOR_GPU, 0 },
        { CU_JIT_INPUT_CUBIN, "rubbish", CUDA_ERROR_INVALID_IMAGE, 0 },
        { CU_JIT_INPUT_OBJECT, "rubbish", CUDA_ERROR_INVALID_IMAGE, 0 },
        { CU_JIT_INPUT_LIBRARY, "!<arch>\n", CUDA_ERROR_NO_BINARY_FOR_GPU, 0 },
        { CU_JIT_INPUT_NVVM, "rubbish", CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
          CUDA_ERROR_JIT_COMPILER_NOT_FOUND },
        { 6, "rubbish", CUDA_ERROR_INVALID_VALUE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(row); i++) {
        CUlinkState l = begin();
        void *out = NULL;
        CUmodule m;
        CUresult r;

        r = fgs__sim_cuLinkAddData(l, row[i].type,
                                   (void *)(uintptr_t)row[i].data,
                                   strlen(row[i].data), "x", 0, NULL, NULL);
        if (r != row[i].r)
            print_error("row %zu\n", i);
        assert_int_equal(r, row[i].r);
        r = fgs__sim_cuLinkComplete(l, &out, NULL);
        assert_int_equal(r, row[i].after);
        if (!r)
            OK(cuModuleLoadData(&m, out)); /* empty */
        OK(cuLinkDestroy(l));
    }
}

static void link_ends_with_complete(void **state)
{
    CUlinkState l = begin();
    void *out = NULL;
    size_t bytes;

    (void)state;
    CU(cuLinkAddData(l, CU_JIT_INPUT_PTX, NULL, 4, "x", 0, NULL, NULL),
       ERROR_INVALID_VALUE);
    CU(cuLinkAddFile(l, CU_JIT_INPUT_PTX, "/nonexistent", 0, NULL, NULL),
       ERROR_FILE_NOT_FOUND);
    assert_int_equal(add(l, NULL, TEXT POKE), CUDA_SUCCESS);
    OK(cuLinkComplete(l, &out, &bytes));
    CU(cuLinkComplete(l, &out, &bytes), ERROR_INVALID_HANDLE);
    assert_int_equal(add(l, "b", TEXT), CUDA_ERROR_INVALID_VALUE);
    OK(cuLinkDestroy(l));
    CU(cuLinkDestroy(l), ERROR_INVALID_HANDLE);
    CU(cuLinkComplete(l, &out, &bytes), ERROR_INVALID_HANDLE);
}

/* Whatever byte of it is changed, it loads or is refused. */
static void damaged_result_is_refused(void **state)
{
    CUlinkState l = begin();
    size_t bytes;
    CUmodule m;
    void *out;
    char *copy;

    (void)state;
    assert_int_equal(add(l, "a", TEXT POKE), CUDA_SUCCESS);
    assert_int_equal(add(l, "b", TEXT AFFINE), CUDA_SUCCESS);
    OK(cuLinkComplete(l, &out, &bytes));
    copy = malloc(bytes);
    for (size_t k = 8; k < 24 + 32; k++) {
        memcpy(copy, out, bytes);
        copy[k] = (char)(k < 16 ? 0 : 0x7f); /* not longer than it is */
        if (!fgs__sim_cuModuleLoadData(&m, copy))
            OK(cuModuleUnload(m));
    }
    free(copy);
    OK(cuLinkDestroy(l));
}

static CUresult whole(const char *const *text, size_t count, CUmodule *m)
{
    CUlinkState l = NULL;
    size_t bytes;
    void *out;
    CUresult r = fgs__sim_cuLinkCreate(0, NULL, NULL, &l);

    for (size_t k = 0; k < count && !r; k++)
        r = add(l, "text", text[k]);
    if (!r)
        r = fgs__sim_cuLinkComplete(l, &out, &bytes);
    if (!r)
        r = fgs__sim_cuModuleLoadData(m, out);
    if (l)
        fgs__sim_cuLinkDestroy(l);
    return r;
}

static CUresult link_both(void *module)
{
    static const char *const text[] = {
        TEXT ".extern .func " DECL("f") ";\n" KERNEL("k", CALL("f")),
        TEXT FUNC(".visible", "f", 5),
    };

    return whole(text, 2, module);
}

static void failing_allocation_leaves_nothing_behind(void **state)
{
    struct counting c = { 0 };
    fgs_allocator a;
    CUmodule m = NULL;

    (void)state;
    s = sim_counted(&c, &a);
    sim_fail_each(&c, link_both, &m, 30);
    assert_int_equal(run(m, "k", 1), 6);
    sim_counted_end(&c);
}

static void context_takes_its_links_along(void **state)
{
    struct counting c = { 0 };
    fgs_allocator a;

    (void)state;
    s = sim_counted(&c, &a);
    assert_int_equal(add(begin(), "a", TEXT POKE), CUDA_SUCCESS);
    sim_counted_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(refused_input_is_left_out),
        TEST(link_ends_with_complete),
        TEST(damaged_result_is_refused),
        TEST(failing_allocation_leaves_nothing_behind),
        TEST(context_takes_its_links_along),
    };

    return cmocka_run_group_tests_name("sim_link_state", tests, NULL, NULL);
}
