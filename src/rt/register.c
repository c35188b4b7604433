/* register.c -- fat binaries, kernels and variables of a program */
#include "rt/register.h"
#include "base/alloc.h"

#include <pthread.h>

/* What nvcc puts around a fat binary (fatbinary_section.h).  Of version 2, of
 * relocatable device code, `parts` are those that were to be linked, up to a
 * NULL; what the linker made of their machine code is in `data`. */
struct wrapper {
    unsigned magic, version;
    const void *data;
    void *parts;
};
#define WRAPPER_MAGIC 0x466243b1u

struct binary {
    struct binary *next;
    const void *data;
    void *const *parts; /* NULL = nothing was to be linked                   */
    CUlibrary lib;      /* NULL = not loaded                                 */
    cudaError_t error;  /* of loading                                        */
    bool tried;
};

struct item {
    struct item *next;
    const void *host;    /* key                                              */
    const char *name;
    struct binary *from;
    CUkernel kernel;     /* of a function, once it was looked up             */
    void **managed;      /* where the host finds a managed variable          */
    bool variable;
};

enum { BUCKETS = 1024 };

static struct {
    pthread_mutex_t lock;
    struct binary *binaries;
    struct item *items[BUCKETS];
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static size_t bucket(const void *host)
{
    return ((uintptr_t)host >> 4) % BUCKETS;
}

void **__cudaRegisterFatBinary(void *fatCubin)
{
    const struct wrapper *w = fatCubin;
    struct binary *b = fgs__zalloc(&fgs__malloc, sizeof *b);

    if (!b)
        return NULL; /* its kernels are then not found */
    b->data = w->magic == WRAPPER_MAGIC ? w->data : fatCubin;
    if (w->magic == WRAPPER_MAGIC && w->version == 2 && w->parts &&
        *(void **)w->parts)
        b->parts = w->parts;
    pthread_mutex_lock(&all.lock);
    b->next = all.binaries;
    all.binaries = b;
    pthread_mutex_unlock(&all.lock);
    return (void **)b;
}

void __cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
    (void)fatCubinHandle;
}

static void forget_items(const struct binary *b)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct item **at = &all.items[i]; *at;) {
            struct item *it = *at;

            if (it->from != b) {
                at = &it->next;
                continue;
            }
            *at = it->next;
            fgs__free(&fgs__malloc, it);
        }
    }
}

/* At the program's end, or when a shared object is closed. */
void __cudaUnregisterFatBinary(void **fatCubinHandle)
{
    struct binary *b = (struct binary *)fatCubinHandle;

    if (!b)
        return;
    pthread_mutex_lock(&all.lock);
    for (struct binary **at = &all.binaries; *at; at = &(*at)->next) {
        if (*at == b) {
            *at = b->next;
            break;
        }
    }
    forget_items(b);
    pthread_mutex_unlock(&all.lock);
    if (b->lib)
        fgs__rt_cu.cuLibraryUnload(b->lib);
    fgs__free(&fgs__malloc, b);
}

static struct item *add(void **handle, const void *host, const char *name)
{
    struct item *it;

    if (!handle)
        return NULL;
    it = fgs__zalloc(&fgs__malloc, sizeof *it);
    if (!it)
        return NULL;
    it->host = host;
    it->name = name;
    it->from = (struct binary *)handle;
    return it;
}

static void publish(struct item *it)
{
    size_t i;

    if (!it)
        return;
    i = bucket(it->host);
    pthread_mutex_lock(&all.lock);
    it->next = all.items[i];
    all.items[i] = it;
    pthread_mutex_unlock(&all.lock);
}

void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun,
                            char *deviceFun, const char *deviceName,
                            int thread_limit, struct uint3 *tid,
                            struct uint3 *bid, dim3 *bDim, dim3 *gDim,
                            int *wSize)
{
    (void)deviceFun;
    (void)thread_limit;
    (void)tid;
    (void)bid;
    (void)bDim;
    (void)gDim;
    (void)wSize;
    publish(add(fatCubinHandle, hostFun, deviceName));
}

void __cudaRegisterVar(void **fatCubinHandle, char *hostVar,
                       char *deviceAddress, const char *deviceName, int ext,
                       size_t size, int constant, int global)
{
    struct item *it = add(fatCubinHandle, hostVar, deviceName);

    (void)deviceAddress;
    (void)ext;
    (void)size;
    (void)constant;
    (void)global;
    if (it)
        it->variable = true;
    publish(it);
}

void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress,
                              char *deviceAddress, const char *deviceName,
                              int ext, size_t size, int constant, int global)
{
    struct item *it = add(fatCubinHandle, hostVarPtrAddress, deviceName);

    (void)deviceAddress;
    (void)ext;
    (void)size;
    (void)constant;
    (void)global;
    if (it) {
        it->variable = true;
        it->managed = hostVarPtrAddress;
    }
    publish(it);
}

/* ------------------------------------------------------------- loading -- */

/* With the lock. */
static void fill_managed(const struct binary *b)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct item *it = all.items[i]; it; it = it->next) {
            CUdeviceptr at;
            size_t size;

            if (it->from == b && it->managed &&
                !fgs__rt_cu.cuLibraryGetManaged(&at, &size, b->lib, it->name))
                *it->managed = (void *)(uintptr_t)at;
        }
    }
}

static CUresult load_image(struct binary *b, const void *image)
{
    return fgs__rt_cu.cuLibraryLoadData(&b->lib, image, NULL, NULL, 0, NULL,
                                        NULL, 0);
}

