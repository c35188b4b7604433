/* module.c -- PTX text to a module: the driver, else nvJitLink */
#include "core/kernel.h"
#include "table/table.h"

#include <ctype.h>

enum { LOG_BYTES = 4096 };

/*
 * The driver and nvJitLink write "ptxas application ptx input, line 12; error
 * : text", the software device "line 12:5: text".
 */
int fgs__log_place(const char *log, uint32_t *line, uint32_t *column,
                   char *text, size_t size)
{
    const char *p = log, *q;
    char *end;

    *line = *column = 0;
    text[0] = '\0';
    for (; (p = strstr(p, "line ")); p += 5) {
        if ((p == log || !isalnum((unsigned char)p[-1])) &&
            isdigit((unsigned char)p[5]))
            break;
    }
    if (!p)
        return 0;
    *line = (uint32_t)strtoul(p + 5, &end, 10);
    if (end[0] == ':' && isdigit((unsigned char)end[1]))
        *column = (uint32_t)strtoul(end + 1, &end, 10);
    /* Past the separators and the word for the severity. */
    q = end + strspn(end, ":; \t");
    for (const char *const *w = (const char *const[]){ "error", "fatal", NULL };
         *w; w++) {
        size_t n = strlen(*w);

        if (!strncmp(q, *w, n) && q[n + strspn(q + n, " ")] == ':')
            q += n;
    }
    q += strspn(q, ": \t");
    snprintf(text, size, "%.*s", (int)strcspn(q, "\n"), q);
    return 1;
}

/* The first line of a log that names no line of the text. */
static void first_line(const char *log, char *text, size_t size)
{
    log += strspn(log, "\n ");
    snprintf(text, size, "%.*s", (int)strcspn(log, "\n"), log);
}

static fgs_result refused(const struct fgs__kernel *k, fgs_error *err,
                          const char *who, CUresult r, const char *log)
{
    const char *name = r != CUDA_SUCCESS
        ? fgs__cu_error_name(&k->dev->cu, r) : "FGS_E_JIT";
    const char *file = NULL;
    uint32_t line, column;
    char text[512];
    int placed = fgs__log_place(log, &line, &column, text, sizeof text);

    fgs__log(&k->dev->log, FGS__LOG_LOAD_REFUSED, "%s by %s: %s: %s",
             k->text.file, who, name, log);
    if (!placed)
        first_line(log, text, sizeof text);
    if (!text[0])
        snprintf(text, sizeof text, "no reason given");
    if (placed)
        file = fgs__text_place(&k->text, &line);
    if (placed)
        fgs__fail_at(err, FGS_E_JIT, file, line, column,
                     "%s (refused by %s, %s)", text, who, name);
    else
        fgs__fail(err, FGS_E_JIT, "%s: %s (refused by %s, %s)", k->text.file,
                  text, who, name);
    if (err && r != CUDA_SUCCESS) {
        snprintf(err->name, sizeof err->name, "%s", name);
        err->driver = (int32_t)r;
    }
    return FGS_E_JIT;
}

static fgs_result too_new(const struct fgs__kernel *k,
                          const struct fgs__ptx_module *m, fgs_error *err)
{
    uint32_t line = m->version_pos.line;
    const char *file = fgs__text_place(&k->text, &line);
    char who[800];

    return fgs__fail_at(err, FGS_E_PTXVERSION, file, line,
                        m->version_pos.column,
                        "the text is PTX %d.%d: %s", m->version / 10,
                        m->version % 10,
                        fgs__device_assemblers(k->dev, who, sizeof who));
}

/* nvJitLink's cubin from the cache, or made and kept there.  All that it comes
 * of is in the key; FGS_E_JIT and the like are not kept. */
static fgs_result make_cubin(struct fgs__kernel *k,
                             const struct fgs__nvjitlink *n, const char *arch,
                             struct fgs__cubin *cubin, char *log,
                             size_t log_size)
{
    struct fgs__device *d = k->dev;
    struct fgs__cache *c = fgs__device_cache(d);
    struct fgs__key key = { .alloc = &d->alloc };
    char version[16];
    fgs_result r;

    log[0] = '\0';
    snprintf(version, sizeof version, "%d", n->lib.version);
    fgs__device_key(d, &key);
    fgs__key_text(&key, "nvjitlink", version);
    fgs__key_text(&key, "build", n->lib.build);
    fgs__key_text(&key, "arch", arch);
    fgs__key_add(&key, "ptx", k->text.text, k->text.len);
    r = fgs__cache_get(c, &key, &cubin->data, &cubin->size);
    if (r >= 0 && cubin->data) {
        k->cached++;
        atomic_fetch_add(&d->cached, 1);
    } else if (r >= 0) {
        r = fgs__nvjitlink_assemble(n, k->text.text, k->text.len, k->text.file,
                                    arch, &d->alloc, cubin, log, log_size);
        if (r >= 0) {
            fgs__cache_put(c, &key, cubin->data, cubin->size);
            k->compiled++;
            atomic_fetch_add(&d->compiled, 1);
        }
    }
    fgs__key_free(&key);
    return r;
}

