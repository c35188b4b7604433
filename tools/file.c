/* file.c -- read and write whole files, NumPy's and raw ones */
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int file_read(const char *path, unsigned char **data, size_t *size)
{
    unsigned char *buf = NULL, *grown;
    size_t used = 0, room = 0;
    FILE *f = fopen(path, "rb");
    int bad = 0;

    if (!f)
        return errno ? errno : EIO;
    for (;;) {
        if (room - used < 2) {
            room = room ? room * 2 : 65536;
            grown = room > used ? realloc(buf, room) : NULL;
            if (!grown) {
                bad = ENOMEM;
                break;
            }
            buf = grown;
        }
        errno = 0;
        used += fread(buf + used, 1, room - used - 1, f);
        if (ferror(f))
            bad = errno ? errno : EIO;
        if (bad || feof(f))
            break;
    }
    fclose(f);
    if (bad) {
        free(buf);
        return bad;
    }
    buf[used] = 0;
    *data = buf;
    *size = used;
    return 0;
}

/* --------------------------------------------------------- .npy headers -- */

static const char npy_magic[] = "\x93NUMPY";
enum { MAGIC = sizeof npy_magic - 1 };

/* The text behind `'key':` in a header, blanks skipped; NULL = no such key. */
static const char *npy_find(const char *header, const char *key)
{
    char quoted[32];
    const char *p;

    snprintf(quoted, sizeof quoted, "'%s'", key);
    p = strstr(header, quoted);
    if (!p)
        return NULL;
    p += strlen(quoted);
    p += strspn(p, " ");
    if (*p++ != ':')
        return NULL;
    return p + strspn(p, " ");
}

/* The product of "(a, b, )"; false = malformed or past 64 bits. */
static bool npy_shape(const char *p, uint64_t *count)
{
    char digits[24];
    uint64_t n;
    size_t len;

    *count = 1;
    if (*p++ != '(')
        return false;
    for (;;) {
        p += strspn(p, " ");
        if (*p == ')')
            return true;
        len = strspn(p, "0123456789");
        if (!len || len >= sizeof digits)
            return false;
        memcpy(digits, p, len);
        digits[len] = 0;
        if (number_parse(digits, 0, UINT64_MAX, &n))
            return false;
        if (n && *count > UINT64_MAX / n)
            return false;
        *count *= n;
        p += len + strspn(p + len, " ");
        if (*p == ',')
            p++;
        else if (*p != ')')
            return false;
    }
}

/* Where the data of a NumPy file starts and how many values its header
 * promises; NULL = good, else what is wrong with it. */
static const char *npy_header(const unsigned char *data, size_t size,
                              size_t *start, uint64_t *count)
{
    static char header[65536 + 1];
    const char *value;
    size_t len, at;

    if (size < MAGIC + 4)
        return "its NumPy header is cut off";
    if (data[MAGIC] < 1 || data[MAGIC] > 3)
        return "its NumPy format version is none of 1, 2, 3";
    at = data[MAGIC] == 1 ? MAGIC + 4 : MAGIC + 6;
    if (size < at)
        return "its NumPy header is cut off";
    len = data[8] | (size_t)data[9] << 8;
    if (data[MAGIC] > 1)
        len |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (len > sizeof header - 1)
        return "its NumPy header is longer than 65536 bytes";
    if (len > size - at)
        return "its NumPy header is cut off";
    memcpy(header, data + at, len);
    header[len] = 0;

    value = npy_find(header, "descr");
    if (!value || strncmp(value, "'<f4'", 5))
        return "its element type is not little-endian float32 ('<f4')";
    value = npy_find(header, "fortran_order");
    if (!value || strncmp(value, "False", 5))
        return "its elements are not in C order";
    value = npy_find(header, "shape");
    if (!value || !npy_shape(value, count))
        return "the shape in its NumPy header is not valid";
    *start = at + len;
    return NULL;
}

/* ---------------------------------------------------------------- values -- */

static bool has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);

    return n >= m && !strcmp(path + n - m, suffix);
}

