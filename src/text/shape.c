/* shape.c -- which shapes the kernel texts can be made for */
#include "base/error.h"
#include "table/table.h"
#include "text/text.h"

/* Barriers and flags of a kernel stand beside its tile. */
enum { OTHER_SHARED = 128, STAGE_SHARED = 64, WARP = 32, MOST_THREADS = 1024,
       MOST_STAGES = 8 };

static fgs_result check_saturate(const struct fgs__shape *s, fgs_error *err)
{
    const fgs_element_info *e = fgs_element_get_info(s->element);
    const struct fgs__format *f = fgs__element_format(s->element);

    if ((unsigned)s->saturate >= FGS_SATURATE_COUNT)
        return fgs__fail(err, FGS_E_INVAL, "%u is no saturation",
                         (unsigned)s->saturate);
    if (s->saturate && f->form != FGS__SINT)
        return fgs__fail(err, FGS_E_INVAL,
                         "element %s has no integer sentinel to saturate away "
                         "from",
                         e->name);
    if (s->saturate == FGS_SATURATE_DOWN &&
        e->sentinel == 1u << (e->bits - 1))
        return fgs__fail(err, FGS_E_INVAL,
                         "element %s: its sentinel is its least value, so "
                         "nothing is below it; saturate up or refuse",
                         e->name);
    return FGS_OK;
}

fgs_result fgs__shape_check(const struct fgs__shape *s, int cc, fgs_error *err)
{
    const struct fgs__arch *arch = fgs__arch_find(cc);
    uint32_t most = arch ? arch->block_smem_kib * 1024 - OTHER_SHARED : 0;

    if (!fgs_element_get_info(s->element))
        return fgs__fail(err, FGS_E_INVAL, "%u is no element type",
                         (unsigned)s->element);
    if (!arch)
        return fgs__fail(err, FGS_E_UNSUPPORTED,
                         "compute capability %d.%d is older than all that "
                         "have an engine",
                         cc / 10, cc % 10);
    if (s->tile_bytes % FGS__CHUNK_BYTES)
        return fgs__fail(err, FGS_E_ALIGN,
                         "a tile of %u bytes is no multiple of 16, the size of "
                         "a chunk",
                         s->tile_bytes);
    if (!s->tile_bytes || s->tile_bytes > most)
        return fgs__fail(err, FGS_E_SIZE,
                         "a tile of %u bytes: 16 to %u fit into the shared "
                         "memory of a block on compute capability %d.%d",
                         s->tile_bytes, most, cc / 10, cc % 10);
    if (s->threads % WARP || !s->threads || s->threads > MOST_THREADS)
        return fgs__fail(err, FGS_E_SIZE,
                         "a block of %u threads: whole warps are needed, 32 to "
                         "1024 threads",
                         s->threads);
    if (!s->stages || s->stages > MOST_STAGES)
        return fgs__fail(err, FGS_E_SIZE, "%u stages: 1 to %d are possible",
                         s->stages, MOST_STAGES);
    return check_saturate(s, err);
}

fgs_result fgs__shape_stages(const struct fgs__shape *s, const char *stem,
                             int cc, fgs_error *err)
{
    const fgs_pipeline_info *p = fgs__pipeline_of(stem);
    const struct fgs__arch *arch = fgs__arch_find(cc);
    uint32_t most, room = OTHER_SHARED + s->stages * STAGE_SHARED;

    /* one whose blocks keep no tiles, or one alone, has none to choose */
    if (!p || !arch || p->stages_max == 1)
        return FGS_OK;
    if (s->stages < p->stages_min || s->stages > p->stages_max)
        return fgs__fail(err, FGS_E_SIZE, "pipeline %s has %u to %u stages, "
                         "not %u",
                         p->name, p->stages_min, p->stages_max, s->stages);
    most = arch->block_smem_kib * 1024 - room;
    if ((uint64_t)s->tile_bytes * s->stages <= most)
        return FGS_OK;
    return fgs__fail(err, FGS_E_SIZE,
                     "%u stages of %u bytes: %u bytes in all fit into the "
                     "shared memory of a block on compute capability %d.%d",
                     s->stages, s->tile_bytes, most, cc / 10, cc % 10);
}
