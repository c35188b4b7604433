/* fgs.h -- hand tiles from a producer kernel to a consumer kernel
 *
 * fgsync implements fine-grained synchronization (CUDA programming guide,
 * section 4.6; "guide" below) on the CUDA Driver API: a buffer is filled with
 * a sentinel bit pattern, the producer overwrites it in whole 16-byte chunks,
 * the consumer re-issues its copy of a tile until no sentinel is left.
 *
 * This header is the stable API, in the order of use, in one file of more than
 * 500 lines for that reason; its last part, plans of many kernels, is
 * fgs_plan.h.  It needs no cuda.h and may be included before or after it.
 *
 * OWNERSHIP  make/open give an object to the caller, free/close take it back
 *   (NULL is accepted, the call returns nothing, it is the last on the
 *   object).  get borrows: valid until its owner is freed.  Close a device
 *   after everything made from it; what the application brought (context,
 *   stream, pointers) stays the application's.
 * ERRORS  every fallible call returns fgs_result: 0 is success, negative is
 *   failure.  Details go to the caller's fgs_error, which may be NULL.  After
 *   a failure nothing was launched, changed or kept, unless the call says so;
 *   an output handle is NULL then.
 * THREADS  any: no condition.  object: one thread at a time per object (and
 *   per device for objects made from it is not needed).  setup: before any
 *   other call.  The calling thread's current CUDA context is left as found.
 *   The library starts no thread; the software device has worker threads.
 * UNITS  sizes in bytes, times in ns, a chunk is 16 aligned bytes, a tile is
 *   what one consumer block loads at once.
 * ENVIRONMENT  FGS_LOG=error|warn|info|debug  log to stderr
 *   FGS_PROVIDER=cuda|sim     provider where the options name none
 *   FGS_LIBCUDA=path          in place of libcuda.so.1
 *   FGS_NVJITLINK=path        in place of libnvJitLink.so; "none" hides it
 *   FGS_NVRTC=path            in place of libnvrtc.so; "none" hides it
 *   FGS_CACHE_DIR=dir         compiled results, private to the user; "none" =
 *                             no cache   (default $XDG_CACHE_HOME/fgsync, else
 *                             ~/.cache/fgsync)
 *   FGS_CACHE_BYTES=n         bound of that folder         (default 268435456)
 *   FGS_PTX_DIR=dir           files here replace the embedded text by name
 *   FGS_PTX_WATCH=1           files there that change are loaded anew between
 *                             rounds
 *   FGS_SIM_*                 knobs of the software device, see fgs_sim.h
 */
#ifndef FGS_H
#define FGS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FGS_API __attribute__((visibility("default")))
#else
#define FGS_API
#endif

/* ------------------------------------------------------------- version -- */

#define FGS_VERSION_MAJOR 0
#define FGS_VERSION_MINOR 1
#define FGS_VERSION_PATCH 0
#define FGS_VERSION                                                       \
    (FGS_VERSION_MAJOR * 10000 + FGS_VERSION_MINOR * 100 + FGS_VERSION_PATCH)

/* The run-time twin of FGS_VERSION.  Threads: any. */
FGS_API int fgs_version(void);

/* The driver's opaque types, as cuda.h declares them. */
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUfunc_st *CUfunction;
#if defined(_WIN64) || defined(__LP64__)
typedef unsigned long long CUdeviceptr_v2;
#else
typedef unsigned int CUdeviceptr_v2;
#endif
typedef CUdeviceptr_v2 CUdeviceptr;

/* ------------------------------------------------------------- results -- */

/* Name, value, text.  Values are appended and never reused. */
#define FGS_RESULTS(X)                                                        \
    X(OK,             0,  "success")                                          \
    X(E_INVAL,       -1,  "an argument is not valid")                         \
    X(E_NULL,        -2,  "an argument that must not be NULL is NULL")        \
    X(E_NOMEM,       -3,  "out of host memory")                               \
    X(E_SIZE,        -4,  "a size or count is out of its range")              \
    X(E_ALIGN,       -5,  "an address or size has the wrong alignment")       \
    X(E_FREED,       -6,  "the object was freed or never made")               \
    X(E_MISMATCH,    -7,  "objects that do not fit together")                 \
    X(E_BUSY,        -8,  "the object is still in use by an unfinished run")  \
    X(E_NODRIVER,    -9,  "no CUDA driver library could be opened")           \
    X(E_NODEVICE,   -10,  "no such device")                                   \
    X(E_ENTRY,      -11,  "the driver lacks an entry point")                  \
    X(E_DRIVER,     -12,  "a driver call failed")                             \
    X(E_JIT,        -13,  "the driver rejected the PTX")                      \
    X(E_PTX,        -14,  "the PTX text is not valid")                        \
    X(E_PTXVERSION, -15,  "the PTX text is newer than what can assemble it")  \
    X(E_UNSUPPORTED,-16,  "the device cannot do what was asked for")          \
    X(E_FILE,       -17,  "a file could not be read or written")              \
    X(E_ABI,        -18,  "an option struct is from a newer header")          \
    X(E_STATE,      -19,  "the call is not possible in this state")           \
    X(E_LEAK,       -20,  "a tile kept its sentinel until the bound")         \
    X(E_ABORTED,    -21,  "the run was aborted")                              \
    X(E_FAULT,      -22,  "a kernel faulted; the context is lost")            \
    X(E_CONTRACT,   -23,  "a kernel's text breaks a rule of its role")        \
    X(E_COMPILE,    -24,  "the CUDA C++ text does not compile")               \
    X(E_SENTINEL,   -25,  "a result is the sentinel of its integer type")     \
    X(E_PLAN,       -26,  "a plan breaks a rule of the protocol")

