/* plain.c -- a fuzz target without libFuzzer: files, or standard input
 *
 * What afl-fuzz runs, persistent where its compiler made it, and what shows a
 * found text again.
 */
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#ifdef __AFL_LOOP
#define MORE(once) __AFL_LOOP(1000)
#else
#define MORE(once) (!(once)++)
#endif

enum { MOST = 1 << 20 };
static unsigned char text[MOST];

/* At its own size, so that ASan sees a read past the end. */
static int feed(FILE *f)
{
    size_t n = fread(text, 1, MOST, f);
    unsigned char *copy = malloc(n + 1);
    int bad = ferror(f);

    if (!copy)
        return 1;
    copy = realloc(copy, n ? n : 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = text[i];
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
    return bad;
}

int main(int argc, char **argv)
{
    int once = 0, bad = 0;

    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");

        bad |= f ? feed(f) : 1;
        if (f)
            fclose(f);
    }
    (void)once;
    while (argc < 2 && MORE(once))
        bad |= feed(stdin);
    return bad;
}
