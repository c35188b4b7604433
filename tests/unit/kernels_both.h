/* kernels_both.h -- the tests of kernels.h once in PTX, once by the twins */
#ifndef KERNELS_BOTH_H
#define KERNELS_BOTH_H

#include "rtc.h"

#include "kernels.h"

/* Failures of both groups.  The twins are compiled once each, into a cache that
 * is removed; without NVRTC they do not run. */
static inline int run_both(const char *name, const struct CMUnitTest *tests,
                           size_t count)
{
    char cache[] = "/tmp/fgs-both-XXXXXX", twins[64], remove_cache[64];
    int failed = _cmocka_run_group_tests(name, tests, count, open_device,
                                         close_device);

    if (!rtc_tool("libnvrtc.so.13"))
        return failed;
    setenv("FGS_NVRTC", rtc_tool("libnvrtc.so.13"), 1);
    if (!mkdtemp(cache))
        return failed + 1;
    setenv("FGS_CACHE_DIR", cache, 1);
    language = FGS_LANGUAGE_CUDA;
    snprintf(twins, sizeof twins, "%s by twins", name);
    failed += _cmocka_run_group_tests(twins, tests, count, open_device,
                                      close_device);
    snprintf(remove_cache, sizeof remove_cache, "rm -r '%s'", cache);
    return failed + (system(remove_cache) != 0);
}

#endif
