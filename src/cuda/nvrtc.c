/* nvrtc.c -- CUDA C++ text, made into PTX text */
#include "cuda/nvrtc.h"
#include "base/error.h"

#include <dlfcn.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { SUCCESS = 0, OUT_OF_MEMORY = 1 };

static const struct fgs__dynlib_function functions[] = {
#define ROW(result, member, name, params)                                      \
    { name, offsetof(struct fgs__nvrtc, member) },
    FGS__NVRTC(ROW)
#undef ROW
};

/*
 * NVRTC opens libnvrtc-builtins by its bare name, which is found through the
 * RUNPATH of NVRTC itself: not where a sanitizer stands between the two, nor
 * where a packager took it away.  Opened by its path before, it is found.
 */
static void open_builtins(const struct fgs__nvrtc *n)
{
    char path[4096];
    Dl_info info;
    void *sym;
    char *name;

    memcpy(&sym, &n->create, sizeof sym);
    if (!dladdr(sym, &info) || !info.dli_fname ||
        strlen(info.dli_fname) + 48 > sizeof path)
        return;
    snprintf(path, sizeof path, "%s", info.dli_fname);
    name = strrchr(path, '/');
    if (!name)
        return;
    snprintf(name, 48, "/libnvrtc-builtins.so.%d.%d", n->lib.version / 10,
             n->lib.version % 10);
    dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void fgs__nvrtc_open(struct fgs__nvrtc *n)
{
    static const char *const files[] = { "libnvrtc.so.13", "libnvrtc.so.12",
                                         NULL };
    static const struct fgs__dynlib_kind kind = {
        "FGS_NVRTC", files, "nvrtcVersion", functions, COUNT(functions)
    };

    memset(n, 0, sizeof *n);
    fgs__dynlib_open(&n->lib, &kind, n);
    if (n->lib.found)
        open_builtins(n);
}

const char *fgs__nvrtc_name(const struct fgs__nvrtc *n, char *buf)
{
    snprintf(buf, 24, "NVRTC %d.%d", n->lib.version / 10,
             n->lib.version % 10);
    return buf;
}

const char *fgs__nvrtc_option(size_t i)
{
    static const char *const options[] = { "--std=c++17" };

    return i < COUNT(options) ? options[i] : NULL;
}

/* ----------------------------------------------------------------- log -- */

/*
 * The caret's column in the third line of
 *
 *   name.cu(3): error: identifier "x" is undefined
 *     *p = x + 1;
 *          ^
 *
 * where the text's line stands behind two more blanks, tabs as they are.
 */
static uint32_t caret(const char *message)
{
    const char *line = message + strcspn(message, "\n"), *mark;

    if (!*line)
        return 0;
    line += 1 + strcspn(line + 1, "\n");
    if (!*line)
        return 0;
    line++;
    mark = line + strspn(line, " \t");
    return *mark == '^' && mark - line >= 2 ? (uint32_t)(mark - line - 1) : 0;
}

/* Does "(12): catastrophic error: text" or the like stand at p?  The message,
 * NULL = no error. */
static const char *error_at(const char *p, uint32_t *line)
{
    const char *end = p + strcspn(p, "\n"), *word;
    char *digits;

    *line = (uint32_t)strtoul(p + 1, &digits, 10);
    if (digits == p + 1 || strncmp(digits, "): ", 3))
        return NULL;
    /* "error:", "error #20-D:", with words for a worse one before. */
    for (p = digits + 3; p < end && *p != ':'; p = word + strspn(word, " ")) {
        word = p + strcspn(p, " :\n");
        if (word - p == 5 && !memcmp(p, "error", 5)) {
            p = word + strcspn(word, ":\n");
            return *p == ':' ? p + 1 + strspn(p + 1, " ") : NULL;
        }
    }
    return NULL;
}

int fgs__nvrtc_log_place(const char *log, struct fgs__nvrtc_place *out)
{
    memset(out, 0, sizeof *out);
    for (const char *p = log; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        const char *end = p + strcspn(p, "\n");

        /* A file's name may have parentheses too. */
        for (const char *q = p; q < end; q++) {
            const char *text = *q == '(' ? error_at(q, &out->line) : NULL;

            if (!text)
                continue;
            snprintf(out->file, sizeof out->file, "%.*s", (int)(q - p), p);
            snprintf(out->text, sizeof out->text, "%.*s",
                     (int)strcspn(text, "\n"), text);
            out->column = caret(p);
            return 1;
        }
    }
    out->line = 0;
    return 0;
}

/* NULL = none, or no memory for it. */
static char *get_log(const struct fgs__nvrtc *n, fgs__nvrtc_program p,
                     const fgs_allocator *a, int *nomem)
{
    size_t size = 0;
    char *log;

    /* The size counts the NUL; a log of nothing has 1. */
    if (n->log_size(p, &size) != SUCCESS || size <= 1)
        return NULL;
    log = fgs__alloc(a, size + 1);
    if (!log) {
        *nomem = 1;
        return NULL;
    }
    if (n->log(p, log) != SUCCESS) {
        fgs__free(a, log);
        return NULL;
    }
    log[size] = '\0';
    return log;
}

/* ------------------------------------------------------------- compile -- */

static fgs_result refused(const struct fgs__nvrtc *n,
                          const struct fgs__nvrtc_job *j, int code,
                          const char *log, fgs_error *err)
{
    const char *text = n->error_text(code);
    struct fgs__nvrtc_place at;
    char who[24];

    fgs__nvrtc_name(n, who);
    if (!text)
        text = "no name for this result";
    if (log && fgs__nvrtc_log_place(log, &at))
        return fgs__fail_at(err, FGS_E_COMPILE, at.file, at.line, at.column,
                            "%s (refused by %s for %s)", at.text, who,
                            j->target);
    return fgs__fail(err, FGS_E_COMPILE, "%s for %s: %s (%d) by %s%s%.*s",
                     j->file, j->target, text, code, who, log ? ": " : "",
                     log ? (int)strcspn(log, "\n") : 0, log ? log : "");
}

static fgs_result none(const struct fgs__nvrtc *n, const char *file,
                       fgs_error *err)
{
    if (n->lib.asked_for)
        return fgs__fail(err, FGS_E_FILE, "FGS_NVRTC: %s", n->lib.why);
    return fgs__fail(err, FGS_E_UNSUPPORTED,
                     "%s is CUDA C++ and there is no NVRTC to compile it (%s); "
                     "the kernels in PTX need none",
                     file, n->lib.why);
}

/* All options in one list: ours last, so that they hold. */
static int all_options(const struct fgs__nvrtc_job *j, const char *arch,
                       const char **all)
{
    int count = 0;

    for (size_t i = 0; i < j->options; i++)
        all[count++] = j->option[i];
    for (size_t i = 0; fgs__nvrtc_option(i); i++)
        all[count++] = fgs__nvrtc_option(i);
    all[count++] = arch;
    return count;
}

static fgs_result get_ptx(const struct fgs__nvrtc *n, fgs__nvrtc_program p,
                          const struct fgs__nvrtc_job *j,
                          const fgs_allocator *a, struct fgs__nvrtc_out *out,
                          fgs_error *err)
{
    size_t size = 0;
    int code = n->ptx_size(p, &size);

    if (code != SUCCESS || size <= 1)
        return refused(n, j, code, "no PTX came of it", err);
    out->text = fgs__alloc(a, size + 1);
    if (!out->text)
        return fgs__nomem(err);
    code = n->ptx(p, out->text);
    if (code == SUCCESS) {
        out->text[size] = '\0';
        out->len = strlen(out->text);
        return FGS_OK;
    }
    fgs__free(a, out->text);
    out->text = NULL;
    return refused(n, j, code, "the PTX could not be had", err);
}

static fgs_result compile(const struct fgs__nvrtc *n, fgs__nvrtc_program p,
                          const struct fgs__nvrtc_job *j,
                          const fgs_allocator *a, struct fgs__nvrtc_out *out,
                          fgs_error *err)
{
    const char *all[FGS__NVRTC_OPTIONS + 8];
    char arch[48];
    int code, nomem = 0;

    snprintf(arch, sizeof arch, "--gpu-architecture=%s", j->target);
    code = n->compile(p, all_options(j, arch, all), all);
    out->log = get_log(n, p, a, &nomem);
    if (nomem || code == OUT_OF_MEMORY)
        return fgs__nomem(err);
    if (code != SUCCESS)
        return refused(n, j, code, out->log, err);
    return get_ptx(n, p, j, a, out, err);
}

fgs_result fgs__nvrtc_compile(const struct fgs__nvrtc *n,
                              const struct fgs__nvrtc_job *j,
                              const fgs_allocator *a,
                              struct fgs__nvrtc_out *out, fgs_error *err)
{
    fgs__nvrtc_program p = NULL;
    fgs_result r;
    int code;

    memset(out, 0, sizeof *out);
    if (!n->lib.found)
        return none(n, j->file, err);
    if (j->headers > FGS__NVRTC_HEADERS || j->options > FGS__NVRTC_OPTIONS)
        return fgs__fail(err, FGS_E_SIZE, "%s: %zu headers and %zu options",
                         j->file, j->headers, j->options);
    code = n->create(&p, j->text, j->file, (int)j->headers, j->header,
                     j->include);
    if (code == SUCCESS)
        r = compile(n, p, j, a, out, err);
    else if (code == OUT_OF_MEMORY)
        r = fgs__nomem(err);
    else
        r = refused(n, j, code, NULL, err);
    if (p)
        n->destroy(&p);
    return r;
}

void fgs__nvrtc_free(struct fgs__nvrtc_out *out, const fgs_allocator *a)
{
    fgs__free(a, out->text);
    fgs__free(a, out->log);
    memset(out, 0, sizeof *out);
}

/* ------------------------------------------------------- included files -- */

/* Lines that a backslash joins are one. */
static const char *unsplice(const char *p)
{
    while (p[0] == '\\' && (p[1] == '\n' || (p[1] == '\r' && p[2] == '\n')))
        p += p[1] == '\n' ? 2 : 3;
    return p;
}

/* The word at p, splices taken out of it; where it ends. */
static const char *take(const char *p, const char *word)
{
    for (; *word; word++, p++) {
        p = unsplice(p);
        if (*p != *word)
            return NULL;
    }
    return p;
}

/* Is what stands at p, behind the word include, a header of the job? */
static int is_given(const struct fgs__nvrtc_job *j, const char *p)
{
    size_t len;
    char close;

    p += strspn(p, " \t(");
    if (*p != '"' && *p != '<')
        return 0;
    close = *p++ == '"' ? '"' : '>';
    len = strcspn(p, "\n\">");
    if (p[len] != close)
        return 0;
    for (size_t i = 0; i < j->headers; i++) {
        if (strlen(j->include[i]) == len && !memcmp(j->include[i], p, len))
            return 1;
    }
    return 0;
}

/* Past blanks and comments of one line. */
static const char *past_blanks(const char *p)
{
    for (;;) {
        const char *end;

        p = unsplice(p);
        end = take(p, "/*");
        if (end) {
            end = strstr(end, "*/");
            if (!end)
                return p;
            p = end + 2;
        } else if (*p == ' ' || *p == '\t') {
            p++;
        } else {
            return p;
        }
    }
}

/* Does p, where a directive's name stands, read what the job does not hold? */
static int reads(const struct fgs__nvrtc_job *j, const char *p)
{
    static const char *const other[] = { "import", "embed" };
    const char *end = take(p, "include");

    if (end)
        return !is_given(j, end);
    for (size_t i = 0; i < COUNT(other); i++) {
        if (take(p, other[i]))
            return 1;
    }
    return 0;
}

/* Whether # (or the digraph %:) stands in a comment is not asked. */
static int reads_unknown(const struct fgs__nvrtc_job *j, const char *text)
{
    for (const char *p = text; *p; p++) {
        const char *end = *p == '#' ? p + 1 : take(p, "%:");

        if (end && reads(j, past_blanks(end)))
            return 1;
        end = take(p, "__has_");
        if (end && reads(j, end))
            return 1;
    }
    return 0;
}

int fgs__nvrtc_reads_files(const struct fgs__nvrtc_job *j)
{
    int unknown = reads_unknown(j, j->text);

    for (size_t i = 0; i < j->headers && !unknown; i++)
        unknown = reads_unknown(j, j->header[i]);
    return unknown;
}
