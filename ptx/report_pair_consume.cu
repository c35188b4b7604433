/* report_pair_consume.cu -- consumer of two tiles: a pair of blocks
 *
 * The twin of report_pair_consume.ptx.in: its head has parameters, launch,
 * memory.  mirror: src/core/ref_reverse.c
 */
#include <fgs/fgs_device.cuh>

#define ENTRY_OF(stem) fgs_##stem
#define ENTRY(stem) ENTRY_OF(stem)
#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)

typedef fgs::f32 element;

static __device__ fgs::u32 rank_of_block()
{
    fgs::u32 rank;

    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/* A shared variable's address in block `rank` of the pair. */
static __device__ fgs::u32 address_in(fgs::u32 rank, const void *p)
{
    fgs::u32 at;

    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(at)
        : "r"(fgs::to_shared(p)), "r"(rank));
    return at;
}

static __device__ void meet()
{
    asm volatile("barrier.cluster.arrive.release.aligned;"
                 " barrier.cluster.wait.acquire.aligned;"
                 :
                 :
                 : "memory");
}

/* A copy of this block's box, tracked by the even block's barrier. */
static __device__ void copy(fgs::u32 to, const void *map, fgs::u32 y,
                            fgs::u32 bar)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes"
                 ".mbarrier::report::" TEXT(REPORT) ".cta_group::2"
                 " [%0], [%1, {%2, %3}], [%4];"
                 :
                 : "r"(to), "l"(fgs::to_global(map)), "r"(0), "r"(y), "r"(bar)
                 : "memory");
}

/* Arm for the bytes of both. */
static __device__ void arm(fgs::u64 &bar, fgs::u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cta.b64"
                 " _, [%0], %1;"
                 :
                 : "r"(fgs::to_shared(&bar)), "r"(bytes)
                 : "memory");
}

/* The primary phase, at cluster scope: what follows hands the other block its
 * own tile. */
static __device__ bool landed(fgs::u64 &bar, fgs::u32 round, bool &sentinel)
{
    fgs::u32 done, seen;

    asm volatile("{ .reg .pred p, r; mov.u32 %1, 0;"
                 " mbarrier.try_wait.parity.phase_type::primary"
                 ".acquire.cluster.shared::cta.b64 p|r, [%2], %3;"
                 " selp.u32 %0, 1, 0, p; @p selp.u32 %1, 1, 0, r; }"
                 : "=r"(done), "=&r"(seen)
                 : "r"(fgs::to_shared(&bar)), "r"(round & 1)
                 : "memory");
    sentinel = seen;
    return done;
}

static __device__ bool told(fgs::u64 &bar, fgs::u32 round)
{
    fgs::u32 done;

    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster"
                 ".shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(fgs::to_shared(&bar)), "r"(round & 1)
                 : "memory");
    return done;
}

/* A word of the other block, then an arrival there that hands over what this
 * one acquired. */
static __device__ void tell(fgs::u32 word, fgs::u32 value, fgs::u32 bar)
{
    asm volatile("st.relaxed.cluster.shared::cluster.u32 [%0], %1;"
                 " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%2];"
                 :
                 : "r"(word), "r"(value), "r"(bar)
                 : "memory");
}

static __device__ fgs::u32 look(const fgs::u32 &word)
{
    fgs::u32 v;

    asm volatile("ld.relaxed.cluster.shared::cta.u32 %0, [%1];"
                 : "=r"(v)
                 : "r"(fgs::to_shared(&word))
                 : "memory");
    return v;
}

static __device__ fgs::chunk load_far(fgs::u32 at)
{
    fgs::chunk c;

    asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(c.w[0]), "=r"(c.w[1]), "=r"(c.w[2]), "=r"(c.w[3])
                 : "r"(at)
                 : "memory");
    return c;
}

/* Even block: `bar`, layout::v1, 1 arrival, the bytes of both tiles.  Odd
 * block: `word`, 1 arrival, a phase a try, with `again` beside it; `valid`, 1
 * arrival, once, when both tiles are whole. */
struct pair {
    fgs::u64 bar, word, valid;
    fgs::u32 again, stop;
};

/* Thread 0 of the even block. */
struct leader {
    pair &p;
    unsigned char *tile;
    const void *map;
    const char *mid;
    bool alone; /* the odd block has no tile                                */
    fgs::u32 bad; /* the first chunk of both tiles that was not valid       */
    fgs::u64 repeats;

    __device__ fgs::chunk chunk_of(fgs::u32 i) const
    {
        return load_far(address_in(i / TILE_CHUNKS, tile) +
                        i % TILE_CHUNKS * 16);
    }

    __device__ fgs::u32 chunks() const
    {
        return alone ? TILE_CHUNKS : 2 * TILE_CHUNKS;
    }

    /* Whoever raises the abort word writes the record. */
    __device__ void give_up(fgs::u32 code, const fgs::patience &w,
                            fgs::site at) const
    {
        fgs::u32 i = fgs::no_chunk;
        fgs::chunk c = {};

        if (code == fgs::giveup_other)
            return;
        if (code != fgs::giveup_landing && bad < chunks()) {
            at.tile += bad / TILE_CHUNKS;
            i = bad % TILE_CHUNKS;
            c = chunk_of(bad);
        }
        fgs::give_up(at, code, i, c, w.tries, w.spent);
    }

