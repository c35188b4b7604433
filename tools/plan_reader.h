/* plan_reader.h -- reading a plan file: lines to words, words to a plan */
#ifndef FGS_TOOL_PLAN_READER_H
#define FGS_TOOL_PLAN_READER_H

#include "plan.h"

enum {
    PLAN_TOKENS = 64, /* words of a line                                 */
    PLAN_DEPTH = 4,   /* repeats in repeats                              */
    PLAN_ERRORS = 20, /* that are told of one file                       */
    PLAN_MOST = 20000 /* lines that repeats may come to                  */
};

struct plan_token {
    const char *text;
    uint32_t column;
};

struct plan_loop {
    const char *name;
    struct plan_place place;
    int64_t at, to;
};

struct plan_reader {
    struct plan_file *f;
    char **lines;
    uint32_t line_count, line; /* line: index of the one that is read        */
    struct plan_token tokens[PLAN_TOKENS];
    uint32_t token_count, at; /* at: the next one                           */
    struct plan_loop loops[PLAN_DEPTH];
    uint32_t depth, done; /* done: lines that were read                 */
    uint32_t errors;
    bool no_memory, lost;      /* lost: the last `stage` line was wrong      */
    struct plan_buffer buffer; /* what `default buffer` said                 */
    struct plan_stage stage;   /* what `default stage` said                  */
};

/* Memory that lives as long as the plan; NULL = there is none, and the reader
 * says so at its end. */
void *plan_keep(struct plan_reader *r, size_t bytes);
char *plan_keep_text(struct plan_reader *r, const char *text, size_t len);
/* `count` elements that lived in `old`, with room for one more. */
void *plan_grow(struct plan_reader *r, const void *old, uint32_t count,
                size_t size);

/* An error at a word, or at the line's end for NULL. */
void plan_wrong(struct plan_reader *r, const struct plan_token *t,
                const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The next word of the line, NULL = there is none. */
const struct plan_token *plan_next(struct plan_reader *r);

/* One statement that is no repeat: its first word was taken. */
void plan_statement(struct plan_reader *r, const struct plan_token *first);
/* Once, at the end: what follows from the whole. */
void plan_finish(struct plan_reader *r);

#endif
