/* plain.c -- a fuzz target without libFuzzer: files, or standard input
 *
 * What afl-fuzz runs, and what shows a found text again.  Made by
 * afl-clang-fast it is persistent: a process takes many texts, out of shared
 * memory.
 */
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { MOST = 1 << 20 };

/* At its own size, so that ASan sees a read past the end. */
static int give(const unsigned char *text, size_t n)
{
    unsigned char *copy = malloc(n ? n : 1);

    if (!copy)
        return 1;
    for (size_t i = 0; i < n; i++)
        copy[i] = text[i];
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
    return 0;
}

static int feed(FILE *f)
{
    static unsigned char text[MOST];
    size_t n = fread(text, 1, MOST, f);

    return ferror(f) ? 1 : give(text, n);
}

#ifdef __AFL_LOOP
/* Its macros are expressions of statements. */
#pragma clang diagnostic ignored "-Wpedantic"
#include <sanitizer/allocator_interface.h>
#include <sanitizer/lsan_interface.h>
#include <stdatomic.h>
#include <unistd.h>

__AFL_FUZZ_INIT();

enum { TEXTS = 1000, LOOKS = 20 };
static atomic_long blocks;

static void had(const volatile void *p, size_t n)
{
    (void)p, (void)n;
    blocks++;
}

static void freed(const volatile void *p)
{
    (void)p;
    blocks--;
}

/*
 * A text that left blocks may have leaked them, as libFuzzer guesses too; what
 * a target keeps from one to the next is no leak, so only the first of them are
 * worth the look.  It wants ASAN_OPTIONS=detect_leaks=1.
 */
static void serve(void)
{
    const unsigned char *text;
    int looks = 0;

    __sanitizer_install_malloc_and_free_hooks(had, freed);
    __AFL_INIT();
    text = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(TEXTS)) {
        int n = __AFL_FUZZ_TESTCASE_LEN;
        long before = blocks;

        give(text, n > 0 ? (size_t)n : 0);
        if (blocks > before && looks++ < LOOKS &&
            __lsan_do_recoverable_leak_check())
            abort();
    }
}
#else
static void serve(void)
{
    exit(feed(stdin));
}
#endif

int main(int argc, char **argv)
{
    int bad = 0;

    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");

        bad |= f ? feed(f) : 1;
        if (f)
            fclose(f);
    }
    if (argc < 2)
        serve();
    return bad;
}