typedef enum fgs_result {
#define FGS_RESULT_ENUM(id, value, text) FGS_##id = value,
    FGS_RESULTS(FGS_RESULT_ENUM)
#undef FGS_RESULT_ENUM
    FGS_RESULT_FORCE_INT = 0x7fffffff
} fgs_result;

/* "FGS_E_LEAK", and its sentence.  Unknown values give "FGS_?" and "unknown
 * result".  Owner: static.  Threads: any. */
FGS_API const char *fgs_result_name(fgs_result r);
FGS_API const char *fgs_strerror(fgs_result r);

/*
 * Where and why a call failed.  Fixed size, filled only on failure; fields
 * that do not apply are zero or empty.  `text` alone is a complete sentence
 * that names the thing, the place and the rule.
 */
typedef struct fgs_error {
    fgs_result result;
    int32_t driver;        /* the driver's CUresult, 0 = none                */
    char name[64];         /* FGS_E_..., or the driver's error name          */
    char text[1024];
    char file[256];        /* PTX file, or "<name>" of embedded text         */
    uint32_t line, column; /* in that file, from 1; 0 = none                 */
    /* what a kernel recorded when it gave up (guide 4.6.8)                  */
    char kernel[64];
    char buffer[32];
    uint64_t block, tile;
    uint32_t chunk;        /* first chunk of the tile that held the sentinel */
    uint8_t bits[16];      /* the chunk's bytes in memory order              */
    uint32_t stage;        /* of a pipeline: the one that held the tile      */
    uint64_t tries, elapsed_ns;
} fgs_error;

/* -------------------------------------------------------------- tables -- */

/* Element types, guide table 16. */
typedef enum fgs_element {
    FGS_ELEMENT_F32 = 0,
    FGS_ELEMENT_F16,
    FGS_ELEMENT_BF16,
    FGS_ELEMENT_E4M3,
    FGS_ELEMENT_E5M2,
    FGS_ELEMENT_E2M1,
    FGS_ELEMENT_UE8M0,
    FGS_ELEMENT_UE5M3,
    FGS_ELEMENT_X8,
    FGS_ELEMENT_META4,
    FGS_ELEMENT_I32,
    FGS_ELEMENT_I16,
    FGS_ELEMENT_I8,
    FGS_ELEMENT_I8FF,
    FGS_ELEMENT_COUNT
} fgs_element;

/* Report mechanisms, guide table 15. */
typedef enum fgs_mechanism {
    FGS_MECHANISM_DISABLED = 0,
    FGS_MECHANISM_W32,
    FGS_MECHANISM_W16,
    FGS_MECHANISM_W8,
    FGS_MECHANISM_W4,
    FGS_MECHANISM_EACH_FF,
    FGS_MECHANISM_COUNT
} fgs_mechanism;

/*
 * What a producer does with an integer result that is the sentinel of its
 * type (guide 4.6.4.3).
 */
typedef enum fgs_saturate {
    FGS_SATURATE_REFUSE = 0, /* the producer gives up: FGS_E_SENTINEL        */
    FGS_SATURATE_UP,         /* takes the next greater value                 */
    FGS_SATURATE_DOWN,       /* the next smaller one; not for a type's least */
    FGS_SATURATE_COUNT
} fgs_saturate;

/* What a kernel's text is written in. */
typedef enum fgs_language {
    FGS_LANGUAGE_PTX = 0,
    FGS_LANGUAGE_CUDA, /* CUDA C++, compiled by NVRTC                        */
    FGS_LANGUAGE_COUNT
} fgs_language;

/* Copy engines, in the order in which AUTO tries them. */
typedef enum fgs_engine {
    FGS_ENGINE_AUTO = 0,
    FGS_ENGINE_REPORT, /* hardware check, cc 10.7, PTX 9.4                   */
    FGS_ENGINE_BULK,   /* bulk copy + scan in shared memory, cc 9.0          */
    FGS_ENGINE_POLL,   /* strong 128-bit loads, cc 7.0                       */
    FGS_ENGINE_ASYNC,  /* cp.async + scan, cc 8.0; never taken by AUTO       */
    FGS_ENGINE_PLAIN,  /* no sentinels: waits for the producer's grid or a
                          flag, then loads, cc 7.0; never taken by AUTO      */
    FGS_ENGINE_COUNT
} fgs_engine;

