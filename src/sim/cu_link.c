/* cu_link.c -- entry points: cuLink*, texts of PTX to one module
 *
 * Texts are checked and compared when they come, and kept; what comes out is
 * the texts with their names, linked again when it is loaded.  Results are
 * those of an H200 (driver 580): a text that is refused is left out, the link
 * goes on; after texts that disagree it can only be destroyed.
 */
#include "sim/image.h"
#include "sim/jit.h"

struct fgs__sim_link {
    struct fgs__sim_link *next;
    struct fgs__sim_ctx *ctx;
    uintptr_t handle;
    struct fgs__sim_jit jit;
    struct fgs__sim_names *names;
    struct fgs__ptx_module *first, **end;
    struct fgs__sim_text *text; /* owned: name and text                      */
    size_t texts, cap;
    char *made;                /* by cuLinkComplete                          */
    CUresult broken;           /* it failed; every later call says so        */
};

static void free_text(const fgs_allocator *a, struct fgs__sim_text *t)
{
    fgs__free(a, (char *)t->name);
    fgs__free(a, (char *)t->text);
}

void fgs__sim_link_destroy(struct fgs__sim_link *l)
{
    const fgs_allocator *a = &l->ctx->dev->alloc;
    struct fgs__sim_link **at = &l->ctx->links;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    while (l->first) {
        struct fgs__ptx_module *m = l->first;

        l->first = m->next;
        fgs__ptx_free(m);
    }
    for (size_t k = 0; k < l->texts; k++)
        free_text(a, &l->text[k]);
    fgs__free(a, l->text);
    fgs__free(a, l->made);
    fgs__sim_names_free(l->names);
    fgs__sim_handle_free(&l->ctx->dev->handles, l->handle);
    fgs__free(a, l);
}

static struct fgs__sim_link *link_of(struct fgs__sim_ctx *ctx, CUlinkState s)
{
    struct fgs__sim_link *l =
        fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_LINK, s);

    return l && l->ctx == ctx ? l : NULL;
}

CUresult fgs__sim_cuLinkCreate(unsigned int count, CUjit_option *options,
                               void **values, CUlinkState *state)
{
    struct fgs__sim_jit jit;
    struct fgs__sim_link *l;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = state ? fgs__sim_jit_read(&jit, count, options, values)
              : CUDA_ERROR_INVALID_VALUE;
    if (r)
        return fgs__sim_leave(r);
    r = CUDA_ERROR_OUT_OF_MEMORY;
    l = fgs__zalloc(&ctx->dev->alloc, sizeof *l);
    if (!l)
        return fgs__sim_leave(r);
    l->ctx = ctx;
    l->jit = jit;
    l->end = &l->first;
    l->next = ctx->links;
    ctx->links = l;
    l->names = fgs__sim_names_make(&ctx->dev->alloc);
    if (l->names)
        l->handle = fgs__sim_handle_make(&ctx->dev->handles, &ctx->dev->alloc,
                                         FGS__SIM_KIND_LINK, l);
    if (l->handle) {
        *state = (CUlinkState)l->handle;
        r = CUDA_SUCCESS;
    } else {
        fgs__sim_link_destroy(l);
    }
    return fgs__sim_leave(r);
}

/* Keep a copy, and the text as a module for comparison with the others. */
static CUresult add_text(struct fgs__sim_link *l, const char *name,
                         const struct fgs__sim_text *text)
{
    const fgs_allocator *a = &l->ctx->dev->alloc;
    struct fgs__sim_text t = { .bytes = text->bytes };
    struct fgs__ptx_module *m = NULL;
    void *items = l->text;
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    char *copy;

    if (!fgs__vec_reserve(a, &items, &l->cap, l->texts, sizeof *l->text))
        return r;
    l->text = items;
    t.name = fgs__strdup(a, name);
    t.text = copy = fgs__zalloc(a, t.bytes + 1);
    if (!t.name || !copy)
        goto drop;
    memcpy(copy, text->text, t.bytes);
    r = fgs__sim_text_load(&m, copy, t.bytes, a, &l->jit.error);
    if (r)
        goto drop;
    m->name = t.name;
    l->text[l->texts++] = t;
    *l->end = m;
    l->end = &m->next;
    r = fgs__sim_names_add(l->names, m, &l->jit.error);
    if (r == CUDA_ERROR_INVALID_PTX)
        r = CUDA_ERROR_UNKNOWN;
    l->broken = r;
    return r;
drop:
    free_text(a, &t);
    return r;
}

