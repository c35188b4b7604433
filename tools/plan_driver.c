/* plan_driver.c -- a plan file's streams and the user's kernels, by the driver
 *
 * They are the application's part, so the tool makes them as an application
 * would: in the device's primary context, which it makes current.
 */
#include "plan_parts.h"

#include "driver.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static fgs_result wrong(fgs_error *err, fgs_result r, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static fgs_result wrong(fgs_error *err, fgs_result r, const char *fmt, ...)
{
    va_list ap;

    memset(err, 0, sizeof *err);
    err->result = r;
    snprintf(err->name, sizeof err->name, "%s", fgs_result_name(r));
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return r;
}

/* `log` may be "". */
static fgs_result good(fgs_error *err, int code, const char *what,
                       const char *log)
{
    if (!code)
        return FGS_OK;
    wrong(err, FGS_E_DRIVER, "%.300s: %s%s%.500s", what, driver_name(code),
          *log ? ": " : "", log);
    err->driver = code;
    return FGS_E_DRIVER;
}

fgs_result plan_context(struct plan_parts *p, fgs_error *err)
{
    char why[1024];

    if (p->ctx)
        return FGS_OK;
    if (!driver_find(p->dev, why, sizeof why))
        return wrong(err, FGS_E_ENTRY, "%.900s", why);
    if (!driver_enter(p->dev, p->info.ordinal, &p->ordinal, &p->ctx, why,
                      sizeof why))
        return wrong(err, FGS_E_DRIVER, "%.900s", why);
    return FGS_OK;
}

fgs_result plan_stream(struct plan_parts *p, uint64_t n, CUstream *out,
                       fgs_error *err)
{
    enum { NON_BLOCKING = 1 }; /* of the legacy default stream              */
    fgs_result r = plan_context(p, err);

    if (r == FGS_OK && !p->streams[n])
        r = good(err, cu.cuStreamCreate(&p->streams[n], NON_BLOCKING),
                 "cuStreamCreate", "");
    *out = p->streams[n];
    return r;
}

/* ------------------------------------------------------------- kernels -- */

static bool ends_in(const char *file, const char *suffix)
{
    size_t len = strlen(file), n = strlen(suffix);

    return len >= n && !strcmp(file + len - n, suffix);
}

/* What the driver loads: the text, or a GPU's code of it where nvJitLink is
 * there, since that may know PTX that the driver does not.  *code is NULL for
 * the text itself. */
static fgs_result assemble(struct plan_parts *p, const char *file,
                           const char *text, void **code, fgs_error *err)
{
    char target[16];
    char *made;
    size_t size = 0;
    fgs_result r;

    *code = NULL;
    if (ends_in(file, ".cu")) {
        r = plan_compile(p, file, text, &made, err);
        *code = made;
        return r;
    }
    if (!strcmp(p->info.provider, "sim") || !ends_in(file, ".ptx"))
        return FGS_OK;
    snprintf(target, sizeof target, "sm_%d%s", (int)p->info.cc,
             p->info.cc == 90 || p->info.cc >= 100 ? "a" : "");
    r = fgs_ptx_assemble(file, text, target, NULL, &size, err);
    if (r == FGS_E_UNSUPPORTED)
        return FGS_OK;
    if (r != FGS_E_SIZE)
        return r;
    *code = malloc(size);
    if (!*code)
        return wrong(err, FGS_E_NOMEM, "%s: no memory", file);
    r = fgs_ptx_assemble(file, text, target, *code, &size, err);
    if (r == FGS_OK)
        return FGS_OK;
    free(*code);
    *code = NULL;
    return r;
}

static fgs_result load(struct plan_parts *p, const char *file,
                       const char *text, void **out, fgs_error *err)
{
    char log[500] = "";
    int options[] = {5, 6}; /* CU_JIT_ERROR_LOG_BUFFER, and its size */
    void *values[] = {log, (void *)sizeof log}, *code;
    fgs_result r = assemble(p, file, text, &code, err);

    if (r == FGS_OK)
        r = good(err,
                 cu.cuModuleLoadDataEx(out, code ? code : text, 2, options,
                                       values),
                 file, log);
    free(code);
    return r;
}

fgs_result plan_module(struct plan_parts *p, const char *file,
                       const char *text, fgs_error *err)
{
    struct plan_module *m = p->modules;
    fgs_result r = plan_context(p, err);

    if (r < 0)
        return r;
    m = realloc(m, (p->module_count + 1) * sizeof *m);
    if (!m)
        return wrong(err, FGS_E_NOMEM, "%s: no memory", file);
    p->modules = m;
    m += p->module_count;
    m->file = file;
    m->module = NULL;
    r = load(p, file, text, &m->module, err);
    p->module_count += r == FGS_OK;
    return r;
}

/* The module of a file, loaded at its first use. */
static fgs_result module_get(struct plan_parts *p, const char *file,
                             void **out, fgs_error *err)
{
    unsigned char *text;
    size_t size;
    uint32_t i;
    fgs_result r;
    int bad;

    for (i = 0; i < p->module_count; i++)
        if (!strcmp(p->modules[i].file, file)) {
            *out = p->modules[i].module;
            return FGS_OK;
        }
    bad = file_read(file, &text, &size);
    if (bad)
        return wrong(err, FGS_E_FILE, "%s: %s", file, strerror(bad));
    r = plan_module(p, file, (char *)text, err);
    free(text);
    if (r == FGS_OK)
        *out = p->modules[p->module_count - 1].module;
    return r;
}

fgs_result plan_function(struct plan_parts *p, const struct plan_stage *s,
                         CUfunction *out, fgs_error *err)
{
    char what[300];
    void *module = NULL, *function = NULL;
    fgs_result r = plan_context(p, err);

    if (r == FGS_OK)
        r = module_get(p, s->file, &module, err);
    if (r < 0)
        return r;
    snprintf(what, sizeof what, "%.200s: %.90s", s->file, s->entry);
    r = good(err, cu.cuModuleGetFunction(&function, module, s->entry), what,
             "");
    *out = function;
    return r;
}

void plan_driver_end(struct plan_parts *p)
{
    uint32_t i;

    for (i = 0; i < p->module_count; i++)
        cu.cuModuleUnload(p->modules[i].module);
    for (i = 0; i < PLAN_STREAMS; i++)
        if (p->streams[i])
            cu.cuStreamDestroy(p->streams[i]);
    driver_leave(p->ctx, p->ordinal);
    free(p->modules);
}
