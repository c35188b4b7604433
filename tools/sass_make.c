/* sass_make.c -- texts to machine code and listings, many in one run
 *
 * nvdisasm takes a third of a second to begin with, so the texts of a
 * target are put together: same .version and .target, each entry under a name
 * of its own.
 */
#include "sass.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool sass_target_is_sound(const char *t)
{
    size_t n = strncmp(t, "sm_", 3) ? 0 : strspn(t + 3, "0123456789");

    return n >= 2 && n <= 3 &&
           (!t[3 + n] || (strchr("af", t[3 + n]) && !t[4 + n]));
}

/* Files of the k-th run, in a folder of their own. */
struct work {
    char dir[PROGRAM_PATH];
    char file[4][PROGRAM_PATH + 32];
};
enum { TEXT, CUBIN, SASS, LOG };

static void work_at(struct work *w, size_t k)
{
    static const char *const ends[] = {"ptx", "cubin", "sass", "log"};
    int i;

    for (i = 0; i < 4; i++)
        snprintf(w->file[i], sizeof w->file[i], "%s/%zu.%s", w->dir, k,
                 ends[i]);
}

static void work_clear(struct work *w, size_t k)
{
    int i;

    work_at(w, k);
    for (i = 0; i < 4; i++)
        unlink(w->file[i]);
}

static int find_disassembler(char by[PROGRAM_PATH])
{
    if (program_find("nvdisasm", by) || program_find("cuobjdump", by))
        return EXIT_GOOD;
    return failure("sass", "neither nvdisasm nor cuobjdump is in the build "
                           "folder, in $PATH or in /usr/local/cuda; `make "
                           "toolchain` gets the pinned ones");
}

static int disassemble(struct work *w, char by[PROGRAM_PATH])
{
    char nvdisasm[] = "-c", cuobjdump[] = "-sass";
    char *argv[] = {by, strstr(by, "cuobjdump") ? cuobjdump : nvdisasm,
                    w->file[CUBIN], NULL};

    return program_run(argv, w->file[SASS]);
}

static int assemble(struct work *w, const char *target, char by[PROGRAM_PATH])
{
    char arch[48], to[] = "-o";
    char *argv[] = {by, arch, to, w->file[CUBIN], w->file[TEXT], NULL};

    snprintf(arch, sizeof arch, "-arch=%s", target);
    return program_run(argv, w->file[SASS]);
}

/* By nvJitLink, into the cubin file. */
static int assemble_linked(struct work *w, const char *name, const char *text,
                           const char *target)
{
    size_t size = 0;
    fgs_error err;
    fgs_result r = fgs_ptx_assemble(name, text, target, NULL, &size, &err);
    void *cubin;
    int code;

    if (r != FGS_E_SIZE)
        return failure("sass",
                       "no ptxas in the build folder, $PATH or "
                       "/usr/local/cuda (`make toolchain` gets the "
                       "pinned one), and %s",
                       err.text);
    cubin = malloc(size);
    if (!cubin)
        return failure("sass", "no memory for %zu bytes of code", size);
    r = fgs_ptx_assemble(name, text, target, cubin, &size, &err);
    code = r < 0 ? failure("sass", "%s", err.text)
                 : file_write(w->file[CUBIN], cubin, size);
    free(cubin);
    return code;
}

static int read_back(struct work *w, struct sass_code *c)
{
    unsigned char *listing = NULL, *cubin = NULL;
    size_t size;
    int bad = file_read(w->file[SASS], &listing, &size);

    if (!bad)
        bad = file_read(w->file[CUBIN], &cubin, &size);
    if (!bad)
        return sass_read(c, (char *)listing, cubin, size);
    free(listing);
    return failure("sass", "%s: %s", w->file[SASS], strerror(bad));
}

