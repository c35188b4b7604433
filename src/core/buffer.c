/* buffer.c -- device memory that is handed over in tiles */
#include "core/buffer.h"
#include "core/plan.h"
#include "text/text.h"

/* One block a tile: the largest grid of the driver API in x. */
enum { TILES_MAX = 0x7fffffff, SLOTS_MAX = 64 };

fgs_result fgs__buffer_get(struct fgs__buffer **out, const fgs_buffer *buf,
                           const char *what, fgs_error *err)
{
    struct fgs__obj *o;
    fgs_result r = fgs__obj_get(&o, buf, FGS__BUFFER, what, err);

    *out = (struct fgs__buffer *)(void *)o;
    return r;
}

static fgs_result check_shape(const char *name, uint64_t tiles,
                              uint64_t tile_bytes, uint32_t slots,
                              fgs_error *err)
{
    if (slots > SLOTS_MAX)
        return fgs__fail(err, FGS_E_SIZE,
                         "buffer '%s': slots is %u, not in 1 ... %d", name,
                         slots, SLOTS_MAX);
    if (!tiles || tiles > TILES_MAX)
        return fgs__fail(err, FGS_E_SIZE,
                         "buffer '%s': tiles is %llu, not in 1 ... %d", name,
                         (unsigned long long)tiles, TILES_MAX);
    if (tile_bytes % FGS__CHUNK_BYTES)
        return fgs__fail(err, FGS_E_ALIGN,
                         "buffer '%s': tile_bytes is %llu, no multiple of %d "
                         "(a chunk is written as a unit, guide 4.6.4.3)",
                         name, (unsigned long long)tile_bytes,
                         FGS__CHUNK_BYTES);
    if (tile_bytes > SIZE_MAX / tiles / slots)
        return fgs__fail(err, FGS_E_SIZE,
                         "buffer '%s': %u slots of %llu tiles of %llu bytes "
                         "overflow the address space",
                         name, slots, (unsigned long long)tiles,
                         (unsigned long long)tile_bytes);
    return FGS_OK;
}

static fgs_result check_pointer(const char *name, const fgs_buffer_desc *d,
                                uint64_t bytes, fgs_error *err)
{
    if (!d->pointer) {
        if (d->pointer_bytes)
            return fgs__fail(err, FGS_E_INVAL,
                             "buffer '%s': pointer_bytes without pointer",
                             name);
        return FGS_OK;
    }
    if (d->pointer % FGS__CHUNK_BYTES)
        return fgs__fail(err, FGS_E_ALIGN,
                         "buffer '%s': pointer 0x%llx is no multiple of %d",
                         name, (unsigned long long)d->pointer,
                         FGS__CHUNK_BYTES);
    if (d->pointer_bytes < bytes)
        return fgs__fail(err, FGS_E_SIZE,
                         "buffer '%s': pointer_bytes is %llu, but its tiles "
                         "take %llu",
                         name, (unsigned long long)d->pointer_bytes,
                         (unsigned long long)bytes);
    if (d->pointer > UINT64_MAX - bytes)
        return fgs__fail(err, FGS_E_SIZE,
                         "buffer '%s': pointer 0x%llx + %llu bytes overflow",
                         name, (unsigned long long)d->pointer,
                         (unsigned long long)bytes);
    return FGS_OK;
}

static fgs_result check_desc(const fgs_buffer_desc *d, const char *name,
                             uint64_t tile_bytes, uint32_t slots,
                             fgs_error *err)
{
    fgs_result r;

    if (strlen(name) >= sizeof((struct fgs__buffer *)0)->name)
        return fgs__fail(err, FGS_E_SIZE,
                         "the buffer's name has %zu bytes; 31 at most",
                         strlen(name));
    if (!fgs_element_get_info(d->element))
        return fgs__fail(err, FGS_E_INVAL,
                         "buffer '%s': %u is no element type", name,
                         (unsigned)d->element);
    r = check_shape(name, d->tiles, tile_bytes, slots, err);
    if (r < 0)
        return r;
    return check_pointer(name, d, d->tiles * tile_bytes * slots, err);
}

