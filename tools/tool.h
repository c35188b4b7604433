/* tool.h -- what the verbs of fgs share */
#ifndef FGS_TOOL_H
#define FGS_TOOL_H

#include <fgs/fgs.h>
#include <stdbool.h>
#include <stdio.h>

/* Exit codes: good, failed, wrong usage, no such device. */
enum { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_USAGE = 2, EXIT_NODEVICE = 77 };

/* ------------------------------------------------------------- verbs -- */

/* argv[0] is the verb's name.  The usage text stands beside the function. */
struct verb {
    const char *name, *purpose, *usage;
    int (*run)(int argc, char **argv);
};
extern const struct verb verbs[];

int verb_run(int argc, char **argv);
int verb_device(int argc, char **argv);
int verb_ptx(int argc, char **argv);
int verb_check(int argc, char **argv);
int verb_sass(int argc, char **argv);
int verb_bench(int argc, char **argv);
int verb_plan(int argc, char **argv);
int verb_trace(int argc, char **argv);
extern const char usage_run[], usage_device[], usage_ptx[], usage_check[],
    usage_sass[], usage_bench[], usage_plan[], usage_trace[];

/* ----------------------------------------------------------- options -- */

enum opt_kind {
    OPT_FLAG,   /* bool                                                  */
    OPT_NUMBER, /* uint64_t within lo .. hi                              */
    OPT_TEXT    /* const char *; one of `words` when that is not NULL    */
};

struct opt {
    const char *name; /* "--tiles" */
    enum opt_kind kind;
    void *value;
    uint64_t lo, hi;
    const char *words; /* "cuda|sim" */
    bool *given;       /* may be NULL */
};

/*
 * Read argv by a table that ends with name NULL.  `--name value` and
 * `--name=value`; `--` ends the options.  Operands are moved to argv[1]... and
 * counted in *operands.  -1 = go on, else the exit code (help was printed, or
 * a usage error that names the option).
 */
int opt_parse(const struct verb *verb, int argc, char **argv,
              const struct opt *table, int *operands);
const struct verb *verb_find(const char *name);

/* A whole decimal number and nothing else; 0 = good, else a text that says
 * what is wrong with it. */
const char *number_parse(const char *text, uint64_t lo, uint64_t hi,
                         uint64_t *out);

/* Is `text` one of the words of "a|b|c"? */
bool word_is_in(const char *words, const char *text);

/* Print "fgs VERB: ..." to stderr and return EXIT_USAGE or EXIT_BAD. */
int usage_error(const char *verb, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int failure(const char *verb, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Flush stdout; EXIT_BAD and a message when something was not written, else
 * `code`. */
int finish(const char *verb, int code);

/* EXIT_NODEVICE or EXIT_BAD. */
int code_of(fgs_result r);

/* The first line on stderr: provider, device and why.  `lead` is "" or ends
 * with a blank. */
void say_device(const char *lead, const fgs_device_info *info);

/* -------------------------------------------------------------- JSON -- */

/* A writer that sets commas and line ends itself.  A key is NULL inside an
 * array. */
struct json {
    FILE *to;
    int depth;
    bool first;
};
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
void json_text(struct json *j, const char *key, const char *text);
void json_bytes(struct json *j, const char *key, const char *text, size_t len);
void json_number(struct json *j, const char *key, uint64_t n);
void json_signed(struct json *j, const char *key, int64_t n);
void json_bool(struct json *j, const char *key, bool b);
/* A string alone, in quotes. */
void json_string(FILE *to, const char *text);
void json_null(struct json *j, const char *key);

/* ------------------------------------------------------------- files -- */

/* Whole file plus a NUL behind it, from malloc.  0 = good; else the errno. */
int file_read(const char *path, unsigned char **data, size_t *size);

/* The guide's tile of float32, as bit patterns, little-endian. */
enum { TILE_ELEMENTS = 1024, TILE_BYTES = 4096, TILE_CHUNKS = 256 };

/*
 * The float32 elements of a .npy file (by its first bytes) or of a raw one.
 * *data is from malloc, *count a positive multiple of `tile`.  EXIT_GOOD, or
 * EXIT_BAD after a message.
 */
int values_read(const char *verb, const char *path, uint64_t tile,
                uint32_t **data, uint64_t *count);
/* Packed elements; by suffix: .npy of shape (tiles, elements), else raw.
 * NumPy has no narrower floats: those are its unsigned integers, two 4-bit
 * elements a byte. */
int values_write(const char *verb, const char *path, fgs_element element,
                 const void *data, uint64_t tiles, uint64_t tile_bytes);
/* Values from a seed; the first tile holds every special one. */
void values_make(uint32_t *data, uint64_t count, uint64_t seed);
/* The value of one of the words of SATURATE_WORDS. */
#define SATURATE_WORDS "refuse|up|down"
fgs_saturate saturate_value(const char *word);
/* FNV-1a, 64 bits, of the bytes in memory order. */
uint64_t values_digest(const void *data, uint64_t bytes);

#endif
