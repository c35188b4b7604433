/* role.cuh -- entry and parameters of the twins, param.def in CUDA C++ */
#define ENTRY_OF(stem) fgs_##stem
#define ENTRY(stem) ENTRY_OF(stem)

#define PARAMS                                                                 \
    const float *p_in, char *p_mid, char *p_out, fgs::u64 p_tiles,             \
        fgs::ctl *p_ctl, fgs::rec *p_rec, fgs::stat *p_stat,                   \
        fgs::trace *p_trace, const fgs::u32 *p_flags_in,                       \
        fgs::u32 *p_flags_out, const fgs::u32 *p_table, char *p_clear,         \
        fgs::u64 p_bound_ns, fgs::u64 p_max_tries, fgs::u64 p_work_ns,         \
        fgs::u64 p_spread_ns, char *p_mid2, const fgs::u32 *p_flags_in2,       \
        fgs::u64 p_fault_tile, fgs::u32 p_fault_chunk, fgs::u32 p_round

/* Thread 0's row of the trace. */
static __device__ fgs::trace *row_of(fgs::trace *rows)
{
    return rows && threadIdx.x == 0 ? rows + blockIdx.x : nullptr;
}

/* All threads, behind the block's last store. */
static __device__ void end_of_block(fgs::stat *stats, fgs::trace *rows,
                                    fgs::u32 tries)
{
    if (!stats && !rows)
        return;
    __syncthreads();
    if (threadIdx.x == 0)
        fgs::note_end(stats);
    fgs::trace_end(row_of(rows), tries);
}