static fgs_result allocate(struct fgs__buffer *b, fgs_error *err)
{
    struct fgs__device *d = b->dev;
    fgs_result result;
    CUresult r;

    result = FGS__NEED(d, err, FGS__CU_cuMemAlloc, FGS__CU_cuMemFree);
    if (result < 0)
        return result;
    result = fgs__device_enter(d, err);
    if (result < 0)
        return result;
    r = d->cu.cuMemAlloc(&b->ptr, (size_t)b->bytes);
    if (r != CUDA_SUCCESS)
        result = fgs__device_fail(d, err, r, "cuMemAlloc",
                                  "buffer '%s' of %llu bytes", b->name,
                                  (unsigned long long)b->bytes);
    else
        b->owned = 1;
    fgs__device_leave(d);
    return result;
}

fgs_result fgs_buffer_make(fgs_buffer **out, fgs_device *dev,
                           const fgs_buffer_desc *desc, fgs_error *err)
{
    struct fgs__device *d;
    struct fgs__buffer *b;
    uint64_t tile_bytes;
    uint32_t slots;
    const char *name;
    fgs_result r;

    if (!out)
        return fgs__fail(err, FGS_E_NULL, "out is NULL");
    *out = NULL;
    r = fgs__device_get(&d, dev, err);
    if (r < 0)
        return r;
    if (!desc)
        return fgs__fail(err, FGS_E_NULL, "desc is NULL");
    r = fgs__check_size(err, "fgs_buffer_desc", desc, desc->size, sizeof *desc,
                        sizeof *desc);
    if (r < 0)
        return r;
    name = desc->name ? desc->name : "buffer";
    tile_bytes = desc->tile_bytes ? desc->tile_bytes : FGS__TILE_BYTES;
    slots = desc->slots ? desc->slots : 1;
    r = check_desc(desc, name, tile_bytes, slots, err);
    if (r < 0)
        return r;
    b = fgs__zalloc(&d->alloc, sizeof *b);
    if (!b)
        return fgs__nomem(err);
    b->dev = d;
    snprintf(b->name, sizeof b->name, "%s", name);
    b->element = desc->element;
    b->tiles = desc->tiles;
    b->tile_bytes = tile_bytes;
    b->slots = slots;
    b->bytes = b->tiles * b->tile_bytes * slots;
    b->ptr = desc->pointer;
    if (!b->ptr) {
        r = allocate(b, err);
        if (r < 0) {
            fgs__free(&d->alloc, b);
            return r;
        }
    }
    fgs__device_ref(d);
    *out = fgs__obj_add(&b->obj, FGS__BUFFER);
    return FGS_OK;
}

void fgs_buffer_free(fgs_buffer *buf)
{
    struct fgs__buffer *b =
        (struct fgs__buffer *)(void *)fgs__obj_take(buf, FGS__BUFFER);
    struct fgs__device *d;

    if (!b)
        return;
    d = b->dev;
    fgs__plans_wait(d, b->ptr, b->bytes, NULL);
    if (b->owned && fgs__device_enter_quiet(d)) {
        fgs__device_lost(d, d->cu.cuMemFree(b->ptr), "cuMemFree", b->name);
        fgs__device_leave(d);
    }
    fgs__free(&d->alloc, b);
    fgs__device_unref(d);
}

CUdeviceptr fgs_buffer_get_pointer(const fgs_buffer *buf)
{
    struct fgs__buffer *b;

    return fgs__buffer_get(&b, buf, "buf", NULL) < 0 ? 0 : b->ptr;
}

uint64_t fgs_buffer_get_bytes(const fgs_buffer *buf)
{
    struct fgs__buffer *b;

    return fgs__buffer_get(&b, buf, "buf", NULL) < 0 ? 0 : b->bytes;
}

