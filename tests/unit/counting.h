/* counting.h -- an allocator that counts blocks and fails at the n-th call */
#ifndef COUNTING_H
#define COUNTING_H

#include <fgs/fgs.h>
#include <stdatomic.h>
#include <stdlib.h>

struct counting {
    atomic_long calls, live;
    long at; /* the call that fails, from 1; 0 = none */
};

static inline void *counting_alloc(void *cookie, size_t size)
{
    struct counting *c = cookie;
    void *p;

    if (atomic_fetch_add(&c->calls, 1) + 1 == c->at)
        return NULL;
    p = malloc(size);
    if (p)
        atomic_fetch_add(&c->live, 1);
    return p;
}

static inline void counting_release(void *cookie, void *ptr)
{
    struct counting *c = cookie;

    atomic_fetch_sub(&c->live, 1);
    free(ptr);
}

static inline fgs_allocator counting_allocator(struct counting *c)
{
    return (fgs_allocator){ counting_alloc, counting_release, c };
}

#endif
