/* memory.cuh -- chunks, fills, triggers, the give-up record
 *
 * A part of <fgs/fgs_device.cuh>.  Guide 4.6.4.2, 4.6.4.3, 4.6.8.
 *
 * Sizes are bytes, times nanoseconds.  Pointers are generic; what a function
 * calls global or shared must lie there.  "All threads" are those of the
 * block, in converged code; `rank` is the thread's number in the block.
 */
#ifndef FGS_DEVICE_MEMORY_CUH
#define FGS_DEVICE_MEMORY_CUH

#include <fgs/device/convert.cuh>

namespace fgs {

FGS_FN u64 to_global(const void *p)
{
    return (u64)__cvta_generic_to_global(p);
}

FGS_FN u32 to_shared(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

FGS_FN u32 thread_rank()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

FGS_FN u64 now_ns()
{
    u64 t;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t) : : "memory");
    return t;
}

/* ---- chunks: 16 aligned bytes, the unit of the protocol ----------------- */

struct alignas(16) chunk {
    u32 w[4];
};

/* 128 / E::bits floats, lowest index first, to a chunk without sentinels. */
template <class E, saturate S = saturate::refuse>
FGS_FN chunk pack(const float *v)
{
    chunk c;

#pragma unroll
    for (u32 i = 0; i < 4; i++)
        c.w[i] = convert_word<E, S>(v + i * E::per_word);
    return c;
}

template <class E> FGS_FN chunk sentinels()
{
    return chunk{ { E::fill, E::fill, E::fill, E::fill } };
}

template <class E> FGS_FN bool holds_sentinel(const chunk &c)
{
    return sentinel_fields<E>(c.w[0]) | sentinel_fields<E>(c.w[1]) |
           sentinel_fields<E>(c.w[2]) | sentinel_fields<E>(c.w[3]);
}

/* The elements of a chunk, the last one first. */
template <class E> FGS_FN chunk reversed(const chunk &c)
{
    chunk r;

#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        u32 w = c.w[3 - i];

        if constexpr (E::bits == 16)
            w = __byte_perm(w, 0, 0x1032);
        else if constexpr (E::bits < 16)
            w = __byte_perm(w, 0, 0x0123);
        if constexpr (E::bits == 4)
            w = (w >> 4 & 0x0f0f0f0fu) | (w & 0x0f0f0f0fu) << 4;
        r.w[i] = w;
    }
    return r;
}

/*
 * Store a chunk to global memory as a unit: one strong 128-bit store, which a
 * strong load or copy of the consumer observes in the end without a fence.
 * Never .v4.b32: that would be four stores.  Each chunk once (4.6.4.3).
 */
FGS_FN void store_chunk(void *global, const chunk &c)
{
    asm volatile("{ .reg .b128 q; mov.b128 q, {%1, %2, %3, %4};"
                 " st.relaxed.gpu.global.b128 [%0], q; }"
                 :
                 : "l"(to_global(global)), "r"(c.w[0]), "r"(c.w[1]),
                   "r"(c.w[2]), "r"(c.w[3])
                 : "memory");
}

/* The load of the same strength and size. */
FGS_FN chunk load_chunk(const void *global)
{
    chunk c;

    asm volatile("{ .reg .b128 q; ld.relaxed.gpu.global.b128 q, [%4];"
                 " mov.b128 {%0, %1, %2, %3}, q; }"
                 : "=r"(c.w[0]), "=r"(c.w[1]), "=r"(c.w[2]), "=r"(c.w[3])
                 : "l"(to_global(global))
                 : "memory");
    return c;
}

/* ---- bulk stores of results; sm_90 -------------------------------------- */

/*
 * Each thread, between its generic accesses to memory and bulk copies of the
 * same memory by whatever thread: after it wrote the tile in shared memory
 * that bulk_store will read, after it wrote sentinels that bulk stores will
 * replace.  The block meets behind it.
 */
template <class T = target> FGS_FN void proxy_fence()
{
    static_assert(T::bulk, "fgs: the async proxy begins with sm_90");
    asm volatile("fence.proxy.async;" : : : "memory");
}

/*
 * One thread: copy `bytes`, a multiple of 16, from shared to global memory,
 * every chunk by one strong 128-bit operation (4.6.4.3).  A compiler before
 * CUDA 13.3 has the weak form only: bulk writes that race with the consumer's
 * strong reads, so it is refused.
 */
