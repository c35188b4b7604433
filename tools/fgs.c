/* fgs.c -- the command-line tool: its verbs */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

const struct verb verbs[] = {
    {"run", "hand tiles from a producer to a consumer, verified", usage_run,
     verb_run},
    {"plan", "plans of many kernels, from files: check, draw, run, verify",
     usage_plan, verb_plan},
    {"trace", "blocks of grids on SMs over time, for Perfetto or as SVG",
     usage_trace, verb_trace},
    {"device", "what devices there are and what each can do", usage_device,
     verb_device},
    {"ptx", "list the kernels, or print one as it is loaded", usage_ptx,
     verb_ptx},
    {"check", "check PTX files by the rules of the assembler",
     usage_check, verb_check},
    {"sass", "machine code of kernels, the protocol marked and checked",
     usage_sass, verb_sass},
    {"bench", "speed of the software device, of hand-offs, launches, waiting",
     usage_bench, verb_bench},
    {NULL, NULL, NULL, NULL},
};

const struct verb *verb_find(const char *name)
{
    const struct verb *v;

    for (v = verbs; v->name; v++)
        if (!strcmp(v->name, name))
            return v;
    return NULL;
}

static void print_error(const char *verb, const char *fmt, va_list ap)
{
    fprintf(stderr, "fgs%s%s: ", verb ? " " : "", verb ? verb : "");
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

int usage_error(const char *verb, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print_error(verb, fmt, ap);
    va_end(ap);
    if (verb)
        fprintf(stderr, "fgs %s --help shows the options\n", verb);
    else
        fputs("fgs help shows the verbs\n", stderr);
    return EXIT_USAGE;
}

int failure(const char *verb, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print_error(verb, fmt, ap);
    va_end(ap);
    return EXIT_BAD;
}

int finish(const char *verb, int code)
{
    bool lost = ferror(stdout);

    errno = 0;
    if (!fflush(stdout) && !lost)
        return code;
    return failure(verb, "standard output: %s",
                   errno ? strerror(errno) : "a part was not written");
}

int code_of(fgs_result r)
{
    return r == FGS_E_NODRIVER || r == FGS_E_NODEVICE ? EXIT_NODEVICE
                                                      : EXIT_BAD;
}

void say_device(const char *lead, const fgs_device_info *info)
{
    fprintf(stderr, "fgs: %s%s device %d, %s, compute %d.%d: %s\n", lead,
            info->provider, (int)info->ordinal, info->name, (int)info->cc / 10,
            (int)info->cc % 10, info->why);
}

static int help(void)
{
    const struct verb *v;

    puts("usage: fgs VERB [OPTION]...\n");
    for (v = verbs; v->name; v++)
        printf("  %-8s %s\n", v->name, v->purpose);
    puts("  help     this text; fgs help VERB, fgs VERB --help\n"
         "\n"
         "fgs --version prints the version.  Every verb takes --json.\n"
         "Exit: 0 good, 1 failed, 2 wrong usage, 77 no such device.");
    return finish(NULL, EXIT_GOOD);
}

static int help_verb(const char *name)
{
    const struct verb *v = verb_find(name);

    if (!v)
        return usage_error(NULL, "no verb is named \"%s\"", name);
    fputs(v->usage, stdout);
    return finish(NULL, EXIT_GOOD);
}

static int version(void)
{
    int v = fgs_version();

    printf("fgs %d.%d.%d\n", v / 10000, v / 100 % 100, v % 100);
    return finish(NULL, EXIT_GOOD);
}

/* A file that is opened while a standard stream is closed would take its
 * number, and messages would go into it. */
static int check_streams(void)
{
    int fd;

    for (fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        if (open("/dev/null", O_RDWR) < 0 || fd == STDOUT_FILENO)
            return failure(NULL, "standard output is closed");
    }
    return EXIT_GOOD;
}

int main(int argc, char **argv)
{
    const struct verb *v;
    const char *word = argc > 1 ? argv[1] : NULL;
    static char out[1 << 16];

    if (check_streams())
        return EXIT_BAD;
    /* What a listing cannot write is told at its end, with the reason, which
     * the first of several writes would have kept to itself. */
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, out, _IOFBF, sizeof out);
    if (!word)
        return usage_error(NULL, "no verb was given");
    if (!strcmp(word, "help") && argc > 3)
        return usage_error(NULL, "help takes one verb");
    if (!strcmp(word, "help") && argc == 3)
        return help_verb(argv[2]);
    if (!strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h"))
        return help();
    if (!strcmp(word, "--version"))
        return version();
    v = verb_find(word);
    if (!v)
        return usage_error(NULL, "no verb is named \"%s\"", word);
    return finish(v->name, v->run(argc - 1, argv + 1));
}
