/* load.cuh -- a consumer's tile, loaded until it holds no sentinel
 *
 * A part of <fgs/fgs_device.cuh>.  Guide 4.6.3.1, 4.6.4.4, 4.6.8.
 *
 *     extern __shared__ __align__(128) unsigned char tile[];
 *     __shared__ fgs::tile_load<fgs::f16, 4096, 128> load;
 *
 *     load.init();
 *     if (load.wait(tile, mid + 4096ull * blockIdx.x, {}, site))
 *         ...                        // all threads: use the tile
 *     fgs::wait_upstream();
 *
 * Every retry loop has a bound in time and one in tries, looks at the abort
 * word, and ends with a record in place of a hang.
 */
#ifndef FGS_DEVICE_LOAD_CUH
#define FGS_DEVICE_LOAD_CUH

#include <fgs/device/engine.cuh>

namespace fgs {

/* ---- giving up: the first bad chunk, where it can be seen --------------- */

/* One thread, the tile in shared memory as the last copy left it.  Behind its
 * chunks are counted those of a second operand. */
template <class E, u32 Bytes, class F = const void *>
FGS_FN void give_up_shared(void *tile, u32 code, const patience &p,
                           const site &at)
{
    typedef second_of<F> second;
    constexpr u32 chunks = tile_shape<E, Bytes>::chunks;
    constexpr u32 all = chunks + second::bytes / 16;
    chunk bits = {};
    u32 i = 0;

    if (code == giveup_other)
        return;
    while (code != giveup_landing && i < chunks &&
           !holds_sentinel<E>(chunk_at(tile, i)))
        i++;
    if constexpr (all > chunks)
        while (i >= chunks && i < all &&
               !holds_sentinel<typename second::element>(chunk_at(tile, i)))
            i++;
    if (code == giveup_landing || i == all)
        i = no_chunk; /* nothing landed; or it was reported and is not there */
    else
        bits = chunk_at(tile, i);
    give_up(at, code, i, bits, p.tries, p.spent);
}

/* One thread that saw chunk `mine` as `bits`: one before it that is bad now
 * is the first. */
template <class E>
FGS_FN void give_up_global(const void *from, u32 mine, chunk bits, u32 code,
                           const patience &p, const site &at)
{
    if (code == giveup_other)
        return;
    for (u32 i = 0; i < mine; i++) {
        chunk c = load_chunk((const char *)from + 16ull * i);

        if (holds_sentinel<E>(c)) {
            mine = i;
            bits = c;
        }
    }
    give_up(at, code, mine, bits, p.tries, p.spent);
}

/* ---- one tile, by one thread, one warp or all --------------------------- */

/* One copy of a part of a tile, into a phase that is armed. */
template <class E, class N>
FGS_FN void copy_part(u64 &bar, void *to, const void *from, u32 bytes)
{
    if constexpr (engine_is<N>::report)
        copy_report<mechanism_of<E>()>(to, from, bytes, bar);
    else
        copy_bulk<engine_is<N>::weak>(to, from, bytes, bar);
}

/* Arm the barrier's phase and copy into it, Box bytes at a time.  One thread;
 * with async the 32 lanes of a warp, whose arrivals the barrier counts.
 *
 * from  a pointer; or a tensor_box, which is copied as a whole; or
 *       two_operands
 */
template <class E, u32 Bytes, class N, u32 Box = Bytes, class F>
FGS_FN void issue_tile(u64 &bar, void *tile, const F &from)
{
    static_assert(!is_box<F>::value ||
                      ((engine_is<N>::report || engine_is<N>::bulk) &&
                       Box >= Bytes),
                  "fgs: a tensor_box is one copy, by report or bulk");
    typedef second_of<F> second;
    static_assert(!second::bytes || engine_is<N>::report,
                  "fgs: a second operand needs the report engine");
    if constexpr (is_box<F>::value) {
        barrier_expect(bar, Bytes);
        copy_box<mechanism_of<E>(), engine_is<N>::report>(bar, tile, from.map,
                                                          from.x, from.y);
    } else if constexpr (engine_is<N>::async) {
        for (u32 i = thread_rank() % 32; i < Bytes / 16; i += 32)
            copy_async(&chunk_at(tile, i), (const char *)from + 16 * i);
        asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];"
                     :
                     : "r"(to_shared(&bar))
                     : "memory");
    } else {
        const char *first = (const char *)chunk_from(from, 0);

        barrier_expect(bar, Bytes + second::bytes);
        for (u32 k = 0; k < Bytes; k += Box)
            copy_part<E, N>(bar, (char *)tile + k, first + k,
                            Bytes - k < Box ? Bytes - k : Box);
        if constexpr (second::bytes)
            copy_part<typename second::element, N>(
                bar, (char *)tile + Bytes, from.second, second::bytes);
    }
}

