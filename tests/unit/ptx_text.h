/* ptx_text.h -- load a PTX text in a test */
#ifndef PTX_TEXT_H
#define PTX_TEXT_H

#include "ptx/module.h"

#include <string.h>

#define HEAD "\n.version 9.4\n.target sm_107a\n.address_size 64\n"

struct loaded {
    struct fgs__ptx_module *m;
    struct fgs__ptx_diags d;
    fgs_result r;
};

static inline struct loaded load(const char *text)
{
    struct loaded l;

    fgs__ptx_diags_init(&l.d, &fgs__malloc);
    l.r = fgs__ptx_load(&l.m, text, strlen(text), &fgs__malloc, &l.d);
    return l;
}

static inline void unload(struct loaded *l)
{
    fgs__ptx_free(l->m);
    fgs__ptx_diags_free(&l->d);
}

#endif
