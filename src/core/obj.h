/* obj.h -- handles: what the application holds in place of our pointers
 *
 * A handle is a number that is never given out twice, dressed as a pointer to
 * an opaque type.  So a handle of a freed object is known as such for ever,
 * also when the memory is in use again, and nothing behind a wrong one is
 * read.
 */
#ifndef FGS_CORE_OBJ_H
#define FGS_CORE_OBJ_H

#include <fgs/fgs.h>

enum fgs__kind { FGS__DEVICE = 1, FGS__BUFFER, FGS__KERNEL, FGS__PLAN };

/* First member of every object. */
struct fgs__obj {
    struct fgs__obj *next;
    uintptr_t handle; /* 0 = none yet, or taken back */
    enum fgs__kind kind;
};

/* Give the object a handle.  Threads: any, for all calls here. */
void *fgs__obj_add(struct fgs__obj *o, enum fgs__kind kind);

/* The object of a handle.  `what` names the argument in FGS_E_NULL and
 * FGS_E_FREED. */
fgs_result fgs__obj_get(struct fgs__obj **out, const void *handle,
                        enum fgs__kind kind, const char *what, fgs_error *err);

/* Take the handle back: from now on it is a freed one.  NULL = it was no live
 * handle of that kind. */
struct fgs__obj *fgs__obj_take(const void *handle, enum fgs__kind kind);

#endif
