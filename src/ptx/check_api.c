/* check_api.c -- fgs_ptx_check, the parser and checker for programs */
#include "base/error.h"
#include "ptx/module.h"

static fgs_result first_error(fgs_error *err, fgs_result r, const char *file,
                              const struct fgs__ptx_diags *d)
{
    const struct fgs__ptx_diag *e = &d->item[0];

    return fgs__fail_at(err, r, file, e->pos.line, e->pos.column, "%s",
                        e->text);
}

static void report_all(const struct fgs__ptx_diags *d, const char *file,
                       fgs_ptx_report_fn report, void *cookie)
{
    uint32_t kept = d->count < FGS__PTX_DIAGS ? d->count : FGS__PTX_DIAGS;
    char more[64];

    for (uint32_t i = 0; i < kept; i++)
        report(cookie, file, d->item[i].pos.line, d->item[i].pos.column,
               d->item[i].text);
    if (d->count == kept)
        return;
    snprintf(more, sizeof more, "%u more errors follow", d->count - kept);
    report(cookie, file, d->item[kept - 1].pos.line,
           d->item[kept - 1].pos.column, more);
}

fgs_result fgs_ptx_check(const char *file, const char *text, size_t len,
                         fgs_ptx_report_fn report, void *cookie, fgs_error *err)
{
    struct fgs__ptx_module *m = NULL;
    struct fgs__ptx_diags d;
    fgs_result r;

    if (!file || !text)
        return fgs__fail(err, FGS_E_NULL, "%s must not be NULL",
                         file ? "text" : "file");
    fgs__ptx_diags_init(&d, &fgs__malloc);
    r = fgs__ptx_load(&m, text, len, &fgs__malloc, &d);
    if (r == FGS_E_NOMEM)
        fgs__nomem(err);
    else if (r < 0)
        first_error(err, r, file, &d);
    if (r < 0 && r != FGS_E_NOMEM && report)
        report_all(&d, file, report, cookie);
    fgs__ptx_free(m);
    fgs__ptx_diags_free(&d);
    return r;
}