/*
 * One thread; the first copy was issued into phase `round` of a v1 barrier.
 * Wait for the primary phase, copy again into the next one while a sentinel
 * is reported (4.6.3.1).  Every phase is seen before the barrier is armed
 * again.  giveup_none when the conditional phase has advanced too.
 */
template <class E, u32 Bytes, u32 Box = Bytes, class F>
FGS_FN u32 settle_report(u64 &bar, void *tile, const F &from, u32 &round,
                         patience &p, const limits &l, const site &at)
{
    for (;; p.tries++) {
        bool sentinel, abort = aborted(at.control);
        u32 code, bad;

        while (!barrier_landed(bar, round, sentinel))
            if (p.lost(l)) {
                give_up_shared<E, Bytes, F>(tile, giveup_landing, p, at);
                return giveup_landing;
            }
        round++;
        if (!sentinel)
            return giveup_none;
        bad = first_bad<E, Bytes, false>(tile, l);
        if (bad != no_chunk)
            asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        code = hold_back<E, false>(from, bad, p, l, at, abort);
        if (code) {
            give_up_shared<E, Bytes, F>(tile, code, p, at);
            return code;
        }
        issue_tile<E, Bytes, engine::report, Box>(bar, tile, from);
    }
}

/*
 * The 32 lanes of a warp; the first copy was issued into phase `round`.  All
 * wait for it, each reads what the copy wrote, so each acquires; all look,
 * every element by its bits.  The next copy writes what the lanes have read:
 * a fence of each lane and a meeting of the warp come before it.
 */
template <class E, u32 Bytes, class N, u32 Box = Bytes, class F>
FGS_FN u32 settle_scan(u64 &bar, void *tile, const F &from, u32 &round,
                       patience &p, const limits &l, const site &at)
{
    u32 lane = thread_rank() % 32;

    for (;; p.tries++) {
        bool landed, bad, abort = aborted(at.control);
        u32 code, first = no_chunk;

        while (!(landed = barrier_done(bar, round)) && !p.lost(l))
            ;
        landed = __all_sync(~0u, landed);
        bad = !landed;
        for (u32 i = lane; i < Bytes / 16; i += 32)
            bad |= holds_sentinel<E>(chunk_at(tile, i));
        round++;
        if (!__any_sync(~0u, bad))
            return giveup_none;
        if (landed)
            first = first_bad<E, Bytes, is_box<F>::value>(tile, l);
        if constexpr (engine_is<N>::bulk)
            asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        code = giveup_landing;
        if (landed)
            code = hold_back<E, true>(from, first, p, l, at, abort);
        if (code) {
            if (lane == 0)
                give_up_shared<E, Bytes>(tile, code, p, at);
            return code;
        }
        if (engine_is<N>::async || lane == 0)
            issue_tile<E, Bytes, N, Box>(bar, tile, from);
    }
}

/*
 * Each of Threads threads: its chunks, a few in flight at a time, each loaded
 * as a unit until it is valid, then put into the tile in shared memory.
 *
 * again  counts the loads that were repeated
 */