fgs_result fgs_buffer_rebind(fgs_buffer *buf, CUdeviceptr pointer,
                             uint64_t pointer_bytes, fgs_error *err)
{
    const fgs_buffer_desc d = { .pointer = pointer,
                                .pointer_bytes = pointer_bytes };
    struct fgs__buffer *b;
    fgs_result r = fgs__buffer_get(&b, buf, "buf", err);

    if (r < 0)
        return r;
    if (b->owned || !pointer)
        return fgs__fail(err, b->owned ? FGS_E_STATE : FGS_E_NULL,
                         "buffer '%s': %s", b->name,
                         b->owned ? "it was allocated by the library"
                                  : "pointer is NULL");
    r = check_pointer(b->name, &d, b->bytes, err);
    if (r >= 0)
        r = fgs__device_enter(b->dev, err);
    if (r < 0)
        return r;
    r = fgs__plans_rebind(b, pointer, err);
    if (r >= 0)
        b->ptr = pointer;
    fgs__device_leave(b->dev);
    return r;
}

/* One direction of a copy: `to` is set for host to device. */
static fgs_result copy(struct fgs__buffer *b, uint64_t offset, const void *from,
                       void *host, int to, uint64_t bytes, fgs_error *err)
{
    struct fgs__device *d = b->dev;
    const char *call = to ? "cuMemcpyHtoD" : "cuMemcpyDtoH";
    fgs_result result;
    CUresult r;

    if (offset > b->bytes || bytes > b->bytes - offset)
        return fgs__fail(err, FGS_E_SIZE,
                         "buffer '%s': offset %llu + %llu bytes is past its "
                         "end, %llu",
                         b->name, (unsigned long long)offset,
                         (unsigned long long)bytes,
                         (unsigned long long)b->bytes);
    if (!bytes)
        return FGS_OK;
    if (!from && !host)
        return fgs__fail(err, FGS_E_NULL, "host is NULL");
    result = FGS__NEED(d, err, FGS__CU_cuMemcpyHtoD, FGS__CU_cuMemcpyDtoH,
                       FGS__CU_cuStreamSynchronize, FGS__CU_cuEventQuery);
    if (result < 0)
        return result;
    result = fgs__device_enter(d, err);
    if (result < 0)
        return result;
    result = fgs__plans_idle(d, b->ptr, b->bytes, b->name, err);
    if (result < 0)
        goto leave;
    if (to)
        fgs__plans_wrote(d, b->ptr + offset, bytes);
    /* From pageable memory the first call returns when the bytes are staged; a
     * stream that does not wait for the legacy one could start before they are
     * there (seen on an H200). */
    r = to ? d->cu.cuMemcpyHtoD(b->ptr + offset, from, (size_t)bytes)
           : d->cu.cuMemcpyDtoH(host, b->ptr + offset, (size_t)bytes);
    if (r == CUDA_SUCCESS && to) {
        call = "cuStreamSynchronize";
        r = d->cu.cuStreamSynchronize(NULL);
    }
    if (r != CUDA_SUCCESS)
        result = fgs__device_fail(d, err, r, call,
                                  "buffer '%s', %llu bytes at %llu", b->name,
                                  (unsigned long long)bytes,
                                  (unsigned long long)offset);
leave:
    fgs__device_leave(d);
    return result;
}

fgs_result fgs_buffer_write(fgs_buffer *buf, uint64_t offset, const void *host,
                            uint64_t bytes, fgs_error *err)
{
    struct fgs__buffer *b;
    fgs_result r = fgs__buffer_get(&b, buf, "buf", err);

    return r < 0 ? r : copy(b, offset, host, NULL, 1, bytes, err);
}

fgs_result fgs_buffer_read(fgs_buffer *buf, uint64_t offset, void *host,
                           uint64_t bytes, fgs_error *err)
{
    struct fgs__buffer *b;
    fgs_result r = fgs__buffer_get(&b, buf, "buf", err);

    return r < 0 ? r : copy(b, offset, NULL, host, 0, bytes, err);
}
