/* cache.h -- what compilers made, kept on disk
 *
 * A folder of files, one a result: magic, lengths, checksum, the whole key,
 * the result.  The key is compared, its hash names the file only.  A file that
 * is not exactly that is ignored and replaced.  No failure of the disk is one
 * of the load: it is a line of the log, and the result is made anew.
 *
 * Safe under many processes: a file comes into being whole, by rename in its
 * folder, and no one writes to it after.
 */
#ifndef FGS_CORE_CACHE_H
#define FGS_CORE_CACHE_H

#include "base/alloc.h"
#include "base/log.h"

#define FGS__CACHE_BYTES ((uint64_t)256 << 20)

struct fgs__cache {
    int fd;               /* of the folder; -1 = no cache                    */
    uint64_t most;        /* bytes of all entries                            */
    uint32_t seed;        /* names of temporary files                        */
    uint32_t count;
    const struct fgs__log *log;
};

/*
 * Open the folder `dir`, made when it is missing; NULL = $FGS_CACHE_DIR, else
 * fgsync in $XDG_CACHE_HOME, else in ~/.cache.  "none" or "" = no cache, and so
 * is a folder that is another's or that others may write.  `most` 0 =
 * FGS__CACHE_BYTES.  Never fails; `log` must outlive the cache.
 */
void fgs__cache_open(struct fgs__cache *c, const char *dir, uint64_t most,
                     const struct fgs__log *log);
void fgs__cache_close(struct fgs__cache *c);

/* $FGS_CACHE_BYTES, 0 = not set.  FGS_E_INVAL when it is no number above 0. */
fgs_result fgs__cache_bytes(uint64_t *most, fgs_error *err);

/* A key: parts with their names and lengths, so that no two lists of parts
 * have the same bytes.  Zeroed struct + allocator = empty. */
struct fgs__key {
    const fgs_allocator *alloc;
    char *data;
    size_t len, cap;
    int nomem;            /* a part is missing                               */
};
void fgs__key_add(struct fgs__key *k, const char *name, const void *data,
                  size_t len);
void fgs__key_text(struct fgs__key *k, const char *name, const char *text);
void fgs__key_free(struct fgs__key *k);

/* *data NULL = it is not there; else a copy with a NUL behind `len` bytes, of
 * the key's allocator.  FGS_E_NOMEM alone is a failure. */
fgs_result fgs__cache_get(struct fgs__cache *c, const struct fgs__key *k,
                          void **data, size_t *len);
/* Threads: object, as the device is. */
void fgs__cache_put(struct fgs__cache *c, const struct fgs__key *k,
                    const void *data, size_t len);

/* The name of a key's file, for tests; `name` holds 40 bytes. */
void fgs__cache_name(const struct fgs__key *k, char *name);

#endif
