/* rtc.h -- point FGS_NVRTC at the NVRTC made for tests, or at the real one */
#ifndef RTC_H
#define RTC_H

#include "../fake/fakertc.h"
#include "fakelib.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <cmocka.h>

static inline const char *rtc_fake_path(void)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s", fakelib_path());
    memcpy(strrchr(path, '/'), "/fakertc.so", 12);
    return path;
}

/* Its state, reset; without it the test is skipped. */
static inline struct fakertc *rtc_fake(void)
{
    void *lib = dlopen(rtc_fake_path(), RTLD_NOW | RTLD_LOCAL), *sym;
    fakertc_state_fn get;

    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(77);
    }
    sym = dlsym(lib, "fakertc_state");
    if (!sym)
        abort();
    memcpy(&get, &sym, sizeof get);
    memset(get(), 0, sizeof *get());
    setenv("FGS_NVRTC", rtc_fake_path(), 1);
    return get();
}

/* A library of the tool chain by name; NULL = it is not there. */
static inline const char *rtc_tool(const char *name)
{
    static char path[4096];
    const char *tc = getenv("TC");

    snprintf(path, sizeof path, "%s/lib/%s",
             tc && *tc ? tc : "build/toolchain/nvidia/cu13", name);
    return access(path, R_OK) ? NULL : path;
}

/* The real NVRTC by FGS_NVRTC; where there is none the test is skipped. */
static inline void rtc_real(void)
{
    const char *path = rtc_tool("libnvrtc.so.13");

    if (!path) {
        print_message("no NVRTC: `make toolchain` fetches it\n");
        skip();
    }
    setenv("FGS_NVRTC", path, 1);
}

/* NVRTC is the same whatever the build under test: what it makes is kept in
 * $FGS_TEST_TWINS, where the sanitized builds find it.  Without that, in a
 * folder of the test's own until rtc_forget. */
static inline char *rtc_own_folder(void)
{
    static char path[] = "/tmp/fgs-twins-XXXXXX";

    return path;
}

static inline bool rtc_keep(void)
{
    const char *kept = getenv("FGS_TEST_TWINS");

    if (!kept)
        kept = mkdtemp(rtc_own_folder());
    return kept && !setenv("FGS_CACHE_DIR", kept, 1);
}

static inline int rtc_forget(void)
{
    char command[64];

    if (getenv("FGS_TEST_TWINS"))
        return 0;
    snprintf(command, sizeof command, "rm -r '%s'", rtc_own_folder());
    return system(command);
}

#endif
