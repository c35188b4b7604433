/* sim_link.h -- texts to link, and what is done with them
 *
 * Results and messages are those of an H200 (driver 580).
 */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include "sim_calls.h"

#define TEXT ".version 7.0\n.target sm_70\n.address_size 64\n"

static struct sim s;
static char log_text[1024];
static void *log_value[2];

static inline int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, NULL);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static inline CUlinkState begin(void)
{
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    CUlinkState l = NULL;

    log_value[0] = log_text;
    log_value[1] = (void *)(uintptr_t)sizeof log_text;
    OK(cuLinkCreate(2, option, log_value, &l));
    return l;
}

static inline CUresult add(CUlinkState l, const char *name, const char *text)
{
    return fgs__sim_cuLinkAddData(l, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text,
                                  strlen(text) + 1, name, 0, NULL, NULL);
}

/* Two texts that do not fit; what is said, and that the link is over. */
static inline void disagree(const char *a, const char *b, const char *said)
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

static inline CUmodule link_of(const char *const *text, size_t count)
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
static inline uint32_t run(CUmodule m, const char *name, uint32_t in)
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

#endif
