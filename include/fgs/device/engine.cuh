/* engine.cuh -- engines, bounds of a wait, barriers, copies of a tile
 *
 * A part of <fgs/fgs_device.cuh>: what load.cuh and pipe.cuh are made of.
 * Guide 4.6.3, 4.6.4.4, 4.6.8.
 */
#ifndef FGS_DEVICE_ENGINE_CUH
#define FGS_DEVICE_ENGINE_CUH

#include <fgs/device/tensor.cuh>

namespace fgs {

/*
 * How a tile is loaded and checked:
 *
 *   report     a strong bulk copy that reports sentinels on a layout::v1
 *              barrier; sm_107a, sm_107f.  It may look at one element of each
 *              chunk: the producer must store whole chunks.
 *   bulk       a bulk copy, then one warp looks at all elements; sm_90.  The
 *              copy is strong where the compiler is of CUDA 13.3 or later
 *   bulk_weak  the same with the weak copy: formally it races
 *   async      cp.async of each thread, which looks at what it copied; sm_80.
 *              Weak, so formally it races; only on request
 *   poll       strong 128-bit loads of each thread; sm_70
 *   plain      no sentinels: the producer's grid or a flag is waited for
 */
namespace engine {
struct report {};
struct bulk_weak {};
struct bulk {};
struct async {};
struct poll {};
struct plain {};

template <bool Report, bool Bulk> struct choice { typedef poll type; };
template <bool Bulk> struct choice<true, Bulk> { typedef report type; };
template <> struct choice<false, true> { typedef bulk type; };

/* What the target can, best first.  The host's part of a compilation by nvcc
 * sees another type than the device's: give a __global__ template no such
 * argument, its name would differ. */
typedef choice<target::report, target::bulk>::type automatic;
} /* namespace engine */

template <class N> struct engine_is {
    enum : bool {
        report = same<N, engine::report>::value,
        weak = same<N, engine::bulk_weak>::value || !target::strong,
        bulk = same<N, engine::bulk>::value ||
               same<N, engine::bulk_weak>::value,
        async = same<N, engine::async>::value,
        poll = same<N, engine::poll>::value,
        plain = same<N, engine::plain>::value
    };

    static_assert(report || bulk || async || poll || plain,
                  "fgs: no such engine; take one of fgs::engine");
    static_assert(!report || target::report,
                  "fgs: the report engine needs compute capability 10.7, "
                  "compiled for sm_107a or sm_107f");
    static_assert(!bulk || target::bulk, "fgs: the bulk engine needs sm_90");
    static_assert(!async || target::async,
                  "fgs: the async engine needs sm_80");
};

/* ---- bounds ------------------------------------------------------------- */

/* A bound of 0 is none. */
struct limits {
    u64 bound_ns = 0;
    u64 max_tries = 0;
    u32 eager_tries = 32; /* tries at full speed; then it sleeps            */
    u32 nap_ns = 4000;    /* the longest sleep                              */
    u32 first_ns = 0;     /* the first one, which then doubles; a tile is then
                             copied again only when its first chunk that was
                             not valid has been seen valid.  0 = naps grow
                             with the time that went by                     */
    /* More time than the bound for a copy to land: one that is issued lands
     * within microseconds or never, and a block that leaves before would have
     * it in the shared memory of the block that comes after. */
    u64 landing_ns = 100000000;
};

/* One wait, in registers of the thread that retries. */
struct patience {
    u64 start, spent, tries;
    u32 looks; /* of the tries, those that looked at a chunk: no copies      */

    FGS_FN void begin()
    {
        start = now_ns();
        spent = tries = looks = 0;
    }

    /* After a try that brought sentinels: giveup_none, why to stop. */
    FGS_FN u32 verdict(const limits &l, bool abort)
    {
        spent = now_ns() - start;
        if (abort)
            return giveup_other;
        if (l.max_tries && tries >= l.max_tries)
            return giveup_tries;
        if (l.bound_ns && spent >= l.bound_ns)
            return giveup_time;
        return giveup_none;
    }

