/* afl_words.c -- the changes of mutate.c as a mutator of afl-fuzz
 *
 * AFL_CUSTOM_MUTATOR_LIBRARY names it; changes of bytes are afl-fuzz's own.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(unsigned char *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t size, size_t most,
                               unsigned seed);
void *afl_custom_init(void *afl, unsigned seed);
void afl_custom_deinit(void *own);
size_t afl_custom_fuzz(void *own, unsigned char *data, size_t size,
                       unsigned char **out, unsigned char *other,
                       size_t other_size, size_t most);

enum { MOST = 1 << 14 };

struct own {
    unsigned seed;
    unsigned char text[MOST];
};

size_t LLVMFuzzerMutate(unsigned char *data, size_t size, size_t most)
{
    (void)data, (void)most;
    return size;
}

void *afl_custom_init(void *afl, unsigned seed)
{
    struct own *o = calloc(1, sizeof *o);

    (void)afl;
    if (o)
        o->seed = seed;
    return o;
}

void afl_custom_deinit(void *own)
{
    free(own);
}

size_t afl_custom_fuzz(void *own, unsigned char *data, size_t size,
                       unsigned char **out, unsigned char *other,
                       size_t other_size, size_t most)
{
    struct own *o = own;

    (void)other, (void)other_size;
    if (most > MOST)
        most = MOST;
    if (size > most)
        size = most;
    memcpy(o->text, data, size);
    *out = o->text;
    return LLVMFuzzerCustomMutator(o->text, size, most, o->seed++);
}