    /* False: no tile will come, to either block; nothing is in flight. */
    __device__ bool settle(const fgs::limits &l, const fgs::site &at)
    {
        const fgs::u32 other = address_in(1, &p.word);
        const fgs::u32 y = (fgs::u32)at.tile * BOX_ROWS;
        fgs::u32 round = 0, code;
        fgs::patience w;

        w.begin();
        for (w.tries = 1;; w.tries++) {
            bool sentinel, abort;

            /* the other's bytes may come before; its next copy waits for the
             * word that follows the wait, so no phase passes unseen */
            arm(p.bar, chunks() * 16);
            copy(address_in(0, tile), map, y, address_in(0, &p.bar));
            abort = fgs::aborted(at.control);
            while (!landed(p.bar, round, sentinel))
                if (w.lost(l)) {
                    give_up(fgs::giveup_landing, w, at);
                    return false;
                }
            round++;
            if (!sentinel)
                return true;
            while (bad < chunks() &&
                   !fgs::holds_sentinel<element>(chunk_of(bad)))
                bad++;
            asm volatile("fence.proxy.async;" : : : "memory");
            code = fgs::hold_back<element, false>(
                (const void *)mid, bad < chunks() ? bad : fgs::no_chunk, w, l,
                at, abort);
            if (code) {
                give_up(code, w, at);
                return false;
            }
            repeats++;
            if (!alone)
                tell(address_in(1, &p.again), 1, other);
        }
    }
};

/* Thread 0 of the odd block: copy, wait to be told, copy again.  The barrier is
 * the other block's, so only that one can wait on it. */
static __device__ void follow(pair &p, unsigned char *tile, const void *map,
                              fgs::u32 y)
{
    for (fgs::u32 round = 0;; round++) {
        copy(address_in(1, tile), map, y, address_in(0, &p.bar));
        while (!told(p.word, round))
            ;
        if (look(p.stop))
            return;
        if (!look(p.again))
            break;
    }
    fgs::barrier_arrive(p.valid);
}

/* The conditional phase, in the odd block its like.  Once, so parity 0. */
static __device__ bool wait(pair &p, bool odd)
{
    if (odd)
        while (!fgs::barrier_done(p.valid, 0))
            if (fgs::look(p.stop))
                return false;
    if (!odd)
        while (!fgs::barrier_valid(p.bar, 0))
            if (fgs::look(p.stop))
                return false;
    return true;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1)
__launch_bounds__(THREADS, 1)
ENTRY(STEM)(const void *p_map, const char *p_mid, char *p_out, fgs::u64 p_tiles,
            fgs::ctl *p_ctl, fgs::rec *p_rec, fgs::stat *p_stat,
            fgs::u64 p_bound_ns, fgs::u64 p_max_tries)
{
    extern __shared__ __align__(128) unsigned char tile[];
    __shared__ pair p;
    const fgs::u32 t = threadIdx.x, rank = rank_of_block();
    const fgs::u64 k = blockIdx.x;

    if (t == 0) {
        fgs::note_start(p_stat);
        fgs::barrier_init_v1(p.bar, 1);
        fgs::barrier_init(p.word, 1);
        fgs::barrier_init(p.valid, 1);
        p.again = 0;
        fgs::show(p.stop, 0);
        asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    }
    /* both blocks are there, and their barriers */
    __syncwarp();
    meet();
    if (k < p_tiles) {
        if (t == 0 && rank) {
            follow(p, tile, p_map, (fgs::u32)k * BOX_ROWS);
        } else if (t == 0) {
            leader lead = { p, tile, p_map, p_mid + k * TILE_BYTES,
                            k + 1 >= p_tiles, 0, 0 };
            fgs::limits bound;

            bound.bound_ns = p_bound_ns;
            bound.max_tries = p_max_tries;
            bound.nap_ns = NAP_LAST_NS;
            bound.first_ns = NAP_FIRST_NS;
            bound.landing_ns = LANDING_NS;
            if (lead.settle(bound, { p_ctl, p_rec, k, fgs::role_consumer,
                                     p_stat })) {
                if (!lead.alone)
                    tell(address_in(1, &p.again), 0, address_in(1, &p.word));
                fgs::note_again(p_stat, lead.repeats);
            } else {
                fgs::show(p.stop, 1);
                if (!lead.alone)
                    tell(address_in(1, &p.stop), 1, address_in(1, &p.word));
            }
        }
        if (wait(p, rank)) {
            for (fgs::u32 c = t; c < TILE_CHUNKS; c += THREADS)
                fgs::chunk_at(p_out + k * TILE_BYTES, c) =
                    fgs::reversed<element>(
                        fgs::chunk_at(tile, TILE_CHUNKS - 1 - c));
            if (p_stat)
                fgs::note_end(p_stat);
        }
    }
    /* Neither leaves before the other is through with its memory. */
    __syncwarp();
    meet();
    fgs::wait_upstream();
}
