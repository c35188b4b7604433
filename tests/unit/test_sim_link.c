/* test_sim_link.c -- cuLink*: several texts, one module
 *
 * Results and messages are those of an H200 (driver 580).
 */
#include "sim_calls.h"

#define TEXT ".version 7.0\n.target sm_70\n.address_size 64\n"

static struct sim s;
static char log_text[1024];
static void *log_value[2];

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

static CUlinkState begin(void)
{
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    CUlinkState l = NULL;

    log_value[0] = log_text;
    log_value[1] = (void *)(uintptr_t)sizeof log_text;
    OK(cuLinkCreate(2, option, log_value, &l));
    return l;
}

static CUresult add(CUlinkState l, const char *name, const char *text)
{
    return fgs__sim_cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text,
                                  strlen(text) + 1, name, 0, NULL, NULL);
}

/* Two texts that do not fit; what is said, and that the link is over. */
static void disagree(const char *a, const char *b, const char *said)
{
    CUlinkState l = begin();
    void *out = NULL;

    assert_int_equal(add(l, "a", a), CUDA_SUCCESS);
    assert_int_equal(add(l, "b", b), CUDA_ERROR_UNKNOWN);
    CU(cuLinkComplete(l, &out, NULL), ERROR_UNKNOWN);
    assert_null(out);
    assert_string_equal(log_text, said);
    assert_int_equal((uintptr_t)log_value[1], strlen(said));
    OK(cuLinkDestroy(l));
}

static CUmodule link_of(const char *const *text, size_t count)
{
    CUlinkState l = begin();
    char name[2] = "a";
    size_t bytes = 0;
    void *out = NULL;
    CUmodule m = NULL;
    char *copy;

    for (size_t k = 0; k < count; k++, name[0]++)
        assert_int_equal(add(l, name, text[k]), CUDA_SUCCESS);
    OK(cuLinkComplete(l, &out, &bytes));
    assert_string_equal(log_text, "");
    /* A copy outlives the link. */
    copy = malloc(bytes);
    memcpy(copy, out, bytes);
    OK(cuLinkDestroy(l));
    OK(cuModuleLoadData(&m, copy));
    free(copy);
    return m;
}

/* The kernel `k` stores what it found. */
static uint32_t run(CUmodule m, const char *name, uint32_t in)
{
    CUdeviceptr x = sim_alloc(4);
    uint32_t got = 0;
    CUfunction f;

    OK(cuModuleGetFunction(&f, m, name));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 256, NULL,
                      (void *[]){ &x, &in }, NULL));
    OK(cuMemcpyDtoH(&got, x, sizeof got));
    OK(cuMemFree(x));
    return got;
}

#define KERNEL(name, body)                                                     \
    ".visible .entry " name "(.param .u64 p_out, .param .u32 p_in)\n{\n"       \
    "    .reg .u64 %out, %a;\n    .reg .u32 %v, %w;\n"                         \
    "    ld.param.u64 %out, [p_out];\n    ld.param.u32 %v, [p_in];\n" body     \
    "    st.global.u32 [%out], %v;\n    ret;\n}\n"
#define CALL(f)                                                                \
    "    {\n    .param .u32 p0;\n    .param .u32 r0;\n"                        \
    "    st.param.u32 [p0], %v;\n    call (r0), " f ", (p0);\n"                \
    "    ld.param.u32 %v, [r0];\n    }\n"
#define DECL(f) "(.param .u32 r) " f " (.param .u32 p)"
#define FUNC(kind, f, n)                                                       \
    kind " .func " DECL(f) "\n{\n    .reg .u32 %v;\n"                          \
    "    ld.param.u32 %v, [p];\n    add.u32 %v, %v, " #n ";\n"                 \
    "    st.param.u32 [r], %v;\n    ret;\n}\n"

