/* error.c -- results as text, and the caller's error detail */
#include "base/error.h"

#include <stdarg.h>

const char *fgs_result_name(fgs_result r)
{
    switch ((int)r) {
#define RESULT_NAME(id, value, text)                                           \
    case value:                                                                \
        return "FGS_" #id;
        FGS_RESULTS(RESULT_NAME)
#undef RESULT_NAME
    default:
        return "FGS_?";
    }
}

const char *fgs_strerror(fgs_result r)
{
    switch ((int)r) {
#define RESULT_TEXT(id, value, text)                                           \
    case value:                                                                \
        return text;
        FGS_RESULTS(RESULT_TEXT)
#undef RESULT_TEXT
    default:
        return "unknown result";
    }
}

int fgs_version(void)
{
    return FGS_VERSION;
}

static void fill(fgs_error *err, fgs_result r, const char *fmt, va_list ap)
    FGS__PRINTF(3, 0);

static void fill(fgs_error *err, fgs_result r, const char *fmt, va_list ap)
{
    memset(err, 0, sizeof *err);
    err->result = r;
    snprintf(err->name, sizeof err->name, "%s", fgs_result_name(r));
    vsnprintf(err->text, sizeof err->text, fmt, ap);
}

fgs_result fgs__fail(fgs_error *err, fgs_result r, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return r;
    va_start(ap, fmt);
    fill(err, r, fmt, ap);
    va_end(ap);
    return r;
}

fgs_result fgs__fail_at(fgs_error *err, fgs_result r, const char *file,
                        uint32_t line, uint32_t column, const char *fmt, ...)
{
    char text[sizeof err->text];
    va_list ap;

    if (!err)
        return r;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (column)
        fgs__fail(err, r, "%s:%u:%u: %s", file, line, column, text);
    else
        fgs__fail(err, r, "%s:%u: %s", file, line, text);
    snprintf(err->file, sizeof err->file, "%s", file);
    err->line = line;
    err->column = column;
    return r;
}

fgs_result fgs__nomem(fgs_error *err)
{
    return fgs__fail(err, FGS_E_NOMEM, "%s", fgs_strerror(FGS_E_NOMEM));
}

fgs_result fgs__check_size(fgs_error *err, const char *what, const void *opts,
                           size_t size, size_t least, size_t have)
{
    const unsigned char *p = opts;

    if (size < least)
        return fgs__fail(err, FGS_E_INVAL,
                         "%s.size is %zu; set it to sizeof(%s), %zu", what,
                         size, what, have);
    for (size_t i = have; i < size; i++) {
        if (p[i])
            return fgs__fail(err, FGS_E_ABI,
                             "%s: byte %zu is set but this library (%d.%d.%d) "
                             "knows only %zu bytes",
                             what, i, FGS_VERSION_MAJOR, FGS_VERSION_MINOR,
                             FGS_VERSION_PATCH, have);
    }
    return FGS_OK;
}