template <class E, u32 Bytes, u32 Threads>
FGS_FN u32 poll_tile(void *tile, const void *from, u64 &again, patience &p,
                     const limits &l, const site &at, u32 rank)
{
    constexpr u32 chunks = Bytes / 16, each = (chunks + Threads - 1) / Threads;
    constexpr u32 width = each < 4 ? each : 4;

    for (u32 first = rank; first < chunks; first += width * Threads) {
        chunk c[width];
        u32 bad = (1u << width) - 1, code;

        for (p.tries = 1;; p.tries++) {
            u32 was = bad;
            bool abort;

            bad = 0;
#pragma unroll
            for (u32 k = 0; k < width; k++)
                if (was >> k & 1 && first + k * Threads < chunks)
                    c[k] = load_chunk((const char *)from +
                                      16ull * (first + k * Threads));
            abort = aborted(at.control);
#pragma unroll
            for (u32 k = 0; k < width; k++)
                if (was >> k & 1 && first + k * Threads < chunks &&
                    holds_sentinel<E>(c[k]))
                    bad |= 1u << k;
            if (!bad)
                break;
            code = p.verdict(l, abort);
            if (code) {
                u32 k = __ffs((int)bad) - 1;

                again += p.tries - 1;
#pragma unroll
                for (u32 j = 1; j < width; j++)
                    if (j == k)
                        c[0] = c[j];
                give_up_global<E>(from, first + k * Threads, c[0], code, p,
                                  at);
                return code;
            }
            p.nap(l);
        }
        again += p.tries - 1;
#pragma unroll
        for (u32 k = 0; k < width; k++)
            if (first + k * Threads < chunks)
                chunk_at(tile, first + k * Threads) = c[k];
    }
    return giveup_none;
}

/* One thread: until the flag has reached `round`, with acquire (4.6.2). */
FGS_FN u32 settle_flag(const u32 *flag, u32 round, patience &p,
                       const limits &l, const site &at)
{
    p.begin();
    for (;;) {
        bool abort = aborted(at.control);
        u32 seen, code;

        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(seen)
                     : "l"(to_global(flag))
                     : "memory");
        p.tries++;
        if (seen >= round)
            return giveup_none;
        code = p.verdict(l, abort);
        if (code && code != giveup_other)
            give_up(at, giveup_flag, no_chunk, chunk{ { seen, 0, round, 0 } },
                    p.tries, p.spent);
        if (code)
            return code;
        p.nap(l);
    }
}

/* Each of Threads threads: copy its chunks, wait for them, look, copy again
 * those that are not valid.  What it copied it sees without a barrier. */
template <class E, u32 Bytes, u32 Threads>
FGS_FN u32 async_tile(void *tile, const void *from, u64 &again, patience &p,
                      const limits &l, const site &at, u32 rank)
{
    constexpr u32 chunks = Bytes / 16;

    for (;; again++) {
        u32 code, bad = no_chunk;
        bool abort;

        for (u32 i = rank; i < chunks; i += Threads)
            if (!p.tries || holds_sentinel<E>(chunk_at(tile, i)))
                copy_async(&chunk_at(tile, i), (const char *)from + 16ull * i);
        p.tries++;
        abort = aborted(at.control);
        asm volatile("cp.async.wait_all;" : : : "memory");
        for (u32 i = rank; i < chunks; i += Threads)
            if (bad == no_chunk && holds_sentinel<E>(chunk_at(tile, i)))
                bad = i;
        if (bad == no_chunk)
            return giveup_none;
        code = p.verdict(l, abort);
        if (code) {
            give_up_global<E>(from, bad, chunk_at(tile, bad), code, p, at);
            return code;
        }
        p.nap(l);
    }
}

/* ---- one stage ---------------------------------------------------------- */

/*
 * One tile of Bytes bytes for a block of Threads threads.  Lies in shared
 * memory, serves one load (pipe.cuh has a ring for many).
 *
 * Roles are inside: with report thread 0 copies, retries and the others wait
 * for the conditional phase; with bulk warp 0 copies, looks, retries and the
 * others wait for a barrier of their own; with async and poll each thread
 * loads its chunks and the block meets.
 */
template <class E, u32 Bytes, u32 Threads, class N = engine::automatic>
struct tile_load {
    enum : u32 {
        chunks = tile_shape<E, Bytes>::chunks,
        threads = block_shape<Threads>::threads
    };
    typedef engine_is<N> is;

    u64 landed; /* the copies, one arrival a phase                          */
    u64 valid;  /* bulk: ends with a scan that found the tile whole         */
    u64 again;  /* loads that were repeated, for thread 0 to read           */
    u32 stop;   /* not 0: no tile will come                                 */

    /* All threads, once, before wait. */
    FGS_FN void init(u32 rank = thread_rank())
    {
        if (rank == 0) {
            if constexpr (is::report)
                barrier_init_v1(landed, 1);
            else if constexpr (is::bulk)
                barrier_init(landed, 1), barrier_init(valid, 1);
            again = 0;
            show(stop, 0);
        }
        __syncthreads();
    }

