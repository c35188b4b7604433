/* scale_produce.cu -- producer: double, convert, canonicalize, store once
 *
 * The twin of scale_produce.ptx.in: its head has parameters, launch, memory.
 * mirror: src/core/ref_scale.c
 */
#include <fgs/fgs_device.cuh>

#include "role.cuh"

typedef fgs::ELEMENT element;

#define AWAY ((fgs::saturate)SATURATE) /* 0 refuse, 1 up, 2 down            */

enum : bool {
    refuses = fgs::rule_of<element>() == fgs::rule::never_sentinel &&
              AWAY == fgs::saturate::refuse
};
enum : fgs::u32 { per_chunk = element::per_chunk };

static_assert(element::bits == BITS && element::sentinel == SENTINEL &&
                  element::fill == FILL,
              "the tokens and the header know different sentinels");
static_assert(fgs::giveup_sentinel == GIVEUP_SENTINEL,
              "the tokens and the header know different codes");

/* The first of a chunk's inputs that would be the sentinel gives up. */
static __device__ void refuse(const fgs::site &at, fgs::u32 i, const float *y,
                              const float *in)
{
    for (fgs::u32 k = 0; k < per_chunk; k++)
        if (fgs::convert<element, AWAY>(y[k]) == element::sentinel) {
            fgs::chunk bits = { { fgs::bits_of(in[k]) } };

            fgs::give_up(at, fgs::giveup_sentinel, i, bits, 0, 0);
            return;
        }
}

/* All threads: tile `here`. */
static __device__ void produce(PARAMS, fgs::u64 here)
{
    extern __shared__ __align__(128) unsigned char tile[]; /* WITH_BULK      */
    const fgs::u32 t = threadIdx.x;
    const fgs::site at = { p_ctl, p_rec, here, fgs::role_producer };
    char *const out = p_mid + here * TILE_BYTES;
    bool hole = false;

    auto is_fault = [=](fgs::u32 i) {
        return WITH_FAULT && here == p_fault_tile && i == p_fault_chunk;
    };
    auto is_hole = [=](fgs::u32 i, const fgs::chunk &c) {
        return is_fault(i) ? (bool)WITH_LEAK
                           : refuses && fgs::holds_sentinel<element>(c);
    };

    work(p_ctl, p_work_ns, p_spread_ns);
    for (fgs::u32 i = t; i < TILE_CHUNKS; i += THREADS) {
        const float *in = p_in + here * TILE_ELEMS + i * per_chunk;
        float y[per_chunk];
        fgs::chunk c;

#pragma unroll
        for (fgs::u32 k = 0; k < per_chunk; k += 4) {
            float4 x = *(const float4 *)(in + k);

            y[k] = fgs::mul_rn(x.x, 2.0f);
            y[k + 1] = fgs::mul_rn(x.y, 2.0f);
            y[k + 2] = fgs::mul_rn(x.z, 2.0f);
            y[k + 3] = fgs::mul_rn(x.w, 2.0f);
        }
        c = fgs::pack<element, AWAY>(y);
        if (WITH_NEG0 && is_fault(i))
            c = fgs::sentinels<element>();
        if constexpr (WITH_BULK)
            fgs::chunk_at(tile, i) = c;
        if (is_hole(i, c)) {
            hole = true;
            if (!is_fault(i))
                refuse(at, i, y, in);
        } else if constexpr (!WITH_BULK) {
            fgs::store_chunk(out + 16ull * i, c);
        }
    }
    if constexpr (WITH_BULK) {
        /* One copy; around a hole the chunks are stored one by one. */
        fgs::proxy_fence();
        hole = __syncthreads_or(hole);
        if (t == 0 && !hole) {
            fgs::bulk_store(out, tile, TILE_BYTES);
            fgs::bulk_commit();
            fgs::bulk_wait();
        }
        for (fgs::u32 i = t; hole && i < TILE_CHUNKS; i += THREADS)
            if (!is_hole(i, fgs::chunk_at(tile, i)))
                fgs::store_chunk(out + 16ull * i, fgs::chunk_at(tile, i));
    }
    if (p_flags_out)
        fgs::set_flag(p_flags_out + here, p_round);
}

extern "C" __global__ void __launch_bounds__(THREADS)
ENTRY(STEM)(PARAMS)
{
    /* A persistent block takes every grid-size-th tile.  The others leave the
     * loop by a break: of a loop that is one in form alone ptxas spilled. */
    const fgs::u64 step = gridDim.x;

    open_early(nullptr, 0);
    if (blockIdx.x >= p_tiles)
        return;
    if (threadIdx.x == 0)
        fgs::note_start(p_stat);
    fgs::trace_start(row_of(p_trace));
    if constexpr (WITH_SELF) {
        for (fgs::u64 i = blockIdx.x; i < p_tiles; i += step) {
            fgs::fill_tile<element, TILE_BYTES, THREADS>(
                p_mid + tile_of(p_table, i) * TILE_BYTES);
            if (!WITH_LOOP)
                break;
        }
        fgs::publish<WITH_BULK ? fgs::results::by_bulk
                               : fgs::results::by_chunk>();
    }
    for (fgs::u64 i = blockIdx.x; i < p_tiles; i += step) {
        produce(ARGUMENTS, tile_of(p_table, i));
        if (!WITH_LOOP)
            break;
        __syncthreads();
    }
    end_of_block(p_stat, p_trace, 0);
}
