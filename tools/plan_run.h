/* plan_run.h -- a plan file run and compared, and what is told of it */
#ifndef FGS_TOOL_PLAN_RUN_H
#define FGS_TOOL_PLAN_RUN_H

#include "plan_mirror.h"
#include "plan_parts.h"
#include "trace.h"

/* Zeroed = nothing happened yet. */
struct plan_done {
    bool composed, ran, compared, ok;
    fgs_result result;
    fgs_error error;
    fgs_receipt receipt;
    uint32_t rounds;
    uint32_t results;            /* buffers that were compared              */
    uint64_t tiles, unknown;     /* of them: known ones, and the others     */
    uint64_t mismatches;         /* bytes                                   */
    uint64_t digest;             /* of the known tiles                      */
};

/* Run a composed plan and compare its results with the mirror's.  d->result and
 * d->error say what failed. */
void plan_execute(struct plan_parts *p, const struct plan_mirror *m,
                  uint32_t rounds, struct plan_done *d);
/* The same with a mirror of its own. */
void plan_verify(struct plan_parts *p, uint32_t rounds, struct plan_done *d);

/* Rows of the last round; EXIT_GOOD, or EXIT_BAD after a message. */
int plan_trace(const char *verb, struct plan_parts *p, struct trace *t);

void plan_show(const struct plan_parts *p, bool all);
void plan_show_json(const struct plan_parts *p, struct json *j);
void plan_show_dot(const struct plan_parts *p);
void plan_tell(const struct plan_parts *p, const struct plan_done *d,
               bool receipt);
void plan_tell_json(const struct plan_parts *p, const struct plan_done *d);

#endif
