/* test_abi.c -- our rows of the driver API against NVIDIA's own headers
 *
 * All of it is decided by the compiler; the test only says whether there were
 * headers to compare with.
 */
#if defined(__has_include)
#if __has_include(<cuda.h>) && __has_include(<cudaTypedefs.h>)
#define HAVE_TOOLKIT 1
#endif
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#ifdef HAVE_TOOLKIT
#include <cuda.h>
#include <cudaTypedefs.h>
#if CUDA_VERSION < 13040 /* the tables hold names of 13.4 */
#undef HAVE_TOOLKIT
#endif
#endif

#ifdef HAVE_TOOLKIT
#if __has_include(<cudaProfiler.h>) && __has_include(<cudaProfilerTypedefs.h>)
#include <cudaProfilerTypedefs.h>
#else /* a package of its own, which the pinned tool chain lacks */
typedef int CUoutput_mode;
typedef CUresult (*PFN_cuProfilerInitialize_v4000)(const char *, const char *,
                                                   CUoutput_mode);
typedef CUresult (*PFN_cuProfilerStart_v4000)(void);
typedef CUresult (*PFN_cuProfilerStop_v4000)(void);
#endif
/* Declared for the driver's own build alone, or under another name. */
typedef CUresult (*PFN_cuTexRefSetAddress2D_v3020)(
    CUtexref, const CUDA_ARRAY_DESCRIPTOR *, CUdeviceptr, size_t);
typedef CUresult (*PFN_cuGraphInstantiate_v10000)(CUgraphExec *, CUgraph,
                                                  CUgraphNode *, char *,
                                                  size_t);
typedef CUresult (*PFN_cuGraphInstantiate_v12000)(CUgraphExec *, CUgraph,
                                                  unsigned long long);
typedef CUresult (*PFN_cuStreamBeginCapture_v10000)(CUstream);
/* The public header stands beside cuda.h; including it here is part of it. */
#include <fgs/fgs.h>

#define ENTRY(name, abi, need, forms, params)                                  \
    _Static_assert(__builtin_types_compatible_p(CUresult(*) params,            \
                                                PFN_##name##_v##abi),          \
                   #name);
#define FORM(fn, name, abi, forms, params)                                     \
    _Static_assert(__builtin_types_compatible_p(CUresult(*) params,            \
                                                PFN_##name##_v##abi),          \
                   #fn);
#include "table/entry.def"
#undef ENTRY

#define CUC(name, value) _Static_assert((long long)(name) == (value), #name);
#include "table/cuconst.def"
#undef CUC

#define CURES(name, value, text) _Static_assert(name == (value), #name);
#include "table/curesult.def"
#undef CURES

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define MEMBER(type, member, offset)                                           \
    _Static_assert(offsetof(type, member) == (offset), #member);
#include "layout.def"
#undef SIZE
#undef MEMBER

#define LATTR(id, num, cc, needs)                                              \
    _Static_assert(CU_LAUNCH_ATTRIBUTE_##id == (num), #id);
#include "table/launchattr.def"
#undef LATTR
#endif

static void rows_agree_with_the_toolkit(void **state)
{
    (void)state;
#ifndef HAVE_TOOLKIT
    print_message("no cuda.h of 13.4 or later: `make toolchain` fetches it\n");
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_agree_with_the_toolkit),
    };

    return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
