/* diag.c -- the errors of a text, kept in text order */
#include "base/compat.h"
#include "ptx/module.h"

#include <stdarg.h>

void fgs__ptx_diags_init(struct fgs__ptx_diags *d, const fgs_allocator *a)
{
    memset(d, 0, sizeof *d);
    fgs__arena_init(&d->arena, a);
}

void fgs__ptx_diags_free(struct fgs__ptx_diags *d)
{
    fgs__arena_free(&d->arena);
}

static bool before(struct fgs__ptx_pos a, struct fgs__ptx_pos b)
{
    return a.line != b.line ? a.line < b.line : a.column < b.column;
}

void fgs__ptx_diag_add(struct fgs__ptx_diags *d, struct fgs__ptx_pos pos,
                       const char *fmt, ...)
{
    uint32_t kept = d->count < FGS__PTX_DIAGS ? d->count : FGS__PTX_DIAGS;
    char text[512];
    char *copy;
    uint32_t at = kept;
    va_list ap;

    d->count++;
    while (at && before(pos, d->item[at - 1].pos))
        at--;
    if (at == FGS__PTX_DIAGS)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    copy = fgs__arena_strndup(&d->arena, text, strlen(text));
    if (!copy)
        d->nomem = true;
    if (kept == FGS__PTX_DIAGS)
        kept--; /* the last one falls off */
    memmove(&d->item[at + 1], &d->item[at], (kept - at) * sizeof d->item[0]);
    d->item[at].pos = pos;
    d->item[at].text = copy ? copy : "out of host memory";
}
