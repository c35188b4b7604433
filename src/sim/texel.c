/* texel.c -- elements of textures and surfaces as four components
 *
 * What a format lacks reads as 0, the fourth component too: so the H200 did of
 * every format and read mode, and tld4.a of two components as well.
 */
#include "sim/texture.h"
#include "base/compat.h"
#include "sim/half.h"

static FGS__DEVICE_MEMORY uint32_t raw_of(const char *from, unsigned bytes)
{
    uint32_t v = 0;
    uint16_t h;

    if (bytes == 1)
        return (unsigned char)*from;
    if (bytes == 2) {
        memcpy(&h, from, sizeof h);
        return h;
    }
    memcpy(&v, from, sizeof v);
    return v;
}

/* CUDA C++ Programming Guide, "Texture Memory", read mode: the whole range of
 * the type is 0 ... 1, or -1 ... 1 of which the least value takes part. */
static uint32_t normalized(unsigned format, uint32_t v)
{
    int32_t s;

    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
        return float_bits((float)v / 255.0f);
    case CU_AD_FORMAT_UNSIGNED_INT16:
        return float_bits((float)v / 65535.0f);
    case CU_AD_FORMAT_SIGNED_INT8:
        s = (int8_t)v;
        return float_bits(s < -127 ? -1.0f : (float)s / 127.0f);
    default:
        s = (int16_t)v;
        return float_bits(s < -32767 ? -1.0f : (float)s / 32767.0f);
    }
}

static uint32_t component(const struct fgs__sim_texture *t, unsigned k,
                          uint32_t v)
{
    if (fgs__sim_is_srgb(t, k))
        return (uint32_t)fgs__sim_srgb[v & 0xff] << 16;
    switch (t->format) {
    case CU_AD_FORMAT_FLOAT:
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
        return v;
    case CU_AD_FORMAT_HALF:
        return float_bits(float_of_f16(v));
    case CU_AD_FORMAT_SIGNED_INT8:
        return t->integer ? (uint32_t)(int8_t)v : normalized(t->format, v);
    case CU_AD_FORMAT_SIGNED_INT16:
        return t->integer ? (uint32_t)(int16_t)v : normalized(t->format, v);
    default:
        return t->integer ? v : normalized(t->format, v);
    }
}

void fgs__sim_texel_read(const struct fgs__sim_texture *t, const char *from,
                         struct fgs__sim_texel *out)
{
    unsigned bytes = t->element / t->channels;

    for (unsigned k = 0; k < 4; k++) {
        if (k < t->channels)
            out->v[k] = component(t, k, raw_of(from + k * bytes, bytes));
        else
            out->v[k] = 0;
    }
}

/* ISA, sust.p: a component is taken as what the surface has: integers are
 * saturated, floats narrowed. */
static uint32_t narrowed(unsigned format, uint32_t v)
{
    int32_t s = (int32_t)v;

    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
        return v > 0xff ? 0xff : v;
    case CU_AD_FORMAT_UNSIGNED_INT16:
        return v > 0xffff ? 0xffff : v;
    case CU_AD_FORMAT_SIGNED_INT8:
        return (uint8_t)(s > 127 ? 127 : s < -128 ? -128 : s);
    case CU_AD_FORMAT_SIGNED_INT16:
        return (uint16_t)(s > 32767 ? 32767 : s < -32768 ? -32768 : s);
    case CU_AD_FORMAT_HALF:
        return f16_of_float(bits_float(v));
    default:
        return v;
    }
}

FGS__DEVICE_MEMORY void fgs__sim_texel_put(const struct fgs__sim_texture *t,
                                           char *to, unsigned k, uint32_t raw)
{
    unsigned bytes = t->element / t->channels;
    uint8_t b = (uint8_t)raw;
    uint16_t h = (uint16_t)raw;

    if (bytes == 1)
        memcpy(to + k, &b, sizeof b);
    else if (bytes == 2)
        memcpy(to + 2 * k, &h, sizeof h);
    else
        memcpy(to + 4 * k, &raw, sizeof raw);
}

void fgs__sim_texel_write(const struct fgs__sim_texture *t, char *to,
                          const uint32_t *v, unsigned count)
{
    for (unsigned k = 0; k < t->channels && k < count; k++)
        fgs__sim_texel_put(t, to, k, narrowed(t->format, v[k]));
}