/* Where the values of a file lie; NULL = good, else what is wrong. */
static const char *locate(const char *path, const unsigned char *data,
                          size_t size, size_t *start, uint64_t *count)
{
    const char *wrong;

    if (size >= MAGIC && !memcmp(data, npy_magic, MAGIC)) {
        wrong = npy_header(data, size, start, count);
        if (wrong)
            return wrong;
        if (*count > (size - *start) / 4)
            return "its data is shorter than its shape";
        if (*count * 4 != size - *start)
            return "its data is longer than its shape";
    } else {
        if (has_suffix(path, ".npy"))
            return "it does not start as a NumPy file does";
        if (size % 4)
            return "its size is no multiple of 4, so it is no raw float32";
        *start = 0;
        *count = size / 4;
    }
    return NULL;
}

int values_read(const char *verb, const char *path, uint64_t tile,
                uint32_t **data, uint64_t *count)
{
    unsigned char *bytes;
    const char *wrong;
    size_t size, start;
    int bad = file_read(path, &bytes, &size);

    if (bad)
        return failure(verb, "%s: %s", path, strerror(bad));
    wrong = locate(path, bytes, size, &start, count);
    if (wrong) {
        free(bytes);
        return failure(verb, "%s: %s", path, wrong);
    }
    if (!*count || *count % tile || *count / tile > INT32_MAX) {
        free(bytes);
        return failure(verb,
                       "%s: %" PRIu64 " elements; a tile is %" PRIu64
                       " float32 elements, and a file holds 1 to %d whole "
                       "tiles",
                       path, *count, tile, INT32_MAX);
    }
    memmove(bytes, bytes + start, size - start);
    *data = (uint32_t *)(void *)bytes; /* malloc's alignment */
    return EXIT_GOOD;
}

/* What NumPy calls the element, or the unsigned integer that holds it. */
static const char *npy_type(fgs_element element)
{
    switch (element) {
    case FGS_ELEMENT_F32:
        return "<f4";
    case FGS_ELEMENT_F16:
        return "<f2";
    case FGS_ELEMENT_BF16:
        return "<u2";
    case FGS_ELEMENT_I32:
        return "<i4";
    case FGS_ELEMENT_I16:
        return "<i2";
    case FGS_ELEMENT_I8:
    case FGS_ELEMENT_I8FF:
        return "|i1";
    default:
        return "|u1";
    }
}

static int npy_write(FILE *f, fgs_element element, uint64_t tiles,
                     uint64_t tile_bytes)
{
    uint32_t bits = fgs_element_get_info(element)->bits;
    char dict[128], header[128];
    int n;

    snprintf(dict, sizeof dict,
             "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64
             ", %" PRIu64 "), }",
             npy_type(element), tiles, tile_bytes * 8 / (bits < 8 ? 8 : bits));
    /* Magic, version 1.0, length 118: the data starts at byte 128. */
    n = snprintf(header, sizeof header, "%-117s", dict);
    return fwrite(npy_magic, 1, MAGIC, f) == MAGIC &&
           fwrite("\1\0\x76\0", 1, 4, f) == 4 &&
           fwrite(header, 1, (size_t)n, f) == (size_t)n &&
           fputc('\n', f) != EOF;
}

int values_write(const char *verb, const char *path, fgs_element element,
                 const void *data, uint64_t tiles, uint64_t tile_bytes)
{
    FILE *f;
    int bad = 0;

    errno = 0;
    f = fopen(path, "wb");
    if (!f)
        return failure(verb, "%s: %s", path, strerror(errno));
    if (has_suffix(path, ".npy") && !npy_write(f, element, tiles, tile_bytes))
        bad = errno ? errno : EIO;
    if (!bad && fwrite(data, tile_bytes, tiles, f) != tiles)
        bad = errno ? errno : EIO;
    if (fclose(f) && !bad)
        bad = errno ? errno : EIO;
    return bad ? failure(verb, "%s: %s", path, strerror(bad)) : EXIT_GOOD;
}
