/* ref_histogram.c -- mirror of ptx/histogram.ptx.in */
#include <fgs/fgs.h>

#include <math.h>
#include <string.h>

fgs_result fgs_ref_histogram(const void *in, uint64_t count, uint32_t bins,
                             float width, uint64_t *counts)
{
    const char *from = in;

    if (!in || !counts)
        return FGS_E_NULL;
    if (!bins || bins > FGS_BINS_MAX || !(width > 0) || isinf(width))
        return FGS_E_SIZE;
    for (uint64_t i = 0; i < count; i++) {
        float v, q;

        memcpy(&v, from + 4 * i, sizeof v);
        q = v / width;
        if (isnan(v))
            counts[bins + 2]++;
        else if (v < 0)
            counts[bins]++;
        else if (q >= (float)bins)
            counts[bins + 1]++;
        else
            counts[(uint32_t)q]++;
    }
    return FGS_OK;
}
