/* fuzz_npy.c -- libFuzzer: any bytes as a file of values, NumPy's or raw */
#include "base/compat.h"
#include "tool.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Bytes that begin with one of 2, 6, 10 ... are the text of a header and the
 * data behind it; magic, version and length stand before it, without which no
 * mutation would come to look at the text.
 */
static bool file_write(int fd, const unsigned char *data, size_t size)
{
    unsigned char head[] = "\x93NUMPY\1\0??";
    size_t text;

    if (size < 3 || data[0] % 4 != 2)
        return write(fd, data, size) == (ssize_t)size;
    text = (data[1] | (size_t)data[2] << 8) % (size - 2);
    head[8] = (unsigned char)text;
    head[9] = (unsigned char)(text >> 8);
    return write(fd, head, sizeof head - 1) == sizeof head - 1 &&
           write(fd, data + 3, size - 3) == (ssize_t)(size - 3);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int failure(const char *verb, const char *fmt, ...)
{
    char text[600];
    va_list ap;

    (void)verb;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return EXIT_BAD;
}

int usage_error(const char *verb, const char *fmt, ...)
{
    (void)verb, (void)fmt;
    return EXIT_USAGE;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    int fd = memfd_create("values", 0);
    char path[64];
    uint32_t *values, sum = 0;
    uint64_t count, tile;

    if (fd < 0 || !file_write(fd, data, size))
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    /* The tile of a run is any positive number; the file says nothing of it. */
    tile = size % 3 ? TILE_ELEMENTS : 1 + size % 64;
    if (values_read("fuzz", path, tile, &values, &count) == EXIT_GOOD) {
        if (!count || count % tile)
            abort();
        for (uint64_t i = 0; i < count; i++)
            sum ^= values[i];
        free(values);
    }
    close(fd);
    return sum == 1 ? 0 : 0;
}