/* How a producer keeps away from the sentinel (guide 4.6.4.3). */
typedef enum fgs_rule {
    FGS_RULE_NEG0_TO_POS0 = 0, /* stores +0 in place of -0                   */
    FGS_RULE_NEVER_NAN,        /* clamps                                     */
    FGS_RULE_NEVER_ONES,       /* clamps                                     */
    FGS_RULE_NEVER_SENTINEL    /* fgs_saturate says                          */
} fgs_rule;

typedef struct fgs_element_info {
    const char *name;
    uint32_t bits, sentinel, fill;
    fgs_mechanism mechanism;
    fgs_rule rule;
} fgs_element_info;

typedef struct fgs_mechanism_info {
    const char *qualifier; /* the words behind ".mbarrier::report::"         */
    uint32_t bits, sentinel;
    uint32_t checks;       /* 0 none, 1 sampled per 16 bytes, 2 every        */
} fgs_mechanism_info;

/* Rows of the tables; NULL for a value out of range.  Owner: static.
 * Threads: any. */
FGS_API const fgs_element_info *fgs_element_get_info(fgs_element e);
FGS_API const fgs_mechanism_info *fgs_mechanism_get_info(fgs_mechanism m);
FGS_API const char *fgs_engine_name(fgs_engine e); /* "auto", "report" ...   */
/* The value of a name; FGS_E_INVAL when there is none.  A mechanism's name is
 * its qualifier. */
FGS_API fgs_result fgs_engine_find(const char *name, fgs_engine *out);
FGS_API fgs_result fgs_element_find(const char *name, fgs_element *out);
FGS_API fgs_result fgs_mechanism_find(const char *name, fgs_mechanism *out);

/* Pipelines: kernels with more than one tile in flight (guide 4.6.7). */
typedef struct fgs_pipeline_info {
    const char *name;
    const char *stems;     /* of its texts, a blank between                  */
    const char *engines;   /* that it serves, a blank between; the first one
                              is the default                                 */
    int32_t cc;            /* lowest compute capability times ten            */
    uint32_t stages_min;   /* tiles that a block has in flight               */
    uint32_t stages_max;
    const char *purpose;   /* one line                                       */
} fgs_pipeline_info;
/* The index-th row, NULL past the last.  Owner: static.  Threads: any. */
FGS_API const fgs_pipeline_info *fgs_pipeline_get_info(uint32_t index);

/* ------------------------------------------------ allocator, log, device -- */

typedef struct fgs_allocator {
    void *(*alloc)(void *cookie, size_t size); /* malloc's alignment          */
    void (*release)(void *cookie, void *ptr);
    void *cookie;
} fgs_allocator;

typedef enum fgs_log_level {
    FGS_LOG_ERROR = 1,
    FGS_LOG_WARN,
    FGS_LOG_INFO,
    FGS_LOG_DEBUG
} fgs_log_level;

/* May be called from any thread; `id` is a stable word such as "load.jit". */
typedef void (*fgs_log_fn)(void *cookie, fgs_log_level level, const char *id,
                           const char *text);

typedef struct fgs_device fgs_device;
typedef struct fgs_buffer fgs_buffer;
typedef struct fgs_kernel fgs_kernel;
typedef struct fgs_plan fgs_plan;

typedef struct fgs_device_opts {
    size_t size;          /* sizeof(fgs_device_opts)                         */
    const char *provider; /* "cuda", "sim"; NULL = $FGS_PROVIDER, else a GPU
                             that can run an engine, else the software device;
                             fgs_device_info says which and why              */
    int32_t ordinal;      /* device of that provider              (default 0) */
    uint32_t reserved;
    CUcontext context;    /* the application's; NULL = the primary context,
                             retained until close                            */
    const fgs_allocator *allocator; /* copied; NULL = malloc                 */
    fgs_log_fn log;                 /* NULL = none, or stderr by $FGS_LOG    */
    void *log_cookie;
    const char *ptx_dir;  /* NULL = $FGS_PTX_DIR, "" = none; copied          */
    const char *cache_dir; /* of compiled results: NULL = $FGS_CACHE_DIR, else
                             fgsync in $XDG_CACHE_HOME or ~/.cache; "none" or
                             "" = no cache; copied                           */
    uint64_t cache_bytes; /* bound of the folder; 0 = $FGS_CACHE_BYTES, else
                             256 MiB                                         */
    uint32_t watch;       /* 1 = before each round a plan looks whether a file
                             of ptx_dir that its kernels are made of changed,
                             as if fgs_kernel_reload were called then; 0 =
                             $FGS_PTX_WATCH, else not                        */
    uint32_t reserved2;
} fgs_device_opts;

/*
 * Open a device.  The context must belong to the chosen provider's device
 * `ordinal`; without one the primary context is retained.
 *
 * FGS_E_INVAL     no provider of that name; FGS_LOG is no level,
 *                 FGS_CACHE_BYTES no number; watch or FGS_PTX_WATCH neither 0
 *                 nor 1
 * FGS_E_NODRIVER  the provider's library cannot be opened
 * FGS_E_ENTRY     it is no driver, or lacks an entry point: named in *err
 * FGS_E_NODEVICE  it has no device of that ordinal
 * FGS_E_MISMATCH  the context is on another device
 * FGS_E_DRIVER    a call of the driver failed: named in *err
 *
 * Owner: caller, fgs_device_close.  Threads: any.  A device that is closed
 * before objects made from it lives on inside the library until the last of
 * them is freed; until then they can only be freed.
 */
