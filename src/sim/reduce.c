/* reduce.c -- elements of bulk reductions: one atomic operation each
 *
 * ISA: each is .relaxed.gpu by itself, in the async proxy; a host atomic one
 * is that and more.
 */
#include "sim/atom_value.h"
#include "sim/bulk.h"
#include "sim/chunk.h"

/* The bit operations take any type of their size. */
#define VALUE(bits)                                                            \
    static uint##bits##_t value_##bits(const struct fgs__sim_reduction *r,     \
                                       uint##bits##_t old, uint##bits##_t b)   \
    {                                                                          \
        enum fgs__ptx_kind kind =                                              \
            (enum fgs__ptx_kind)fgs__ptx_types[r->type].kind;                  \
                                                                               \
        switch (r->op) {                                                       \
        case FGS__M_ATOM_AND:                                                  \
            return old & b;                                                    \
        case FGS__M_ATOM_OR:                                                   \
            return old | b;                                                    \
        case FGS__M_ATOM_XOR:                                                  \
            return old ^ b;                                                    \
        case FGS__M_ATOM_ADD:                                                  \
            if (kind != FGS__K_FLOAT)                                          \
                return (uint##bits##_t)(old + b);                              \
            break;                                                             \
        default:                                                               \
            break;                                                             \
        }                                                                      \
        return atom_value_##bits(r->op, r->type, old, b, r->keep);             \
    }                                                                          \
                                                                               \
    static FGS__DEVICE_MEMORY void reduce_##bits(                              \
        fgs__dev##bits *to, const char *from, uint32_t count,                  \
        const struct fgs__sim_reduction *r)                                    \
    {                                                                          \
        for (uint32_t n = 0; n < count; n++) {                                 \
            uint##bits##_t b;                                                  \
            fgs__dev##bits old = __atomic_load_n(to + n, __ATOMIC_RELAXED);    \
                                                                               \
            memcpy(&b, from + n * sizeof b, sizeof b);                         \
            while (!__atomic_compare_exchange_n(                               \
                to + n, &old, value_##bits(r, old, b), 0, __ATOMIC_SEQ_CST,    \
                __ATOMIC_RELAXED))                                             \
                ;                                                              \
        }                                                                      \
    }
VALUE(16)
VALUE(32)
VALUE(64)

void fgs__sim_reduce(void *to, const void *from, uint32_t bytes,
                     const struct fgs__sim_reduction *r)
{
    switch (fgs__ptx_types[r->type].bits) {
    case 16:
        reduce_16(to, from, bytes / 2, r);
        break;
    case 32:
        reduce_32(to, from, bytes / 4, r);
        break;
    default:
        reduce_64(to, from, bytes / 8, r);
    }
}
