/* fuzz_knob.c -- libFuzzer: FGS_SIM_* of any text, one a line, in their order
 *
 * Where they are good, a device with them starts and works.
 */
#include "sim/device.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static const char *const names[] = {
#define KNOB(name, type, env, def, lo, hi, text) env,
    FGS_SIM_KNOBS(KNOB)
#undef KNOB
};

enum { KNOBS = sizeof names / sizeof *names, LINE = 64 };

static void set_all(const char *s, size_t n)
{
    for (unsigned k = 0; k < KNOBS; k++) {
        char line[LINE] = "";
        size_t len = 0;

        while (len < n && s[len] && s[len] != '\n' && len < LINE - 1)
            len++;
        memcpy(line, s, len);
        if (len)
            setenv(names[k], line, 1);
        else
            unsetenv(names[k]);
        s += len < n ? len + 1 : n;
        n -= len < n ? len + 1 : n;
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    fgs_sim_config cfg;
    CUdeviceptr p;
    CUcontext ctx;
    fgs_error err;

    /* Its first call looks at the variables too. */
    set_all("", 0);
    if (fgs__sim_cuInit(0))
        abort();
    set_all((const char *)data, size);
    if (fgs_sim_config_get(&cfg, &err)) {
        if (!err.text[0])
            abort();
        return 0;
    }
    if (fgs_sim_config_set(&cfg, NULL))
        abort();
    /* Many threads would only take long. */
    if (cfg.threads > 4 || fgs__sim_cuCtxCreate(&ctx, 0, 0))
        return 0;
    if (!fgs__sim_cuMemAlloc(&p, 1000) &&
        fgs__sim_cuMemsetD8(p, 1, 1000))
        abort();
    fgs__sim_cuCtxDestroy(ctx);
    return 0;
}