    /* The first tries at full speed, then asleep a sixteenth of the time that
     * went by: late by that much at most, gentle on the memory.  Or asleep
     * from the first try on, twice as long each time: gentle on those who
     * produce on this SM. */
    FGS_FN void nap(const limits &l)
    {
        u64 ns = spent >> 4;

        if (l.first_ns)
            ns = (u64)l.first_ns << (tries < 17 ? tries - 1 : 16);
        if (l.first_ns || tries >= l.eager_tries)
            __nanosleep(ns < l.nap_ns ? (u32)ns : l.nap_ns);
    }

    /* A copy that has not landed so long after the bound never will. */
    FGS_FN bool lost(const limits &l)
    {
        spent = now_ns() - start;
        return l.bound_ns && spent >= l.bound_ns &&
               spent - l.bound_ns >= l.landing_ns;
    }
};

/* ---- barriers in shared memory ------------------------------------------ */

/* mbarriers; `round` counts phases from 0, its lowest bit is the parity. */
FGS_FN void barrier_init(u64 &bar, u32 count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(to_shared(&bar)), "r"(count)
                 : "memory");
}

/* Its memory may be made a barrier again. */
FGS_FN void barrier_end(u64 &bar)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];"
                 :
                 : "r"(to_shared(&bar))
                 : "memory");
}

FGS_FN void barrier_arrive(u64 &bar)
{
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];"
                 :
                 : "r"(to_shared(&bar))
                 : "memory");
}

FGS_FN void barrier_expect(u64 &bar, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64"
                 " _, [%0], %1;"
                 :
                 : "r"(to_shared(&bar)), "r"(bytes)
                 : "memory");
}

#define FGS_WAIT(done, op, addr, round)                                        \
    asm volatile("{ .reg .pred p; mbarrier." op                                \
                 ".acquire.cta.shared::cta.b64 p, [%1], %2;"                   \
                 " selp.u32 %0, 1, 0, p; }"                                    \
                 : "=r"(done)                                                  \
                 : "r"(addr), "r"((round) & 1)                                 \
                 : "memory")

FGS_FN bool barrier_done(u64 &bar, u32 round)
{
    u32 done;

    if constexpr (target::arch >= 900)
        FGS_WAIT(done, "try_wait.parity", to_shared(&bar), round);
    else
        FGS_WAIT(done, "test_wait.parity", to_shared(&bar), round);
    return done;
}

/* The conditional phase: ends with a copy that reported nothing. */
FGS_FN bool barrier_valid(u64 &bar, u32 round)
{
    u32 done;

    FGS_WAIT(done, "try_wait.parity.phase_type::conditional", to_shared(&bar),
             round);
    return done;
}
#undef FGS_WAIT

/* The primary phase: all bytes have landed; did one report a sentinel?  The
 * report is read only where it has a meaning. */
FGS_FN bool barrier_landed(u64 &bar, u32 round, bool &sentinel)
{
    u32 done, seen;

    asm volatile("{ .reg .pred p, r; mov.u32 %1, 0;"
                 " mbarrier.try_wait.parity.phase_type::primary"
                 ".acquire.cta.shared::cta.b64 p|r, [%2], %3;"
                 " selp.u32 %0, 1, 0, p; @p selp.u32 %1, 1, 0, r; }"
                 : "=r"(done), "=&r"(seen)
                 : "r"(to_shared(&bar)), "r"(round & 1)
                 : "memory");
    sentinel = seen;
    return done;
}

/* One thread makes a layout::v1 barrier: it keeps the report; 511 arrivals at
 * most. */
FGS_FN void barrier_init_v1(u64 &bar, u32 count)
{
    asm volatile("mbarrier.init.layout::v1.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(to_shared(&bar)), "r"(count)
                 : "memory");
}

/* ---- copies of a tile; one thread, and the barrier is armed ------------- */

#define FGS_BULK(order, report, width)                                         \
    asm volatile("cp.async.bulk" order ".shared::cta.global"                   \
                 ".mbarrier::complete_tx::bytes" report width                  \
                 " [%0], [%1], %2, [%3];"                                      \
                 :                                                             \
                 : "r"(to_shared(shared)), "l"(to_global(global)), "r"(bytes), \
                   "r"(to_shared(&bar))                                        \
                 : "memory")
