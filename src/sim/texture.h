/* texture.h -- texture and surface objects: what a handle names
 *
 * A kernel finds an object without a lock.  One is taken away while no kernel
 * runs; its number is given to another with a new serial.
 */
#ifndef FGS_SIM_TEXTURE_H
#define FGS_SIM_TEXTURE_H

#include "sim/array.h"

struct fgs__sim_level {
    uint64_t va;
    uint64_t pitch, slice;     /* bytes of a row, of a plane or layer        */
    uint32_t size[3];          /* elements; at least 1                       */
};

struct fgs__sim_texture {
    uint64_t handle;
    struct fgs__sim_ctx *ctx;
    bool surface;
    CUDA_RESOURCE_DESC res;    /* as the program gave them                   */
    CUDA_TEXTURE_DESC tex;
    CUDA_RESOURCE_VIEW_DESC view;
    bool viewed;
    /* what a kernel needs */
    uint8_t format;            /* CUarray_format                             */
    uint8_t channels, element; /* element: bytes                             */
    uint8_t dims;              /* 1 ... 3, without layers                    */
    bool layered, fetched;     /* fetched: by integers alone (linear)        */
    bool cube, seamless;       /* of two dimensions, six faces for a layer   */
    bool integer;              /* results are integers                       */
    bool srgb;                 /* see fgs__sim_is_srgb                       */
    bool linear, normalized;
    bool mipmapped;            /* whose coordinates are always normalized    */
    uint32_t layers;           /* at least 1                                 */
    uint32_t levels;
    struct fgs__sim_level level[FGS__SIM_LEVELS];
};

/* NULL = there is no such object in the context.  No lock. */
struct fgs__sim_texture *fgs__sim_texture_find(struct fgs__sim_ctx *ctx,
                                               uint64_t handle);
/* A number for the object and its handle; it is freed with the context. */
CUresult fgs__sim_texture_add(struct fgs__sim_ctx *ctx,
                              struct fgs__sim_texture *t);
/* Takes it away; the caller keeps the device between epochs. */
void fgs__sim_texture_drop(struct fgs__sim_texture *t);

/* What a resource is for kernels: format, sizes, levels.  The rules of the
 * descriptors are the driver's. */
CUresult fgs__sim_texture_bind(struct fgs__sim_ctx *ctx,
                               struct fgs__sim_texture *t,
                               const CUDA_RESOURCE_DESC *res);

/* Of the device: where a texture may begin, most elements of a linear one. */
uint64_t fgs__sim_texture_align(void);
uint64_t fgs__sim_linear_width(void);
/* How a texture whose resource is bound is read. */
CUresult fgs__sim_texture_sampler(struct fgs__sim_texture *t,
                                  const CUDA_TEXTURE_DESC *tex);

/* ------------------------------------------- texel.c, texmix.c, sample.c -- */

struct fgs__sim_warp;

/* Four components: bits of floats, or integers of a texture that has these. */
struct fgs__sim_texel {
    uint32_t v[4];
};
/* Of two or four components the last one is none. */
static inline bool fgs__sim_is_srgb(const struct fgs__sim_texture *t,
                                    unsigned k)
{
    return t->srgb && (k + 1 < t->channels || t->channels == 1);
}
/* The upper half of a float. */
extern const uint16_t fgs__sim_srgb[256];
/* An element as a texture reads it. */
void fgs__sim_texel_read(const struct fgs__sim_texture *t, const char *from,
                         struct fgs__sim_texel *out);
/* Component k of an element, of its size. */
void fgs__sim_texel_put(const struct fgs__sim_texture *t, char *to, unsigned k,
                        uint32_t raw);
/* An element from 32-bit components, of which those it lacks are dropped. */
void fgs__sim_texel_write(const struct fgs__sim_texture *t, char *to,
                          const uint32_t *v, unsigned count);

/* What lies outside a texture with a border. */
void fgs__sim_texel_border(const struct fgs__sim_texture *t,
                           struct fgs__sim_texel *out);

/* Elements as a filter takes them; the sum of the weights is 256. */
struct fgs__sim_mix {
    unsigned count;
    uint32_t weight[16];
    uint8_t quad[16];          /* which four of a plane                      */
    struct fgs__sim_texel of[16];
};
void fgs__sim_texel_mix(const struct fgs__sim_texture *t,
                        const struct fgs__sim_mix *mix,
                        struct fgs__sim_texel *out);

struct fgs__sim_sample {
    const struct fgs__sim_texture *t;
    uint32_t coord[3];         /* bits; of integers, or of floats            */
    uint32_t layer;            /* of a cube the face of a layer              */
    double way[2];             /* of a cube: in [0, 1), on its face          */
    int32_t offset[3];
    bool integers;             /* the coordinates                            */
    bool gather;               /* tld4, of component                         */
    bool level;                /* lod was given                              */
    uint8_t component;
    float lod;
};
/* A direction as a face and a place on it (cube.c). */
void fgs__sim_cube_place(struct fgs__sim_sample *s);
/* An element beside a face's edge as one of the face behind it; false = both
 * lie outside, at a corner. */
bool fgs__sim_cube_beside(uint32_t *face, int64_t at[2], int64_t size);

/* False = the memory is gone. */
bool fgs__sim_sample(struct fgs__sim_warp *w, const struct fgs__sim_sample *s,
                     struct fgs__sim_texel *out);

/* ----------------------------------------------------------- tex_insn.c -- */

struct fgs__sim_decoder;
struct fgs__sim_insn;
struct fgs__ptx_operand;
struct fgs__ptx_insn;

/* The object of a lane's handle, a surface or a texture; NULL = none, after a
 * fault. */
struct fgs__sim_texture *fgs__sim_object(struct fgs__sim_warp *w,
                                         const struct fgs__sim_insn *i,
                                         int lane, uint64_t handle,
                                         bool surface);
/* [object, ...]: a place with handles, or with the address of one. */
bool fgs__sim_ref_object(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_operand *o, fgs__sim_ref *out);
/* How many coordinates, FGS__SIM_LAYERED, FGS__SIM_CUBE. */
enum { FGS__SIM_DIMS = 3, FGS__SIM_LAYERED = 1 << 2, FGS__SIM_CUBE = 1 << 4 };
uint32_t fgs__sim_geometry(const struct fgs__ptx_insn *src);
bool fgs__sim_ref_coords(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_operand *o, uint32_t geometry,
                         enum fgs__ptx_type type, fgs__sim_ref *out);

#endif
