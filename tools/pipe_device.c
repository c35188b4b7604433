/* pipe_device.c -- kernels, memory and events of one device by its driver */
#include "pipe.h"

#include "driver.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

/* Attributes and flags, by number; of the 48 KiB that nobody has to ask for,
 * what is left beside a kernel's barriers. */
enum {
    SM_COUNT = 16, SHARED_OF_SM = 81, SHARED_OF_BLOCK = 97,
    DYNAMIC_SHARED = 8, CARVEOUT = 9, REGISTERS = 4,
    LAUNCH_CLUSTER = 4, LAUNCH_PDL = 6, HOST_DEVICEMAP = 2,
    LOG = 5, LOG_SIZE = 6, PLAIN_SHARED = 47 << 10
};

static bool good(struct pipe_device *d, const char *what, int code)
{
    return driver_good(what, code, d->why, sizeof d->why);
}
#define TRY(d, call, args) good(d, #call, cu.call args)

/* -------------------------------------------------------------- device -- */

static bool start(struct pipe_device *d)
{
    if (!driver_enter(d->dev, d->info.ordinal, &d->ordinal, &d->ctx, d->why,
                      sizeof d->why))
        return false;
    return TRY(d, cuDeviceGetAttribute, (&d->sms, SM_COUNT, d->ordinal)) &&
           TRY(d, cuDeviceGetAttribute,
               (&d->shared, SHARED_OF_SM, d->ordinal)) &&
           TRY(d, cuDeviceGetAttribute,
               (&d->block_shared, SHARED_OF_BLOCK, d->ordinal));
}

int pipe_open(struct pipe_device *d, const char *verb, const char *provider,
              int32_t ordinal)
{
    fgs_device_opts opts = {.size = sizeof opts, .provider = provider,
                            .ordinal = ordinal};
    fgs_error err;
    fgs_result r;

    memset(d, 0, sizeof *d);
    d->info.size = sizeof d->info;
    r = fgs_device_open(&d->dev, &opts, &err);
    if (r == FGS_OK)
        r = fgs_device_get_info(d->dev, &d->info, &err);
    if (r < 0) {
        failure(verb, "%s", err.text);
        return code_of(r);
    }
    snprintf(d->provider, sizeof d->provider, "%s", d->info.provider);
    snprintf(d->assembled_by, sizeof d->assembled_by, "%s",
             strcmp(d->provider, "sim") ? "driver" : "sim");
    say_device("", &d->info);
    return start(d) ? EXIT_GOOD : failure(verb, "%s", d->why);
}

void pipe_close(struct pipe_device *d)
{
    driver_leave(d->ctx, d->ordinal);
    d->ctx = NULL;
    fgs_device_close(d->dev);
    d->dev = NULL;
}

/* -------------------------------------------------------------- kernel -- */

/* The names of ".param .u64 p_x" between the entry's parentheses. */
static bool read_params(struct pipe_device *d, struct pipe_kernel *k,
                        const char *text)
{
    char head[120];
    const char *at, *end;

    snprintf(head, sizeof head, ".entry %s(", k->entry);
    at = strstr(text, head);
    end = at ? strchr(at + strlen(head), ')') : NULL;
    if (!end) {
        snprintf(d->why, sizeof d->why, "the text has no entry %s", k->entry);
        return false;
    }
    while ((at = strstr(at, ".param")) && at < end) {
        const char *next = at + strcspn(at, ",)"), *name = next;
        size_t len;

        while (name[-1] != ' ')
            name--;
        len = strcspn(name, "[,) \n");
        if (k->params == PIPE_PARAMS || len >= PIPE_NAME) {
            snprintf(d->why, sizeof d->why, "%s has too many parameters",
                     k->entry);
            return false;
        }
        snprintf(k->name[k->params++], PIPE_NAME, "%.*s", (int)len, name);
        at = next;
    }
    return true;
}

/* One assembler for all kernels where there is nvJitLink; *cubin is NULL
 * without it, and the driver takes the text. */
