/* image.c -- what a program hands over as code: texts of PTX in a wrapping */
#include "sim/image.h"
#include <limits.h>

/* What cuLinkComplete gives back: this, for every text its two lengths, then
 * for every text its name and itself, each with a NUL.  It may be copied, and
 * kept in a file. */
struct head {
    char magic[8];
    uint64_t bytes;            /* of all                                     */
    uint64_t texts;
};
struct length {
    uint64_t name, text;       /* without the NULs                           */
};
static const char magic[8] = { '\177', 'f', 'g', 's', 'l', 'n', 'k', 1 };

char *fgs__sim_image_write(const struct fgs__sim_text *text, uint32_t count,
                           const fgs_allocator *a, size_t *bytes)
{
    size_t n = sizeof(struct head) + count * sizeof(struct length), at = n;
    struct head h = { .texts = count };
    char *out;

    for (uint32_t k = 0; k < count; k++)
        n += strlen(text[k].name) + text[k].bytes + 2;
    out = fgs__zalloc(a, n);
    if (!out)
        return NULL;
    memcpy(h.magic, magic, sizeof magic);
    h.bytes = *bytes = n;
    memcpy(out, &h, sizeof h);
    for (uint32_t k = 0; k < count; k++) {
        struct length l = { strlen(text[k].name), text[k].bytes };

        memcpy(out + sizeof h + k * sizeof l, &l, sizeof l);
        memcpy(out + at, text[k].name, (size_t)l.name);
        memcpy(out + at + l.name + 1, text[k].text, (size_t)l.text);
        at += (size_t)(l.name + l.text + 2);
    }
    return out;
}

static CUresult read_linked(struct fgs__sim_image *img, const char *data,
                            size_t most)
{
    struct head h;
    uint64_t at;

    if (most < sizeof h)
        return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&h, data, sizeof h);
    if (h.bytes > most || h.bytes < sizeof h || h.texts > UINT32_MAX ||
        h.texts > (h.bytes - sizeof h) / sizeof(struct length))
        return CUDA_ERROR_INVALID_IMAGE;
    img->text = fgs__alloc_array(img->alloc, (size_t)h.texts + 1,
                                 sizeof *img->text);
    if (!img->text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    at = sizeof h + h.texts * sizeof(struct length);
    for (uint32_t k = 0; k < h.texts; k++) {
        struct fgs__sim_text *t = &img->text[k];
        struct length l;

        memcpy(&l, data + sizeof h + k * sizeof l, sizeof l);
        if (l.name > h.bytes || l.text > h.bytes ||
            l.name + l.text + 2 > h.bytes - at || data[at + l.name] ||
            data[at + l.name + l.text + 1])
            return CUDA_ERROR_INVALID_IMAGE;
        t->name = data + at;
        t->text = data + at + l.name + 1;
        t->bytes = (size_t)l.text;
        at += l.name + l.text + 2;
    }
    img->texts = (uint32_t)h.texts;
    img->linked = true;
    return CUDA_SUCCESS;
}

/* PTX begins with .version, behind blanks and comments. */
static bool is_ptx(const char *p, size_t most)
{
    static const char word[] = ".version";
    size_t n = 0;

    for (;;) {
        while (n < most && p[n] && strchr(" \t\r\n\f\v", p[n]))
            n++;
        if (most - n < 2 || p[n] != '/')
            break;
        if (p[n + 1] == '/') {
            while (n < most && p[n] && p[n] != '\n')
                n++;
        } else if (p[n + 1] == '*') {
            for (n += 2; n + 1 < most && p[n] &&
                         !(p[n] == '*' && p[n + 1] == '/'); n++)
                ;
            if (n + 1 >= most || !p[n])
                return false;
            n += 2;
        } else {
            break;
        }
    }
    for (size_t k = 0; k < sizeof word - 1; k++)
        if (n + k >= most || p[n + k] != word[k])
            return false;
    return true;
}

CUresult fgs__sim_image_read(struct fgs__sim_image *img, const void *data,
                             size_t most, const fgs_allocator *a,
                             struct fgs__sim_log *log)
{
    CUresult r = CUDA_SUCCESS;
    const char *p = data;

    memset(img, 0, sizeof *img);
    img->alloc = a;
    img->text = &img->one;
    img->texts = 1;
    if (most > 4 && !strncmp(p, "\177ELF", 4)) {
        fgs__sim_log_line(log, "error   : the image is machine code; this "
                          "device runs PTX\n");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (fgs__sim_fatbin_read(img, data, most, log, &r)) {
        /* nothing more to do */
    } else if (most >= sizeof magic && !strncmp(p, magic, sizeof magic)) {
        r = read_linked(img, p, most);
    } else if (is_ptx(p, most)) {
        img->one = (struct fgs__sim_text){ "", p, strnlen(p, most) };
    } else {
        fgs__sim_log_line(log, "error   : Binary format for key='0', "
                          "ident='' is not recognized\n");
        r = CUDA_ERROR_INVALID_IMAGE;
    }
    if (r)
        fgs__sim_image_free(img);
    return r;
}

void fgs__sim_image_free(struct fgs__sim_image *img)
{
    if (img->text != &img->one)
        fgs__free(img->alloc, img->text);
    fgs__free(img->alloc, img->unpacked);
    img->text = NULL;
    img->unpacked = NULL;
    img->texts = 0;
}

CUresult fgs__sim_file_read(const char *name, const fgs_allocator *a,
                            char **out, size_t *bytes)
{
    FILE *f = fopen(name, "rb");
    CUresult r = CUDA_ERROR_INVALID_IMAGE;
    long n;

    *out = NULL;
    if (!f)
        return CUDA_ERROR_FILE_NOT_FOUND;
    if (fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0 || n == LONG_MAX ||
        fseek(f, 0, SEEK_SET))
        goto close;
    *bytes = (size_t)n;
    *out = fgs__zalloc(a, *bytes + 1);
    r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!*out)
        goto close;
    r = CUDA_SUCCESS;
    if (fread(*out, 1, *bytes, f) != *bytes) {
        fgs__free(a, *out);
        *out = NULL;
        r = CUDA_ERROR_INVALID_IMAGE;
    }
close:
    fclose(f);
    return r;
}
