/* plan_words.h -- the options of a plan file as rows */
#ifndef FGS_TOOL_PLAN_WORDS_H
#define FGS_TOOL_PLAN_WORDS_H

#include "plan_reader.h"

enum plan_value {
    PLAN_FLAG,
    PLAN_NUMBER,
    PLAN_SIGNED,
    PLAN_WORD,
    PLAN_LIST,
    PLAN_TEXT,
    PLAN_ENGINE,
    PLAN_ELEMENT,
    PLAN_DIM,
    PLAN_TILES,
    PLAN_TABLE
};

/* How a struct of plan.def is called in a file. */
#define PLAN_IS_file   "plan"
#define PLAN_IS_buffer "buffer"
#define PLAN_IS_stage  "stage"
#define PLAN_IS_access "read/write"

/* Whose stages have an option. */
enum plan_whose { PLAN_OF_ANY, PLAN_OF_LIBRARY, PLAN_OF_YOURS };

/* A row of plan.def; the last has no scope. */
struct plan_word {
    const char *scope, *said, *word; /* said: the scope in a file            */
    enum plan_whose whose;
    enum plan_value kind;
    size_t at;
    uint64_t lo, hi;
    const char *words, *text;
};
extern const struct plan_word plan_words[];
const struct plan_word *plan_word_first(const char *scope);

/* NULL = that struct has no such option; *bit is its own. */
const struct plan_word *plan_word_find(const char *scope, const char *text,
                                       uint64_t *bit);

/* Was that option said? */
bool plan_given(uint64_t given, const char *scope, const char *word);

/* Options up to the line's end into a struct of that scope. */
void plan_options(struct plan_reader *r, const char *scope, void *to,
                  uint64_t *given);

/* Every row of plan.def, to standard output. */
void plan_words_list(void);

/* A file named in the plan, as seen from the plan's folder. */
char *plan_path(struct plan_reader *r, const char *name);

#endif
