/* plan.h -- a plan file: what it says
 *
 * Reading it needs no device.  Everything lives until plan_drop.
 */
#ifndef FGS_TOOL_PLAN_H
#define FGS_TOOL_PLAN_H

#include "tool.h"

#define PLAN_ORDERS "auto|stream|pdl|flag|sentinel"
#define PLAN_FILLS  "auto|kernel|memset|self|reader|ring"

/* From 1. */
struct plan_place {
    uint32_t line, column;
};

struct plan_table {
    uint32_t *at;
    uint32_t count; /* 0 = none                                             */
};

/* Bit i of `given` is the i-th row of plan.def for that struct. */
struct plan_buffer {
    const char *name;
    struct plan_place place;
    uint64_t given;
    uint64_t tiles, tile_bytes, slots;
    fgs_element element;
    const char *fill;
};

struct plan_access {
    uint32_t buffer; /* its index                                           */
    bool write;
    struct plan_place place;
    uint64_t given;
    const char *order, *can; /* NULL = not said                             */
    struct plan_table table;
    uint64_t tiles[3]; /* first, step, count; all 0 = tile b          */
};

/* A parameter of a kernel of the user's. */
struct plan_arg {
    uint32_t row; /* of plan.def                                         */
    struct plan_place place;
    uint32_t buffer; /* its index, where it has one                         */
    uint64_t bits;   /* of a value                                          */
};

enum plan_role {
#define PLAN_ROLE(id, word, reads, text) PLAN_##id,
#include "plan.def"
    PLAN_ROLES
};

struct plan_stage {
    const char *name;
    enum plan_role role;
    struct plan_place place;
    uint64_t given;
    const char *said, *file, *entry; /* of a kernel of the user's: its file
                                 as the plan has it, its path, its name  */
    struct plan_access *accesses;
    struct plan_arg *args;
    uint32_t access_count, arg_count;
    fgs_engine engine;
    const char *order, *language, *saturate, *stem, *waits, *triggers, *mirror;
    struct plan_table table;
    uint64_t tiles[3];
    uint32_t grid[3], block[3], cluster[3]; /* 0 = not said                  */
    uint64_t stream, shared, domain, work_ns, spread_ns;
    int64_t priority;
    bool persistent, weak, bulk_store;
};

struct plan_file {
    const char *path;
    struct plan_buffer *buffers;
    struct plan_stage *stages;
    uint32_t buffer_count, stage_count;
    const char *order;
    uint64_t given, rounds, seed, bound_ms, max_tries;
    struct plan_bag *bag; /* all memory of it                                */
};

/* What stands behind the word of a parameter. */
enum plan_behind {
    PLAN_BEHIND_NONE,
    PLAN_BEHIND_BUFFER,
    PLAN_BEHIND_NUMBER,
    PLAN_BEHIND_FLOAT
};
struct plan_arg_row {
    const char *word;
    enum plan_behind behind;
    uint32_t bytes;
};
extern const struct plan_arg_row plan_args[];

const char *plan_role_word(enum plan_role role);
uint32_t plan_role_reads(enum plan_role role);

/*
 * Read a file; its errors go to stderr as FILE:LINE:COLUMN: TEXT.  EXIT_GOOD,
 * or EXIT_BAD with nothing to drop.
 */
int plan_read(const char *path, struct plan_file *out);
/* The same of a text with a NUL behind it, which is cut into lines. */
int plan_read_text(const char *path, char *text, size_t size,
                   struct plan_file *out);
void plan_drop(struct plan_file *f);

/* The file as it was understood: loops and defaults written out. */
void plan_print(const struct plan_file *f);
void plan_print_json(const struct plan_file *f);

#endif