/* The cubin's architecture is the device's own, with the letter of a text that
 * uses features of that architecture (a) or of its family (f) alone. */
static fgs_result link_and_load(struct fgs__kernel *k,
                                const struct fgs__ptx_module *m, fgs_error *err)
{
    struct fgs__device *d = k->dev;
    const struct fgs__nvjitlink *n = fgs__device_linker(d);
    char arch[16], log[LOG_BYTES], who[300];
    struct fgs__cubin cubin;
    fgs_result result;
    CUresult r;

    if (!n->lib.found && n->lib.asked_for)
        return fgs__fail(err, FGS_E_FILE, "FGS_NVJITLINK: %s", n->lib.why);
    if (!n->lib.found || (n->isa && n->isa < m->version))
        return too_new(k, m, err);
    snprintf(arch, sizeof arch, "sm_%d%.1s", (int)d->cc,
             m->target_suffix ? &m->target_suffix : "");
    result = make_cubin(k, n, arch, &cubin, log, sizeof log);
    if (result == FGS_E_NOMEM)
        return fgs__nomem(err);
    if (result == FGS_E_PTXVERSION)
        return too_new(k, m, err);
    snprintf(who, sizeof who, "nvJitLink %d.%d", n->lib.version / 10,
             n->lib.version % 10);
    if (result < 0)
        return refused(k, err, who, CUDA_SUCCESS, log);
    r = d->cu.cuModuleLoadData(&k->loaded->module, cubin.data);
    fgs__free(&d->alloc, cubin.data);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuModuleLoadData",
                                "cubin of %s for %s, made by %s", k->text.file,
                                arch, who);
    k->assembled_by = "nvjitlink";
    fgs__log(&d->log, FGS__LOG_LOAD_LINK, "%s (PTX %d.%d) by %s for %s%s",
             k->text.file, m->version / 10, m->version % 10, who, arch,
             k->cached ? ", out of the cache" : "");
    return FGS_OK;
}

/* Is it the text's version that the driver does not take? */
static int version_refused(const struct fgs__kernel *k,
                           const struct fgs__ptx_module *m, CUresult r)
{
    if (r == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
        return 1;
    return (r == CUDA_ERROR_NO_BINARY_FOR_GPU || r == CUDA_ERROR_INVALID_PTX ||
            r == CUDA_ERROR_INVALID_IMAGE) && m->version > k->dev->isa;
}

fgs_result fgs__module_load(struct fgs__kernel *k,
                            const struct fgs__ptx_module *m, fgs_error *err)
{
    struct fgs__device *d = k->dev;
    char error_log[LOG_BYTES] = "", info_log[LOG_BYTES] = "";
    CUjit_option option[4] = { CU_JIT_ERROR_LOG_BUFFER,
                               CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                               CU_JIT_INFO_LOG_BUFFER,
                               CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES };
    /* Scalars are passed in the pointer itself. */
    void *value[4] = { error_log, (void *)(uintptr_t)(LOG_BYTES - 1), info_log,
                       (void *)(uintptr_t)(LOG_BYTES - 1) };
    fgs_result result;
    CUresult r;

    r = d->cu.cuModuleLoadDataEx(&k->loaded->module, k->text.text, 4, option,
                                 value);
    error_log[LOG_BYTES - 1] = info_log[LOG_BYTES - 1] = '\0';
    if (info_log[0])
        fgs__log(&d->log, FGS__LOG_LOAD_JIT, "%s: %s", k->text.file, info_log);
    if (r == CUDA_SUCCESS) {
        k->assembled_by = d->provider->assembler;
        return FGS_OK;
    }
    k->loaded->module = NULL;
    if (version_refused(k, m, r)) {
        result = d->provider->cubins ? link_and_load(k, m, err)
                                     : too_new(k, m, err);
        /* What the driver said first, where nothing after it says more. */
        if (result < 0 && err && !err->driver)
            err->driver = (int32_t)r;
        return result;
    }
    if (r == CUDA_ERROR_INVALID_PTX || r == CUDA_ERROR_NO_BINARY_FOR_GPU ||
        r == CUDA_ERROR_INVALID_IMAGE || r == CUDA_ERROR_INVALID_SOURCE)
        return refused(k, err, d->provider->assembler, r, error_log);
    return fgs__device_fail(d, err, r, "cuModuleLoadDataEx", "%s%s%s",
                            k->text.file, error_log[0] ? ": " : "", error_log);
}
