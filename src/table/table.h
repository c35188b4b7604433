/* table.h -- the tables as C arrays and enumerations */
#ifndef FGS_TABLE_TABLE_H
#define FGS_TABLE_TABLE_H

#include <fgs/fgs.h>

enum fgs__checks { FGS__NONE = 0, FGS__SAMPLED = 1, FGS__EVERY = 2 };

enum fgs__feature {
    FGS__FEAT_B128,
    FGS__FEAT_ASYNC,
    FGS__FEAT_BULK,
    FGS__FEAT_REPORT,
    FGS__FEAT_CLAIM,
    FGS__FEAT_COUNT
};

/* How a producer makes an element of f32, element.def. */
enum fgs__form {
    FGS__FLOAT,
    FGS__MINI,
    FGS__POWER,
    FGS__UINT,
    FGS__SINT
};

struct fgs__format {
    enum fgs__form form;
    uint32_t sign, exp, man, bias; /* bits                                   */
    uint32_t top, nan;             /* codes                                  */
};

struct fgs__engine {
    const char *name;
    int ptx, cc;
    enum fgs__feature feature;
    const char *consumer, *weak;
    int weak_ptx;
    uint32_t regs; /* most registers of a consumer's thread */
};

struct fgs__role {
    const char *name;
    const char *stem; /* of its text; NULL = the engine's row says */
    const char *bulk; /* of the one that stores by bulk copies     */
    uint32_t regs;    /* most of a thread; 0 = the engine's row    */
    uint32_t reads;   /* buffers; it writes one                    */
};

struct fgs__arch {
    int cc;
    uint8_t has[FGS__FEAT_COUNT];
    uint32_t smem_kib, block_smem_kib, threads, blocks;
};

struct fgs__launch_attr {
    const char *name;
    unsigned int id;
    int cc;
    const char *needs;
};

struct fgs__order {
    const char *name;
    int early, cc;
    const char *what;
};

struct fgs__fill {
    const char *name;
    const char *reuse;
};

enum fgs__cross_id {
#define CROSS(id, name, covers, filled, attr, cc) FGS__CROSS_##id,
#include "table/cross.def"
#undef CROSS
    FGS__CROSS_COUNT
};

struct fgs__cross {
    const char *name;
    int covers, filled;
    const char *attr;
    int cc;
};

/* Indexed by their enumerations; entry 0 of the first two has the name only. */
extern const struct fgs__order fgs__orders[FGS_ORDER_COUNT];
extern const struct fgs__fill fgs__fills[FGS_FILL_COUNT];
extern const struct fgs__cross fgs__crosses[FGS__CROSS_COUNT];

/* Indexed by fgs_engine; entry 0 (AUTO) has the name only. */
extern const struct fgs__engine fgs__engines[FGS_ENGINE_COUNT];

/* Indexed by fgs_role; entry 0 is empty. */
enum { FGS__ROLE_COUNT = FGS_ROLE_SCALED_JOIN + 1 };

/* Loads by an engine. */
static inline int fgs__role_loads(fgs_role role)
{
    return role >= FGS_ROLE_CONSUMER;
}

/* What a join's second input holds, and bytes of its tile beside one of the
 * first's; 0 = it has none.  A scale is one for 32 elements, as in the formats
 * that have ue8m0 scales (OCP MX). */
enum {
    FGS__SCALE_ELEMS = 32,
    FGS__SCALED_BYTES = FGS__SCALE_ELEMS * sizeof(float)
};
fgs_element fgs__second_element(fgs_role role, fgs_element first);
uint32_t fgs__second_bytes(fgs_role role, uint32_t tile_bytes);

extern const struct fgs__role fgs__roles[FGS__ROLE_COUNT];

/* Loads two inputs. */
static inline int fgs__role_joins(fgs_role role)
{
    return fgs__roles[role].reads == 2;
}

/* Highest PTX ISA, times ten, of a CUDA version as cuDriverGetVersion has it
 * (13000 = 13.0): the newest row at or below it; 0 for one that is older than
 * all rows. */
int fgs__isa_of_cuda(int version);

/* The element's format. */
const struct fgs__format *fgs__element_format(fgs_element e);

/*
 * May this mechanism look at this element?  element.def has the legal pairs;
 * FGS_E_MISMATCH with the rule that another one breaks.  DISABLED stands for
 * the element's own.
 */
fgs_result fgs__pair_check(fgs_element e, fgs_mechanism m, fgs_error *err);

/* The pipeline that a text belongs to, NULL = none: its kernels have a tile a
 * stage in shared memory. */
const fgs_pipeline_info *fgs__pipeline_of(const char *stem);

/* The row of a compute capability, or of the newest one below it, in the same
 * major version where that has one; NULL for one older than all rows. */
const struct fgs__arch *fgs__arch_find(int cc);

/* The row of a launch attribute by name, NULL = none. */
const struct fgs__launch_attr *fgs__launch_attr_find(const char *name);

/* What a feature is called in messages. */
const char *fgs__feature_text(enum fgs__feature f);

#endif
