/* trace.h -- what the blocks of a plan's grids did in a round, and pictures */
#ifndef FGS_TOOL_TRACE_H
#define FGS_TOOL_TRACE_H

#include "tool.h"

/* A block; device time, ns. */
struct trace_row {
    uint64_t start, ready, end; /* ready: its input was valid, 0 = none      */
    uint32_t sm, tries;         /* tries: of its copies, 0 = it has none     */
    uint32_t lane;              /* among those of its SM at that time        */
};

struct trace_stage {
    char *name, *entry;
    struct trace_row *rows;
    uint64_t count;
    uint64_t first, last; /* earliest start, latest end                      */
};

struct trace_edge {
    uint32_t from, to;
    char *buffer, *order;
};

struct trace {
    char device[192];
    struct trace_stage *stages;
    struct trace_edge *edges;
    uint32_t stage_count, edge_count;
    /* of all blocks, by trace_finish */
    uint64_t first, last, blocks;
    uint32_t sms;         /* the greatest one and 1                          */
    uint32_t *lanes;      /* of each SM: blocks at a time at most            */
    uint64_t overlapping; /* edges whose reader started before its writer
                             ended                                           */
};

/* Room for a stage of `count` blocks, or an edge; NULL = no memory. */
struct trace_stage *trace_stage_add(struct trace *t, const char *name,
                                    const char *entry, uint64_t count);
struct trace_edge *trace_edge_add(struct trace *t, uint32_t from, uint32_t to,
                                  const char *buffer, const char *order);
/* Lanes and sums, once all rows are there; false = no memory. */
bool trace_finish(struct trace *t);
void trace_free(struct trace *t);

/* ns that an edge's grids overlapped, 0 = they did not. */
uint64_t trace_overlap(const struct trace *t, const struct trace_edge *e);
/* Blocks of its reader that started before its writer ended. */
uint64_t trace_early(const struct trace *t, const struct trace_edge *e);

/* A text of rows, which trace_rows_read takes back. */
void trace_rows_write(const struct trace *t, FILE *to);
/* Is that such a text? */
bool trace_rows_are(const unsigned char *text, size_t size);
/* EXIT_GOOD, or EXIT_BAD after a message; `t` is to be freed either way. */
int trace_rows_read(const char *path, unsigned char *text, struct trace *t);

/* Chrome's trace event format, which Perfetto opens. */
void trace_json_write(const struct trace *t, FILE *to);
void trace_svg_write(const struct trace *t, FILE *to);

/* By suffix: .svg, .json or .rows.  EXIT_GOOD, or EXIT_BAD after a message. */
int trace_write(const char *verb, const struct trace *t, const char *path);
/* NULL = such a path can be written, else what is wrong with it. */
const char *trace_suffix_wrong(const char *path);

#endif
