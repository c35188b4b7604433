/* fused.cu -- producer and consumer blocks in one persistent kernel
 *
 * The twin of fused.ptx.in: its head has parameters, launch, memory.  A warp
 * scans what a bulk copy brought, where the template has all threads do it.
 * mirror: src/core/ref_reverse.c
 */
#include <fgs/fgs_device.cuh>

#define ENTRY_OF(stem) fgs_##stem
#define ENTRY(stem) ENTRY_OF(stem)

typedef fgs::f32 element;

/* Thread 0 waits until the tile was consumed as often as it was made. */
static __device__ fgs::u32 wait_free(const fgs::u32 *ready, fgs::u32 round,
                                     const fgs::limits &bound,
                                     const fgs::site &at)
{
    fgs::patience p;

    p.begin();
    for (p.tries = 1;; p.tries++) {
        fgs::u32 flag, code;

        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(flag)
                     : "l"(fgs::to_global(ready))
                     : "memory");
        if (flag >= round)
            return fgs::giveup_none;
        code = p.verdict(bound, fgs::aborted(at.control));
        if (code && code != fgs::giveup_other)
            fgs::give_up(at, code, fgs::no_chunk, fgs::chunk{}, p.tries,
                         p.spent);
        if (code)
            return code;
        p.nap(bound);
    }
}

/* Blocks that have not begun are taken over: fused.ptx.in's head. */
namespace claim {

static __device__ void ask(uint4 *answer, fgs::u64 *bar)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [%1], 16;"
        " clusterlaunchcontrol.try_cancel.async.shared::cta"
        ".mbarrier::complete_tx::bytes.b128 [%0], [%1];"
        :
        : "r"(fgs::to_shared(answer)), "r"(fgs::to_shared(bar))
        : "memory");
}

/* False: the answer was never to come. */
static __device__ bool wait(fgs::u64 *bar, fgs::u32 phase)
{
    const fgs::u64 start = fgs::now_ns();
    fgs::u32 there = 0;

    while (!there && fgs::now_ns() - start < LANDING_NS)
        asm volatile("{ .reg .pred p;"
                     " mbarrier.try_wait.parity.acquire.cta.shared::cta.b64"
                     " p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(there)
                     : "r"(fgs::to_shared(bar)), "r"(phase)
                     : "memory");
    return there;
}

/* Was one taken over?  The next answer overwrites this one. */
static __device__ bool got(const uint4 *answer)
{
    fgs::u32 is;

    asm volatile("{ .reg .pred p; .reg .b128 q; ld.shared::cta.b128 q, [%1];"
                 " clusterlaunchcontrol.query_cancel.is_canceled.pred.b128"
                 " p, q; selp.u32 %0, 1, 0, p;"
                 " fence.proxy.async.shared::cta; }"
                 : "=r"(is)
                 : "r"(fgs::to_shared(answer))
                 : "memory");
    return is;
}

/* Item `k` of the order: makes or uses tile `tile` of round `round`. */
struct item {
    bool makes;
    fgs::u32 round;
    fgs::u64 tile;
};

static __device__ item of(fgs::u32 number, fgs::u64 tiles, fgs::u32 rounds,
                          fgs::u32 lead)
{
    const fgs::u64 turns = rounds * tiles - lead;
    fgs::u64 k = number;
    item i;

    i.makes = k < lead;
    if (!i.makes) {
        k -= lead;
        i.makes = k / 2 < turns && k % 2;
        k = k / 2 >= turns ? k - turns : k / 2 + (i.makes ? lead : 0);
    }
    i.round = (fgs::u32)(k / tiles);
    i.tile = k % tiles;
    return i;
}

} // namespace claim