    /* All threads, behind a meeting of them: before another init.  The meeting
     * that ends this one is init's. */
    FGS_FN void end(u32 rank = thread_rank())
    {
        if (rank == 0) {
            if constexpr (is::report || is::bulk)
                barrier_end(landed);
            if constexpr (is::bulk)
                barrier_end(valid);
        }
    }

    /*
     * All threads: load the tile until it holds no sentinel.
     *
     * tile  in shared memory, 16-byte aligned (128 is faster)
     * from  in global memory, 16-byte aligned
     *
     * true   each thread may read all of the tile; no fence is needed.  That
     *        covers nothing else that the producer wrote (4.6.4.4)
     * false  somebody gave up, the record says what; nothing is in flight
     */
    FGS_FN bool wait(void *tile, const void *from, const limits &l,
                     const site &at, u32 rank = thread_rank())
    {
        static_assert(!is::plain, "fgs: the plain engine looks for no "
                                  "sentinel; take wait_ordered");
        if constexpr (is::report || is::bulk)
            return wait_barrier(tile, from, l, at, rank);
        else
            return wait_block(tile, from, l, at, rank);
    }

    /*
     * Plain, all threads: wait for the grids that this one depends on or,
     * where there is a flag, until that has reached `round`; then load.
     *
     * false  somebody gave up before the flag was set or the grid ended
     */
    FGS_FN bool wait_ordered(void *tile, const void *from, const u32 *flag,
                             u32 round, const limits &l, const site &at,
                             u32 rank = thread_rank())
    {
        static_assert(is::plain, "fgs: wait_ordered is of the plain engine");
        if (flag) {
            if (rank == 0) {
                patience p;

                show(stop, settle_flag(flag, round, p, l, at));
                note_again(at.stats, again = p.tries - 1 - p.looks);
            }
            __syncthreads();
            if (look(stop))
                return false;
        } else {
            wait_upstream();
        }
        for (u32 i = rank; i < chunks; i += threads)
            chunk_at(tile, i) = ((const chunk *)from)[i];
        return !__syncthreads_or(rank == 0 && aborted(at.control));
    }

    FGS_FN bool wait_barrier(void *tile, const void *from, const limits &l,
                             const site &at, u32 rank)
    {
        if (rank < (is::report ? 1 : 32)) {
            u32 round = 0, code = giveup_other;
            patience p;

            p.begin();
            if (!any_aborted(at.control)) {
                p.tries = 1;
                if (rank == 0)
                    issue_tile<E, Bytes, N>(landed, tile, from);
                if constexpr (is::report)
                    code = settle_report<E, Bytes>(landed, tile, from, round,
                                                   p, l, at);
                else
                    code = settle_scan<E, Bytes, N>(landed, tile, from, round,
                                                    p, l, at);
                if (rank == 0)
                    note_again(at.stats, again = p.tries - 1 - p.looks);
            }
            if (rank == 0 && code)
                show(stop, 1);
            if (!is::report && rank == 0 && !code)
                barrier_arrive(valid);
            if (is::bulk && code)
                return false;
        }
        /* One phase, however often the tile was copied: parity 0.  Who copied
         * sees at once that it is over. */
        for (;;) {
            if constexpr (is::report) {
                if (barrier_valid(landed, 0))
                    return true;
            } else {
                if (barrier_done(valid, 0))
                    return true;
            }
            if (look(stop))
                return false;
        }
    }

    /* An abort that is there already is not waited for.  A warp is of one
     * mind. */
    static FGS_FN bool any_aborted(const ctl *c)
    {
        if constexpr (is::bulk)
            return __any_sync(~0u, aborted(c));
        else
            return aborted(c);
    }

    FGS_FN bool wait_block(void *tile, const void *from, const limits &l,
                           const site &at, u32 rank)
    {
        u32 code = giveup_other;
        u64 mine = 0;
        patience p;

        p.begin();
        if (!aborted(at.control)) {
            if constexpr (is::async)
                code = async_tile<E, Bytes, Threads>(tile, from, mine, p, l,
                                                     at, rank);
            else
                code = poll_tile<E, Bytes, Threads>(tile, from, mine, p, l,
                                                    at, rank);
        }
        if (mine)
            atomicAdd(&again, mine);
        /* All chunks are there, or somebody gave up. */
        code = __syncthreads_or((int)code);
        if (rank == 0)
            note_again(at.stats, again);
        return !code;
    }
};

} /* namespace fgs */

#endif
