/* kernels_both.h -- the tests of kernels.h once in PTX, once by the twins */
#ifndef KERNELS_BOTH_H
#define KERNELS_BOTH_H

#include "rtc.h"

#include "kernels.h"

#include <stdbool.h>

/* A kernel that is in no plan, in the language of the group: text, or where a
 * GPU's driver may be older than the compiler, what nvJitLink makes of it; from
 * malloc. */
static inline void *both_image(const char *stem, int cc, fgs_element element)
{
    fgs_ptx_desc d = { .size = sizeof d, .stem = stem, .cc = cc,
                       .element = element, .language = language };
    bool twin = language == FGS_LANGUAGE_CUDA;
    fgs_result (*make_text)(const fgs_ptx_desc *, char *, size_t *,
                            fgs_error *) = twin ? fgs_ptx_compile
                                                : fgs_ptx_expand;
    char *text, *image = NULL, target[16];
    size_t size = 0;
    fgs_error err;

    if (make_text(&d, NULL, &size, &err) != FGS_E_SIZE)
        fail_msg("%s", err.text);
    text = malloc(size);
    assert_non_null(text);
    if (make_text(&d, text, &size, &err) < 0)
        fail_msg("%s", err.text);
    if (!twin || !getenv("FGS_PROVIDER"))
        return text;
    snprintf(target, sizeof target, "sm_%d%s", cc,
             strstr(text, ".target sm_90a") || cc == 107 ? "a" : "");
    size = 0;
    if (fgs_ptx_assemble(stem, text, target, NULL, &size, &err) != FGS_E_SIZE)
        fail_msg("%s", err.text);
    image = malloc(size);
    assert_non_null(image);
    if (fgs_ptx_assemble(stem, text, target, image, &size, &err) < 0)
        fail_msg("%s", err.text);
    free(text);
    return image;
}

/* Failures of both groups.  A twin is compiled once; without NVRTC there are
 * none. */
static inline void both_skip(void **state)
{
    (void)state;
    print_message("no NVRTC: `make toolchain` fetches it\n");
    skip();
}

/* The tests of a group as ones that are left out, each counted. */
static inline int both_left_out(const char *name,
                                const struct CMUnitTest *tests, size_t count)
{
    struct CMUnitTest *left = calloc(count, sizeof *left);
    int failed;

    if (!left)
        return 1;
    for (size_t i = 0; i < count; i++)
        left[i] = (struct CMUnitTest){ tests[i].name, both_skip, NULL, NULL,
                                       NULL };
    failed = _cmocka_run_group_tests(name, left, count, NULL, NULL);
    free(left);
    return failed;
}

static inline int run_both_with(const char *name,
                                const struct CMUnitTest *tests, size_t count,
                                CMFixtureFunction open, CMFixtureFunction close)
{
    char twins[64];
    int failed = _cmocka_run_group_tests(name, tests, count, open, close);

    snprintf(twins, sizeof twins, "%s by twins", name);
    if (!rtc_tool("libnvrtc.so.13"))
        return failed + both_left_out(twins, tests, count);
    setenv("FGS_NVRTC", rtc_tool("libnvrtc.so.13"), 1);
    if (!rtc_keep())
        return failed + 1;
    language = FGS_LANGUAGE_CUDA;
    failed += _cmocka_run_group_tests(twins, tests, count, open, close);
    return failed + (rtc_forget() != 0);
}

static inline int run_both(const char *name, const struct CMUnitTest *tests,
                           size_t count)
{
    return run_both_with(name, tests, count, open_device, close_device);
}

#endif
