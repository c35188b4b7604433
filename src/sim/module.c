/* module.c -- PTX text to a loaded module: checks, variables, code, log */
#include "ptx/target.h"
#include "sim/device.h"
#include "table/table.h"

#include <stdarg.h>

static void log_line(struct fgs__sim_log *log, const char *fmt, ...)
    FGS__PRINTF(2, 3);

/* Append what fits; the log is always terminated. */
static void log_line(struct fgs__sim_log *log, const char *fmt, ...)
{
    va_list ap;
    int n;

    if (!log->text || log->used + 1 >= log->size)
        return;
    va_start(ap, fmt);
    n = vsnprintf(log->text + log->used, log->size - log->used, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    log->used += (size_t)n;
    if (log->used >= log->size)
        log->used = log->size - 1;
}

static void log_diags(struct fgs__sim_log *log, const struct fgs__ptx_diags *d)
{
    uint32_t kept = d->count < FGS__PTX_DIAGS ? d->count : FGS__PTX_DIAGS;

    for (uint32_t i = 0; i < kept; i++)
        log_line(log,
                 "ptxas application ptx input, line %u:%u; error   : %s\n",
                 d->item[i].pos.line, d->item[i].pos.column, d->item[i].text);
    if (d->count > kept)
        log_line(log, "ptxas info    : %u more errors\n", d->count - kept);
    log_line(log, "ptxas fatal   : Ptx assembly aborted due to errors\n");
}

static CUresult refuse_version(struct fgs__sim_log *log,
                               struct fgs__ptx_pos at, int version)
{
    int isa = fgs__isa_of_cuda(FGS__SIM_DRIVER_VERSION);

    log_line(log,
             "ptxas application ptx input, line %u:%u; fatal   : "
             "Unsupported .version %d.%d; current version is '%d.%d'\n",
             at.line, at.column, version / 10, version % 10, isa / 10,
             isa % 10);
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

static CUresult refuse(struct fgs__sim_log *log,
                       const struct fgs__ptx_diags *d, fgs_result r)
{
    if (r == FGS_E_NOMEM)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (r == FGS_E_PTXVERSION)
        return refuse_version(log, d->count ? d->item[0].pos
                                            : (struct fgs__ptx_pos){ 1, 1 },
                              d->newer_version);
    log_diags(log, d);
    return CUDA_ERROR_INVALID_PTX;
}

/* The parser knows newer texts than this driver takes.  Does code for the
 * target run on the device?  `a` code only on the same architecture, `f` code
 * on later ones of its family, other code on all later ones. */
static CUresult check_header(const struct fgs__ptx_module *m, int device,
                             struct fgs__sim_log *log)
{
    int cc = m->target_cc;
    bool family = fgs__target_family(cc) == fgs__target_family(device);

    if (m->version > fgs__isa_of_cuda(FGS__SIM_DRIVER_VERSION))
        return refuse_version(log, m->version_pos, m->version);
    if (m->target_suffix == 'a' ? cc == device
            : m->target_suffix == 'f' ? family && cc <= device
                                      : cc <= device)
        return CUDA_SUCCESS;
    log_line(log, "ptxas fatal   : the text is for %s, which sm_%d does not "
                  "run\n", m->target, device);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static uint64_t round_up(uint64_t v, uint64_t to)
{
    return to > 1 ? (v + to - 1) / to * to : v;
}

/* Module-scope .shared variables lie behind every function's own frame. */
static void place_shared(struct fgs__ptx_module *m)
{
    uint64_t at = 0;

    for (struct fgs__ptx_func *f = m->funcs; f; f = f->next) {
        if (f->shared_bytes > at)
            at = f->shared_bytes;
    }
    for (struct fgs__ptx_sym *v = m->vars; v; v = v->next) {
        if (v->space != FGS__M_SHARED || !v->bytes)
            continue;
        at = round_up(at, v->align);
        v->offset = at;
        at += v->bytes;
    }
}

static bool in_memory(const struct fgs__ptx_sym *v)
{
    return v->kind == FGS__SYM_VAR &&
        (v->space == FGS__M_GLOBAL || v->space == FGS__M_CONST);
}

static CUresult place_variables(struct fgs__sim_module *m)
{
    for (struct fgs__ptx_sym *v = m->ptx->vars; v; v = v->next) {
        struct fgs__sim_range range;
        CUresult r;

        if (!in_memory(v) || !v->bytes)
            continue;
        r = fgs__sim_mem_alloc(m->ctx->dev->mem, v->bytes, v->align,
                               FGS__SIM_MEM_MODULE, m->ctx, &range);
        if (r)
            return r;
        v->address = range.lo;
        if (v->init)
            memcpy(range.host, v->init, v->bytes);
        else
            fgs__sim_mem_zero(&range);
    }
    return CUDA_SUCCESS;
}

/* A function's address is a number that no memory has; every load gives other
 * ones, so that a pointer into a module that is gone is none. */
static void place_functions(struct fgs__sim_module *m)
{
    for (struct fgs__ptx_func *f = m->ptx->funcs; f; f = f->next)
        if (f->body)
            f->address = FGS__SIM_CODE_WINDOW + 16 * ++m->ctx->dev->functions;
}

/* Addresses in initializers, once every variable has its own. */
static CUresult relocate(struct fgs__sim_module *m, struct fgs__sim_log *log)
{
    for (struct fgs__ptx_sym *v = m->ptx->vars; v; v = v->next) {
        if (!in_memory(v) || !v->bytes)
            continue;
        for (struct fgs__ptx_reloc *l = v->relocs; l; l = l->next) {
            bool func = l->target->kind == FGS__SYM_FUNC;
            uint64_t word = (func ? l->target->func->address
                                  : l->target->address) + (uint64_t)l->addend;
            char *at = fgs__sim_mem_host(m->ctx->dev->mem,
                                         v->address + l->at, sizeof word);

            if ((func ? !l->target->func->address
                      : !in_memory(l->target) || !l->target->bytes) || !at) {
                log_line(log,
                         "ptxas application ptx input, line %u:%u; error   "
                         ": the initializer of '%s' needs the address of "
                         "'%s', which has none at load\n",
                         v->pos.line, v->pos.column, v->name,
                         l->target->name);
                return CUDA_ERROR_INVALID_PTX;
            }
            memcpy(at, &word, sizeof word);
        }
    }
    return CUDA_SUCCESS;
}

static CUresult make_func(struct fgs__sim_module *m,
                          const struct fgs__ptx_func *f,
                          struct fgs__ptx_diags *diags,
                          struct fgs__sim_log *log)
{
    struct fgs__sim_device *dev = m->ctx->dev;
    struct fgs__sim_func *out = &m->func[m->funcs];
    fgs_result r = fgs__sim_code_make(&out->code, f, &dev->alloc, diags);

    if (r)
        return refuse(log, diags, r);
    out->module = m;
    out->func = f;
    out->carveout = -1;
    memcpy(out->cluster, out->func->reqcluster, sizeof out->cluster);
    m->funcs++; /* from here on module_free takes it */
    if (out->code->shared_bytes < FGS__SIM_STATIC_SHARED)
        out->max_dynamic = FGS__SIM_STATIC_SHARED - out->code->shared_bytes;
    out->handle = fgs__sim_handle_make(&dev->handles, &dev->alloc,
                                       FGS__SIM_KIND_FUNC, out);
    if (!out->handle)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (out->code->shared_bytes > FGS__SIM_STATIC_SHARED) {
        log_line(log,
                 "ptxas error   : Entry function '%s' uses too much shared "
                 "data (0x%x bytes, 0x%x max)\n",
                 f->name, out->code->shared_bytes,
                 (unsigned)FGS__SIM_STATIC_SHARED);
        return CUDA_ERROR_INVALID_PTX;
    }
    return CUDA_SUCCESS;
}

static CUresult make_funcs(struct fgs__sim_module *m,
                           struct fgs__ptx_diags *diags,
                           struct fgs__sim_log *log)
{
    size_t n = 0;
    CUresult r = CUDA_SUCCESS;

    for (struct fgs__ptx_func *f = m->ptx->funcs; f; f = f->next)
        n += f->entry && f->body;
    m->func = fgs__alloc_array(&m->ctx->dev->alloc, n, sizeof *m->func);
    if (!m->func)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(m->func, 0, n * sizeof *m->func);
    for (struct fgs__ptx_func *f = m->ptx->funcs; f && !r; f = f->next) {
        if (f->entry && f->body)
            r = make_func(m, f, diags, log);
    }
    return r;
}

/* Cubin, fatbin, archive: not PTX text. */
static CUresult check_image(const char *image)
{
    static const unsigned char fatbin[4] = { 0x50, 0xed, 0x55, 0xba };
    static const unsigned char wrapper[4] = { 0xb1, 0x43, 0x62, 0x46 };

    if (!strncmp(image, "\177ELF", 4))
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (!strncmp(image, (const char *)fatbin, 4) ||
        !strncmp(image, (const char *)wrapper, 4))
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_module_load(struct fgs__sim_module **out,
                              struct fgs__sim_ctx *ctx, const char *image,
                              struct fgs__sim_log *errors)
{
    struct fgs__sim_device *dev = ctx->dev;
    struct fgs__ptx_diags diags;
    struct fgs__sim_module *m;
    fgs_result pr;
    CUresult r = check_image(image);

    *out = NULL;
    if (r)
        return r;
    m = fgs__zalloc(&dev->alloc, sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->ctx = ctx;
    m->next = ctx->modules;
    ctx->modules = m;
    fgs__ptx_diags_init(&diags, &dev->alloc);
    pr = fgs__ptx_load(&m->ptx, image, strlen(image), &dev->alloc, &diags);
    r = pr ? refuse(errors, &diags, pr)
           : check_header(m->ptx, (int)dev->cfg.cc, errors);
    if (r)
        goto free_module;
    place_shared(m->ptx);
    place_functions(m);
    r = place_variables(m);
    if (!r)
        r = relocate(m, errors);
    if (!r)
        r = make_funcs(m, &diags, errors);
    if (r)
        goto free_module;
    m->handle = fgs__sim_handle_make(&dev->handles, &dev->alloc,
                                     FGS__SIM_KIND_MODULE, m);
    r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!m->handle)
        goto free_module;
    fgs__ptx_diags_free(&diags);
    *out = m;
    return CUDA_SUCCESS;
free_module:
    fgs__ptx_diags_free(&diags);
    fgs__sim_module_free(m);
    return r;
}

void fgs__sim_module_free(struct fgs__sim_module *m)
{
    struct fgs__sim_device *dev = m->ctx->dev;
    struct fgs__sim_module **at = &m->ctx->modules;

    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    for (uint32_t i = 0; i < m->funcs; i++) {
        fgs__sim_handle_free(&dev->handles, m->func[i].handle);
        fgs__sim_code_free(m->func[i].code);
    }
    fgs__free(&dev->alloc, m->func);
    for (struct fgs__ptx_sym *v = m->ptx ? m->ptx->vars : NULL; v;
         v = v->next) {
        if (in_memory(v) && v->address)
            fgs__sim_mem_release(dev->mem, v->address, FGS__SIM_MEM_MODULE,
                                 m->ctx);
    }
    if (m->ptx)
        fgs__ptx_free(m->ptx);
    fgs__sim_handle_free(&dev->handles, m->handle);
    fgs__free(&dev->alloc, m);
}