static void function_of_another_text_is_called(void **state)
{
    static const char *const text[] = {
        TEXT ".extern .func " DECL("f") ";\n" KERNEL("k", CALL("f")),
        /* a local one of the same name, and its own static g */
        TEXT ".extern .func " DECL("h") ";\n" FUNC("", "g", 100)
        ".visible .func " DECL("f") "\n{\n    .reg .u32 %v;\n"
        "    ld.param.u32 %v, [p];\n" CALL("g") CALL("h")
        "    st.param.u32 [r], %v;\n    ret;\n}\n",
        TEXT FUNC("", "g", 20) ".visible .func " DECL("h") "\n{\n"
        "    .reg .u32 %v;\n    ld.param.u32 %v, [p];\n" CALL("g")
        "    st.param.u32 [r], %v;\n    ret;\n}\n",
    };

    (void)state;
    assert_int_equal(run(link_of(text, 3), "k", 3), 123);
}

static void address_of_another_text_is_one(void **state)
{
    static const char *const text[] = {
        TEXT ".extern .global .u32 x[4];\n.extern .const .u32 c;\n"
        ".visible .global .u64 where = generic(x)+8;\n"
        KERNEL("k", "    ld.global.u64 %a, [where];\n    ld.u32 %w, [%a];\n"
                    "    add.u32 %v, %v, %w;\n    ld.const.u32 %w, [c];\n"
                    "    add.u32 %v, %v, %w;\n"),
        TEXT ".visible .global .u32 x[4] = { 1, 2, 30, 4 };\n"
        ".visible .const .u32 c = 500;\n",
    };
    CUmodule m = link_of(text, 2);
    CUdeviceptr p;
    size_t bytes;

    (void)state;
    assert_int_equal(run(m, "k", 7), 537);
    OK(cuModuleGetGlobal(&p, &bytes, m, "x"));
    assert_int_equal(bytes, 16);
}

/* A table of functions in one text, of functions in another. */
static void pointer_to_another_texts_function_is_called(void **state)
{
    static const char *const text[] = {
        TEXT ".extern .func " DECL("one") ";\n.extern .func " DECL("two") ";\n"
        ".visible .global .u64 table[2] = { one, two };\n",
        TEXT FUNC(".visible", "one", 1) FUNC(".visible", "two", 2),
        TEXT ".extern .global .u64 table[2];\n"
        KERNEL("k", "    mov.u64 %a, table;\n    and.b32 %w, %v, 1;\n"
                    "    mad.wide.u32 %a, %w, 8, %a;\n"
                    "    ld.global.u64 %a, [%a];\n"
                    "    {\n    .param .u32 p0;\n    .param .u32 r0;\n"
                    "    st.param.u32 [p0], %v;\n"
                    "    proto: .callprototype (.param .u32 _) _ "
                    "(.param .u32 _);\n"
                    "    call (r0), %a, (p0), proto;\n"
                    "    ld.param.u32 %v, [r0];\n    }\n"),
    };
    CUmodule m = link_of(text, 3);

    (void)state;
    assert_int_equal(run(m, "k", 10), 11);
    assert_int_equal(run(m, "k", 11), 13);
}

static void strong_definition_goes_before_weak_ones(void **state)
{
    static const char *const text[] = {
        TEXT FUNC(".weak", "f", 1) KERNEL("k", CALL("f")),
        TEXT FUNC(".weak", "f", 2) ".weak .global .u32 w = 8;\n",
        TEXT FUNC(".visible", "f", 40) ".visible .global .u32 w = 9;\n"
        KERNEL("g", "    ld.global.u32 %v, [w];\n"),
    };

    (void)state;
    assert_int_equal(run(link_of(text, 3), "k", 2), 42);
    assert_int_equal(run(link_of(text, 3), "g", 2), 9);
    assert_int_equal(run(link_of(text, 2), "k", 2), 3); /* the first */
}

static void weak_kernel_is_there_once(void **state)
{
    static const char *const text[] = {
        TEXT ".weak .entry k(.param .u64 p)\n{\n    ret;\n}\n",
        TEXT ".weak .entry k(.param .u64 p)\n{\n    ret;\n}\n",
    };
    unsigned int n;

    (void)state;
    OK(cuModuleGetFunctionCount(&n, link_of(text, 2)));
    assert_int_equal(n, 1);
}