FGS_API fgs_result fgs_device_open(fgs_device **out,
                                   const fgs_device_opts *opts,
                                   fgs_error *err);
FGS_API void fgs_device_close(fgs_device *dev);

typedef struct fgs_device_info {
    size_t size;            /* in: sizeof(fgs_device_info)                   */
    const char *provider;   /* "cuda" or "sim"                               */
    const char *why;        /* a sentence: why this provider was taken       */
    char name[128];         /* the device's own name                         */
    int32_t ordinal;
    int32_t cc;             /* compute capability times ten, 107 = 10.7      */
    int32_t driver_version; /* as cuDriverGetVersion, 13000 = 13.0           */
    int32_t sm_count;
    uint64_t memory;        /* bytes                                         */
    int32_t ptx_version;    /* highest PTX ISA the driver's JIT takes, times
                               ten; 0 = unknown                              */
    int32_t nvjitlink;      /* version times ten, 134 = 13.4; 0 = none used  */
    uint64_t compiled;      /* results that NVRTC and nvJitLink made         */
    uint64_t cached;        /* results of theirs that the cache had          */
} fgs_device_info;
FGS_API fgs_result fgs_device_get_info(fgs_device *dev, fgs_device_info *info,
                                       fgs_error *err);

/*
 * Can this device run an engine?  FGS_OK, or FGS_E_UNSUPPORTED /
 * FGS_E_PTXVERSION with a text that says what is lacking.  Nothing is loaded.
 * Threads: object.
 */
FGS_API fgs_result fgs_device_can(fgs_device *dev, fgs_engine engine,
                                  fgs_error *err);

/*
 * The provider's entry point of a documented driver name ("cuMemAlloc"), for
 * applications that run on either provider.  NULL when it is absent.
 * Owner: the device.  Threads: any.
 */
FGS_API void *fgs_device_get_proc(fgs_device *dev, const char *name);

/* -------------------------------------------------------------- buffer -- */

typedef struct fgs_buffer_desc {
    size_t size;             /* sizeof(fgs_buffer_desc)                      */
    const char *name;        /* for error texts, copied    (default "buffer") */
    fgs_element element;     /*                            (default F32)     */
    uint32_t slots;          /* copies that the rounds of a plan take in turn,
                                1 .. 64                    (default 1)       */
    uint64_t tiles;          /* 1 .. 2^31 - 1                                */
    uint64_t tile_bytes;     /* multiple of 16             (default 4096)    */
    CUdeviceptr pointer;     /* the application's memory, 16-byte aligned;
                                0 = allocate                                 */
    uint64_t pointer_bytes;  /* its size; at least slots * tiles * tile_bytes */
} fgs_buffer_desc;

/*
 * Make a buffer of `slots` times tiles * tile_bytes bytes, one behind the
 * other; contents undefined.  Offsets of read and write count from the first.
 *
 * FGS_E_SIZE   tiles or tile_bytes out of range, or pointer_bytes too small
 * FGS_E_ALIGN  tile_bytes or pointer no multiple of 16
 *
 * Owner: caller; the application's memory stays its own.  Threads: object
 * (the device).
 */
FGS_API fgs_result fgs_buffer_make(fgs_buffer **out, fgs_device *dev,
                                   const fgs_buffer_desc *desc,
                                   fgs_error *err);
/* A run that uses the buffer is waited for first. */
FGS_API void fgs_buffer_free(fgs_buffer *buf);
/* 0 for what is no live buffer. */
FGS_API CUdeviceptr fgs_buffer_get_pointer(const fgs_buffer *buf);
FGS_API uint64_t fgs_buffer_get_bytes(const fgs_buffer *buf);

/*
 * Another place for a buffer of the application's memory; plans that use it
 * follow with their next round, graphs by fgs_plan_update_exec.
 *
 * FGS_E_STATE  the buffer was allocated by the library
 * FGS_E_SIZE, FGS_E_ALIGN  as fgs_buffer_make
 * FGS_E_MISMATCH  it would overlap another buffer of a plan
 * FGS_E_BUSY   an unfinished run uses the buffer
 */
FGS_API fgs_result fgs_buffer_rebind(fgs_buffer *buf, CUdeviceptr pointer,
                                     uint64_t pointer_bytes, fgs_error *err);

/*
 * Copy between host memory and the buffer; synchronous with the host, ordered
 * after nothing but earlier fgs_plan_wait calls.
 *
 * FGS_E_SIZE   offset + bytes is past the end
 * FGS_E_BUSY   an unfinished run uses the buffer; nothing was copied
 */
FGS_API fgs_result fgs_buffer_write(fgs_buffer *buf, uint64_t offset,
                                    const void *host, uint64_t bytes,
                                    fgs_error *err);