/* All bytes of a fat binary: its head, and what the head says is behind it. */
static size_t bytes_of(const unsigned char *fat)
{
    uint16_t head;
    uint64_t body;

    memcpy(&head, fat + 6, sizeof head);
    memcpy(&body, fat + 8, sizeof body);
    return head + (size_t)body;
}

/* The parts' PTX, linked by the driver.  A part without any is left out: a
 * device library, of which nothing may be needed. */
static CUresult load_parts(struct binary *b)
{
    CUlinkState link;
    void *image;
    size_t size;
    CUresult r = fgs__rt_cu.cuLinkCreate(0, NULL, NULL, &link);

    if (r)
        return r;
    for (void *const *part = b->parts; !r && *part; part++) {
        r = fgs__rt_cu.cuLinkAddData(link, CU_JIT_INPUT_FATBINARY, *part,
                                     bytes_of(*part), "part", 0, NULL, NULL);
        if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)
            r = CUDA_SUCCESS;
    }
    if (!r)
        r = fgs__rt_cu.cuLinkComplete(link, &image, &size);
    if (!r)
        r = load_image(b, image);
    fgs__rt_cu.cuLinkDestroy(link);
    return r;
}

/* Where nvcc linked nothing for this device the linked image is refused, or
 * has no kernels. */
static bool is_empty(const struct binary *b)
{
    unsigned n = 0;

    return !fgs__rt_cu.cuLibraryGetKernelCount(&n, b->lib) && !n;
}

static cudaError_t load(struct binary *b)
{
    CUresult r;

    if (b->tried)
        return b->error;
    r = load_image(b, b->data);
    if (b->parts && !r && is_empty(b)) {
        fgs__rt_cu.cuLibraryUnload(b->lib);
        r = CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (b->parts && r == CUDA_ERROR_NO_BINARY_FOR_GPU)
        r = load_parts(b);
    if (r)
        b->lib = NULL;
    b->error = (cudaError_t)r;
    /* Not for ever: memory may be there later, and another context. */
    b->tried = r != CUDA_ERROR_OUT_OF_MEMORY && !fgs__rt_sticks(b->error);
    if (!b->error)
        fill_managed(b);
    return b->error;
}

char __cudaInitModule(void **fatCubinHandle)
{
    struct binary *b = (struct binary *)fatCubinHandle;
    cudaError_t e = fgs__rt_enter();

    if (e || !b)
        return 0;
    pthread_mutex_lock(&all.lock);
    e = load(b);
    pthread_mutex_unlock(&all.lock);
    return !fgs__rt_note(e);
}

/* What the driver says of a kernel that it cannot find, in the runtime's
 * words; other errors, as of a context that has failed, are what they are. */
static cudaError_t no_kernel(CUresult r)
{
    return r == CUDA_ERROR_NOT_FOUND || r == CUDA_ERROR_INVALID_HANDLE ||
                   r == CUDA_ERROR_INVALID_VALUE
               ? cudaErrorInvalidDeviceFunction
               : (cudaError_t)r;
}

static struct item *find(const void *host, bool variable)
{
    struct item *it = all.items[bucket(host)];

    while (it && (it->host != host || it->variable != variable))
        it = it->next;
    return it;
}

cudaError_t fgs__rt_kernel(const void *host, CUkernel *out)
{
    cudaError_t e = fgs__rt_enter();
    struct item *it;
    CUfunction f;

    if (e)
        return e;
    if (!out)
        return fgs__rt_note(cudaErrorInvalidValue);
    pthread_mutex_lock(&all.lock);
    it = find(host, false);
    if (!it) { /* of cudaGetKernel and the like? */
        *out = (CUkernel)(uintptr_t)host;
        e = host ? no_kernel(fgs__rt_cu.cuKernelGetFunction(&f, *out))
                 : cudaErrorInvalidDeviceFunction;
    } else {
        e = load(it->from);
        if (!e && !it->kernel)
            e = no_kernel(fgs__rt_cu.cuLibraryGetKernel(
                &it->kernel, it->from->lib, it->name));
        *out = it->kernel;
    }
    pthread_mutex_unlock(&all.lock);
    return fgs__rt_note(e);
}

cudaError_t fgs__rt_function(const void *host, CUfunction *out)
{
    CUkernel k;
    cudaError_t e = fgs__rt_kernel(host, &k);

    if (e)
        return e;
    if (!out)
        return fgs__rt_note(cudaErrorInvalidValue);
    return fgs__rt_note(no_kernel(fgs__rt_cu.cuKernelGetFunction(out, k)));
}

/* nvcc writes a managed variable in the host's code as what its pointer points
 * to, so its address is that in managed memory. */
static struct item *find_managed(const void *at)
{
    for (size_t i = 0; at && i < BUCKETS; i++)
        for (struct item *it = all.items[i]; it; it = it->next)
            if (it->managed && *it->managed == at)
                return it;
    return NULL;
}

cudaError_t fgs__rt_symbol(const void *host, CUdeviceptr *at, size_t *size)
{
    cudaError_t e = fgs__rt_enter();
    struct item *it;
    CUresult r;

    if (e)
        return e;
    pthread_mutex_lock(&all.lock);
    it = find(host, true);
    if (!it)
        it = find_managed(host);
    e = it ? load(it->from) : cudaErrorInvalidSymbol;
    if (!e) {
        r = it->managed
                ? fgs__rt_cu.cuLibraryGetManaged(at, size, it->from->lib,
                                                 it->name)
                : fgs__rt_cu.cuLibraryGetGlobal(at, size, it->from->lib,
                                                it->name);
        if (r)
            e = r == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol
                                          : (cudaError_t)r;
    }
    pthread_mutex_unlock(&all.lock);
    return fgs__rt_note(e);
}
