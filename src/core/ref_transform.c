/* ref_transform.c -- mirror of ptx/lab_async.ptx.in and lab_sync.ptx.in */
#include <fgs/fgs.h>

#include <math.h>
#include <string.h>

fgs_result fgs_ref_transform(const void *in, void *out, uint64_t count)
{
    const char *from = in;
    char *to = out;
    /* A NaN of arithmetic has one pattern on the device. */
    const uint32_t nan = 0x7fffffff;

    if (!in || !out)
        return FGS_E_NULL;
    for (uint64_t i = 0; i < count; i++) {
        float x, y;

        memcpy(&x, from + 4 * i, sizeof x);
        y = fmaf(fmaf(x, 1.5f, 0.5f), x, 0.25f);
        if (isnan(y))
            memcpy(&y, &nan, sizeof y);
        memcpy(to + 4 * i, &y, sizeof y);
    }
    return FGS_OK;
}
