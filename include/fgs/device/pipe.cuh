/* pipe.cuh -- a ring of tiles: issuing, retrying and waiting as roles
 *
 * A part of <fgs/fgs_device.cuh>.  Guide 4.6.7.
 *
 * Tiles are numbered i = 0, 1, 2 and so on; tile i lies in stage i % Stages.
 * Each call names the tile.  Three roles, in a block of one's own shape:
 *
 *   issuer   one warp, converged:  while (p.issue(i, tiles, from)) ...;
 *            then p.close(), also after the last tile
 *   retry    another warp, converged: p.retry(i, ...) for each i in order, with
 *            the issuer's `from`; false: somebody gave up, go no further
 *   waiting  any threads, as many as init was told: p.wait(i), use the tile,
 *            p.release(i); false: leave
 *
 * All then meet, if they like, and execute wait_upstream.  A stage is filled
 * again only when its readers and the retry warp have arrived: without the
 * latter a report could be missed.
 */
#ifndef FGS_DEVICE_PIPE_CUH
#define FGS_DEVICE_PIPE_CUH

#include <fgs/device/load.cuh>

namespace fgs {

/* A phase that `count` arrivals end: an mbarrier; for poll, whose targets may
 * lack those, a counter. */
template <bool Counter> struct gate {
    u64 bar;
    u32 count, arrived;

    FGS_FN void init(u32 n)
    {
        if constexpr (Counter) {
            count = n;
            show(arrived, 0);
        } else {
            barrier_init(bar, n);
        }
    }

    FGS_FN void arrive()
    {
        if constexpr (Counter)
            asm volatile("red.release.cta.shared::cta.add.u32 [%0], 1;"
                         :
                         : "r"(to_shared(&arrived))
                         : "memory");
        else
            barrier_arrive(bar);
    }

    FGS_FN bool done(u32 round)
    {
        if constexpr (Counter)
            return (int)(look(arrived) - (round + 1) * count) >= 0;
        else
            return barrier_done(bar, round);
    }
};

/*
 * Lies in shared memory; the tiles lie, Stages * (Bytes + More), apart from it.
 *
 * Stages  of the ring; with Fewer, the most: init says how many
 * Boxes   a stage is filled by as many copies; the last may be shorter
 * Each    report: each of them on its own barrier, and only those that brought
 *         a sentinel are issued again
 * More    report, not Each: bytes of a second operand behind each tile; `from`
 *         is then two_operands
 */
template <class E, u32 Bytes, u32 Stages, class N = engine::automatic,
          u32 Boxes = 1, bool Each = false, bool Fewer = false, u32 More = 0>
struct pipe {
    enum : u32 {
        chunks = tile_shape<E, Bytes>::chunks,
        box = (chunks + Boxes - 1) / Boxes * 16,
        boxes = (Bytes + box - 1) / box,
        bars = Each ? boxes : 1
    };
    static_assert(!engine_is<N>::plain,
                  "fgs: a pipe is for engines that look for sentinels");
    static_assert(Stages >= 1 && Stages <= 32,
                  "fgs: a pipe has 1 to 32 stages");
    static_assert(!Each || engine_is<N>::report,
                  "fgs: boxes with a barrier each need the report engine");
    static_assert(!More || !Each,
                  "fgs: boxes with a barrier each have no second operand");
    static_assert(Stages * bars <= 32,
                  "fgs: a pipe has 32 barriers of copies at most");
    typedef engine_is<N> is;
    typedef gate<is::poll> bar;

    u64 landed[Stages * bars]; /* copies: 1 arrival, async 32; report:
                                  layout::v1                                */
    bar valid[Stages];  /* but report: the retry warp found it whole        */
    bar empty[Stages];  /* the readers' arrivals and the retry warp's       */
    u32 issued;         /* tiles so far                                     */
    u32 closed;         /* the issuer is through                            */
    u32 stop;           /* somebody gave up                                 */
    u32 fewer;          /* stages, with Fewer                               */
    u32 again;          /* copies and loads that were repeated              */

    /* The retry warp's own: the phase of each barrier of copies, one bit. */
    struct retrier {
        u32 parity = 0;
    };

    FGS_FN u32 stages() const
    {
        if constexpr (Fewer)
            return fewer;
        else
            return Stages;
    }

    FGS_FN void *tile_at(void *tiles, u32 i) const
    {
        return (char *)tiles + i % stages() * (Bytes + More);
    }