/* What kind of input is it, and can it be PTX? */
static CUresult add_input(struct fgs__sim_link *l, CUjitInputType type,
                          const void *data, size_t bytes, const char *name)
{
    struct fgs__sim_image img;
    CUresult r;

    switch (type) {
    case CU_JIT_INPUT_PTX:
    case CU_JIT_INPUT_FATBINARY:
        break;
    case CU_JIT_INPUT_NVVM:
        fgs__sim_log_line(&l->jit.error, "error   : '%s' is NVVM code; this "
                          "device links PTX\n", name);
        return l->broken = CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    case CU_JIT_INPUT_CUBIN:
    case CU_JIT_INPUT_OBJECT:
    case CU_JIT_INPUT_LIBRARY:
        fgs__sim_log_line(&l->jit.error, "error   : '%s' is machine code; "
                          "this device links PTX\n", name);
        if (bytes > 4 && (!memcmp(data, "\177ELF", 4) ||
                          type == CU_JIT_INPUT_LIBRARY))
            return CUDA_ERROR_NO_BINARY_FOR_GPU;
        return CUDA_ERROR_INVALID_IMAGE;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    r = fgs__sim_image_read(&img, data, bytes, &l->ctx->dev->alloc,
                            &l->jit.error);
    if (r)
        return r;
    for (uint32_t k = 0; k < img.texts && !r; k++)
        r = add_text(l, img.linked ? img.text[k].name : name, &img.text[k]);
    fgs__sim_image_free(&img);
    return r;
}

static CUresult add(struct fgs__sim_ctx *ctx, CUlinkState state,
                    CUjitInputType type, const void *data, size_t bytes,
                    const char *name, unsigned int count,
                    CUjit_option *options, void **values)
{
    struct fgs__sim_link *l = link_of(ctx, state);
    struct fgs__sim_jit own;
    CUresult r = l ? fgs__sim_jit_read(&own, count, options, values)
                   : CUDA_ERROR_INVALID_HANDLE;

    if (r)
        return r;
    if (l->made || !data || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (l->broken)
        return l->broken;
    r = add_input(l, type, data, bytes, name ? name : "");
    fgs__sim_jit_write(&own);
    return r;
}

CUresult fgs__sim_cuLinkAddData(CUlinkState state, CUjitInputType type,
                                void *data, size_t size, const char *name,
                                unsigned int count, CUjit_option *options,
                                void **values)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = add(ctx, state, type, data, size, name, count, options, values);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuLinkAddFile(CUlinkState state, CUjitInputType type,
                                const char *path, unsigned int count,
                                CUjit_option *options, void **values)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    char *data = NULL;
    size_t bytes = 0;

    if (r)
        return r;
    r = CUDA_ERROR_INVALID_VALUE;
    if (path)
        r = fgs__sim_file_read(path, &ctx->dev->alloc, &data, &bytes);
    if (!r)
        r = add(ctx, state, type, data, bytes, path, count, options, values);
    fgs__free(&ctx->dev->alloc, data);
    return fgs__sim_leave(r);
}

/* Are all names defined?  The texts themselves stay as they are. */
static CUresult complete(struct fgs__sim_link *l, size_t *bytes)
{
    CUresult r = l->broken;

    if (l->made)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!r)
        r = fgs__sim_names_bind(l->names, l->first, true, &l->jit.error,
                                &l->jit.info);
    if (r) {
        l->broken = r == CUDA_ERROR_INVALID_PTX ? CUDA_ERROR_UNKNOWN : r;
        return l->broken;
    }
    l->made = fgs__sim_image_write(l->text, (uint32_t)l->texts,
                                   &l->ctx->dev->alloc, bytes);
    return l->made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult fgs__sim_cuLinkComplete(CUlinkState state, void **out, size_t *size)
{
    struct fgs__sim_link *l;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    size_t bytes = 0;

    if (r)
        return r;
    l = link_of(ctx, state);
    r = l ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    if (l && out) {
        r = complete(l, &bytes);
        fgs__sim_jit_write(&l->jit);
    }
    if (!r) {
        *out = l->made;
        if (size)
            *size = bytes;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuLinkDestroy(CUlinkState state)
{
    struct fgs__sim_link *l;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    l = link_of(ctx, state);
    if (l)
        fgs__sim_link_destroy(l);
    return fgs__sim_leave(l ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}