FGS_API fgs_result fgs_buffer_read(fgs_buffer *buf, uint64_t offset, void *host,
                                   uint64_t bytes, fgs_error *err);

/* -------------------------------------------------------------- kernel -- */

typedef enum fgs_role {
    FGS_ROLE_INIT = 1, /* fills the buffer with the sentinel, 4.6.4 step 2   */
    FGS_ROLE_PRODUCER, /* writes each chunk once, 4.6.4 step 3               */
    FGS_ROLE_CONSUMER, /* copies, checks, re-issues, uses, 4.6.4 step 4      */
    FGS_ROLE_RELAY,    /* a consumer whose output is the next one's buffer of
                          sentinels                                          */
    FGS_ROLE_JOIN,     /* a relay of two inputs, each with its own sentinel  */
    FGS_ROLE_SCALED_JOIN /* a join of f32 with a ue8m0 scale for each 32 of
                          them: tiles of a multiple of 2048 bytes, and of a
                          64th of that                                       */
} fgs_role;

typedef struct fgs_kernel_desc {
    size_t size;         /* sizeof(fgs_kernel_desc)                          */
    fgs_role role;
    fgs_engine engine;   /* consumer, relay, joins           (default AUTO)  */
    fgs_element element; /*                                  (default F32)   */
    uint32_t weak;       /* bulk only: 1 = the weak copy; 0 = the strong one,
                            the weak one where nothing assembles PTX 9.3     */
    const char *stem;    /* another text of the same role by file stem, such
                            as "scale_produce_leak"; NULL = the role's own   */
    fgs_mechanism mechanism; /* 0 = the element's own; another one is refused
                            with the rule that it breaks                     */
    fgs_saturate saturate;   /* producer of integers       (default REFUSE)  */
    uint32_t tile_bytes; /* multiple of 16                   (default 4096)  */
    uint32_t threads;    /* of a block, multiple of 32       (default 256)   */
    uint32_t bulk_store; /* producer: 1 = a strong bulk copy of a tile in
                            shared memory; 0 = a 128-bit store a chunk       */
    fgs_language language; /* CUDA: the .cu twin, by NVRTC  (default PTX)    */
    uint32_t self_init; /* producer, relay, joins: 1 = each block fills its own
                            output with the sentinel, then triggers
                            (4.6.4.2)                                        */
    uint32_t persistent; /* 1 = any grid; a block takes every grid-size-th
                            tile; with self_init it fills all of them first.
                            Not of init                                      */
} fgs_kernel_desc;

/*
 * Load the kernel of a role.  The text comes from the ptx_dir when a file of
 * its name is there, else from the library.
 *
 * FGS_E_PTX, FGS_E_JIT    text refused: file, line, column in *err
 * FGS_E_COMPILE           CUDA C++ refused by NVRTC: file, line, column
 * FGS_E_PTXVERSION        text newer than driver and nvJitLink
 * FGS_E_UNSUPPORTED       the device lacks what the engine needs
 * FGS_E_CONTRACT          entry or parameter list is not the role's
 * FGS_E_FILE              a file of ptx_dir, or $FGS_NVJITLINK when it is
 *                         needed, cannot be opened
 * FGS_E_INVAL             no text of that stem; an engine or weak form for a
 *                         role that has none; a saturation that the element
 *                         does not have
 * FGS_E_MISMATCH          mechanism and element do not go together
 * FGS_E_SIZE, FGS_E_ALIGN tile or block are none that the device can have
 *
 * Owner: caller.  Threads: object (the device).
 */
FGS_API fgs_result fgs_kernel_make(fgs_kernel **out, fgs_device *dev,
                                   const fgs_kernel_desc *desc,
                                   fgs_error *err);
/* A run that uses the kernel is waited for first. */
FGS_API void fgs_kernel_free(fgs_kernel *k);

/*
 * Find, check and load the kernel's text again, for the same stem and shape:
 * from the ptx_dir when a file is there now, else from the library.  A plan
 * takes the new code before its next round, also while it launches a run; code
 * that an unfinished run uses stays loaded until that run was waited for.  A
 * text that is refused leaves the kernel as it is.
 *
 * A device that watches (fgs_device_opts.watch) does the same before a round
 * when a file changed, also one that a text of the folder includes: another
 * time, size or inode, so a text is best renamed into its place.  A text that
 * is refused then does not fail the run: it is logged ("reload.kept"), the
 * receipt's `note` says file, line and rule until a text is taken, and it is
 * not tried again before a file changes.
 *
 * FGS_E_FREED  the kernel was freed
 * The rest as fgs_kernel_make.  Threads: any, but for what borrowed from the
 * kernel: it is good until a reload.
 */
FGS_API fgs_result fgs_kernel_reload(fgs_kernel *k, fgs_error *err);

/* NULL for what is no live kernel.  Owner: the kernel. */
FGS_API const char *fgs_kernel_get_ptx(const fgs_kernel *k);
FGS_API CUfunction fgs_kernel_get_function(const fgs_kernel *k);