/* The tile in shared memory, without sentinels; called by all. */
static __device__ fgs::u32 load(unsigned char *tile, const char *from,
                                fgs::u64 &bar, fgs::u32 &phase,
                                fgs::u64 &again, const fgs::limits &bound,
                                const fgs::site &at)
{
    const fgs::u32 t = threadIdx.x;
    fgs::u32 code = fgs::giveup_none;
    fgs::patience p;

    p.begin();
    if constexpr (WITH_POLL) {
        code = fgs::poll_tile<element, TILE_BYTES, THREADS>(tile, from, again,
                                                            p, bound, at, t);
    } else if (t < (WITH_REPORT ? 1 : 32)) {
        p.tries = 1;
        if constexpr (WITH_REPORT) {
            typedef fgs::engine::report engine;

            fgs::issue_tile<element, TILE_BYTES, engine>(bar, tile, from);
            code = fgs::settle_report<element, TILE_BYTES>(
                bar, tile, from, phase, p, bound, at);
        } else {
            typedef fgs::engine::bulk engine;

            if (t == 0)
                fgs::issue_tile<element, TILE_BYTES, engine>(bar, tile, from);
            code = fgs::settle_scan<element, TILE_BYTES, engine>(
                bar, tile, from, phase, p, bound, at);
        }
        again += t == 0 ? p.tries - 1 : 0;
    }
    return __syncthreads_or((int)code);
}

/* What a block has between its tiles. */
struct state {
    unsigned char *tile;
    fgs::u64 *bar;
    fgs::u32 phase;
    fgs::u64 again;
    fgs::limits bound;
};

struct args {
    const char *in;
    char *mid, *out;
    fgs::u64 out_step, tiles;
    fgs::u32 *ready;
    fgs::u64 work_ns, leak;
    fgs::u32 rounds;
};

/* All threads: store input tile t + rounds - 1 - round, once it is free. */
static __device__ fgs::u32 make_tile(const args &p, const state &s,
                                     const fgs::site &here)
{
    const fgs::u32 t = threadIdx.x, round = here.stage;
    const fgs::u64 k = here.tile;
    const fgs::u64 from = (k + (p.rounds - 1 - round) % p.tiles) % p.tiles;
    const bool last = round == p.rounds - 1;
    char *mine = p.mid + k * TILE_BYTES;
    fgs::u64 start;
    fgs::u32 code = 0;

    if (t == 0)
        code = wait_free(p.ready + k, round, s.bound, here);
    code = __syncthreads_or((int)code);
    start = fgs::now_ns();
    while (!code && fgs::now_ns() - start < p.work_ns)
        ;
    for (fgs::u32 i = t; !code && i < TILE_CHUNKS; i += THREADS) {
        const float4 v = ((const float4 *)(p.in + from * TILE_BYTES))[i];
        const float twice[] = { v.x + v.x, v.y + v.y, v.z + v.z, v.w + v.w };

        if (!(last && k * TILE_CHUNKS + i == p.leak))
            fgs::store_chunk(mine + 16 * i, fgs::pack<element>(twice));
    }
    return code;
}

/* All threads: load, reverse, fill again, let the producer on. */
static __device__ fgs::u32 use_tile(const args &p, state &s,
                                    const fgs::site &here)
{
    const fgs::u32 t = threadIdx.x, round = here.stage;
    const fgs::u64 k = here.tile;
    char *mine = p.mid + k * TILE_BYTES;
    fgs::u32 code = load(s.tile, mine, *s.bar, s.phase, s.again, s.bound, here);

    if (code)
        return code;
    for (fgs::u32 i = t; i < TILE_CHUNKS; i += THREADS)
        fgs::chunk_at(p.out + round * p.out_step + k * TILE_BYTES, i) =
            fgs::reversed<element>(fgs::chunk_at(s.tile, TILE_CHUNKS - 1 - i));
    /* The last reader fills the tile again, then lets the producer on. */
    fgs::fill_tile<element, TILE_BYTES, THREADS>(mine, t);
    if constexpr (WITH_COPY)
        fgs::proxy_fence();
    __syncthreads();
    if (t == 0)
        asm volatile("st.release.gpu.global.u32 [%0], %1;"
                     :
                     : "l"(fgs::to_global(p.ready + k)), "r"(round + 1)
                     : "memory");
    return 0;
}

