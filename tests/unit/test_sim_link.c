/* test_sim_link.c -- cuLink*: what several texts say to each other */
#include "sim_link.h"

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
    };

    return cmocka_run_group_tests_name("sim_link", tests, NULL, NULL);
}
