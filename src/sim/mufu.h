/* mufu.h -- the functions that NVIDIA GPUs take from tables, with their bits
 *
 * A function is a quadratic polynomial in the low 17 bits x of its argument's
 * mantissa, the high bits choose its row.  Everything is fixed-point: c0 in
 * quarters of the last place, c1 of 2^-17 and c2 of 2^-15 of it; the square
 * lacks all its partial products below column 19, and the sum is cut off, not
 * rounded.  A bias to each function makes up for that.  This was found from
 * the results of an H200 and gives all of them: of each function for all
 * mantissas of one to four octaves.
 */
#ifndef FGS_SIM_MUFU_H
#define FGS_SIM_MUFU_H

#include <stdint.h>

struct fgs__mufu {
    int32_t c0, c1, c2;
};
enum {
    FGS__MUFU_RCP = 0,
    FGS__MUFU_RSQ = FGS__MUFU_RCP + 128,
    FGS__MUFU_SQRT = FGS__MUFU_RSQ + 128,
    FGS__MUFU_EX2 = FGS__MUFU_SQRT + 128,
    FGS__MUFU_LG2 = FGS__MUFU_EX2 + 64,
    FGS__MUFU_SIN = FGS__MUFU_LG2 + 64,
    FGS__MUFU_TANH = FGS__MUFU_SIN + 64,
    FGS__MUFU_COUNT = FGS__MUFU_TANH + 51
};
/* Biases in 2^-17 of the last place. */
enum {
    FGS__BIAS_RCP = 8094,
    FGS__BIAS_RSQ = -1,
    FGS__BIAS_SQRT = -1,
    FGS__BIAS_EX2 = 24458,
    FGS__BIAS_LG2 = 6700
};
extern const struct fgs__mufu fgs__mufu[];

#endif