typedef struct fgs_kernel_info {
    size_t size;              /* in: sizeof(fgs_kernel_info)                 */
    const char *stem;         /* file stem, "report_consume"                 */
    const char *entry;        /* entry name in the text                      */
    const char *file;         /* file it came from, or "<stem.ptx>"          */
    const char *assembled_by; /* "driver", "nvjitlink" or "sim"              */
    fgs_engine engine;
    int32_t ptx_version;      /* .version times ten                          */
    char ptx_target[16];      /* .target                                     */
    int32_t waits;            /* executes griddepcontrol.wait                */
    int32_t triggers;         /* executes griddepcontrol.launch_dependents   */
    fgs_element element;
    uint32_t tile_bytes;
    uint32_t threads;         /* of a block                                  */
    uint32_t shared_bytes;    /* dynamic shared memory of a launch           */
} fgs_kernel_info;
FGS_API fgs_result fgs_kernel_get_info(const fgs_kernel *k,
                                       fgs_kernel_info *info);

/* Most 32-bit registers that a thread of such a kernel of the library takes, on
 * any target; `engine` is for consumers.  0 = there is no such kernel.  None
 * keeps anything in local memory.  Threads: any. */
FGS_API uint32_t fgs_role_registers(fgs_role role, fgs_engine engine);

/* The texts in the library: stem of the index-th, or NULL past the end.
 * Owner: static.  Threads: any. */
FGS_API const char *fgs_ptx_stem(uint32_t index);

/*
 * A text as it is loaded on a device of compute capability `cc` (times ten),
 * all tokens replaced.
 *
 * size  in: bytes at buf; out: bytes needed with the NUL.  buf may be NULL
 *       when *size is 0.
 *
 * FGS_E_SIZE         buf is too small; *size says what it takes
 * FGS_E_INVAL        no text of that stem
 * FGS_E_UNSUPPORTED  the kernel needs what `cc` does not have
 * Threads: any.
 */
FGS_API fgs_result fgs_ptx_text(const char *stem, int32_t cc, char *buf,
                                size_t *size, fgs_error *err);

/* A variant of a text: what `fgs_ptx_text` has defaults for. */
typedef struct fgs_ptx_desc {
    size_t size;         /* sizeof(fgs_ptx_desc)                             */
    const char *stem;
    int32_t cc;          /* compute capability times ten                     */
    fgs_element element; /*                                  (default F32)   */
    fgs_saturate saturate; /*                                (default REFUSE) */
    uint32_t tile_bytes; /* multiple of 16                   (default 4096)  */
    uint32_t threads;    /* of a block, multiple of 32       (default 256)   */
    fgs_language language; /* CUDA: the twin, whose tokens are -D options of
                            the compiler                     (default PTX)   */
    uint32_t stages;     /* of a pipeline's text, 1 to 8     (default 2)     */
    uint32_t self_init;  /* as of fgs_kernel_desc            (default 0)     */
    const char *ptx_dir; /* folder whose files replace the library's texts by
                            name, as of fgs_device_opts; NULL: none          */
    uint32_t persistent; /* as of fgs_kernel_desc            (default 0)     */
    uint32_t reserved;
} fgs_ptx_desc;

/*
 * The text of a variant, as fgs_ptx_text.
 *
 * FGS_E_SIZE         buf is too small (*size says what it takes), or tile or
 *                    block are none that the device can have
 * FGS_E_ALIGN        tile_bytes is no multiple of 16
 * FGS_E_INVAL        no text of that stem, no such element or saturation
 * FGS_E_UNSUPPORTED  the kernel needs what `cc` does not have
 * Threads: any.
 */
FGS_API fgs_result fgs_ptx_expand(const fgs_ptx_desc *desc, char *buf,
                                  size_t *size, fgs_error *err);

/*
 * The PTX that NVRTC makes of a variant's twin (`language` is CUDA, whatever
 * desc says), as fgs_ptx_expand; no device is needed, and the cache is not
 * used.  A call with a buffer that is too small has compiled too.
 *
 * FGS_E_COMPILE      NVRTC refused the text
 * FGS_E_INVAL        also: the text has no twin
 * FGS_E_UNSUPPORTED  there is no NVRTC, or the kernel needs what `cc` does not
 *                    have
 * FGS_E_FILE         $FGS_NVRTC cannot be used
 * Threads: any.
 */
FGS_API fgs_result fgs_ptx_compile(const fgs_ptx_desc *desc, char *buf,
                                   size_t *size, fgs_error *err);

/*
 * Parse and check PTX text as the software device's loader does.  `file` is
 * used in messages.  `report` is called for each error (text without the
 * place); it may be NULL.  FGS_OK, FGS_E_PTX (first error in *err),
 * FGS_E_NOMEM.  Threads: any.
 */
typedef void (*fgs_ptx_report_fn)(void *cookie, const char *file, uint32_t line,
                                  uint32_t column, const char *text);
FGS_API fgs_result fgs_ptx_check(const char *file, const char *text, size_t len,
                                 fgs_ptx_report_fn report, void *cookie,
                                 fgs_error *err);

