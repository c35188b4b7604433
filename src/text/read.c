/* read.c -- a whole text file */
#include "text/text.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* No kernel text comes near it; a mistaken path may. */
#define MOST ((off_t)16 << 20)

static fgs_result fail(fgs_error *err, const char *path, const char *why)
{
    fgs__fail(err, FGS_E_FILE, "%s: %s", path, why);
    if (err)
        snprintf(err->file, sizeof err->file, "%s", path);
    return FGS_E_FILE;
}

/* All `size` bytes, unless the file ends before: *len says how many. */
static int read_all(int fd, char *to, size_t size, size_t *len)
{
    *len = 0;
    while (*len < size) {
        ssize_t n = read(fd, to + *len, size - *len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return 0;
        if (!n)
            break;
        *len += (size_t)n;
    }
    return 1;
}

fgs_result fgs__text_read(char **out, size_t *len, const char *path,
                          const fgs_allocator *a, fgs_error *err)
{
    fgs_result r = FGS_OK;
    struct stat st;
    char *text = NULL;
    int fd;

    *out = NULL;
    *len = 0;
    /* A FIFO would block for ever in open(). */
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? FGS_OK : fail(err, path, strerror(errno));
    if (fstat(fd, &st) < 0)
        r = fail(err, path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        r = fail(err, path, S_ISDIR(st.st_mode) ? strerror(EISDIR)
                                                : "not a regular file");
    else if (st.st_size > MOST)
        r = fail(err, path, "larger than 16 MiB, so no kernel text");
    if (r < 0)
        goto close_fd;
    text = fgs__alloc(a, (size_t)st.st_size + 1);
    if (!text) {
        r = fgs__nomem(err);
        goto close_fd;
    }
    if (!read_all(fd, text, (size_t)st.st_size, len)) {
        r = fail(err, path, strerror(errno));
        fgs__free(a, text);
        *len = 0;
        goto close_fd;
    }
    text[*len] = 0;
    *out = text;
close_fd:
    close(fd);
    return r;
}