static bool assemble(struct pipe_device *d, const char *name, const char *text,
                     void **cubin)
{
    char target[16], own[16];
    size_t size = 0;
    fgs_error err;
    fgs_result r;

    *cubin = NULL;
    if (!strcmp(d->provider, "sim"))
        return true;
    text_word(text, ".target", own, sizeof own);
    snprintf(target, sizeof target, "sm_%d%s", (int)d->info.cc,
             strpbrk(own + 3, "af") ? strpbrk(own + 3, "af") : "");
    r = fgs_ptx_assemble(name, text, target, NULL, &size, &err);
    if (r == FGS_E_UNSUPPORTED)
        return true;
    if (r == FGS_E_SIZE && (*cubin = malloc(size)))
        r = fgs_ptx_assemble(name, text, target, *cubin, &size, &err);
    if (r == FGS_OK) {
        snprintf(d->assembled_by, sizeof d->assembled_by, "nvjitlink");
        return true;
    }
    snprintf(d->why, sizeof d->why, "%.700s",
             r == FGS_E_SIZE ? "no memory" : err.text);
    free(*cubin);
    *cubin = NULL;
    return false;
}

bool pipe_load_image(struct pipe_device *d, const void *image,
                     const char *entry, struct pipe_kernel *k)
{
    char log[500] = "";
    int options[] = {LOG, LOG_SIZE}, regs;
    void *values[] = {log, (void *)sizeof log};
    size_t len;

    snprintf(k->entry, sizeof k->entry, "%s", entry);
    if (!TRY(d, cuModuleLoadDataEx, (&k->module, image, 2, options, values))) {
        k->module = NULL;
        len = strlen(d->why);
        snprintf(d->why + len, sizeof d->why - len, ": %.400s", log);
        return false;
    }
    /* Asking for an attribute loads the code now, where a driver loads
     * lazily; both ends of a hand-over have the same carveout (4.6.5). */
    return TRY(d, cuModuleGetFunction, (&k->function, k->module, entry)) &&
           TRY(d, cuFuncGetAttribute, (&regs, REGISTERS, k->function)) &&
           TRY(d, cuFuncSetAttribute, (k->function, CARVEOUT, 100));
}

/* `names` is a text that has the names of the parameters of `text`. */
static bool load(struct pipe_device *d, const char *name, const char *names,
                 const char *text, const char *entry, struct pipe_kernel *k)
{
    void *cubin = NULL;
    bool is_good;

    memset(k, 0, sizeof *k);
    snprintf(k->entry, sizeof k->entry, "%s", entry);
    text_word(text, ".version", k->version, sizeof k->version);
    text_word(text, ".target", k->target, sizeof k->target);
    is_good = read_params(d, k, names) && assemble(d, name, text, &cubin) &&
              pipe_load_image(d, cubin ? cubin : text, entry, k);
    free(cubin);
    if (!is_good)
        pipe_unload(d, k);
    return is_good;
}

bool pipe_load_text(struct pipe_device *d, const char *name, const char *text,
                    const char *entry, struct pipe_kernel *k)
{
    return load(d, name, text, text, entry, k);
}

static char *expand(struct pipe_device *d, const fgs_ptx_desc *desc)
{
    size_t size = 0;
    char *text = NULL;
    fgs_error err;
    fgs_result r = fgs_ptx_expand(desc, NULL, &size, &err);

    if (r == FGS_E_SIZE && size && (text = malloc(size)))
        r = fgs_ptx_expand(desc, text, &size, &err);
    if (r == FGS_OK)
        return text;
    snprintf(d->why, sizeof d->why, "%s",
             r == FGS_E_SIZE && size && !text ? "no memory" : err.text);
    free(text);
    return NULL;
}

/* NULL, or the caller's to free. */
static char *text_of(struct pipe_device *d, const fgs_ptx_desc *desc)
{
    fgs_ptx_desc all = *desc;
    char *text, *own;

    all.size = sizeof all;
    if (!all.cc)
        all.cc = d->info.cc;
    all.ptx_dir = getenv("FGS_PTX_DIR");
    text = expand(d, &all);
    if (!text || !all.ptx_dir || !*all.ptx_dir)
        return text;
    all.ptx_dir = NULL;
    own = expand(d, &all);
    if (!own || strcmp(own, text))
        fprintf(stderr, "fgs: %s: the text of FGS_PTX_DIR\n", all.stem);
    free(own);
    return text;
}