/*
 * Assemble PTX text with nvJitLink for a target such as "sm_107a"; no device
 * is needed.  `file` is used in messages.
 *
 * size  in: bytes at cubin; out: bytes needed.  cubin may be NULL when *size
 *       is 0.
 *
 * FGS_E_SIZE         cubin is too small; *size says what it takes
 * FGS_E_UNSUPPORTED  no nvJitLink was found
 * FGS_E_PTXVERSION   the text is newer than it
 * FGS_E_JIT          it refused the text
 * Threads: any.
 */
FGS_API fgs_result fgs_ptx_assemble(const char *file, const char *text,
                                    const char *target, void *cubin,
                                    size_t *size, fgs_error *err);

/*
 * What the library's producers make of `count` f32 (4 bytes each at `in`, any
 * alignment), bit by bit: doubled, converted, canonicalized, packed, lower
 * ones in lower bits.  For programs that verify a result.
 *
 * FGS_E_SENTINEL  element *refused (may be NULL) is the sentinel of its integer
 *                 type and `saturate` refuses it; what is before it was made
 * FGS_E_SIZE      an odd count of 4-bit elements
 * Threads: any.
 */
FGS_API fgs_result fgs_ref_produce(fgs_element e, fgs_saturate saturate,
                                   const void *in, void *out, uint64_t count,
                                   uint64_t *refused);
/* What lab_sync and lab_async make of floats: (1.5 x + 0.5) x + 0.25, each step
 * rounded once; any alignment. */
FGS_API fgs_result fgs_ref_transform(const void *in, void *out,
                                     uint64_t count);
/*
 * What the histograms add to counts[bins + 3] for floats of any alignment: bin
 * k holds v / width from k to below k + 1; behind the bins, values below 0,
 * from bins * width on, and NaN.  FGS_E_SIZE: no bins or too many, or a width
 * that is not positive and finite.
 */
enum { FGS_BINS_MAX = 1 << 24 };
FGS_API fgs_result fgs_ref_histogram(const void *in, uint64_t count,
                                     uint32_t bins, float width,
                                     uint64_t *counts);
/*
 * What the library's joins make of tiles of two buffers, backwards by elements:
 * even chunks of a tile are those of `a`, odd ones those of `b`.  out is
 * neither.
 */
FGS_API fgs_result fgs_ref_join(fgs_element e, const void *a, const void *b,
                                void *out, uint64_t tiles,
                                uint64_t tile_bytes);
/*
 * What the library's scaled joins make of f32 and ue8m0: element i of a tile is
 * multiplied by scale i / 32, 2^(s - 127), rounded once to nearest even; -0 is
 * made +0, a NaN or a scale 0xff 0x7fffffff; the tile stands backwards.  out is
 * neither.  FGS_E_SIZE: tile_bytes is no multiple of 2048.
 */
FGS_API fgs_result fgs_ref_scaled_join(const void *data, const void *scales,
                                       void *out, uint64_t tiles,
                                       uint64_t tile_bytes);
/* What the library's consumers make of tiles: each backwards by elements.  out
 * is not in.  FGS_E_SIZE: tile_bytes is no multiple of 16. */
FGS_API fgs_result fgs_ref_consume(fgs_element e, const void *in, void *out,
                                   uint64_t tiles, uint64_t tile_bytes);
/*
 * What a gemm_stage makes of f16: out[r][c] is the sum of in[r][k] *
 * weights[c][k], rounded once, -0 made +0.  The device adds in an order of its
 * own, so it is the same only where no sum of f32 is rounded.
 */
FGS_API fgs_result fgs_ref_gemm(const void *in, const void *weights, void *out,
                                uint32_t rows, uint32_t depth,
                                uint32_t columns);
/* Its p_weights: the same numbers in the order of mma's fragments; depth is a
 * multiple of 128, columns of 16 (else FGS_E_SIZE). */
FGS_API fgs_result fgs_ref_gemm_pack(const void *weights, void *packed,
                                     uint32_t depth, uint32_t columns);

/* ---------------------------------------------------------------- plan -- */

typedef struct fgs_plan_desc {
    size_t size;           /* sizeof(fgs_plan_desc)                          */
    fgs_kernel *init;      /* borrowed, must outlive the plan                */
    fgs_kernel *producer;
    fgs_kernel *consumer;  /* of engine `plain`: it waits for the producer's
                              grid or for flags, and init is not launched    */
    fgs_buffer *in;        /* f32, read by the producer; its tile has as many
                              elements as mid's                              */
    fgs_buffer *mid;       /* the buffer that carries the sentinel           */
    fgs_buffer *out;       /* written by the consumer; shaped as mid         */
    uint64_t bound_ns;     /* time bound of each wait loop (default 2 s)     */
    uint64_t max_tries;    /* bound on tries               (default 0 = none) */
    uint64_t work_ns;      /* a producer block's extra time, for trials
                                                           (default 0)       */
    uint32_t no_pdl;       /* 1 = plain stream order       (default 0)       */
    uint32_t reserved;
    uint64_t fault_tile;   /* read by the fault-injecting producers only     */
    uint32_t fault_chunk;
    uint32_t reserved2;
} fgs_plan_desc;