/* With a least number of blocks stated, ptxas does not spill for more. */
extern "C" __global__ void __launch_bounds__(THREADS, 1)
ENTRY(STEM)(const char *p_in, char *p_mid, char *p_out, fgs::u64 p_out_step,
            fgs::u64 p_tiles, fgs::u32 *p_ready, fgs::ctl *p_ctl,
            fgs::rec *p_rec, fgs::stat *p_stat, fgs::stat *p_made,
            fgs::u64 p_bound_ns, fgs::u64 p_max_tries, fgs::u64 p_work_ns,
            fgs::u64 p_leak, fgs::u32 p_rounds, fgs::u32 p_producers)
{
    extern __shared__ __align__(128) unsigned char tile[];
    __shared__ fgs::u64 bar;
    __shared__ unsigned long long repeated;
    const fgs::u32 t = threadIdx.x, b = blockIdx.x;
    const args p = { p_in, p_mid, p_out, p_out_step, p_tiles, p_ready,
                     p_work_ns, p_leak, p_rounds };
    fgs::u32 code = 0;
    state s;

    s.tile = tile;
    s.bar = &bar;
    s.phase = 0;
    s.again = 0;
    s.bound.bound_ns = p_bound_ns;
    s.bound.max_tries = p_max_tries;
    s.bound.eager_tries = EAGER_TRIES;
    s.bound.nap_ns = NAP_NS;
    s.bound.landing_ns = LANDING_NS;
    if (t == 0) {
        repeated = 0;
        if constexpr (WITH_REPORT)
            fgs::barrier_init_v1(bar, 1);
        else if constexpr (WITH_SCAN)
            fgs::barrier_init(bar, 1);
    }
    if constexpr (WITH_FIXED) {
        const bool makes = b < p_producers;
        const fgs::u64 step = makes ? p_producers : gridDim.x - p_producers;

        if (t == 0 && !makes)
            fgs::note_start(p_stat);
        code = __syncthreads_or(fgs::aborted(p_ctl));
        for (fgs::u32 round = 0; !code && round < p_rounds; round++) {
            for (fgs::u64 k = makes ? b : b - p_producers; !code && k < p_tiles;
                 k += step) {
                const fgs::site here = { p_ctl, p_rec, k,
                                         makes ? fgs::role_producer
                                               : fgs::role_consumer,
                                         p_stat, round };

                code = makes ? make_tile(p, s, here) : use_tile(p, s, here);
            }
        }
        if (t == 0 && makes)
            fgs::note_end(p_made);
    } else {
        constexpr fgs::u32 none = 0xffffffffu;
        __shared__ __align__(16) uint4 answer;
        __shared__ fgs::u64 claimed;
        __shared__ fgs::u32 number;
        fgs::u32 *counter = p_ready + p_tiles, turn = 0;
        bool asked = false;

        if (t == 0) {
            fgs::barrier_init(claimed, 1);
            number = atomicAdd(counter, 1u);
            claim::ask(&answer, &claimed);
            asked = true;
        }
        code = __syncthreads_or(fgs::aborted(p_ctl));
        while (!code && number != none) {
            const claim::item i = claim::of(number, p_tiles, p_rounds,
                                            p_producers);
            const fgs::site here = { p_ctl, p_rec, i.tile,
                                     i.makes ? fgs::role_producer
                                             : fgs::role_consumer,
                                     p_stat, i.round };

            if (i.makes) {
                code = make_tile(p, s, here);
            } else {
                if (t == 0) {
                    fgs::note_start(p_stat);
                    /* another block may be filling it still */
                    code = wait_free(p_ready + i.tile, i.round, s.bound, here);
                }
                code = __syncthreads_or((int)code);
                code = code ? code : use_tile(p, s, here);
            }
            __syncthreads();
            if (code)
                break;
            if (t == 0) {
                if (i.makes)
                    fgs::note_end(p_made);
                asked = false;
                number = none;
                if (!claim::wait(&claimed, turn)) {
                    code = fgs::giveup_landing;
                    fgs::give_up(here, code, fgs::no_chunk, fgs::chunk{}, 0, 0);
                } else if (claim::got(&answer)) {
                    atomicAdd(counter + 1, 1u);
                    number = atomicAdd(counter, 1u);
                    claim::ask(&answer, &claimed);
                    asked = true;
                }
                turn ^= 1;
            }
            code = __syncthreads_or((int)code);
        }
        /* An answer that is on its way may not find the block gone. */
        if (asked)
            claim::wait(&claimed, turn);
    }
    if (s.again)
        atomicAdd(&repeated, s.again);
    __syncthreads();
    if (t == 0 && (!WITH_FIXED || b >= p_producers))
        fgs::note_again(p_stat, repeated);
}
