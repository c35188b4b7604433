/* lone.h -- a kernel of ptx/ alone on a software device of a seed, perhaps
 * with lines of its text replaced
 *
 * Block and copies are as the seed draws them: what a missing barrier or wait
 * lets happen is found over some of them.
 */
#ifndef LONE_H
#define LONE_H

#include "sim_calls.h"

#include <fgs/fgs_sim.h>
#include <unistd.h>

/* One replacement; `from` must be in the text. */
struct lone_edit {
    const char *from, *to;
};

/* The text of a variant after the edits (ending with NULL); from malloc. */
static inline char *lone_text(const fgs_ptx_desc *desc,
                              const struct lone_edit *edits)
{
    fgs_ptx_desc d = *desc;
    size_t size = 0, room;
    fgs_error err;
    char *text;

    d.size = sizeof d;
    if (!d.cc)
        d.cc = 107;
    if (fgs_ptx_expand(&d, NULL, &size, &err) != FGS_E_SIZE)
        fail_msg("%s", err.text);
    room = size + 4096;
    text = malloc(room);
    assert_non_null(text);
    assert_int_equal(fgs_ptx_expand(&d, text, &size, &err), FGS_OK);
    for (; edits && edits->from; edits++) {
        char *at = strstr(text, edits->from);
        size_t old = strlen(edits->from), now = strlen(edits->to);

        if (!at)
            fail_msg("%s: no \"%s\" in the text", d.stem, edits->from);
        assert_true(strlen(text) - old + now + 1 < room);
        memmove(at + now, at + old, strlen(at + old) + 1);
        memcpy(at, edits->to, now);
    }
    return text;
}

/* What NVRTC makes of the twin; without one the test is skipped. */
static inline char *lone_twin(const fgs_ptx_desc *desc)
{
    const char *tc = getenv("TC");
    fgs_ptx_desc d = *desc;
    char path[4096];
    size_t size = 0;
    fgs_error err;
    char *text;

    snprintf(path, sizeof path, "%s/lib/libnvrtc.so.13",
             tc && *tc ? tc : "build/toolchain/nvidia/cu13");
    if (access(path, R_OK)) {
        print_message("no NVRTC: `make toolchain` fetches it\n");
        skip();
    }
    setenv("FGS_NVRTC", path, 1);
    d.size = sizeof d;
    d.language = FGS_LANGUAGE_CUDA;
    if (!d.cc)
        d.cc = 107;
    if (fgs_ptx_compile(&d, NULL, &size, &err) != FGS_E_SIZE)
        fail_msg("%s", err.text);
    text = malloc(size);
    assert_non_null(text);
    assert_int_equal(fgs_ptx_compile(&d, text, &size, &err), FGS_OK);
    return text;
}

struct lone {
    struct sim sim;
    CUfunction function;
};

/* A fresh device of the seed with one host thread, so that a run can be
 * repeated; of so many SMs with room for so many blocks, whose copies take so
 * long (0 = as usual). */
static inline struct lone lone_open_small(const char *text, const char *entry,
                                          uint64_t seed, uint32_t sms,
                                          uint32_t sm_blocks, uint32_t copy_ns)
{
    fgs_sim_config cfg = { .size = sizeof cfg };
    struct lone l;

    assert_int_equal(fgs_sim_config_get(&cfg, NULL), FGS_OK);
    cfg.seed = seed;
    cfg.threads = 1;
    cfg.sms = sms ? sms : cfg.sms;
    cfg.sm_blocks = sm_blocks;
    cfg.copy_ns = copy_ns ? copy_ns : cfg.copy_ns;
    l.sim = sim_open(&cfg, text);
    l.function = sim_func(&l.sim, entry);
    return l;
}

static inline struct lone lone_open(const char *text, const char *entry,
                                    uint64_t seed)
{
    return lone_open_small(text, entry, seed, 0, 0, 0);
}

static inline void lone_close(struct lone *l)
{
    sim_close(&l->sim);
}

static inline CUdeviceptr lone_put(const void *from, size_t bytes)
{
    CUdeviceptr p = sim_alloc(bytes);

    OK(cuMemcpyHtoD(p, from, bytes));
    return p;
}

/* Launch and wait; the result of the wait. */
static inline CUresult lone_run(CUfunction f, uint32_t blocks, uint32_t threads,
                                uint32_t shared, void **params)
{
    CUlaunchConfig config = { blocks, 1, 1, threads, 1, 1, shared, NULL, NULL,
                              0 };

    if (shared > 48 << 10)
        OK(cuFuncSetAttribute(
            f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared));
    OK(cuLaunchKernelEx(&config, f, params, NULL));
    return fgs__sim_cuCtxSynchronize();
}

#endif