    /*
     * All threads of the block, once.
     *
     * waiters  threads that will call wait and release, or warps that will
     *          call wait and release_warp
     * ring     stages, with Fewer; 1 to Stages
     * c        an abort that is there already is not waited for
     */
    FGS_FN void init(u32 waiters, u32 rank = thread_rank(), u32 ring = Stages,
                     const ctl *c = nullptr)
    {
        if (rank == 0) {
            for (u32 s = 0; s < Stages * bars; s++)
                if constexpr (is::report)
                    barrier_init_v1(landed[s], 1);
                else if constexpr (!is::poll)
                    barrier_init(landed[s], is::async ? 32 : 1);
            for (u32 s = 0; s < Stages; s++) {
                valid[s].init(1);
                empty[s].init(waiters + 1);
            }
            issued = closed = again = 0;
            stop = c && aborted(c);
            fewer = ring;
        }
        __syncthreads();
    }

    /*
     * Issuer, a converged warp: fill tile i's stage once it is empty.
     *
     * from  in global memory, 16-byte aligned; or a tensor_box, two_operands
     *
     * false  somebody gave up: nothing was issued; close comes next
     */
    template <class F> FGS_FN bool issue(u32 i, void *tiles, const F &from)
    {
        static_assert(second_of<F>::bytes == More,
                      "fgs: a pipe's stage has room for what it is filled "
                      "with");
        u32 s = i % stages();
        bool go = true;

        while (go && i >= stages() && !empty[s].done(i / stages() - 1))
            go = !look(stop);
        if (!__all_sync(~0u, go && !look(stop)))
            return false;
        if constexpr (Each) {
            if (thread_rank() % 32 == 0)
                issue_boxes(s, tile_at(tiles, i), from, ~0u);
        } else if constexpr (!is::poll) {
            if (is::async || thread_rank() % 32 == 0)
                issue_tile<E, Bytes, N, box>(landed[s], tile_at(tiles, i),
                                             from);
        }
        __syncwarp();
        if (thread_rank() % 32 == 0)
            show(issued, i + 1);
        return true;
    }

    /* Issuer, after its last tile or a false. */
    FGS_FN void close()
    {
        __syncwarp();
        if (thread_rank() % 32 == 0)
            show(closed, 1);
    }

    /*
     * Retry role, a converged warp: see tile i's copies land, issue them again
     * while they bring a sentinel; then let the readers at it.
     *
     * r     made once, carried from call to call
     * l     its clock starts when the tile was issued
     *
     * false  somebody gave up, or the issuer has closed before tile i; no
     *        copy of this block is in flight
     */
    template <class F>
    FGS_FN bool retry(retrier &r, u32 i, void *tiles, const F &from,
                      const limits &l, const site &at)
    {
        u32 s = i % stages(), code = giveup_other;
        bool settled = false;
        site here = at;
        u64 more = 0;

        if (wait_issued(i, at.control)) {
            patience p;

            settled = true;
            here.stage = s;
            p.begin();
            p.tries = 1;
            code = settle(s, tile_at(tiles, i), from, r, more, p, l, here);
            note_again(at.stats, more);
            if constexpr (is::poll)
                atomicAdd(&again, (u32)more);
            else if (thread_rank() % 32 == 0)
                again += (u32)more;
        }
        if (code) {
            /* Of a tile that was waited for nothing is in flight. */
            stop_all(r, i + settled, l);
            return false;
        }
        if constexpr (!is::report) {
            if (thread_rank() % 32 == 0)
                valid[s].arrive();
            /* The next copy writes what all lanes have scanned. */
            if constexpr (is::bulk)
                asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
            __syncwarp();
        }
        if (thread_rank() % 32 == 0)
            empty[s].arrive();
        return true;
    }

    /* Any waiting thread: true when all of tile i may be read. */
    FGS_FN bool wait(u32 i)
    {
        u32 s = i % stages(), round = i / stages();

        for (u32 j = 0; j < bars; j++)
            for (;;) {
                if constexpr (is::report) {
                    /* Once a tile, however often it was copied. */
                    if (barrier_valid(landed[s * bars + j], round))
                        break;
                } else {
                    if (valid[s].done(round))
                        break;
                }
                if (look(stop))
                    return false;
            }
        return true;
    }

    /* Each waiting thread, after its last read of tile i: the next copy into
     * the stage writes by the async proxy what was read by the generic one. */
    FGS_FN void release(u32 i)
    {
        if constexpr (is::report || is::bulk)
            asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        empty[i % stages()].arrive();
    }

    /* The same by a converged warp, where init was told warps: one arrival for
     * its lanes. */
    FGS_FN void release_warp(u32 i)
    {
        if constexpr (is::report || is::bulk)
            asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        __syncwarp();
        if (thread_rank() % 32 == 0)
            empty[i % stages()].arrive();
    }

