/* compat.h -- the compiler extensions that the code uses, in one place */
#ifndef FGS_BASE_COMPAT_H
#define FGS_BASE_COMPAT_H

#include <string.h>
#include <stdio.h>
#include <stdlib.h>

#define FGS__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define FGS__UNUSED            __attribute__((unused))
#define FGS__ALIGN(n)          __attribute__((aligned(n)))
#define FGS__MAY_ALIAS         __attribute__((may_alias))
#define FGS__INLINE            inline __attribute__((always_inline))
#define FGS__ALIGNED(p, n)     __builtin_assume_aligned(p, n)
#define FGS__LIKELY(x)         __builtin_expect(!!(x), 1)
#define FGS__UNLIKELY(x)       __builtin_expect(!!(x), 0)

/* Before a loop whose rounds do not depend on each other. */
#ifdef __clang__
/* clang unrolls 32 rounds before it thinks of vectors. */
#define FGS__EACH                                                              \
    _Pragma("clang loop vectorize(assume_safety) interleave_count(4)")         \
    _Pragma("clang loop unroll(disable)")
#else
#define FGS__EACH _Pragma("GCC ivdep")
#endif

/* Before arithmetic in another rounding mode and after it: what is in memory
 * at `p` is written before the code goes on. */
#define FGS__BARRIER(p) __asm__ volatile("" : : "r"(p) : "memory")

/* Compare and exchange of 16 aligned bytes at `p`: was[2], next[2], and whether
 * it was done.  The builtin would call a library for it. */
#define FGS__CAS_16(p, was, next, done)                                        \
    __asm__ volatile("lock cmpxchg16b %0"                                      \
                     : "+m"(*(char(*)[16])(p)), "+a"((was)[0]),                \
                       "+d"((was)[1]), "=@ccz"(done)                           \
                     : "b"((next)[0]), "c"((next)[1])                          \
                     : "memory")

/* Memory of a simulated program: its races are that program's, so the thread
 * sanitizer does not look at the functions that touch it. */
#define FGS__DEVICE_MEMORY __attribute__((no_sanitize("thread")))

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok

#endif