int sass_of_text(const char *name, const char *text, const char *target,
                 struct sass_code *c, char by[PROGRAM_PATH],
                 char read_by[PROGRAM_PATH])
{
    struct work w;
    int code = folder_make(w.dir);

    if (code)
        return code;
    work_at(&w, 0);
    if (!program_find("ptxas", by)) {
        snprintf(by, PROGRAM_PATH, "nvJitLink");
        code = assemble_linked(&w, name, text, target);
    } else {
        code = file_write(w.file[TEXT], text, strlen(text));
        if (!code && (code = assemble(&w, target, by)) &&
            !strstr(by, "/toolchain/"))
            fputs("fgs sass: another ptxas may know the target; `make "
                  "toolchain` gets the pinned one\n",
                  stderr);
    }
    if (!code)
        code = find_disassembler(read_by);
    if (!code)
        code = disassemble(&w, read_by);
    if (!code)
        code = read_back(&w, c);
    work_clear(&w, 0);
    rmdir(w.dir);
    return code;
}

int sass_of_cubin(const unsigned char *cubin, size_t size, struct sass_code *c,
                  char read_by[PROGRAM_PATH])
{
    struct work w;
    int code = find_disassembler(read_by);

    if (code || (code = folder_make(w.dir)))
        return code;
    work_at(&w, 0);
    code = file_write(w.file[CUBIN], cubin, size);
    if (!code)
        code = disassemble(&w, read_by);
    if (!code)
        code = read_back(&w, c);
    work_clear(&w, 0);
    rmdir(w.dir);
    return code;
}

/* ---------------------------------------------------------------- many -- */

enum { BATCH = 48 };

struct batch {
    char version[16], own_target[16], target[16];
    size_t first, count, list[BATCH];
    pid_t pid; /* 0 = not running */
    int result;
};

/* All of one work. */
struct many {
    struct work w;
    char by[PROGRAM_PATH], read_by[PROGRAM_PATH];
    struct sass_text *text;
    struct batch *batch;
    size_t batches;
};

/* The batch that takes a text, a new one at need; NULL = no memory. */
static struct batch *batch_of(struct many *m, const struct sass_text *t,
                              size_t most)
{
    struct batch b = {.count = 0}, *more;
    size_t i;

    text_word(t->text, ".version", b.version, sizeof b.version);
    text_word(t->text, ".target", b.own_target, sizeof b.own_target);
    memcpy(b.target, t->target, sizeof b.target);
    for (i = 0; i < m->batches; i++) {
        more = &m->batch[i];
        if (more->count < most && !more->result &&
            !strcmp(more->version, b.version) &&
            !strcmp(more->own_target, b.own_target) &&
            !strcmp(more->target, b.target))
            return more;
    }
    more = realloc(m->batch, (m->batches + 1) * sizeof b);
    if (!more)
        return NULL;
    m->batch = more;
    m->batch[m->batches] = b;
    return &m->batch[m->batches++];
}

/* One text into the batch's file: no second head, the k-th entry's name. */
static void put_text(FILE *f, const char *text, size_t k, bool is_first)
{
    static const char *const heads[] = {".version", ".target", ".address_size"};
    const char *line, *end, *entry;
    size_t i;

    for (line = text; *line; line = end) {
        end = strchr(line, '\n');
        end = end ? end + 1 : line + strlen(line);
        for (i = 0; i < 3 && strncmp(line, heads[i], strlen(heads[i])); i++)
            ;
        if ((i < 3 && !is_first) || !strncmp(line, "//", 2))
            continue;
        entry = strstr(line, ".entry ");
        if (entry && entry < end) {
            entry += strlen(".entry ");
            fprintf(f, "%.*sk%zu", (int)(entry - line), line, k);
            line = entry + strcspn(entry, "( \t\n");
        }
        fwrite(line, 1, (size_t)(end - line), f);
    }
}

static int put_batch(struct many *m, size_t k)
{
    struct batch *b = &m->batch[k];
    FILE *f;
    size_t i;

    work_at(&m->w, k);
    f = fopen(m->w.file[TEXT], "wb");
    if (!f)
        return failure("sass", "%s: %s", m->w.file[TEXT], strerror(errno));
    for (i = 0; i < b->count; i++)
        put_text(f, m->text[b->list[i]].text, b->list[i], !i);
    i = (size_t)ferror(f);
    if (fclose(f) || i)
        return failure("sass", "%s: not written", m->w.file[TEXT]);
    return EXIT_GOOD;
}

/* In a process of its own; a batch of many is silent, since its texts are
 * tried one by one when it fails. */
