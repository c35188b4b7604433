/* log.h -- the one way out for messages */
#ifndef FGS_BASE_LOG_H
#define FGS_BASE_LOG_H

#include "base/compat.h"
#include <fgs/fgs.h>

enum fgs__log_id {
#define LOG(id, level, word) FGS__LOG_##id,
#include "base/log.def"
#undef LOG
    FGS__LOG_COUNT
};

struct fgs__log {
    fgs_log_fn fn;       /* NULL = stderr, up to `limit`                     */
    void *cookie;
    fgs_log_level limit; /* 0 = silent                                       */
};

/* With a callback every message goes there; without one $FGS_LOG says up to
 * which level they go to stderr.  FGS_E_INVAL for a value of FGS_LOG that is
 * no level. */
fgs_result fgs__log_init(struct fgs__log *log, fgs_log_fn fn, void *cookie,
                         fgs_error *err);

/* Threads: any. */
void fgs__log(const struct fgs__log *log, enum fgs__log_id id, const char *fmt,
              ...) FGS__PRINTF(3, 4);

#endif
