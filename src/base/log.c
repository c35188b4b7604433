/* log.c -- the one way out for messages */
#include "base/log.h"
#include "base/error.h"

#include <stdarg.h>

static const struct {
    fgs_log_level level;
    const char *word;
} rows[FGS__LOG_COUNT] = {
#define LOG(id, level, word) { FGS_LOG_##level, word },
#include "base/log.def"
#undef LOG
};

static const char *const levels[] = { "", "error", "warn", "info", "debug" };

fgs_result fgs__log_init(struct fgs__log *log, fgs_log_fn fn, void *cookie,
                         fgs_error *err)
{
    const char *env = getenv("FGS_LOG");

    memset(log, 0, sizeof *log);
    log->fn = fn;
    log->cookie = cookie;
    if (fn || !env || !*env)
        return FGS_OK;
    for (int i = FGS_LOG_ERROR; i <= FGS_LOG_DEBUG; i++) {
        if (!strcmp(env, levels[i])) {
            log->limit = (fgs_log_level)i;
            return FGS_OK;
        }
    }
    return fgs__fail(err, FGS_E_INVAL,
                     "FGS_LOG=%s: not one of error, warn, info, debug", env);
}

void fgs__log(const struct fgs__log *log, enum fgs__log_id id, const char *fmt,
              ...)
{
    char text[2048];
    va_list ap;

    if (!log->fn && rows[id].level > log->limit)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (log->fn)
        log->fn(log->cookie, rows[id].level, rows[id].word, text);
    else
        fprintf(stderr, "fgs %s %s: %s\n", levels[rows[id].level],
                rows[id].word, text);
}