    /* ---- inner parts ---- */

    FGS_FN bool wait_issued(u32 i, const ctl *c)
    {
        bool there = false;

        for (u32 k = 0; !there; k++) {
            bool closed_now = look(closed) || look(stop);

            there = (int)(look(issued) - i) > 0;
            if (!there && (closed_now || (k % 64 == 63 && aborted(c))))
                break;
        }
        return __all_sync(~0u, there && !aborted(c));
    }

    /* One thread: arm and copy the boxes of a mask, each on its own barrier. */
    FGS_FN void issue_boxes(u32 s, void *tile, const void *from, u32 which)
    {
        for (u32 j = 0; j < boxes; j++) {
            u32 k = j * box, n = Bytes - k < box ? Bytes - k : (u32)box;
            u64 &bar = landed[s * bars + j];

            if (which >> j & 1) {
                barrier_expect(bar, n);
                copy_part<E, N>(bar, (char *)tile + k, (const char *)from + k,
                                n);
            }
        }
    }

    /* One thread: settle_report for boxes with a barrier each. */
    FGS_FN u32 settle_boxes(u32 s, void *tile, const void *from, retrier &r,
                            patience &p, const limits &l, const site &at)
    {
        u32 bad = ~0u >> (32 - bars);

        for (;; p.tries++) {
            u32 again = 0, code, first;
            bool sentinel, abort = aborted(at.control);

            for (u32 j = 0; j < bars; j++) {
                u32 b = s * bars + j;

                if (!(bad >> j & 1))
                    continue;
                while (!barrier_landed(landed[b], r.parity >> b, sentinel))
                    if (p.lost(l)) {
                        give_up_shared<E, Bytes>(tile, giveup_landing, p, at);
                        return giveup_landing;
                    }
                r.parity ^= 1u << b;
                again |= (u32)sentinel << j;
            }
            bad = again;
            if (!bad)
                return giveup_none;
            first = first_bad<E, Bytes, false>(tile, l);
            if (first != no_chunk)
                asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
            code = hold_back<E, false>(from, first, p, l, at, abort);
            if (code) {
                give_up_shared<E, Bytes>(tile, code, p, at);
                return code;
            }
            issue_boxes(s, tile, from, bad);
        }
    }

    template <class F>
    FGS_FN u32 settle(u32 s, void *tile, const F &from, retrier &r,
                      u64 &again, patience &p, const limits &l, const site &at)
    {
        u32 lane = thread_rank() % 32, code = giveup_none;
        u32 round = r.parity >> s & 1;

        if constexpr (is::poll) {
            code = poll_tile<E, Bytes, 32>(tile, from, again, p, l, at, lane);
            __syncwarp(); /* lane 0's arrival covers what all lanes stored */
            return __any_sync(~0u, code) ? giveup_other : giveup_none;
        } else if constexpr (Each) {
            if (lane == 0)
                code = settle_boxes(s, tile, from, r, p, l, at);
            code = __shfl_sync(~0u, code, 0);
            r.parity = __shfl_sync(~0u, r.parity, 0);
        } else {
            if constexpr (is::report) {
                if (lane == 0)
                    code = settle_report<E, Bytes, box>(landed[s], tile, from,
                                                        round, p, l, at);
                code = __shfl_sync(~0u, code, 0);
                round = __shfl_sync(~0u, round, 0);
            } else {
                code = settle_scan<E, Bytes, N, box>(landed[s], tile, from,
                                                     round, p, l, at);
            }
            r.parity = (r.parity & ~(1u << s)) | (round & 1) << s;
        }
        again = lane == 0 ? p.tries - 1 - p.looks : 0;
        return code;
    }

    /* Retry role: tell the others; then see everything land that the issuer
     * had under way, from tile i on, each in a stage of its own. */
    FGS_FN void stop_all(const retrier &r, u32 i, const limits &l)
    {
        u64 start = now_ns();

        if (thread_rank() % 32 == 0)
            show(stop, 1);
        while (!look(closed) && now_ns() - start < l.landing_ns)
            ;
        if constexpr (!is::poll)
            for (u32 end = look(issued); (int)(end - i) > 0; i++)
                for (u32 j = 0; j < bars; j++) {
                    u32 b = i % stages() * bars + j;

                    while (!barrier_done(landed[b], r.parity >> b) &&
                           now_ns() - start < l.landing_ns)
                        ;
                }
        __syncwarp();
    }
};

} /* namespace fgs */

#endif
