/* contract.c -- what a plan asks of a kernel's text */
#include "core/kernel.h"
#include "table/table.h"

static const struct {
    const char *name;
    enum fgs__ptx_type type;
} params[] = {
#define FGS__TYPE_u64 FGS__T_U64
#define FGS__TYPE_u32 FGS__T_U32
#define PARAM(name, type, meaning) { #name, FGS__TYPE_##type },
#include "table/param.def"
#undef PARAM
};

enum { PARAMS = sizeof params / sizeof params[0] };

static fgs_result broken(const struct fgs__kernel *k, struct fgs__ptx_pos pos,
                         fgs_error *err, const char *text, const char *name)
{
    const char *file = fgs__text_place(&k->text, &pos.line);

    return fgs__fail_at(err, FGS_E_CONTRACT, file, pos.line, pos.column,
                        "%s %s", text, name);
}

static fgs_result check_params(const struct fgs__kernel *k,
                               const struct fgs__ptx_func *f, fgs_error *err)
{
    const struct fgs__ptx_sym *s = f->params;
    struct fgs__ptx_pos at = f->pos;
    const char *file;

    for (int i = 0; i < PARAMS; i++, s = s->next) {
        at = s ? s->pos : at;
        file = fgs__text_place(&k->text, &at.line);
        if (!s)
            return fgs__fail_at(err, FGS_E_CONTRACT, file, at.line, at.column,
                                "entry %s has %d parameters; a %s kernel has "
                                "%d, the next is .%s %s",
                                f->name, i, fgs__roles[k->role].name,
                                (int)PARAMS,
                                fgs__ptx_types[params[i].type].word,
                                params[i].name);
        /* NVRTC has names of its own, from the entry's. */
        if ((k->shape.language == FGS_LANGUAGE_PTX &&
             strcmp(s->name, params[i].name)) || s->type != params[i].type ||
            s->vec || s->bytes != fgs__ptx_types[s->type].bits / 8)
            return fgs__fail_at(err, FGS_E_CONTRACT, file, at.line, at.column,
                                "parameter %d of entry %s is .%s %s%s; it must "
                                "be .%s %s",
                                i + 1, f->name, fgs__ptx_types[s->type].word,
                                s->name, s->vec ? " (a vector)" : "",
                                fgs__ptx_types[params[i].type].word,
                                params[i].name);
    }
    if (s)
        return broken(k, s->pos, err,
                      "no plan passes a parameter behind the last one:",
                      s->name);
    return FGS_OK;
}

static fgs_result check_block(const struct fgs__kernel *k,
                              const struct fgs__ptx_func *f, fgs_error *err)
{
    uint32_t req = f->reqntid[0], max = f->maxntid[0];
    struct fgs__ptx_pos at = f->pos;
    const char *file = fgs__text_place(&k->text, &at.line);

    for (int i = 1; i < 3; i++) {
        req *= f->reqntid[i] ? f->reqntid[i] : 1;
        max *= f->maxntid[i] ? f->maxntid[i] : 1;
    }
    if ((!req || (req == k->shape.threads && f->reqntid[0] == req)) &&
        (!max || max >= k->shape.threads))
        return FGS_OK;
    return fgs__fail_at(err, FGS_E_CONTRACT, file, at.line, at.column,
                        "entry %s does not run with blocks of %u threads",
                        f->name, k->shape.threads);
}

fgs_result fgs__contract_check(const struct fgs__kernel *k,
                               const struct fgs__ptx_module *m,
                               const struct fgs__ptx_func **entry,
                               fgs_error *err)
{
    const struct fgs__ptx_func *f = fgs__ptx_find_func(m, k->entry);
    struct fgs__ptx_pos start = { 1, 1 };
    fgs_result r;

    *entry = NULL;
    if (!f)
        return broken(k, start, err, "the text has no entry", k->entry);
    if (!f->entry || !f->body)
        return broken(k, f->pos, err, "this is no .entry with a body:",
                      k->entry);
    r = check_params(k, f, err);
    if (r >= 0)
        r = check_block(k, f, err);
    if (r >= 0)
        *entry = f;
    return r;
}
