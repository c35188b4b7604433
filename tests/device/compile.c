/* compile.c -- CUDA C++ to PTX or a cubin by NVRTC, for tests
 *
 * usage: compile LIBRARY SOURCE OUT LOG OPTION...
 *
 * A process of its own, without sanitizers.  PTX for --gpu-architecture of
 * compute_X, a cubin for sm_X.  exit 0 made, 1 refused (LOG says why), 2
 * anything else.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nvrtc {
    int (*create)(void **, const char *, const char *, int, const char **,
                  const char **);
    int (*compile)(void *, int, const char **);
    int (*log_size)(void *, size_t *), (*log)(void *, char *);
    int (*ptx_size)(void *, size_t *), (*ptx)(void *, char *);
    int (*cubin_size)(void *, size_t *), (*cubin)(void *, char *);
};

static int open_nvrtc(struct nvrtc *n, const char *path)
{
    const struct {
        void *fn;
        const char *name;
    } list[] = {
        { &n->create, "nvrtcCreateProgram" },
        { &n->compile, "nvrtcCompileProgram" },
        { &n->log_size, "nvrtcGetProgramLogSize" },
        { &n->log, "nvrtcGetProgramLog" },
        { &n->ptx_size, "nvrtcGetPTXSize" },
        { &n->ptx, "nvrtcGetPTX" },
        { &n->cubin_size, "nvrtcGetCUBINSize" },
        { &n->cubin, "nvrtcGetCUBIN" },
    };
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    for (size_t k = 0; lib && k < sizeof list / sizeof *list; k++) {
        void *p = dlsym(lib, list[k].name);

        if (!p)
            return 0;
        memcpy(list[k].fn, &p, sizeof p);
    }
    return lib != NULL;
}

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);

    if (!f || !text || !fread(text, 1, (1 << 16) - 1, f)) {
        perror(path);
        exit(2);
    }
    fclose(f);
    return text;
}

static int write_all(const char *path, const char *data, size_t size)
{
    FILE *f = fopen(path, "wb");

    return f && fwrite(data, 1, size, f) == size && !fclose(f) ? 0 : 2;
}

int main(int argc, char **argv)
{
    struct nvrtc n;
    int machine = 0, refused;
    size_t size = 0;
    void *program;
    char *data;

    if (argc < 6 || !open_nvrtc(&n, argv[1]) ||
        n.create(&program, read_text(argv[2]), argv[2], 0, NULL, NULL))
        return 2;
    for (int k = 5; k < argc; k++)
        machine |= strstr(argv[k], "--gpu-architecture=sm_") != NULL;
    refused = n.compile(program, argc - 5, (const char **)argv + 5);
    if (n.log_size(program, &size) || !(data = calloc(1, size + 1)) ||
        n.log(program, data) || write_all(argv[4], data, strlen(data)))
        return 2;
    if (refused)
        return 1;
    if ((machine ? n.cubin_size : n.ptx_size)(program, &size) ||
        !(data = calloc(1, size + 1)) ||
        (machine ? n.cubin : n.ptx)(program, data))
        return 2;
    return write_all(argv[3], data, machine ? size : size - 1);
}
