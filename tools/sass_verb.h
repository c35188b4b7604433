/* sass_verb.h -- what the parts of the verb `fgs sass` share */
#ifndef FGS_TOOL_SASS_VERB_H
#define FGS_TOOL_SASS_VERB_H

#include "sass.h"

#include <stdlib.h>

struct sass_asked {
    const char *target, *skip, *role, *engine, *element, *language;
    bool check, all, rules, inits, own, json;
    bool self_init, persistent; /* of a kernel of the library               */
    fgs_element element_value;
};

/* What is printed. */
struct sass_report {
    const struct sass_asked *a;
    struct json j;
    size_t kernels, broken;
    /* of --all: twins in CUDA C++ that were checked, those for which there is
     * no compiler, and why; kernels without a twin */
    size_t twins, left_out, alone;
    char why[400];
};

/* 107 of "sm_107a". */
static inline int32_t sass_cc_of(const char *target)
{
    return (int32_t)strtol(target + 3, NULL, 10);
}

/* Check and print; EXIT_BAD after a message = no memory. */
int sass_check_entry(struct sass_report *r, const char *name,
                     const char *target, const struct sass_what *w,
                     struct sass_entry *e);

/* -------------------------------------------------------- sass_all.c -- */

/* What a stem is for: its name is made of role and engine. */
void sass_what_of_stem(const fgs_ptx_desc *d, struct sass_what *w);
/* Every kernel of the library for every target. */
int sass_check_all(struct sass_report *r);

#endif