/*
 * Make a plan init -> producer -> consumer in one stream (guide 4.6.6).  All
 * kernels are loaded and both ends get the same shared memory carveout here,
 * before the first launch (guide 4.6.5).
 *
 * FGS_E_MISMATCH  buffers of different shape, element or device, a kernel of
 *                 another role or element, buffers that overlap
 *
 * Owner: caller.  Threads: object (the device).
 */
FGS_API fgs_result fgs_plan_make(fgs_plan **out, fgs_device *dev,
                                 const fgs_plan_desc *desc, fgs_error *err);
/* An unfinished run is waited for first. */
FGS_API void fgs_plan_free(fgs_plan *plan);

/*
 * Launch `rounds` rounds into the application's stream (NULL = the legacy
 * default stream) and return; each round fills the buffer anew (guide
 * 4.6.4.5).  Nothing is synchronized.
 *
 * Memory for the statistics is allocated by a run of more rounds than any
 * before (256 at first), which may wait for the device.
 *
 * FGS_E_BUSY      the plan's last run was not waited for, or an unfinished run
 *                 of another plan on another stream shares memory that one of
 *                 them writes; nothing was launched
 * FGS_E_SIZE      rounds is 0
 * FGS_E_FREED     a kernel or buffer of the plan was freed
 * FGS_E_STATE     the stream is being captured
 * FGS_E_MISMATCH  the stream is of another context
 * FGS_E_DRIVER    a launch failed; what was launched before it was waited for,
 *                 and the plan can be run again
 *
 * Threads: object.
 */
FGS_API fgs_result fgs_plan_run(fgs_plan *plan, CUstream stream,
                                uint32_t rounds, fgs_error *err);

/*
 * Wait until the last run is over.
 *
 * FGS_E_SENTINEL  an integer result of the producer was the sentinel: tile and
 *              chunk in *err, in `bits` the f32 input; nothing was stored there
 * FGS_E_LEAK   a tile kept its sentinel: kernel, buffer, tile, chunk, bits
 *              in *err; all kernels returned, the context is usable
 * FGS_E_FAULT  a kernel faulted; the context is lost
 * FGS_E_STATE  nothing was run, or it was waited for
 * FGS_E_DRIVER the wait failed; the run may go on and can be waited for again
 */
FGS_API fgs_result fgs_plan_wait(fgs_plan *plan, fgs_error *err);

/* FGS_OK = over (not whether it was good), FGS_E_BUSY = not yet. */
FGS_API fgs_result fgs_plan_query(fgs_plan *plan, fgs_error *err);

/* What the last run that was waited for really did. */
typedef struct fgs_receipt {
    size_t size;            /* in: sizeof(fgs_receipt)                       */
    fgs_engine engine;
    uint32_t rounds;
    uint64_t tiles;
    uint64_t reissues;      /* copies or loads that were repeated            */
    int32_t pdl;            /* programmatic serialization was set            */
    int32_t overlap;        /* a consumer block started before the last
                               producer block ended, by device timestamps    */
    const char *pdl_why;    /* why it was set, or left out                   */
    const char *assembled_by;
    int32_t ptx_version;
    char ptx_target[16];
    const char *note;       /* what was substituted and why, and which files of
                               ptx_dir were not read; "" = nothing           */
    uint64_t elapsed_ns;    /* device time from the first fill to the end    */
    uint64_t compiled;      /* results that NVRTC and nvJitLink made for the
                               kernels, reloads included                     */
    uint64_t cached;        /* results of theirs that the cache had          */
} fgs_receipt;
FGS_API fgs_result fgs_plan_get_receipt(const fgs_plan *plan, fgs_receipt *out,
                                        fgs_error *err);

/* ---------------------------------------------- kernels without a plan -- */

/*
 * Memory of kernels of the library that the caller launches by itself, by
 * their texts' parameters: the board in device memory, zeroed, with p_ctl at
 * its start and each role's p_stat behind it; the record in host memory that
 * the device sees, zeroed, p_rec.
 */
enum {
    FGS_BOARD_PRODUCER = 128, FGS_BOARD_CONSUMER = 256, FGS_BOARD_BYTES = 512,
    FGS_RECORD_BYTES = 256
};

typedef struct fgs_counts {
    size_t size;            /* in: sizeof(fgs_counts)                        */
    uint64_t reissues;      /* copies or loads that were repeated            */
    int32_t overlap;        /* a consumer block started before the last
                               producer block ended                          */
    int32_t aborted;        /* somebody gave up                              */
} fgs_counts;

/* What a board, copied to the host, says.  Threads: any. */
FGS_API fgs_result fgs_board_read(const void *board, fgs_counts *out);

/*
 * What a record says, as fgs_plan_wait does: FGS_OK = nothing, FGS_E_LEAK,
 * FGS_E_SENTINEL.  The names are for the text.  Threads: any.
 */
FGS_API fgs_result fgs_record_read(const void *record, const char *kernel,
                                   const char *buffer, fgs_error *err);

#ifdef __cplusplus
}
#endif

#include <fgs/fgs_plan.h>

#endif /* FGS_H */
