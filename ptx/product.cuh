/* product.cuh -- 64x16 sums of 64x128 boxes: what gemm_stage.cu multiplies by
 *
 * Weights lie in the order of mma.sync's fragments (fgs_ref_gemm_pack).
 */
#include <fgs/fgs_device.cuh>

#define ENTRY_OF(stem) fgs_##stem
#define ENTRY(stem) ENTRY_OF(stem)

/* The 128 threads that multiply. */
static __device__ void meet()
{
    asm volatile("bar.sync 1, 128;" : : : "memory");
}

static __device__ void load_rows(fgs::u32 *a, fgs::u32 at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16"
                 " {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(at)
                 : "memory");
}

static __device__ void load_weights(fgs::u32 *m, const char *from)
{
    const uint4 v = __ldg((const uint4 *)from);

    m[0] = v.x;
    m[1] = v.y;
    m[2] = v.z;
    m[3] = v.w;
}

/* What both ways have: sums of two 16x8 tiles a warp, its rows, its chunk. */
struct sums {
    float c[8];
    fgs::u32 m[32], rows, lane, first;

    __device__ void init_rows(fgs::u32 t)
    {
        lane = t % 32;
        first = t / 32 * 16;
        /* those of ldmatrix in the box, 256 bytes each; 8 columns on */
        rows = (first + lane % 16) * 256 + lane / 16 * 16;
    }

    __device__ void clear()
    {
#pragma unroll
        for (fgs::u32 j = 0; j < 8; j++)
            c[j] = 0;
    }

    /* The chunk that a lane stores: of row lane / 4, or eight on by bit 1;
     * columns 0 to 7, or 8 to 15 by bit 0. */
    __device__ fgs::u32 row() const
    {
        return first + lane / 4 + (lane & 2 ? 8 : 0);
    }

    __device__ fgs::u32 half() const { return lane & 1; }

    /* Two sums as f16, -0 made +0 on the packed bits. */
    static __device__ fgs::u32 pair(float low, float high)
    {
        fgs::u32 v, x;

        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
        x = v & 0x7fff7fffu;
        return x | ((x + 0x7fff7fffu) & v & 0x80008000u);
    }

    static __device__ void swap(fgs::u32 &a, fgs::u32 &b, fgs::u32 by,
                                bool mine)
    {
        const fgs::u32 x = __shfl_xor_sync(~0u, mine ? a : b, by);

        if (mine)
            a = x;
        else
            b = x;
    }

    /* The quad has four chunks, a word of each in each lane: transposed, each
     * lane has a whole one. */
    __device__ fgs::chunk chunk_of_mine() const
    {
        fgs::u32 v[4] = { pair(c[0], c[1]), pair(c[4], c[5]),
                          pair(c[2], c[3]), pair(c[6], c[7]) };

        swap(v[0], v[1], 1, lane & 1);
        swap(v[2], v[3], 1, lane & 1);
        swap(v[0], v[2], 2, lane & 2);
        swap(v[1], v[3], 2, lane & 2);
        return { { v[0], v[1], v[2], v[3] } };
    }
};

/* By mma.sync (4.11.7), both operands in registers. */
template <bool Group> struct product : sums {
    __device__ void init(fgs::u32 t) { init_rows(t); }

    __device__ void load(const char *weights)
    {
#pragma unroll
        for (fgs::u32 j = 0; j < 8; j++)
            load_weights(m + 4 * j, weights + 512 * j);
    }

    static __device__ void mma(float *d, const fgs::u32 *a, const fgs::u32 *b)
    {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
                     " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
                     " {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                       "r"(b[1]));
    }

    __device__ void add(void *box)
    {
        const fgs::u32 at = fgs::to_shared(box) + rows;

#pragma unroll
        for (fgs::u32 j = 0; j < 8; j++) {
            fgs::u32 a[4];

            load_rows(a, at + 32 * j);
            mma(c, a, m + 4 * j);
            mma(c + 4, a, m + 4 * j + 2);
        }
    }
};

/* As a warpgroup by wgmma: the weights of a step in shared memory, of two steps
 * by turns, as 8 by 8 tiles of 128 bytes, a row each 16 of a column's depth. */
template <> struct product<true> : sums {
    fgs::u32 weights, mine, turn;

    __device__ void init(fgs::u32 t)
    {
        __shared__ __align__(128) unsigned char two[8192];

        init_rows(t);
        weights = fgs::to_shared(two);
        mine = t / 32 * 1024;
        turn = 0;
    }

    /* A warp takes a quarter.  Where it goes was read two steps ago: the
     * meeting of the last step stands behind that. */
    __device__ void load(const char *from)
    {
        const fgs::u32 to = weights + turn + mine + lane * 4;

        load_weights(m, from + mine);
        load_weights(m + 4, from + mine + 512);
#pragma unroll
        for (fgs::u32 j = 0; j < 8; j++)
            asm volatile("st.shared::cta.b32 [%0], %1;"
                         :
                         : "r"(to + 128 * j), "r"(m[j])
                         : "memory");
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        meet();
    }

    /* A matrix of weights begins at an address / 16 (bits 0-13); its tiles lie
     * 128 bytes apart by depth (16-29, / 16), 256 by columns (32-45, / 16). */
    __device__ void add(void *box)
    {
        const fgs::u32 at = fgs::to_shared(box) + rows;
        fgs::u64 matrix = ((weights + turn) / 16 & 0x3fff) |
                          0x0000001000080000ull;

#pragma unroll
        for (fgs::u32 j = 0; j < 8; j++)
            load_rows(m + 4 * j, at + 32 * j);
        asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
#pragma unroll
        for (fgs::u32 j = 0; j < 8; j++, matrix += 32)
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16"
                " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12,"
                " 1, 1, 1, 0;"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]),
                  "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
                : "r"(m[4 * j]), "r"(m[4 * j + 1]), "r"(m[4 * j + 2]),
                  "r"(m[4 * j + 3]), "l"(matrix));
        asm volatile("wgmma.commit_group.sync.aligned;"
                     " wgmma.wait_group.sync.aligned 0;"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]),
                       "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
                     :
                     : "memory");
        turn ^= 4096;
    }
};
