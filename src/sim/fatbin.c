/* fatbin.c -- the fat binaries that nvcc and fatbinary make
 *
 * The format is not documented; what is read here was seen in files that the
 * tools of CUDA 13.0 and 13.4 made.  All numbers are little-endian.
 *
 *   container  +0 u32 magic, +4 u16 version 1, +6 u16 bytes of this head,
 *              +8 u64 bytes of the entries behind it
 *   entry      +0 u16 kind (1 PTX, 2 machine code, 8 intermediate code),
 *              +4 u32 bytes of this head, +8 u64 bytes behind it,
 *              +16 u32 of them packed, 0 = not packed, +28 u32 architecture,
 *              +40 u64 flags, +56 u64 bytes when unpacked
 *   wrapper    +0 u32 magic, +4 u32 version, +8 pointer to a container: what
 *              the compiler puts into programs
 */
#include "base/unpack.h"
#include "sim/image.h"

enum {
    CONTAINER = 16, ENTRY = 64, /* least bytes of the heads                  */
    KIND_PTX = 1, KIND_CODE = 2
};
#define MAGIC    0xba55ed50u
#define WRAPPER  0x466243b1u
#define LZ4      0x2000u
#define ZSTD     0x8000u
#define ARCH     0x100000u     /* sm_NNNa                                    */
#define FAMILY   0x200000u     /* sm_NNNf                                    */
#define MOST     ((uint64_t)1 << 30) /* bytes of an unpacked text            */

struct entry {
    const unsigned char *body;
    uint64_t bytes, packed, unpacked, flags;
    uint32_t kind, arch;
};

static uint64_t number(const unsigned char *at, unsigned bytes)
{
    uint64_t v = 0;

    while (bytes--)
        v = v << 8 | at[bytes];
    return v;
}

/* The entry at *at, which goes on behind it; false = damaged. */
static bool next_entry(const unsigned char *data, uint64_t end, uint64_t *at,
                       struct entry *e)
{
    const unsigned char *p = data + *at;
    uint64_t head;

    if (end - *at < ENTRY)
        return false;
    head = number(p + 4, 4);
    if (head < ENTRY || head > end - *at)
        return false;
    e->kind = (uint32_t)number(p, 2);
    e->bytes = number(p + 8, 8);
    e->packed = number(p + 16, 4);
    e->arch = (uint32_t)number(p + 28, 4);
    e->flags = number(p + 40, 8);
    e->unpacked = number(p + 56, 8);
    e->body = p + head;
    if (e->bytes > end - *at - head || e->packed > e->bytes)
        return false;
    *at += head + e->bytes;
    return true;
}

static char suffix(const struct entry *e)
{
    return e->flags & ARCH ? 'a' : e->flags & FAMILY ? 'f' : 0;
}

/* Higher = nearer to this device; 0 = does not run on it. */
static uint32_t rank(const struct entry *e)
{
    if (e->kind != KIND_PTX || e->arch > INT16_MAX ||
        !fgs__sim_runs((int)e->arch, suffix(e)))
        return 0;
    return e->arch * 4 + (suffix(e) == 'a' ? 2 : suffix(e) == 'f') + 1;
}

static CUresult unpack(struct fgs__sim_image *img, const struct entry *e,
                       struct fgs__sim_log *log)
{
    fgs_result r = FGS_E_INVAL;

    img->one.name = "";
    if (!e->packed) {
        img->one.text = (const char *)e->body;
        img->one.bytes = (size_t)e->bytes;
        return CUDA_SUCCESS;
    }
    /* No block of either kind makes more than 128 KB of three bytes. */
    if (e->unpacked > MOST || e->unpacked / 65536 > e->packed ||
        !(e->flags & (LZ4 | ZSTD)))
        goto damaged;
    img->unpacked = fgs__alloc(img->alloc, (size_t)e->unpacked + 1);
    if (!img->unpacked)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (e->flags & ZSTD)
        r = fgs__unpack_zstd((unsigned char *)img->unpacked,
                             (size_t)e->unpacked, e->body, (size_t)e->packed,
                             img->alloc);
    else if (fgs__unpack_lz4((unsigned char *)img->unpacked,
                             (size_t)e->unpacked, e->body, (size_t)e->packed))
        r = FGS_OK;
    if (r == FGS_E_NOMEM)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (r)
        goto damaged;
    img->one.text = img->unpacked;
    img->one.bytes = (size_t)e->unpacked;
    return CUDA_SUCCESS;
damaged:
    fgs__sim_log_line(log, "error   : the PTX for sm_%u in the fat binary "
                      "cannot be unpacked\n", e->arch);
    return CUDA_ERROR_INVALID_IMAGE;
}

/* Nothing fits: say what there is. */
static CUresult refuse(const unsigned char *data, uint64_t end, uint64_t at,
                       struct fgs__sim_log *log)
{
    const char *sep = "";
    struct entry e;

    fgs__sim_log_line(log, "error   : no PTX for sm_%d in the fat binary: ",
                      fgs__sim_cc());
    while (at < end && next_entry(data, end, &at, &e)) {
        char word[2] = { suffix(&e), 0 };

        fgs__sim_log_line(log, "%s%s for sm_%u%s", sep,
                          e.kind == KIND_PTX ? "PTX"
                              : e.kind == KIND_CODE ? "machine code"
                                                    : "intermediate code",
                          e.arch, word);
        sep = ", ";
    }
    fgs__sim_log_line(log, *sep ? "\n" : "it is empty\n");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult read_container(struct fgs__sim_image *img,
                               const unsigned char *data, size_t most,
                               struct fgs__sim_log *log)
{
    struct entry e, best = { .kind = 0 };
    uint64_t at, head, end;

    if (most < CONTAINER || number(data, 4) != MAGIC ||
        number(data + 4, 2) != 1)
        goto damaged;
    head = number(data + 6, 2);
    end = number(data + 8, 8);
    /* A longer head would be taken on trust: version 1 has one length. */
    if (head != CONTAINER || end > most - head)
        goto damaged;
    end += head;
    for (at = head; at < end;) {
        if (!next_entry(data, end, &at, &e))
            goto damaged;
        if (rank(&e) > rank(&best))
            best = e;
    }
    return rank(&best) ? unpack(img, &best, log)
                       : refuse(data, end, head, log);
damaged:
    fgs__sim_log_line(log, "error   : the fat binary is damaged\n");
    return CUDA_ERROR_INVALID_IMAGE;
}

/* Byte by byte: a text of unknown length may end before the fourth. */
static bool begins(const unsigned char *p, size_t most, uint32_t word)
{
    unsigned k;

    for (k = 0; k < 4 && k < most; k++)
        if (p[k] != (word >> 8 * k & 255))
            return false;
    return k == 4;
}

bool fgs__sim_fatbin_read(struct fgs__sim_image *img, const void *data,
                          size_t most, struct fgs__sim_log *log, CUresult *r)
{
    const unsigned char *p = data;
    const void *inner;

    if (!begins(p, most, MAGIC) && !begins(p, most, WRAPPER))
        return false;
    if (number(p, 4) == MAGIC) {
        *r = read_container(img, p, most, log);
        return true;
    }
    *r = CUDA_ERROR_INVALID_IMAGE;
    if (most < 8 + sizeof inner)
        return true;
    memcpy(&inner, p + 8, sizeof inner);
    if (inner && most == SIZE_MAX) /* in a file there is no pointer */
        *r = read_container(img, inner, SIZE_MAX, log);
    return true;
}