template <class T = target>
FGS_FN void bulk_store(void *global, const void *shared, u32 bytes)
{
    static_assert(T::bulk, "fgs: bulk stores need sm_90");
    static_assert(T::strong, "fgs: strong bulk stores need CUDA 13.3; store "
                             "chunks instead");
    asm volatile("cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128"
                 " [%0], [%1], %2;"
                 :
                 : "l"(to_global(global)), "r"(to_shared(shared)), "r"(bytes)
                 : "memory");
}

/* The thread that stored: close a group of its bulk stores. */
template <class T = target> FGS_FN void bulk_commit()
{
    static_assert(T::bulk, "fgs: bulk stores need sm_90");
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}

/* The same thread: wait until its groups are written.  Before the block ends
 * (the source is its shared memory), and before publish where the sentinel
 * was stored so; waiting for the reads alone would not do (4.6.4.2). */
template <class T = target> FGS_FN void bulk_wait()
{
    static_assert(T::bulk, "fgs: bulk stores need sm_90");
    asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
}

/* ---- initialization and order (4.6.4.2) --------------------------------- */

/* All threads: fill a tile in global memory with the sentinel, chunk by
 * chunk, as strong as the results.  Orders nothing: publish does. */
template <class E, u32 Bytes, u32 Threads>
FGS_FN void fill_tile(void *global, u32 rank = thread_rank())
{
    constexpr u32 chunks = tile_shape<E, Bytes>::chunks;

    for (u32 i = rank; i < chunks; i += block_shape<Threads>::threads)
        store_chunk((char *)global + 16ull * i, sentinels<E>());
}

/* Any thread: let the dependent grid start once all blocks have said so or
 * ended.  At the start of a producer whose buffer an earlier kernel filled;
 * below sm_90 there is no such order, and nothing happens. */
FGS_FN void trigger()
{
    if constexpr (target::pdl)
        asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
}

/* How the results will be stored that replace the sentinels. */
enum class results { by_chunk, by_bulk };

/*
 * All threads of a producer that filled its own output: make the sentinels
 * visible to the consumer, then trigger.  Once a block, after the fills of
 * all its tiles.  The block barrier puts every thread's sentinels before the
 * fence of thread 0, the fence before the trigger; with results::by_bulk each
 * thread fences between the proxies first.
 */
template <results R = results::by_chunk>
FGS_FN void publish(u32 rank = thread_rank())
{
    if constexpr (R == results::by_bulk)
        proxy_fence();
    __syncthreads();
    if (rank == 0) {
        asm volatile("fence.acq_rel.gpu;" : : : "memory");
        trigger();
    }
}

/* One thread, at the start of a kernel that stands between a writer which fills
 * its own output and a later reader of it: the writer's fence reached this grid
 * alone; a fence here, before the trigger, hands the sentinels on to the next.
 */
FGS_FN void hand_on()
{
    asm volatile("fence.acq_rel.gpu;" : : : "memory");
    trigger();
}

/* All threads, behind the last store of a tile in global memory, by chunks or
 * by bulk copies that were waited for: set its flag for consumers that acquire
 * it (4.6.2).  The block barrier puts every thread's stores before the fence
 * of thread 0, the fence before the flag. */
FGS_FN void set_flag(u32 *flag, u32 round, u32 rank = thread_rank())
{
    __syncthreads();
    if (rank == 0)
        asm volatile("fence.acq_rel.gpu;"
                     " st.relaxed.gpu.global.u32 [%0], %1;"
                     :
                     : "l"(to_global(flag)), "r"(round)
                     : "memory");
}

/* Each thread of a consumer, last (4.6.5): wait for the grid that this one
 * depends on, off the critical path.  Also where a block gives up. */
FGS_FN void wait_upstream()
{
    if constexpr (target::pdl)
        asm volatile("griddepcontrol.wait;" : : : "memory");
}

/* ---- memory that all kernels of a run and the host share ---------------- */

/* Control block, device memory, zeroed before a run. */
struct ctl {
    u32 abort; /* not 0: every loop returns                                 */
    u32 pad;
};

/* Statistics of a grid, device memory, zeroed before it.  Where nobody keeps
 * them, the pointer is NULL. */
struct stat {
    u64 reissues; /* copies or loads that were repeated                     */
    u64 first;    /* ~(earliest start of a block)                           */
    u64 last;     /* latest end of a block                                  */
};

/* A block's row of a trace, in memory of the device or one that the host sees;
 * or NULL. */
struct trace {
    u64 start;
    u64 ready; /* its input is valid; 0 = it waits for none                 */
    u64 end;
    u32 sm, tries;
};