static void largest_common_variable_is_taken(void **state)
{
    static const char *const text[] = {
        TEXT ".common .global .u32 x[2];\n",
        TEXT ".common .global .u32 x[8];\n"
        KERNEL("k", "    st.global.u32 [x+28], %v;\n"
                    "    ld.global.u32 %v, [x+28];\n"),
        TEXT ".common .global .u32 x[4];\n",
    };
    CUmodule m = link_of(text, 3);
    CUdeviceptr p;
    size_t bytes;

    (void)state;
    OK(cuModuleGetGlobal(&p, &bytes, m, "x"));
    assert_int_equal(bytes, 32);
    assert_int_equal(run(m, "k", 6), 6);
}

/* Dynamic memory is one for all, a variable with a size has its place. */
static void shared_memory_is_common_to_texts(void **state)
{
    static const char *const text[] = {
        TEXT ".extern .shared .align 4 .u32 dyn[];\n.extern .func f();\n"
        ".extern .shared .u32 cell;\n"
        KERNEL("k", "    st.shared.u32 [dyn], %v;\n"
                    "    st.shared.u32 [cell], 5;\n    call f;\n"
                    "    ld.shared.u32 %v, [dyn];\n"
                    "    ld.shared.u32 %w, [cell];\n"
                    "    mad.lo.u32 %v, %v, 10, %w;\n"),
        TEXT ".extern .shared .align 4 .u32 dyn[];\n"
        ".visible .shared .u32 cell;\n"
        ".visible .func f()\n{\n    .reg .u32 %v;\n"
        "    ld.shared.u32 %v, [dyn];\n    add.u32 %v, %v, 1;\n"
        "    st.shared.u32 [dyn], %v;\n    ld.shared.u32 %v, [cell];\n"
        "    add.u32 %v, %v, 2;\n    st.shared.u32 [cell], %v;\n    ret;\n}\n",
    };

    (void)state;
    assert_int_equal(run(link_of(text, 2), "k", 3), 47);
}

static void disagreeing_texts_are_refused_by_name(void **state)
{
    (void)state;
    disagree(TEXT ".visible .func f(){ret;}\n",
             TEXT ".visible .func f(){ret;}\n",
             "error   : Multiple definition of 'f' in 'b', first defined in "
             "'a'");
    disagree(TEXT ".visible .global .u32 x = 3;\n",
             TEXT ".visible .global .u32 x = 3;\n",
             "error   : Multiple definition of 'x' in 'b', first defined in "
             "'a'");
    disagree(TEXT ".extern .global .u64 x;\n",
             TEXT ".visible .global .u32 x;\n",
             "error   : Size doesn't match for 'x' in 'b', first specified "
             "in 'a'");
    disagree(TEXT ".extern .func f(.param .u32 a);\n",
             TEXT ".visible .func f(){ret;}\n",
             "error   : Prototype doesn't match for 'f' in 'b', first "
             "defined in 'a'");
    disagree(TEXT ".common .global .u32 x[4];\n",
             TEXT ".visible .global .u32 x = 3;\n",
             "error   : Common symbol 'x' in file 'a' has larger size than "
             "initialization");
}

static void undefined_name_is_refused_when_used(void **state)
{
    static const char unused[] = TEXT ".extern .func f();\n"
                                      ".extern .global .u32 x;\n";
    static const char used[] = TEXT ".extern .func f();\n"
                                    ".extern .global .u32 x;\n"
        KERNEL("k", "    call f;\n    ld.global.u32 %v, [x];\n");
    CUlinkState l = begin();
    void *out = NULL;

    (void)state;
    assert_int_equal(add(l, "u", unused), CUDA_SUCCESS);
    assert_int_equal(add(l, "a", used), CUDA_SUCCESS);
    CU(cuLinkComplete(l, &out, NULL), ERROR_UNKNOWN);
    assert_string_equal(log_text, "error   : Undefined reference to 'f' in "
                                  "'a'\nerror   : Undefined reference to 'x' "
                                  "in 'a'");
    OK(cuLinkDestroy(l));
    l = begin();
    assert_int_equal(add(l, "u", unused), CUDA_SUCCESS);
    OK(cuLinkComplete(l, &out, NULL));
    OK(cuLinkDestroy(l));
}

