/* dir.c -- files of a folder: a stem's own, and those that are not read */
#include "text/text.h"

#include "table/table.h"
#include "text/embed.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void fgs__text_own(const struct fgs__shape *shape, char ext[32])
{
    if (shape->language == FGS_LANGUAGE_CUDA)
        snprintf(ext, 32, ".cu");
    else if (shape->element != FGS_ELEMENT_F32)
        snprintf(ext, 32, ".%s.ptx",
                 fgs_element_get_info(shape->element)->name);
    else
        snprintf(ext, 32, ".ptx");
}

void fgs__text_twin(const struct fgs__variant *v, char name[64])
{
    snprintf(name, 64, "%.*s.cu", (int)strcspn(v->file, "."), v->file);
}

/* A name that is there twice, as STEM.cu of most stems, counts once. */
static void add(struct fgs__dir_file *file, size_t *n, enum fgs__file_use use,
                const char *base, const char *ext)
{
    struct fgs__dir_file *f = &file[*n];

    snprintf(f->name, sizeof f->name, "%s%s", base, ext);
    f->use = use;
    for (size_t i = 0; i < *n; i++) {
        if (!strcmp(file[i].name, f->name))
            return;
    }
    ++*n;
}

size_t fgs__dir_files(struct fgs__dir_file file[FGS__DIR_FILES],
                      const char *stem, const struct fgs__shape *shape)
{
    const struct fgs__variant *v = fgs__variant_find(stem);
    bool cuda = shape->language == FGS_LANGUAGE_CUDA;
    struct fgs__shape other = *shape;
    char ext[32], twin[64];
    size_t n = 0;

    other.language = cuda ? FGS_LANGUAGE_PTX : FGS_LANGUAGE_CUDA;
    fgs__text_own(shape, ext);
    add(file, &n, FGS__USE_OWN, stem, ext);
    if (v)
        fgs__text_twin(v, twin);
    if (v)
        add(file, &n, FGS__USE_TEMPLATE, cuda ? twin : v->file, "");
    /* f32 has no word in a PTX file's name, CUDA C++ no element. */
    snprintf(ext, sizeof ext, ".%s%s",
             fgs_element_get_info(shape->element)->name, cuda ? ".cu" : ".ptx");
    add(file, &n, FGS__USE_NEVER, stem, ext);
    add(file, &n, cuda ? FGS__USE_OTHER : FGS__USE_ELEMENT, stem, ".ptx");
    fgs__text_own(&other, ext);
    add(file, &n, FGS__USE_OTHER, stem, ext);
    if (v)
        add(file, &n, FGS__USE_OTHER, cuda ? v->file : twin, "");
    /* A stem whose template has another's name. */
    add(file, &n, cuda ? FGS__USE_OTHER : FGS__USE_NEVER, stem, ".ptx.in");
    return n;
}

static bool is_there(const char *dir, const char *name)
{
    char path[4096];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);

    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0;
}

static void append(struct fgs__text *t, const char *before, const char *word)
{
    size_t n = strlen(t->note);

    snprintf(t->note + n, sizeof t->note - n, "%s%s", before, word);
}

static void tell(struct fgs__text *t, const char *dir, const char *name)
{
    bool first = !t->note[0];

    if (!is_there(dir, name))
        return;
    if (first)
        append(t, "not read in ", dir);
    append(t, first ? ": " : ", ", name);
}

int fgs__text_is_header(const char *name)
{
    size_t len = strlen(name);

    return len > 4 && !strcmp(name + len - 4, ".cuh");
}

/* Of a stem's own file, the template behind it; of no file at all, those for
 * another language.  NVRTC takes the library's headers before any file. */
void fgs__text_unread(struct fgs__text *t, const char *stem,
                      const struct fgs__shape *shape, const char *dir)
{
    struct fgs__dir_file file[FGS__DIR_FILES];
    size_t n = fgs__dir_files(file, stem, shape), len = strlen(dir);
    bool ours = t->file[0] == '<', own;

    own = !ours && !strcmp(t->file + len + 1, file[0].name);
    for (size_t i = 1; i < n; i++) {
        if (file[i].use == FGS__USE_NEVER ||
            (file[i].use == FGS__USE_TEMPLATE && own) ||
            (file[i].use == FGS__USE_ELEMENT && !own) ||
            (file[i].use == FGS__USE_OTHER && ours))
            tell(t, dir, file[i].name);
    }
    if (shape->language == FGS_LANGUAGE_CUDA) {
        for (const struct fgs__embedded *e = fgs__embedded; e->name; e++) {
            if (fgs__text_is_header(e->name))
                tell(t, dir, e->name);
        }
    }
    if (!t->note[0])
        return;
    append(t, " (the text is ", ours ? t->file : t->file + len + 1);
    append(t, own ? "" : "; a file that is would be ",
           own ? "" : file[0].name);
    append(t, ")", "");
}