#define FGS_REPORT(pattern)                                                    \
    FGS_BULK(".relaxed.gpu", ".mbarrier::report::validity::" pattern, ".b128")

template <mechanism M>
FGS_FN void copy_report(void *shared, const void *global, u32 bytes, u64 &bar)
{
    if constexpr (M == mechanism::w32)
        FGS_REPORT("per_16bytes::80000000");
    else if constexpr (M == mechanism::w16)
        FGS_REPORT("per_16bytes::8000");
    else if constexpr (M == mechanism::w8)
        FGS_REPORT("per_16bytes::80");
    else if constexpr (M == mechanism::w4)
        FGS_REPORT("per_16bytes::8");
    else
        FGS_REPORT("per_element::ff");
}

template <bool Weak>
FGS_FN void copy_bulk(void *shared, const void *global, u32 bytes, u64 &bar)
{
    if constexpr (Weak)
        FGS_BULK("", "", "");
    else
        FGS_BULK(".relaxed.gpu", "", ".b128");
}
#undef FGS_REPORT
#undef FGS_BULK

FGS_FN void copy_async(void *shared, const void *global)
{
    asm volatile("cp.async.cg.shared::cta.global [%0], [%1], 16;"
                 :
                 : "r"(to_shared(shared)), "l"(to_global(global))
                 : "memory");
}

FGS_FN chunk &chunk_at(void *tile, u32 i) { return ((chunk *)tile)[i]; }

/* The threads of a block that share a word in shared memory. */
FGS_FN u32 look(const u32 &word)
{
    u32 v;

    asm volatile("ld.acquire.cta.shared::cta.u32 %0, [%1];"
                 : "=r"(v)
                 : "r"(to_shared(&word))
                 : "memory");
    return v;
}

FGS_FN void show(u32 &word, u32 v)
{
    asm volatile("st.release.cta.shared::cta.u32 [%0], %1;"
                 :
                 : "r"(to_shared(&word)), "r"(v)
                 : "memory");
}

/* ---- before a tile is copied again --------------------------------------- */

/* The first chunk of a tile that a copy brought not valid; who does not look
 * first has no use for it.  Each thread for itself; or the lanes of a Warp, a
 * chunk each, which takes registers (ptxas spills some in a narrow ring). */
template <class E, u32 Bytes, bool Warp>
FGS_FN u32 first_bad(void *tile, const limits &l)
{
    constexpr u32 step = Warp ? 32 : 1;

    if (!l.first_ns)
        return no_chunk;
    for (u32 i = 0; i < Bytes / 16; i += step) {
        u32 mine = i + (Warp ? thread_rank() % 32 : 0), bad;

        bad = mine < Bytes / 16 && holds_sentinel<E>(chunk_at(tile, mine));
        if constexpr (Warp)
            bad = __ballot_sync(~0u, bad);
        if (bad)
            return i + (Warp ? __ffs((int)bad) - 1 : 0);
    }
    return no_chunk;
}

/*
 * A copy brought sentinels: sleep, and copy again (giveup_none), or stop.
 * Before that, where it sleeps from the first try on, look at the chunk `bad`
 * until it is valid: a copy loads all of the tile from the second cache, which
 * those who produce on this SM feel (the PTX text on an H200: 3.4 % of their
 * time with a copy each 2 us, 0.2 % with a look; fgs bench retry).  One thread,
 * or the lanes of a Warp, for which lane 0 decides.
 */
template <class E, bool Warp, class F>
FGS_FN u32 hold_back(const F &from, u32 bad, patience &p, const limits &l,
                     const site &at, bool abort)
{
    for (;; p.tries++, p.looks++) {
        u32 code = p.verdict(l, abort);
        bool valid;

        if constexpr (Warp) {
            code = __shfl_sync(~0u, code, 0);
            p.spent = __shfl_sync(~0u, p.spent, 0);
        }
        if (code)
            return code;
        p.nap(l);
        valid = bad == no_chunk ||
                !holds_sentinel<E>(load_chunk(chunk_from(from, bad)));
        if constexpr (Warp)
            valid = __shfl_sync(~0u, valid, 0);
        if (valid)
            return giveup_none;
        abort = aborted(at.control);
    }
}

} /* namespace fgs */

#endif