/* What the first block that gives up saw, in memory that the host sees. */
struct rec {
    u32 code;  /* enum giveup; written last                                 */
    u32 role;  /* enum role                                                 */
    u64 block; /* blockIdx.x                                                */
    u64 tile;
    u32 chunk; /* first bad chunk of the tile, or no_chunk                  */
    u32 stage; /* of a pipe                                                 */
    u64 bits0, bits1; /* its 16 bytes                                       */
    u64 tries;
    u64 elapsed_ns;
};

enum giveup : u32 {
    giveup_none,
    giveup_time,     /* the bound in time                                   */
    giveup_tries,    /* the bound in tries                                  */
    giveup_landing,  /* a copy that was issued did not land                 */
    giveup_sentinel, /* a producer's result is the sentinel                 */
    giveup_flag,     /* a flag did not reach the round                      */
    giveup_other     /* nothing to record: somebody else gave up            */
};

enum role : u32 { role_init = 1, role_producer, role_consumer, role_relay };

enum : u32 { no_chunk = 0xffffffffu };

/* Where a block says what it saw. */
struct site {
    ctl *control;
    rec *record;
    u64 tile;
    u32 role;
    stat *stats = nullptr; /* NULL = none kept                              */
    u32 stage = 0; /* of a pipe, which sets it                              */
};

/* Has any block of the run given up? */
FGS_FN bool aborted(const ctl *c)
{
    u32 word;

    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(word)
                 : "l"(to_global(&c->abort))
                 : "memory");
    return word;
}

FGS_FN void put_sys(const u64 &field, u64 v)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;"
                 :
                 : "l"(to_global(&field)), "l"(v)
                 : "memory");
}

FGS_FN void put_sys(const u32 &field, u32 v)
{
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;"
                 :
                 : "l"(to_global(&field)), "r"(v)
                 : "memory");
}

/*
 * One thread: raise the abort word, so that every loop of the run ends, and,
 * as the first who does, write the record: system scope, its code last with
 * release, so that a code is never seen before its fields.  Then leave as on
 * success: no trap, no copy in flight, wait_upstream executed (4.6.8).
 */
FGS_FN bool give_up(const site &at, u32 code, u32 index, const chunk &bits,
                    u64 tries, u64 elapsed_ns)
{
    u32 old;

    asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], 0, 1;"
                 : "=r"(old)
                 : "l"(to_global(&at.control->abort))
                 : "memory");
    if (old)
        return false;
    put_sys(at.record->role, at.role);
    put_sys(at.record->block, (u64)blockIdx.x);
    put_sys(at.record->tile, at.tile);
    put_sys(at.record->chunk, index);
    put_sys(at.record->stage, at.stage);
    put_sys(at.record->bits0, bits.w[0] | (u64)bits.w[1] << 32);
    put_sys(at.record->bits1, bits.w[2] | (u64)bits.w[3] << 32);
    put_sys(at.record->tries, tries);
    put_sys(at.record->elapsed_ns, elapsed_ns);
    asm volatile("st.release.sys.global.u32 [%0], %1;"
                 :
                 : "l"(to_global(&at.record->code)), "r"(code)
                 : "memory");
    return true;
}

FGS_FN void max_gpu(u64 &word, u64 v)
{
    asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;"
                 :
                 : "l"(to_global(&word)), "l"(v)
                 : "memory");
}

/* One thread a block, for the run's receipt: the block starts, copies were
 * repeated, all threads have stored.  NULL is none. */
FGS_FN void note_start(stat *s)
{
    if (s)
        max_gpu(s->first, ~now_ns());
}

FGS_FN void note_end(stat *s)
{
    if (s)
        max_gpu(s->last, now_ns());
}

FGS_FN void note_again(stat *s, u64 count)
{
    if (s && count)
        asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;"
                     :
                     : "l"(to_global(&s->reissues)), "l"(count)
                     : "memory");
}

/* The same thread, its row of a trace: the block starts, its tile is valid,
 * all threads have stored. */
FGS_FN void trace_start(trace *row)
{
    u32 sm;

    if (!row)
        return;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    put_sys(row->start, now_ns());
    put_sys(row->ready, (u64)0);
    put_sys(row->sm, sm);
    put_sys(row->tries, 0u);
}

FGS_FN void trace_ready(trace *row)
{
    if (row)
        put_sys(row->ready, now_ns());
}

FGS_FN void trace_end(trace *row, u32 tries)
{
    if (!row)
        return;
    put_sys(row->end, now_ns());
    put_sys(row->tries, tries);
}

} /* namespace fgs */

#endif