/* The PTX that NVRTC makes of the twin, which has the text's parameters. */
static char *compile(struct pipe_device *d, const fgs_ptx_desc *desc)
{
    fgs_ptx_desc all = *desc;
    size_t size = 1 << 20;
    char *text = malloc(size);
    fgs_error err = {.text = "no memory"};

    all.size = sizeof all;
    if (!all.cc)
        all.cc = d->info.cc;
    all.ptx_dir = getenv("FGS_PTX_DIR");
    if (text && fgs_ptx_compile(&all, text, &size, &err) == FGS_OK)
        return text;
    snprintf(d->why, sizeof d->why, "%s", err.text);
    free(text);
    return NULL;
}

bool pipe_load_changed(struct pipe_device *d, const fgs_ptx_desc *desc,
                       void (*change)(char *text), struct pipe_kernel *k)
{
    char entry[80], *text = text_of(d, desc), *twin = NULL;
    bool is_cuda = d->language == FGS_LANGUAGE_CUDA, is_good;

    memset(k, 0, sizeof *k);
    if (text && is_cuda)
        twin = compile(d, desc);
    is_good = text && (twin || !is_cuda);
    snprintf(entry, sizeof entry, "fgs_%s", desc->stem);
    if (is_good && change)
        change(twin ? twin : text);
    if (is_good)
        is_good = load(d, desc->stem, text, twin ? twin : text, entry, k);
    free(twin);
    free(text);
    return is_good;
}

bool pipe_load(struct pipe_device *d, const fgs_ptx_desc *desc,
               struct pipe_kernel *k)
{
    return pipe_load_changed(d, desc, NULL, k);
}

void pipe_unload(struct pipe_device *d, struct pipe_kernel *k)
{
    (void)d;
    if (k->module)
        cu.cuModuleUnload(k->module);
    k->module = k->function = NULL;
}

/* Values by name; without names in their order. */
static bool find_args(struct pipe_device *d, const struct pipe_kernel *k,
                      const struct pipe_arg *args, const uint64_t *zero,
                      void *params[PIPE_PARAMS])
{
    const struct pipe_arg *a;
    unsigned i, count = k->params;

    for (i = 0; i < PIPE_PARAMS; i++)
        params[i] = (void *)(uintptr_t)zero;
    for (a = args; a && a->name; a++) {
        const void *at = a->at ? a->at : (const void *)&a->value;

        i = (unsigned)(a - args);
        if (count)
            for (i = 0; i < count && strcmp(k->name[i], a->name); i++)
                ;
        if (i == (count ? count : PIPE_PARAMS)) {
            snprintf(d->why, sizeof d->why, "%s has no parameter %s", k->entry,
                     a->name);
            return false;
        }
        params[i] = (void *)(uintptr_t)at;
    }
    return true;
}

/* A driver's refusal, with the kernel and what was asked for it. */
static bool named(struct pipe_device *d, const struct pipe_kernel *k,
                  unsigned threads, unsigned shared, bool is_good)
{
    char why[sizeof d->why];

    if (is_good)
        return true;
    memcpy(why, d->why, sizeof why);
    snprintf(d->why, sizeof d->why,
             "%s, blocks of %u threads, %u bytes of dynamic shared memory: "
             "%.600s", k->entry, threads, shared, why);
    return false;
}

/* More shared memory than a kernel has without asking. */
static bool allow_shared(struct pipe_device *d, const struct pipe_kernel *k,
                         unsigned shared)
{
    return shared <= PLAIN_SHARED ||
           TRY(d, cuFuncSetAttribute, (k->function, DYNAMIC_SHARED,
                                       (int)shared));
}

