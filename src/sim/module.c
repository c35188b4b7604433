/* module.c -- PTX text to a loaded module: checks, variables, code, log */
#include "ptx/target.h"
#include "sim/image.h"
#include "sim/jit.h"
#include "table/table.h"

#include <stdarg.h>

void fgs__sim_log_line(struct fgs__sim_log *log, const char *fmt, ...)
{
    va_list ap;
    int n;

    if (!log->text)
        return;
    if (log->used + 1 >= log->size) {
        log->cut = true;
        return;
    }
    va_start(ap, fmt);
    n = vsnprintf(log->text + log->used, log->size - log->used, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    log->used += (size_t)n;
    if (log->used >= log->size) {
        log->used = log->size - 1;
        log->cut = true;
    }
}

static void log_diags(struct fgs__sim_log *log, const struct fgs__ptx_diags *d)
{
    uint32_t kept = d->count < FGS__PTX_DIAGS ? d->count : FGS__PTX_DIAGS;

    for (uint32_t i = 0; i < kept; i++)
        fgs__sim_log_line(log, "ptxas application ptx input, line %u:%u; "
                          "error   : %s\n", d->item[i].pos.line,
                          d->item[i].pos.column, d->item[i].text);
    if (d->count > kept)
        fgs__sim_log_line(log, "ptxas info    : %u more errors\n",
                          d->count - kept);
    fgs__sim_log_line(log, "ptxas fatal   : Ptx assembly aborted due to "
                      "errors\n");
}

static CUresult refuse_version(struct fgs__sim_log *log,
                               struct fgs__ptx_pos at, int version)
{
    int isa = fgs__isa_of_cuda(FGS__SIM_DRIVER_VERSION);

    fgs__sim_log_line(log,
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

int fgs__sim_cc(void)
{
    const struct fgs__sim_driver *d = &fgs__sim_driver;

    return d->configured ? (int)d->cfg.cc : 107;
}

bool fgs__sim_runs(int cc, char suffix)
{
    int device = fgs__sim_cc();

    if (suffix == 'a')
        return cc == device;
    return cc <= device &&
        (suffix != 'f' ||
         fgs__target_family(cc) == fgs__target_family(device));
}

/* The parser knows newer texts than this driver takes.  What ptxas says of a
 * target that does not run here is what the driver says. */
static CUresult check_header(const struct fgs__ptx_module *m,
                             struct fgs__sim_log *log)
{
    if (m->version > fgs__isa_of_cuda(FGS__SIM_DRIVER_VERSION))
        return refuse_version(log, m->version_pos, m->version);
    if (fgs__sim_runs(m->target_cc, m->target_suffix))
        return CUDA_SUCCESS;
    if (m->target_cc > fgs__sim_cc())
        fgs__sim_log_line(log, "ptxas fatal   : SM version specified by "
                          ".target is higher than default SM version "
                          "assumed\n");
    else
        fgs__sim_log_line(log, "ptxas fatal   : Program with .target '%s' "
                          "cannot be compiled to future architecture\n",
                          m->target);
    return CUDA_ERROR_INVALID_PTX;
}

CUresult fgs__sim_text_load(struct fgs__ptx_module **out, const char *text,
                            size_t bytes, const fgs_allocator *a,
                            struct fgs__sim_log *log)
{
    struct fgs__ptx_diags diags;
    fgs_result pr;
    CUresult r;

    fgs__ptx_diags_init(&diags, a);
    pr = fgs__ptx_load(out, text, bytes, a, &diags);
    r = pr ? refuse(log, &diags, pr) : check_header(*out, log);
    if (r && *out) {
        fgs__ptx_free(*out);
        *out = NULL;
    }
    fgs__ptx_diags_free(&diags);
    return r;
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
        if (v->space != FGS__M_SHARED || !v->bytes || v->def)
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

/* A variable that is defined here and has room. */
static bool is_own(const struct fgs__ptx_sym *v)
{
    return in_memory(v) && v->bytes && !v->def;
}

static CUresult place_variables(struct fgs__sim_module *m)
{
    for (struct fgs__ptx_sym *v = m->ptx->vars; v; v = v->next) {
        struct fgs__sim_range range;
        CUresult r;

        if (!is_own(v))
            continue;
        r = fgs__sim_mem_alloc(m->ctx->dev->mem, v->bytes, v->align,
                               v->managed ? FGS__SIM_MEM_MANAGED
                                          : FGS__SIM_MEM_MODULE,
                               m->ctx, &range);
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

/* Declarations are where the definition is. */
static void place_declared(struct fgs__sim_module *m)
{
    for (struct fgs__ptx_sym *v = m->ptx->vars; v; v = v->next) {
        if (!v->def)
            continue;
        v->address = v->def->address;
        v->offset = v->def->offset;
        v->bytes = v->def->bytes;
    }
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
        if (!is_own(v))
            continue;
        for (struct fgs__ptx_reloc *l = v->relocs; l; l = l->next) {
            bool func = l->target->kind == FGS__SYM_FUNC;
            uint64_t word = (func ? l->target->func->address
                                  : l->target->address) + (uint64_t)l->addend;
            char *at = fgs__sim_mem_host(m->ctx->dev->mem,
                                         v->address + l->at, l->bytes);

            if ((func ? !l->target->func->address
                      : !in_memory(l->target) || !l->target->bytes) || !at) {
                fgs__sim_log_line(log,
                         "ptxas application ptx input, line %u:%u; error   "
                         ": the initializer of '%s' needs the address of "
                         "'%s', which has none at load\n",
                         v->pos.line, v->pos.column, v->name,
                         l->target->name);
                return CUDA_ERROR_INVALID_PTX;
            }
            word >>= l->shift; /* little endian hosts only, as elsewhere */
            memcpy(at, &word, l->bytes);
        }
    }
    return CUDA_SUCCESS;
}

/* What a kernel may have of its own.  From 9.0 on that is all that a block can
 * have, without being asked for: an H200 takes 232448 bytes in texts for sm_90
 * and sm_90a, and not one more.  (ptxas has that bound for sm_90a, sm_100a ...,
 * for others 48 KiB; a driver compiles for the device itself.) */
static uint32_t most_static(const fgs_sim_config *cfg)
{
    return cfg->cc >= 90 ? fgs__sim_max_shared(cfg)
                         : (uint32_t)FGS__SIM_STATIC_SHARED;
}

/* And what a launch may add before more is asked for, as the H200 has it. */
static uint32_t default_dynamic(const fgs_sim_config *cfg, uint32_t own)
{
    uint32_t most = own <= FGS__SIM_STATIC_SHARED
        ? (uint32_t)FGS__SIM_STATIC_SHARED : most_static(cfg);

    return own < most ? most - own : 0;
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
    out->max_dynamic = default_dynamic(&dev->cfg, out->code->shared_bytes);
    out->handle = fgs__sim_handle_make(&dev->handles, &dev->alloc,
                                       FGS__SIM_KIND_FUNC, out);
    if (!out->handle)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (out->code->shared_bytes > most_static(&dev->cfg)) {
        fgs__sim_log_line(log,
                 "ptxas error   : Entry function '%s' uses too much shared "
                 "data (0x%x bytes, 0x%x max)\n",
                 f->name, out->code->shared_bytes,
                 most_static(&dev->cfg));
        return CUDA_ERROR_INVALID_PTX;
    }
    return CUDA_SUCCESS;
}

bool fgs__sim_is_kernel(const struct fgs__ptx_func *f)
{
    return f->entry && f->body && f->sym->func == f;
}

static CUresult make_funcs(struct fgs__sim_module *m,
                           struct fgs__ptx_diags *diags,
                           struct fgs__sim_log *log)
{
    size_t n = 0;
    CUresult r = CUDA_SUCCESS;

    for (struct fgs__ptx_func *f = m->ptx->funcs; f; f = f->next)
        n += fgs__sim_is_kernel(f);
    m->func = fgs__alloc_array(&m->ctx->dev->alloc, n, sizeof *m->func);
    if (!m->func)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(m->func, 0, n * sizeof *m->func);
    for (struct fgs__ptx_func *f = m->ptx->funcs; f && !r; f = f->next) {
        if (fgs__sim_is_kernel(f))
            r = make_func(m, f, diags, log);
    }
    return r;
}
/* Behind the first text's lists those of the others. */
static void splice(struct fgs__ptx_module *first)
{
    struct fgs__ptx_func **funcs = &first->funcs;
    struct fgs__ptx_sym **vars = &first->vars;

    for (struct fgs__ptx_module *m = first; m; m = m->next) {
        m->whole = first;
        if (m != first) {
            *funcs = m->funcs;
            *vars = m->vars;
        }
        while (*funcs)
            funcs = &(*funcs)->next;
        while (*vars)
            vars = &(*vars)->next;
    }
}

CUresult fgs__sim_texts_load(struct fgs__ptx_module **first,
                             const struct fgs__sim_image *img,
                             const fgs_allocator *a, struct fgs__sim_jit *jit)
{
    static const char none[] = ".version 9.0\n.target sm_75\n"
                               ".address_size 64\n";
    struct fgs__sim_names *names = fgs__sim_names_make(a);
    struct fgs__ptx_module **end = first;
    CUresult r = names ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

    *first = NULL;
    for (uint32_t k = 0; !r && k < img->texts; k++) {
        r = fgs__sim_text_load(end, img->text[k].text, img->text[k].bytes, a,
                               &jit->error);
        if (r)
            break;
        (*end)->name = img->text[k].name;
        r = fgs__sim_names_add(names, *end, &jit->error);
        end = &(*end)->next;
    }
    if (!r && !*first) /* nothing was linked: an empty module */
        r = fgs__sim_text_load(first, none, strlen(none), a, &jit->error);
    if (!r)
        r = fgs__sim_names_bind(names, *first, img->linked, &jit->error,
                                &jit->info);
    if (!r)
        splice(*first);
    for (struct fgs__ptx_func *f = r ? NULL : (*first)->funcs; f; f = f->next)
        if (jit->max_regs && (!f->maxnreg || jit->override))
            f->maxnreg = jit->max_regs;
    fgs__sim_names_free(names);
    return r;
}

CUresult fgs__sim_module_load(struct fgs__sim_module **out,
                              struct fgs__sim_ctx *ctx,
                              const struct fgs__sim_image *img,
                              struct fgs__sim_jit *jit)
{
    struct fgs__sim_device *dev = ctx->dev;
    struct fgs__ptx_diags diags;
    struct fgs__sim_module *m;
    CUresult r;

    *out = NULL;
    m = fgs__zalloc(&dev->alloc, sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->ctx = ctx;
    m->next = ctx->modules;
    ctx->modules = m;
    fgs__ptx_diags_init(&diags, &dev->alloc);
    r = fgs__sim_texts_load(&m->ptx, img, &dev->alloc, jit);
    if (r)
        goto free_module;
    place_shared(m->ptx);
    place_functions(m);
    r = place_variables(m);
    if (r)
        goto free_module;
    place_declared(m);
    r = relocate(m, &jit->error);
    if (!r)
        r = make_funcs(m, &diags, &jit->error);
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
    fgs__sim_references_free(m->ctx, m);
    for (uint32_t i = 0; i < m->funcs; i++) {
        fgs__sim_handle_free(&dev->handles, m->func[i].handle);
        fgs__sim_code_free(m->func[i].code);
        fgs__free(&dev->alloc, m->func[i].old.params);
    }
    fgs__free(&dev->alloc, m->func);
    for (struct fgs__ptx_sym *v = m->ptx ? m->ptx->vars : NULL; v;
         v = v->next) {
        if (is_own(v) && v->address)
            fgs__sim_mem_release(dev->mem, v->address,
                                 v->managed ? FGS__SIM_MEM_MANAGED
                                            : FGS__SIM_MEM_MODULE, m->ctx);
    }
    while (m->ptx) {
        struct fgs__ptx_module *next = m->ptx->next;

        fgs__ptx_free(m->ptx);
        m->ptx = next;
    }
    fgs__sim_handle_free(&dev->handles, m->handle);
    fgs__free(&dev->alloc, m);
}
