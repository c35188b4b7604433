/* verb_sass.c -- fgs sass: what the assembler makes of a kernel */
#include "program.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char usage_sass[] =
    "usage: fgs sass [OPTION]... NAME|FILE.ptx\n"
    "\n"
    "Assemble a kernel of the library or a PTX file and print the machine\n"
    "code.  Takes ptxas and nvdisasm (or cuobjdump) of the pinned tool chain,\n"
    "of $PATH or of /usr/local/cuda; without ptxas, nvJitLink assembles.\n"
    "\n"
    "  --target T   such as sm_107a (default: the text's own)\n"
    "  --json       as JSON\n"
    "\n"
    "Exit: 0 good, 1 failed or no assembler, 2 wrong usage.\n";

/* Files of a run, in a folder of their own. */
struct work {
    char dir[PROGRAM_PATH];
    char ptx[PROGRAM_PATH + 16], cubin[PROGRAM_PATH + 16],
        sass[PROGRAM_PATH + 16];
};

static int work_begin(struct work *w)
{
    int code = folder_make(w->dir);

    snprintf(w->ptx, sizeof w->ptx, "%s/text.ptx", w->dir);
    snprintf(w->cubin, sizeof w->cubin, "%s/text.cubin", w->dir);
    snprintf(w->sass, sizeof w->sass, "%s/text.sass", w->dir);
    return code;
}

static void work_end(struct work *w)
{
    unlink(w->ptx);
    unlink(w->cubin);
    unlink(w->sass);
    rmdir(w->dir);
}

/* A file where the name looks like one, else a kernel of the library. */
static int fetch(const char *name, const char *target, char **text)
{
    size_t len = strlen(name), size;
    int32_t cc = 107;
    int bad;

    if (!strchr(name, '/') && (len < 4 || strcmp(name + len - 4, ".ptx"))) {
        if (target)
            cc = (int32_t)strtol(target + 3, NULL, 10);
        return text_get("sass", name, cc, text);
    }
    bad = file_read(name, (unsigned char **)text, &size);
    if (bad)
        return failure("sass", "%s: %s", name, strerror(bad));
    if (strlen(*text) == size)
        return EXIT_GOOD;
    free(*text);
    return failure("sass", "%s: a NUL byte is in it, so it is no text", name);
}

/* "sm_" digits and at most one letter: it becomes an argument. */
static bool target_is_sound(const char *t)
{
    size_t n = strncmp(t, "sm_", 3) ? 0 : strspn(t + 3, "0123456789");

    return n >= 2 && n <= 3 &&
           (!t[3 + n] || (strchr("af", t[3 + n]) && !t[4 + n]));
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
                 : file_write(w->cubin, cubin, size);
    free(cubin);
    return code;
}

static int assemble(struct work *w, const char *name, const char *text,
                    const char *target, char by[PROGRAM_PATH])
{
    char arch[48], to[] = "-o";
    char *argv[] = {by, arch, to, w->cubin, w->ptx, NULL};
    int code;

    if (!program_find("ptxas", by)) {
        snprintf(by, PROGRAM_PATH, "nvJitLink");
        return assemble_linked(w, name, text, target);
    }
    snprintf(arch, sizeof arch, "-arch=%s", target);
    code = file_write(w->ptx, text, strlen(text));
    if (!code && (code = program_run(argv, w->sass)) &&
        !strstr(by, "/toolchain/"))
        fputs("fgs sass: another ptxas may know the target; `make toolchain` "
              "gets the pinned one\n",
              stderr);
    return code;
}

static int disassemble(struct work *w, char by[PROGRAM_PATH])
{
    char nvdisasm[] = "-c", cuobjdump[] = "-sass";
    char *argv[] = {by, nvdisasm, w->cubin, NULL};

    if (!program_find("nvdisasm", by)) {
        argv[1] = cuobjdump;
        if (!program_find("cuobjdump", by))
            return failure("sass", "neither nvdisasm nor cuobjdump is in the "
                                   "build folder, in $PATH or in "
                                   "/usr/local/cuda; `make toolchain` gets "
                                   "the pinned ones");
    }
    return program_run(argv, w->sass);
}

static int show(const struct work *w, const char *target, const char *by,
                const char *read_by, bool as_json)
{
    struct json j = {.to = stdout};
    unsigned char *sass;
    size_t size;
    int bad = file_read(w->sass, &sass, &size);

    if (bad)
        return failure("sass", "%s: %s", w->sass, strerror(bad));
    if (as_json) {
        json_open(&j, NULL, '{');
        json_text(&j, "target", target);
        json_text(&j, "assembled_by", by);
        json_text(&j, "disassembled_by", read_by);
        json_bytes(&j, "sass", (const char *)sass, size);
        json_close(&j, '}');
    } else {
        fwrite(sass, 1, size, stdout);
    }
    free(sass);
    return EXIT_GOOD;
}

static int sass(const char *name, const char *target, bool json)
{
    char own[32], by[PROGRAM_PATH], read_by[PROGRAM_PATH];
    struct work w;
    char *text = NULL;
    int code = fetch(name, target, &text);

    if (code)
        return code;
    if (!target) {
        text_word(text, ".target", own, sizeof own);
        target = own;
        if (!target_is_sound(own))
            code = failure("sass", "%s: no .target sm_... line is in it", name);
    }
    if (!code && !(code = work_begin(&w))) {
        code = assemble(&w, name, text, target, by);
        if (!code) {
            fprintf(stderr, "fgs: %s for %s by %s\n", name, target, by);
            code = disassemble(&w, read_by);
        }
        if (!code)
            code = show(&w, target, by, read_by, json);
        work_end(&w);
    }
    free(text);
    return code;
}

int verb_sass(int argc, char **argv)
{
    const char *target = NULL;
    bool json = false;
    const struct opt table[] = {
        {"--target", OPT_TEXT, &target, 0, 0, NULL, NULL},
        {"--json", OPT_FLAG, &json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands;
    int code = opt_parse(verb_find("sass"), argc, argv, table, &operands);

    if (code >= 0)
        return code;
    if (operands != 1)
        return usage_error("sass", "one NAME or FILE.ptx is expected");
    if (target && !target_is_sound(target))
        return usage_error("sass",
                           "--target: \"%s\" is no target such as "
                           "sm_107a",
                           target);
    return sass(argv[1], target, json);
}
