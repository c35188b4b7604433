/* tensor.h -- tensor maps, and where the bytes of a tensor copy lie
 *
 * Pure: no device, no memory.  Numbers follow the driver API (types, swizzles,
 * fills) or ISA 5.5.
 */
#ifndef FGS_SIM_TENSOR_H
#define FGS_SIM_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

enum { FGS__TENSOR_RANK = 5, FGS__TENSOR_MAP_BYTES = 128 };

/* In the order of CUtensorMapDataType. */
enum fgs__tensor_type {
    FGS__TENSOR_U8, FGS__TENSOR_U16, FGS__TENSOR_U32, FGS__TENSOR_S32,
    FGS__TENSOR_U64, FGS__TENSOR_S64, FGS__TENSOR_F16, FGS__TENSOR_F32,
    FGS__TENSOR_F64, FGS__TENSOR_BF16, FGS__TENSOR_F32_FTZ, FGS__TENSOR_TF32,
    FGS__TENSOR_TF32_FTZ, FGS__TENSOR_U4, FGS__TENSOR_U4_PAD,
    FGS__TENSOR_U6_PAD, FGS__TENSOR_TYPES
};

/* Of tensormap.replace, table 36. */
enum { FGS__TENSOR_SW_NONE, FGS__TENSOR_SW_32, FGS__TENSOR_SW_64,
       FGS__TENSOR_SW_128, FGS__TENSOR_SW_96 };
enum { FGS__TENSOR_ATOM_16, FGS__TENSOR_ATOM_32, FGS__TENSOR_ATOM_32_FLIP,
       FGS__TENSOR_ATOM_64 };

enum fgs__tensor_kind {
    FGS__TENSOR_TILED, FGS__TENSOR_IM2COL, FGS__TENSOR_IM2COL_WIDE
};

/* What a map says; dimensions innermost first, stride[0] is not used. */
struct fgs__tensor {
    uint64_t address;
    uint64_t dim[FGS__TENSOR_RANK];    /* elements, up to 2^32              */
    uint64_t stride[FGS__TENSOR_RANK]; /* bytes                             */
    uint32_t rank;
    uint16_t box[FGS__TENSOR_RANK];    /* tiled                             */
    uint8_t step[FGS__TENSOR_RANK];    /* traversal strides                 */
    uint8_t kind, type, interleave, swizzle, atom, fill, promotion;
    int16_t lower[3], upper[3];        /* im2col: W, H, D                   */
    uint16_t channels, pixels;         /* im2col                            */
};

/*
 * The 128 bytes of a map, as this device writes them (the hardware's are not
 * documented and mean nothing here).  False = these are no map of ours.
 */
void fgs__tensor_write(const struct fgs__tensor *t, void *map);
bool fgs__tensor_read(struct fgs__tensor *t, const void *map);

/* The rule of cuTensorMapEncode* or ISA 9.7.10.28.5.1 that a map breaks; NULL
 * = none. */
const char *fgs__tensor_rule(const struct fgs__tensor *t);

unsigned fgs__tensor_bits(unsigned type);
bool fgs__tensor_is_float(unsigned type);

/* Address bits of shared memory as the swizzle moves them. */
uint32_t fgs__tensor_swizzle(const struct fgs__tensor *t, uint32_t address);

/* ---------------------------------------------------------------- walk -- */

enum fgs__tensor_mode {
    FGS__TENSOR_TILE,
    FGS__TENSOR_FOUR,        /* gather4, scatter4                           */
    FGS__TENSOR_COLUMN,      /* im2col, im2col_no_offs                      */
    FGS__TENSOR_COLUMN_W,    /* im2col::w, im2col_no_offs::w                */
    FGS__TENSOR_COLUMN_W128  /* im2col::w::128                              */
};

struct fgs__tensor_request {
    enum fgs__tensor_mode mode;
    bool store;                      /* to global memory                    */
    int32_t coord[FGS__TENSOR_RANK]; /* FOUR: a column, four rows           */
    uint16_t offset[3];              /* im2col: W, H, D; ::w: halo, offset  */
};

/* A copy is `rows` rows of `chunks` 16-byte chunks in shared memory, `pitch`
 * bytes from row to row; a chunk is `unit` bytes of global memory. */
struct fgs__tensor_walk {
    struct fgs__tensor t;
    struct fgs__tensor_request r;
    uint32_t rows, chunks, pitch, unit;
    uint32_t count[FGS__TENSOR_RANK]; /* tile: rows of each dimension       */
    uint32_t bits;                    /* of an element                      */
};

/* The global bytes of a row begin at `address`; of them those in [from, to)
 * exist, the others are filled. */
struct fgs__tensor_row {
    uint64_t address;
    uint32_t from, to;
};

/* The rule that a copy breaks, NULL = none.  The map has been checked. */
const char *fgs__tensor_walk_make(struct fgs__tensor_walk *w,
                                  const struct fgs__tensor *t,
                                  const struct fgs__tensor_request *r);
void fgs__tensor_walk_row(const struct fgs__tensor_walk *w, uint32_t row,
                          struct fgs__tensor_row *out);

#endif
