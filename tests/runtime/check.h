/* check.h -- what the programs of tests/runtime have in common */
#ifndef CHECK_H
#define CHECK_H

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define OK(call) is((call), cudaSuccess, #call, __LINE__)
#define IS(call, error) is((call), (error), #call, __LINE__)
#define TRUE_(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            printf("line %d: not so: %s\n", __LINE__, #what);                  \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

static inline void is(cudaError_t got, cudaError_t want, const char *call,
                      int line)
{
    if (got == want)
        return;
    printf("line %d: %s: %s, not %s\n", line, call, cudaGetErrorName(got),
           cudaGetErrorName(want));
    exit(1);
}

#endif
