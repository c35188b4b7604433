/* nvrtc.c -- make PTX of a CUDA C++ program of this folder
 *
 * usage: nvrtc LIBRARY INCLUDE SOURCE STEM
 *
 * Each line "//: nvrtc OPTIONS" of the source makes one module: STEM.ptx,
 * STEM-2.ptx and so on; compute_90 unless an option says else.  A line
 * "//: name EXPRESSION" asks for that entry; its name ends the text as
 * "//: entry NAME".
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS = 16, ROOM = 600 };

struct nvrtc {
    int (*create)(void **, const char *, const char *, int, const char **,
                  const char **);
    int (*name)(void *, const char *);
    int (*compile)(void *, int, const char **);
    int (*log_size)(void *, size_t *), (*log)(void *, char *);
    int (*size)(void *, size_t *), (*ptx)(void *, char *);
    int (*lowered)(void *, const char *, const char **);
};

static int open_nvrtc(struct nvrtc *n, const char *path)
{
    const struct {
        void *fn;
        const char *name;
    } list[] = {
        { &n->create, "nvrtcCreateProgram" },
        { &n->name, "nvrtcAddNameExpression" },
        { &n->compile, "nvrtcCompileProgram" },
        { &n->log_size, "nvrtcGetProgramLogSize" },
        { &n->log, "nvrtcGetProgramLog" },
        { &n->size, "nvrtcGetPTXSize" },
        { &n->ptx, "nvrtcGetPTX" },
        { &n->lowered, "nvrtcGetLoweredName" },
    };
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        void *p = dlsym(lib, list[k].name);

        if (!p) {
            fprintf(stderr, "%s: no %s\n", path, list[k].name);
            return 0;
        }
        memcpy(list[k].fn, &p, sizeof p);
    }
    return 1;
}

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);

    if (!f || !text || !fread(text, 1, (1 << 16) - 1, f)) {
        perror(path);
        exit(1);
    }
    fclose(f);
    return text;
}

/* The rest of the line after the n-th `key`, in `line`. */
static int line_of(const char *text, const char *key, int n, char *line,
                   size_t room)
{
    for (const char *p = text; (p = strstr(p, key)); p++) {
        if (n-- == 0) {
            p += strlen(key);
            snprintf(line, room, "%.*s", (int)strcspn(p, "\n"), p);
            return 1;
        }
    }
    return 0;
}

static void write_ptx(const struct nvrtc *n, void *program, const char *path,
                      const char *name)
{
    FILE *f = fopen(path, "w");
    const char *entry;
    size_t size = 0;
    char *ptx;

    if (n->size(program, &size) || !size || !(ptx = malloc(size)) ||
        n->ptx(program, ptx) || !f) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
    fputs(ptx, f);
    if (name && !n->lowered(program, name, &entry))
        fprintf(f, "//: entry %s\n", entry);
    if (fclose(f))
        exit(1);
    free(ptx);
}

static int make(const struct nvrtc *n, const char *include, const char *text,
                char *options, const char *source, const char *path)
{
    char where[3][ROOM], name[200];
    const char *list[OPTIONS] = { "--std=c++17", where[0], where[1], where[2],
                                  "--gpu-architecture=compute_90" };
    int count = 4 + !strstr(options, "--gpu-architecture");
    int named = line_of(text, "//: name ", 0, name, sizeof name), failed;
    void *program;
    char *log;
    size_t size = 0;

    snprintf(where[0], sizeof where[0], "--include-path=%s", include);
    snprintf(where[1], sizeof where[1], "--include-path=%s/cccl", include);
    snprintf(where[2], sizeof where[2], "--include-path=%.*s",
             (int)(strrchr(source, '/') - source), source);
    for (char *o = strtok(options, " "); o && count < OPTIONS;
         o = strtok(NULL, " "))
        list[count++] = o;
    if (n->create(&program, text, source, 0, NULL, NULL) ||
        (named && n->name(program, name)))
        return 1;
    failed = n->compile(program, count, list);
    if (failed) {
        n->log_size(program, &size);
        log = calloc(1, size + 1);
        if (log && !n->log(program, log))
            fprintf(stderr, "%s\n", log);
        return 1;
    }
    write_ptx(n, program, path, named ? name : NULL);
    return 0;
}

int main(int argc, char **argv)
{
    struct nvrtc n;
    char options[300], path[600];
    const char *text;
    int k = 0;

    if (argc != 5 || !strchr(argv[3], '/') || !open_nvrtc(&n, argv[1]))
        return 2;
    text = read_text(argv[3]);
    for (; line_of(text, "//: nvrtc", k, options, sizeof options); k++) {
        if (k)
            snprintf(path, sizeof path, "%s-%d.ptx", argv[4], k + 1);
        else
            snprintf(path, sizeof path, "%s.ptx", argv[4]);
        if (make(&n, argv[2], text, options, argv[3], path))
            return 1;
    }
    return k == 0;
}
