/* embed.h -- the texts of ptx/ inside the library */
#ifndef FGS_TEXT_EMBED_H
#define FGS_TEXT_EMBED_H

#include <stddef.h>

/* One file of ptx/, NUL behind `size` bytes; the list ends with name NULL. */
struct fgs__embedded {
    const char *name; /* "report_consume.ptx.in" */
    const char *text;
    size_t size;
};
extern const struct fgs__embedded fgs__embedded[];

#endif
