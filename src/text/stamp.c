/* stamp.c -- did a file change that a text is made of? */
#include "text/text.h"

#include "base/alloc.h"
#include "base/error.h"
#include "text/embed.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

/* A path that is longer than the system takes is no file. */
static bool path_in(char path[PATH_MAX], const char *dir, const char *name)
{
    int n = name[0] == '/' ? snprintf(path, PATH_MAX, "%s", name)
                           : snprintf(path, PATH_MAX, "%s/%s", dir, name);

    return n >= 0 && n < PATH_MAX;
}

static void stamp_file(struct fgs__file_stamp *s, const char *dir,
                       const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    memset(s, 0, sizeof *s);
    if (!path_in(path, dir, name) || stat(path, &st) < 0)
        return;
    s->there = 1;
    s->device = (uint64_t)st.st_dev;
    s->inode = (uint64_t)st.st_ino;
    s->size = (uint64_t)st.st_size;
    s->mtime_s = (uint64_t)st.st_mtim.tv_sec;
    s->mtime_ns = (uint64_t)st.st_mtim.tv_nsec;
}

/* Of a file that is not read counts alone that it is there. */
static void stamp_unread(struct fgs__file_stamp *s, const char *dir,
                         const char *name)
{
    struct fgs__file_stamp now;

    stamp_file(&now, dir, name);
    s->there = now.there;
}

/* The files whose names are known without reading one. */
static void stamp_known(struct fgs__stamp *s, const char *stem,
                        const struct fgs__shape *shape, const char *dir)
{
    struct fgs__dir_file file[FGS__DIR_FILES];
    size_t n = fgs__dir_files(file, stem, shape);
    bool cuda = shape->language == FGS_LANGUAGE_CUDA;

    memset(s->file, 0, sizeof s->file);
    for (size_t i = 0; i < n; i++) {
        if (file[i].use <= FGS__USE_TEMPLATE)
            stamp_file(&s->file[i], dir, file[i].name);
        else
            stamp_unread(&s->file[i], dir, file[i].name);
    }
    for (const struct fgs__embedded *e = fgs__embedded; e->name; e++) {
        assert(n < FGS__TEXT_FILES);
        if (cuda && fgs__text_is_header(e->name))
            stamp_unread(&s->file[n++], dir, e->name);
        else if (!cuda && strstr(e->name, ".ptx.inc"))
            stamp_file(&s->file[n++], dir, e->name);
    }
}

/* ------------------------------------------------------------- included -- */

/* The next #include of CUDA C++, as most write it. */
static const char *next_cuda(const char *at, char *name, size_t size,
                             const char **end)
{
    for (; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *p = at + strspn(at, " \t");
        size_t n;

        if (*p != '#')
            continue;
        p += 1 + strspn(p + 1, " \t");
        if (strncmp(p, "include", 7))
            continue;
        p += 7 + strspn(p + 7, " \t");
        if (*p != '"' && *p != '<')
            continue;
        n = strcspn(p + 1, "\">\n");
        snprintf(name, size, "%.*s", (int)n, p + 1);
        *end = p + 1 + n;
        return at;
    }
    return NULL;
}

static const char *next(const char *at, bool cuda, char *name, size_t size,
                        const char **end)
{
    return cuda ? next_cuda(at, name, size, end)
                : fgs__include_next(at, name, end);
}

static bool is_embedded(const char *name)
{
    for (const struct fgs__embedded *e = fgs__embedded; e->name; e++) {
        if (!strcmp(e->name, name))
            return true;
    }
    return false;
}

/* `name`, as the file `from` includes it, is looked at before it is read. */
static void add(struct fgs__stamp *s, const char *dir, const char *from,
                const char *name)
{
    const char *slash = name[0] == '/' ? NULL : strrchr(from, '/');
    char all[FGS__TEXT_NAME + PATH_MAX];

    snprintf(all, sizeof all, "%.*s%s", slash ? (int)(slash - from) + 1 : 0,
             from, name);
    for (uint32_t i = 0; i < s->count; i++) {
        if (!strcmp(s->name[i], all))
            return;
    }
    if (s->count == FGS__TEXT_MORE || strlen(all) >= FGS__TEXT_NAME) {
        s->lost++;
        return;
    }
    memcpy(s->name[s->count], all, strlen(all) + 1);
    stamp_file(&s->more[s->count++], dir, all);
}

/* What the file `from` includes; *there: it could be read. */
static fgs_result follow(struct fgs__stamp *s, const char *dir,
                         const char *from, bool cuda, bool *there,
                         const fgs_allocator *a, fgs_error *err)
{
    char path[PATH_MAX], name[PATH_MAX], *raw = NULL;
    const char *end, *at;
    size_t len = 0;
    fgs_result r = FGS_OK;

    *there = false;
    if (path_in(path, dir, from))
        r = fgs__text_read(&raw, &len, path, a, err);
    if (r == FGS_E_NOMEM || !raw)
        return r == FGS_E_NOMEM ? r : FGS_OK;
    *there = true;
    for (at = raw; (at = next(at, cuda, name, sizeof name, &end)); at = end) {
        if (!is_embedded(name))
            add(s, dir, from, name);
    }
    fgs__free(a, raw);
    return FGS_OK;
}

static fgs_result follow_all(struct fgs__stamp *s, const char *stem,
                             const struct fgs__shape *shape, const char *dir,
                             const fgs_allocator *a, fgs_error *err)
{
    struct fgs__dir_file file[FGS__DIR_FILES];
    size_t n = fgs__dir_files(file, stem, shape);
    bool cuda = shape->language == FGS_LANGUAGE_CUDA, there = false;
    fgs_result r = FGS_OK;

    /* STEM.ptx stands as it is: it includes nothing. */
    for (size_t i = !cuda; r == FGS_OK && !there && i < n; i++) {
        if (file[i].use <= FGS__USE_TEMPLATE)
            r = follow(s, dir, file[i].name, cuda, &there, a, err);
    }
    /* A file that a template includes includes none. */
    for (uint32_t i = 0; r == FGS_OK && cuda && i < s->count; i++)
        r = follow(s, dir, s->name[i], true, &there, a, err);
    return r;
}

/* ------------------------------------------------------------------------ */

fgs_result fgs__text_stamp(struct fgs__stamp *out, const char *stem,
                           const struct fgs__shape *shape, const char *ptx_dir,
                           const fgs_allocator *a, fgs_error *err)
{
    memset(out, 0, sizeof *out);
    if (!ptx_dir || !*ptx_dir || !fgs__text_is_stem(stem))
        return FGS_OK;
    stamp_known(out, stem, shape, ptx_dir);
    return follow_all(out, stem, shape, ptx_dir, a, err);
}

void fgs__text_stamp_again(struct fgs__stamp *s, const char *stem,
                           const struct fgs__shape *shape,
                           const char *ptx_dir)
{
    if (!ptx_dir || !*ptx_dir || !fgs__text_is_stem(stem))
        return;
    stamp_known(s, stem, shape, ptx_dir);
    for (uint32_t i = 0; i < s->count; i++)
        stamp_file(&s->more[i], ptx_dir, s->name[i]);
}