static int start(struct many *m, size_t k)
{
    struct batch *b = &m->batch[k];
    int code = put_batch(m, k);

    if (code)
        return code;
    fflush(NULL);
    b->pid = fork();
    if (b->pid < 0) {
        b->pid = 0;
        return failure("sass", "fork: %s", strerror(errno));
    }
    if (b->pid)
        return EXIT_GOOD;
    if (b->count > 1 && !freopen(m->w.file[LOG], "w", stderr))
        _exit(EXIT_BAD);
    code = assemble(&m->w, b->target, m->by);
    if (!code)
        code = disassemble(&m->w, m->read_by);
    fflush(NULL);
    _exit(code);
}

/* Until one of the running ones is over. */
static void wait_one(struct many *m)
{
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    size_t k;

    for (k = 0; pid > 0 && k < m->batches; k++) {
        if (m->batch[k].pid != pid)
            continue;
        m->batch[k].pid = 0;
        m->batch[k].result =
            WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BAD;
    }
}

/* Batches from the k-th on, as many at once as there are cores. */
static int run_batches(struct many *m, size_t k)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN), busy = 0;
    int code = EXIT_GOOD;

    for (; k < m->batches && !code; k++) {
        if (busy >= (cores > 1 ? cores : 1)) {
            wait_one(m);
            busy--;
        }
        code = start(m, k);
        busy += !code;
    }
    for (; busy > 0; busy--)
        wait_one(m);
    return code;
}

/* Texts that stand for themselves: all, or those of batches that failed. */
static int add_batches(struct many *m, size_t n, size_t most)
{
    size_t i;

    for (i = 0; i < n; i++) {
        struct batch *b;

        if (most == 1 && !m->text[i].result)
            continue;
        b = batch_of(m, &m->text[i], most);
        if (!b)
            return failure("sass", "no memory");
        b->list[b->count++] = i;
    }
    return EXIT_GOOD;
}

/* Results of batches from `first` on. */
static int collect(struct many *m, size_t first, struct sass_code *codes)
{
    size_t k, i, e;

    for (k = first; k < m->batches; k++) {
        struct batch *b = &m->batch[k];

        work_at(&m->w, k);
        memset(&codes[k], 0, sizeof codes[k]);
        if (!b->result)
            b->result = read_back(&m->w, &codes[k]);
        work_clear(&m->w, k);
        for (i = 0; i < b->count; i++) {
            struct sass_text *t = &m->text[b->list[i]];
            char name[32];

            t->result = b->result;
            snprintf(name, sizeof name, "k%zu", b->list[i]);
            for (e = 0; e < codes[k].count; e++)
                if (!strcmp(codes[k].entry[e].name, name))
                    break;
            if (e == codes[k].count)
                t->result = EXIT_BAD;
            t->code = &codes[k];
            t->entry = e;
        }
    }
    return EXIT_GOOD;
}

static int make_many(struct many *m, size_t n, struct sass_code *codes)
{
    size_t first;
    int code = add_batches(m, n, BATCH);

    if (!code)
        code = run_batches(m, 0);
    if (!code)
        code = collect(m, 0, codes);
    first = m->batches;
    if (!code)
        code = add_batches(m, n, 1);
    if (!code)
        code = run_batches(m, first);
    if (!code)
        code = collect(m, first, codes);
    return code;
}

int sass_of_texts(struct sass_text *t, size_t n, struct sass_code **codes,
                  size_t *count)
{
    struct many m = {.text = t};
    size_t k;
    int code = find_disassembler(m.read_by);

    *count = 0;
    *codes = NULL;
    if (!code && !program_find("ptxas", m.by))
        code = failure("sass", "no ptxas in the build folder, $PATH or "
                               "/usr/local/cuda; `make toolchain` gets the "
                               "pinned one");
    if (code || (code = folder_make(m.w.dir)))
        return code;
    /* at worst a batch a text, and one more each for those that fail */
    *codes = calloc(2 * n + 1, sizeof **codes);
    code = *codes ? make_many(&m, n, *codes) : failure("sass", "no memory");
    *count = 2 * n + 1;
    for (k = 0; k < m.batches; k++)
        work_clear(&m.w, k);
    rmdir(m.w.dir);
    free(m.batch);
    return code;
}
