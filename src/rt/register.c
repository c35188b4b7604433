/* register.c -- fat binaries, kernels and variables of a program */
#include "rt/register.h"
#include "base/alloc.h"

#include <pthread.h>

/* What nvcc puts around a fat binary.  Of version 2 `parts` are those that
 * were to be linked; what the linker made of them is in `data`. */
struct wrapper {
    unsigned magic, version;
    const void *data;
    void *parts;
};
#define WRAPPER_MAGIC 0x466243b1u

struct binary {
    struct binary *next;
    const void *data;
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

static cudaError_t load(struct binary *b)
{
    if (b->tried)
        return b->error;
    b->error = (cudaError_t)fgs__rt_cu.cuLibraryLoadData(
        &b->lib, b->data, NULL, NULL, 0, NULL, NULL, 0);
    b->tried = true;
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

    if (e)
        return e;
    pthread_mutex_lock(&all.lock);
    it = find(host, false);
    if (!it) {
        *out = (CUkernel)(uintptr_t)host; /* of cudaGetKernel and the like */
        e = host ? cudaSuccess : cudaErrorInvalidDeviceFunction;
    } else {
        e = load(it->from);
        if (!e && !it->kernel &&
            fgs__rt_cu.cuLibraryGetKernel(&it->kernel, it->from->lib, it->name))
            e = cudaErrorInvalidDeviceFunction;
        *out = it->kernel;
    }
    pthread_mutex_unlock(&all.lock);
    return fgs__rt_note(e);
}

cudaError_t fgs__rt_function(const void *host, CUfunction *out)
{
    CUkernel k;
    cudaError_t e = fgs__rt_kernel(host, &k);

    if (!e && fgs__rt_cu.cuKernelGetFunction(out, k))
        e = fgs__rt_note(cudaErrorInvalidDeviceFunction);
    return e;
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
