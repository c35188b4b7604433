/* obj.c -- handles: what the application holds in place of our pointers */
#include "core/obj.h"
#include "base/error.h"

#include <pthread.h>

/* Buckets of objects by handle.  The list needs no memory of its own, so it
 * cannot fail. */
enum { BUCKETS = 256, STEP = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fgs__obj *buckets[BUCKETS];
static uintptr_t last;

static struct fgs__obj **bucket_of(uintptr_t handle)
{
    return &buckets[handle / STEP % BUCKETS];
}

void *fgs__obj_add(struct fgs__obj *o, enum fgs__kind kind)
{
    struct fgs__obj **b;

    pthread_mutex_lock(&lock);
    last += STEP;
    o->handle = last;
    o->kind = kind;
    b = bucket_of(o->handle);
    o->next = *b;
    *b = o;
    pthread_mutex_unlock(&lock);
    return (void *)o->handle;
}

/* The link that points to the object; *link is NULL when there is none. */
static struct fgs__obj **find(uintptr_t handle, enum fgs__kind kind)
{
    struct fgs__obj **link = bucket_of(handle);

    while (*link && ((*link)->handle != handle || (*link)->kind != kind))
        link = &(*link)->next;
    return link;
}

fgs_result fgs__obj_get(struct fgs__obj **out, const void *handle,
                        enum fgs__kind kind, const char *what, fgs_error *err)
{
    static const char *const names[] = { "", "device", "buffer", "kernel",
                                         "plan" };

    *out = NULL;
    if (!handle)
        return fgs__fail(err, FGS_E_NULL, "%s is NULL", what);
    pthread_mutex_lock(&lock);
    *out = *find((uintptr_t)handle, kind);
    pthread_mutex_unlock(&lock);
    if (*out)
        return FGS_OK;
    return fgs__fail(err, FGS_E_FREED,
                     "%s: this %s was freed, or is not one at all", what,
                     names[kind]);
}

struct fgs__obj *fgs__obj_take(const void *handle, enum fgs__kind kind)
{
    struct fgs__obj **link, *o;

    pthread_mutex_lock(&lock);
    link = find((uintptr_t)handle, kind);
    o = *link;
    if (o) {
        *link = o->next;
        o->handle = 0;
    }
    pthread_mutex_unlock(&lock);
    return o;
}