/* One text alone: what ptxas says of a whole program. */
static void alone_a_text_needs_its_functions(void **state)
{
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER,
                              CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES };
    char info[256];
    void *value[] = { log_text, (void *)(uintptr_t)sizeof log_text, info,
                      (void *)(uintptr_t)sizeof info };
    CUmodule m;

    (void)state;
    CU(cuModuleLoadDataEx(&m, TEXT ".extern .func f();\n"
                              KERNEL("k", "    call f;\n"), 2, option, value),
       ERROR_INVALID_PTX);
    assert_string_equal(log_text, "ptxas fatal   : Unresolved extern function "
                                  "'f'");
    value[1] = (void *)(uintptr_t)sizeof log_text;
    CU(cuModuleLoadDataEx(&m, TEXT ".extern .global .u32 x[];\n"
                              KERNEL("k", "    ld.global.u32 %v, [x];\n"), 2,
                          option, value), ERROR_INVALID_PTX);
    assert_string_equal(log_text, "ptxas fatal   : Unresolved extern variable "
                                  "'x'");
    value[1] = (void *)(uintptr_t)sizeof log_text;
    OK(cuModuleLoadDataEx(&m, TEXT ".extern .global .u32 x;\n"
                              KERNEL("k", "    st.global.u32 [x], %v;\n"
                                          "    ld.global.u32 %v, [x];\n"), 4,
                          option, value));
    assert_string_equal(info, "ptxas warning : Unresolved extern variable 'x' "
                              "in whole program compilation, ignoring extern "
                              "qualifier");
    assert_int_equal(run(m, "k", 77), 77);
}

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

static void failing_allocation_leaves_nothing_behind(void **state)
{
    static const char *const text[] = {
        TEXT ".extern .func " DECL("f") ";\n" KERNEL("k", CALL("f")),
        TEXT FUNC(".visible", "f", 5),
    };
    fgs_sim_config cfg = sim_config();
    struct counting c = { 0 };
    fgs_allocator a = counting_allocator(&c);
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    CUmodule m = NULL;
    long n;

    (void)state;
    sim_clean();
    cfg.allocator = &a;
    s = sim_open(&cfg, NULL);
    for (n = 1; r == CUDA_ERROR_OUT_OF_MEMORY; n++) {
        long live = c.live;

        atomic_store(&c.calls, 0);
        c.at = n;
        r = whole(text, 2, &m);
        c.at = 0;
        if (r) /* the table of handles may have grown */
            assert_in_range(c.live - live, 0, 1);
    }
    assert_int_equal(r, CUDA_SUCCESS);
    assert_true(n > 30);
    assert_int_equal(run(m, "k", 1), 6);
    sim_clean();
    assert_int_equal(c.live, 0);
    cfg.allocator = NULL;
    sim_configure(&cfg);
}

static void context_takes_its_links_along(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct counting c = { 0 };
    fgs_allocator a = counting_allocator(&c);

    (void)state;
    sim_clean();
    cfg.allocator = &a;
    s = sim_open(&cfg, NULL);
    assert_int_equal(add(begin(), "a", TEXT POKE), CUDA_SUCCESS);
    sim_clean();
    assert_int_equal(c.live, 0);
    cfg.allocator = NULL;
    sim_configure(&cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(function_of_another_text_is_called),
        TEST(address_of_another_text_is_one),
        TEST(pointer_to_another_texts_function_is_called),
        TEST(strong_definition_goes_before_weak_ones),
        TEST(weak_kernel_is_there_once),
        TEST(largest_common_variable_is_taken),
        TEST(shared_memory_is_common_to_texts),
        TEST(disagreeing_texts_are_refused_by_name),
        TEST(undefined_name_is_refused_when_used),
        TEST(alone_a_text_needs_its_functions),
        TEST(refused_input_is_left_out),
        TEST(link_ends_with_complete),
        TEST(damaged_result_is_refused),
        TEST(failing_allocation_leaves_nothing_behind),
        TEST(context_takes_its_links_along),
    };

    return cmocka_run_group_tests_name("sim_link", tests, NULL, NULL);
}
