/* test_cuda.c -- entry points by table, driver errors, nvJitLink, logs */
#include "base/compat.h"
#include "core/kernel.h"
#include "counting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Our own declarations of the driver's structs; cuda.h: test_abi.c. */
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define MEMBER(type, member, offset)                                           \
    _Static_assert(offsetof(type, member) == (offset), #member);
#include "layout.def"
#undef SIZE
#undef MEMBER

/* ------------------------------------------- a driver with few functions -- */

static const char *hidden;
static int asked_version;

static CUresult version_12_2(int *version)
{
    *version = 12020;
    return CUDA_SUCCESS;
}

static CUresult name_of(CUresult r, const char **name)
{
    if (r == CUDA_ERROR_UNKNOWN)
        return CUDA_ERROR_INVALID_VALUE;
    *name = r == CUDA_ERROR_NOT_FOUND ? "CUDA_ERROR_NOT_FOUND" : "ELSE";
    return CUDA_SUCCESS;
}

static CUresult nothing(void)
{
    return CUDA_SUCCESS;
}

static CUresult lookup(const char *symbol, void **pfn, int version,
                       cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    CUresult (*get_version)(int *) = version_12_2;
    CUresult (*get_name)(CUresult, const char **) = name_of;
    CUresult (*any)(void) = nothing;

    (void)flags;
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
    if (!strcmp(symbol, "cuMemAlloc"))
        asked_version = version;
    if (hidden && !strcmp(symbol, hidden))
        *pfn = NULL;
    else if (!strcmp(symbol, "cuDriverGetVersion"))
        memcpy(pfn, &get_version, sizeof *pfn);
    else if (!strcmp(symbol, "cuGetErrorName"))
        memcpy(pfn, &get_name, sizeof *pfn);
    else
        memcpy(pfn, &any, sizeof *pfn);
    return CUDA_SUCCESS;
}

static void table_asks_for_the_version_of_the_signature(void **state)
{
    struct fgs__cu cu;

    (void)state;
    hidden = NULL;
    assert_int_equal(fgs__cu_fill(&cu, "lib", lookup, NULL), FGS_OK);
    assert_int_equal(cu.version, 12020);
    assert_int_equal(asked_version, 3020);
    assert_non_null(cu.cuLaunchKernelEx);
}

static void table_names_what_is_missing_at_open(void **state)
{
    struct fgs__cu cu;
    fgs_error err;

    (void)state;
    hidden = "cuCtxPushCurrent";
    assert_int_equal(fgs__cu_fill(&cu, "lib", lookup, &err), FGS_E_ENTRY);
    assert_string_equal(err.text, "cuCtxPushCurrent: not in this driver (lib, "
                                  "12.2), needed since 4.0");
}

static void table_names_what_is_missing_when_it_is_needed(void **state)
{
    const enum fgs__cu_id need[] = { FGS__CU_cuMemAlloc,
                                     FGS__CU_cuLaunchKernelEx };
    struct fgs__cu cu;
    fgs_error err;

    (void)state;
    hidden = "cuLaunchKernelEx";
    assert_int_equal(fgs__cu_fill(&cu, "lib", lookup, &err), FGS_OK);
    assert_int_equal(fgs__cu_need(&cu, need, 1, &err), FGS_OK);
    assert_int_equal(fgs__cu_need(&cu, need, 2, &err), FGS_E_ENTRY);
    assert_string_equal(err.text, "cuLaunchKernelEx: not in this driver (lib, "
                                  "12.2), needed since 11.6");
}

static void driver_error_keeps_its_own_name(void **state)
{
    struct fgs__cu cu;
    fgs_error err;

    (void)state;
    hidden = NULL;
    fgs__cu_fill(&cu, "lib", lookup, NULL);
    assert_int_equal(fgs__cu_fail(&cu, &err, CUDA_ERROR_NOT_FOUND, "cuX",
                                  "entry %d", 3),
                     FGS_E_DRIVER);
    assert_int_equal(err.result, FGS_E_DRIVER);
    assert_int_equal(err.driver, 500);
    assert_string_equal(err.name, "CUDA_ERROR_NOT_FOUND");
    assert_string_equal(err.text, "cuX: CUDA_ERROR_NOT_FOUND (500): entry 3");
    assert_string_equal(fgs__cu_error_name(&cu, CUDA_ERROR_UNKNOWN),
                        "CUDA_ERROR_UNKNOWN");
    assert_int_equal(fgs__cu_fail(&cu, NULL, CUDA_ERROR_NOT_FOUND, "x", "y"),
                     FGS_E_DRIVER);
}

static void kernel_faults_lose_the_context(void **state)
{
    static const int sticky[] = { 700, 702, 714, 715, 716, 717, 718, 719 };
    static const int healthy[] = { 1, 2, 209, 222, 400, 701, 708, 801, 900 };

    (void)state;
    for (size_t i = 0; i < sizeof sticky / sizeof *sticky; i++)
        assert_true(fgs__cu_sticky((CUresult)sticky[i]));
    for (size_t i = 0; i < sizeof healthy / sizeof *healthy; i++)
        assert_false(fgs__cu_sticky((CUresult)healthy[i]));
}

/* ------------------------------------------------------------- providers -- */

static void provider_that_is_unknown_lists_the_known(void **state)
{
    fgs_error err;

    (void)state;
    assert_null(fgs__provider_find("hip", &err));
    assert_int_equal(err.result, FGS_E_INVAL);
    assert_string_equal(err.text, "no provider is named \"hip\"; there are: "
                                  "cuda, sim");
    assert_string_equal(fgs__provider_find("cuda", &err)->assembler, "driver");
    assert_string_equal(fgs__provider_find("sim", &err)->assembler, "sim");
}

static fgs_result open_path(const char *path, fgs_error *err)
{
    struct fgs__cu cu;

    setenv("FGS_LIBCUDA", path, 1);
    return fgs__provider_find("cuda", NULL)->open(&cu, err);
}

static void library_that_is_missing_is_named(void **state)
{
    fgs_error err;

    (void)state;
    assert_int_equal(open_path("/nowhere/libcuda.so.1", &err), FGS_E_NODRIVER);
    assert_non_null(strstr(err.text, "/nowhere/libcuda.so.1"));
    assert_non_null(strstr(err.text, "No such file"));
}

static void library_that_is_no_library_is_named(void **state)
{
    fgs_error err;

    (void)state;
    assert_int_equal(open_path("/etc/passwd", &err), FGS_E_NODRIVER);
    assert_non_null(strstr(err.text, "/etc/passwd"));
}

static void library_without_the_lookup_is_no_driver(void **state)
{
    fgs_error err;

    (void)state;
    assert_int_equal(open_path("libm.so.6", &err), FGS_E_ENTRY);
    assert_non_null(strstr(err.text, "libm.so.6: no cuGetProcAddress_v2"));
}

/* ------------------------------------------------------------------ logs -- */

static void log_place_is_found_in_each_assembler_s_form(void **state)
{
    static const struct {
        const char *log, *text;
        int found;
        uint32_t line, column;
    } rows[] = {
        { "ptxas application ptx input, line 5; error   : Unknown modifier "
          "'.bar'\nptxas application ptx input, line 6; error   : x\n",
          "Unknown modifier '.bar'", 1, 5, 0 },
        { "ptxas application ptx input, line 1; fatal   : Unsupported .version "
          "9.9; current version is '9.4'\n",
          "Unsupported .version 9.9; current version is '9.4'", 1, 1, 0 },
        { "line 12:7: unknown instruction\n", "unknown instruction", 1, 12, 7 },
        { "ptxas fatal   : Ptx assembly aborted due to errors\n", "", 0, 0, 0 },
        { "baseline 5; a newline 6", "", 0, 0, 0 },
        { "", "", 0, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t line, column;
        char text[128];

        assert_int_equal(fgs__log_place(rows[i].log, &line, &column, text,
                                        sizeof text),
                         rows[i].found);
        assert_int_equal(line, rows[i].line);
        assert_int_equal(column, rows[i].column);
        assert_string_equal(text, rows[i].text);
    }
}

/* ------------------------------------------------------------- nvJitLink -- */

static void linker_can_be_hidden(void **state)
{
    struct fgs__nvjitlink n;

    (void)state;
    setenv("FGS_NVJITLINK", "none", 1);
    fgs__nvjitlink_open(&n);
    assert_false(n.lib.found);
    assert_false(n.lib.asked_for);
    assert_non_null(strstr(n.lib.why, "FGS_NVJITLINK=none"));
}

static void linker_that_is_asked_for_and_missing_is_named(void **state)
{
    struct fgs__nvjitlink n;

    (void)state;
    setenv("FGS_NVJITLINK", "/nowhere/libnvJitLink.so", 1);
    fgs__nvjitlink_open(&n);
    assert_false(n.lib.found);
    assert_true(n.lib.asked_for);
    assert_non_null(strstr(n.lib.why, "/nowhere/libnvJitLink.so"));
}

static void linker_without_its_functions_is_none(void **state)
{
    struct fgs__nvjitlink n;

    (void)state;
    setenv("FGS_NVJITLINK", "libm.so.6", 1);
    fgs__nvjitlink_open(&n);
    assert_false(n.lib.found);
    assert_non_null(strstr(n.lib.why, "no nvJitLinkCreate in it"));
}

/* nvJitLink itself loses memory for an architecture that it does not know. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libnvJitLink";
}

/* The real one, where the pinned tool chain is. */
static void real_linker(struct fgs__nvjitlink *n)
{
    const char *tc = getenv("TC");
    char path[512];

    snprintf(path, sizeof path, "%s/lib/libnvJitLink.so.13",
             tc ? tc : "build/toolchain/nvidia/cu13");
    setenv("FGS_NVJITLINK", path, 1);
    fgs__nvjitlink_open(n);
    if (!n->lib.found) {
        print_message("no nvJitLink: `make toolchain` fetches it\n");
        skip();
    }
}

static fgs_result assemble(const struct fgs__nvjitlink *n, const char *text,
                           const char *arch, struct fgs__cubin *cubin,
                           char *log, size_t size)
{
    return fgs__nvjitlink_assemble(n, text, strlen(text), "t.ptx", arch,
                                   &fgs__malloc, cubin, log, size);
}

static void linker_makes_a_cubin(void **state)
{
    struct fgs__nvjitlink n;
    struct fgs__cubin cubin;
    char log[512];

    (void)state;
    real_linker(&n);
    assert_true(n.lib.version >= 130);
    assert_true(n.isa >= 90);
    assert_int_equal(assemble(&n,
                              ".version 9.0\n.target sm_90\n"
                              ".address_size 64\n"
                              ".visible .entry e() { ret; }\n",
                              "sm_90", &cubin, log, sizeof log),
                     FGS_OK);
    assert_memory_equal(cubin.data, "\177ELF", 4);
    fgs__free(&fgs__malloc, cubin.data);
}

static void linker_tells_new_text_from_wrong_text(void **state)
{
    struct fgs__nvjitlink n;
    struct fgs__cubin cubin;
    uint32_t line, column;
    char log[512], text[128];

    (void)state;
    real_linker(&n);
    assert_int_equal(assemble(&n,
                              ".version 99.0\n.target sm_90\n"
                              ".address_size 64\n",
                              "sm_90", &cubin, log, sizeof log),
                     FGS_E_PTXVERSION);
    assert_int_equal(assemble(&n,
                              ".version 9.0\n.target sm_90\n"
                              ".address_size 64\n.visible .entry e() {\n"
                              "foo.u32 1;\n}\n",
                              "sm_90", &cubin, log, sizeof log),
                     FGS_E_JIT);
    assert_null(cubin.data);
    assert_true(fgs__log_place(log, &line, &column, text, sizeof text));
    assert_int_equal(line, 5);
    assert_int_equal(assemble(&n, ".version 9.0\n", "sm_999", &cubin, log,
                              sizeof log),
                     FGS_E_JIT);
    assert_true(log[0] != '\0');
}

static void linker_fails_without_memory(void **state)
{
    struct counting c = { .at = 1 };
    fgs_allocator a = counting_allocator(&c);
    static const char text[] = ".version 9.0\n.target sm_90\n"
                               ".address_size 64\n.visible .entry e() { ret; }"
                               "\n";
    struct fgs__nvjitlink n;
    struct fgs__cubin cubin;
    char log[512];

    (void)state;
    real_linker(&n);
    assert_int_equal(fgs__nvjitlink_assemble(&n, text, sizeof text - 1, "t",
                                             "sm_90", &a, &cubin, log,
                                             sizeof log),
                     FGS_E_NOMEM);
    assert_int_equal(c.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_asks_for_the_version_of_the_signature),
        cmocka_unit_test(table_names_what_is_missing_at_open),
        cmocka_unit_test(table_names_what_is_missing_when_it_is_needed),
        cmocka_unit_test(driver_error_keeps_its_own_name),
        cmocka_unit_test(kernel_faults_lose_the_context),
        cmocka_unit_test(provider_that_is_unknown_lists_the_known),
        cmocka_unit_test(library_that_is_missing_is_named),
        cmocka_unit_test(library_that_is_no_library_is_named),
        cmocka_unit_test(library_without_the_lookup_is_no_driver),
        cmocka_unit_test(log_place_is_found_in_each_assembler_s_form),
        cmocka_unit_test(linker_can_be_hidden),
        cmocka_unit_test(linker_that_is_asked_for_and_missing_is_named),
        cmocka_unit_test(linker_without_its_functions_is_none),
        cmocka_unit_test(linker_makes_a_cubin),
        cmocka_unit_test(linker_tells_new_text_from_wrong_text),
        cmocka_unit_test(linker_fails_without_memory),
    };

    return cmocka_run_group_tests_name("cuda", tests, NULL, NULL);
}
