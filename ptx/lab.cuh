/* lab.cuh -- what the twins of lab_*.ptx.in share */
#define ENTRY_OF(stem) fgs_##stem
#define ENTRY(stem) ENTRY_OF(stem)

/* Two fused steps, each rounded once. */
static __device__ float async_transform(float v)
{
    return __fmaf_rn(__fmaf_rn(v, 1.5f, 0.5f), v, 0.25f);
}

/* Of the tile that begins at `first`; the last one of all may be short. */
static __device__ unsigned elements_here(unsigned long long count,
                                         unsigned long long first)
{
    return count - first < TILE_ELEMS ? (unsigned)(count - first) : TILE_ELEMS;
}
