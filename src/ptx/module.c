/* module.c -- looking things up in a parsed module */
#include "ptx/words.h"
#include "base/compat.h"

void fgs__ptx_free(struct fgs__ptx_module *m)
{
    struct fgs__arena arena;
    const fgs_allocator *a;

    if (!m)
        return;
    arena = m->arena;
    a = arena.alloc;
    fgs__arena_free(&arena);
    fgs__free(a, m);
}

struct fgs__ptx_func *fgs__ptx_find_func(const struct fgs__ptx_module *m,
                                         const char *name)
{
    struct fgs__ptx_func *found = NULL;

    /* A definition before its declarations. */
    for (struct fgs__ptx_func *f = m->funcs; f; f = f->next) {
        if ((!found || (f->body && !found->body)) && !strcmp(f->name, name))
            found = f;
    }
    return found;
}

struct fgs__ptx_sym *fgs__ptx_find_var(const struct fgs__ptx_module *m,
                                       const char *name)
{
    for (struct fgs__ptx_sym *v = m->vars; v; v = v->next) {
        if (!strcmp(v->name, name))
            return v;
    }
    return NULL;
}

bool fgs__ptx_has_op(const struct fgs__ptx_func *f, enum fgs__ptx_op op)
{
    for (uint32_t i = 0; i < f->insn_count; i++) {
        if (f->insn[i].op == op)
            return true;
    }
    return false;
}

const char *fgs__ptx_op_name(enum fgs__ptx_op op)
{
    static const char *const names[FGS__OP_COUNT] = {
        [FGS__OP_NONE] = "?",
#define OP(id, word, ...) [FGS__OP_##id] = word,
#include "ptx/opcode.def"
#undef OP
    };

    return (unsigned)op < FGS__OP_COUNT ? names[op] : "?";
}