bool pipe_run(struct pipe_device *d, const struct pipe_kernel *k,
              const struct pipe_launch *l)
{
    static const uint64_t zero[16];
    struct launch_attr attr[2] = {{.id = 0}};
    struct launch_config c = {{l->blocks, 1, 1}, {l->threads, 1, 1}, l->shared,
                              l->stream, attr, 0};
    void *params[PIPE_PARAMS];

    if (l->cluster) {
        attr[c.count].id = LAUNCH_CLUSTER;
        attr[c.count].value.dim[0] = l->cluster;
        attr[c.count].value.dim[1] = attr[c.count].value.dim[2] = 1;
        c.count++;
    }
    if (l->pdl) {
        attr[c.count].id = LAUNCH_PDL;
        attr[c.count++].value.flag = 1;
    }
    return find_args(d, k, l->args, zero, params) &&
           named(d, k, l->threads, l->shared,
                 allow_shared(d, k, l->shared) &&
                     TRY(d, cuLaunchKernelEx, (&c, k->function, params,
                                               NULL)));
}

bool pipe_room(struct pipe_device *d, const struct pipe_kernel *k,
               unsigned threads, unsigned shared, unsigned *blocks)
{
    int n = 0;

    if (!named(d, k, threads, shared,
               allow_shared(d, k, shared) &&
                   TRY(d, cuOccupancyMaxActiveBlocksPerMultiprocessor,
                       (&n, k->function, (int)threads, shared))))
        return false;
    *blocks = (unsigned)n;
    return true;
}

/* -------------------------------------------------------------- memory -- */

bool pipe_memory(struct pipe_device *d, pipe_addr *out, uint64_t bytes)
{
    if (TRY(d, cuMemAlloc, (out, bytes)))
        return true;
    *out = 0;
    return false;
}

void pipe_free(struct pipe_device *d, pipe_addr *a)
{
    if (d->ctx && *a)
        cu.cuMemFree(*a);
    *a = 0;
}

bool pipe_host(struct pipe_device *d, void **host, pipe_addr *at,
               uint64_t bytes)
{
    if (!TRY(d, cuMemHostAlloc, (host, bytes, HOST_DEVICEMAP))) {
        *host = NULL;
        return false;
    }
    memset(*host, 0, bytes);
    return TRY(d, cuMemHostGetDevicePointer, (at, *host, 0));
}

void pipe_host_free(struct pipe_device *d, void *host)
{
    if (d->ctx && host)
        cu.cuMemFreeHost(host);
}

bool pipe_put(struct pipe_device *d, pipe_addr to, const void *from,
              uint64_t bytes)
{
    return TRY(d, cuMemcpyHtoD, (to, from, bytes));
}

bool pipe_get(struct pipe_device *d, void *to, pipe_addr from, uint64_t bytes)
{
    return TRY(d, cuMemcpyDtoH, (to, from, bytes));
}

bool pipe_fill(struct pipe_device *d, pipe_addr to, uint32_t word,
               uint64_t bytes)
{
    return TRY(d, cuMemsetD32Async, (to, word, bytes / 4, NULL));
}

/* -------------------------------------------------------------- events -- */

bool pipe_wait(struct pipe_device *d)
{
    return TRY(d, cuCtxSynchronize, ());
}

bool pipe_clock_make(struct pipe_device *d, struct pipe_clock *c)
{
    c->from = c->to = NULL;
    return TRY(d, cuEventCreate, (&c->from, 0)) &&
           TRY(d, cuEventCreate, (&c->to, 0));
}

bool pipe_clock_start(struct pipe_device *d, struct pipe_clock *c)
{
    return TRY(d, cuEventRecord, (c->from, NULL));
}

bool pipe_clock_stop(struct pipe_device *d, struct pipe_clock *c)
{
    return TRY(d, cuEventRecord, (c->to, NULL));
}

bool pipe_clock_read(struct pipe_device *d, struct pipe_clock *c, double *ns)
{
    float ms = 0;

    if (!TRY(d, cuEventSynchronize, (c->to)) ||
        !TRY(d, cuEventElapsedTime, (&ms, c->from, c->to)))
        return false;
    *ns = (double)ms * 1e6;
    return true;
}

void pipe_clock_free(struct pipe_device *d, struct pipe_clock *c)
{
    if (d->ctx && c->from)
        cu.cuEventDestroy(c->from);
    if (d->ctx && c->to)
        cu.cuEventDestroy(c->to);
    c->from = c->to = NULL;
}
