/* lex.h -- PTX text as tokens with line and column */
#ifndef FGS_PTX_LEX_H
#define FGS_PTX_LEX_H

#include "ptx/module.h"

/* A punctuation character is its own kind; '_' is the sink. */
enum {
    FGS__TOK_END = 256,
    FGS__TOK_ERROR,  /* lex->why says why; the text goes on behind it       */
    FGS__TOK_NAME,   /* %tid, foo, $L_1                                     */
    FGS__TOK_WORD,   /* .u32, .shared::cta: text without the first dot      */
    FGS__TOK_INT,    /* value; decimal = written without 0x, 0b, 0          */
    FGS__TOK_F32,    /* value: bits of 0fXXXXXXXX                           */
    FGS__TOK_F64,    /* value: bits of 0dX... or of a decimal literal       */
    FGS__TOK_STRING, /* text without the quotes                             */
    FGS__TOK_SHL, FGS__TOK_SHR, FGS__TOK_EQ, FGS__TOK_NE, FGS__TOK_LE,
    FGS__TOK_GE, FGS__TOK_LAND, FGS__TOK_LOR
};

struct fgs__tok {
    int kind;
    uint32_t hash;          /* NAME, WORD: fgs__hash of the text            */
    struct fgs__ptx_pos pos;
    const char *s;          /* in the text, not terminated                  */
    size_t n;
    uint64_t value;
    bool is_unsigned;       /* INT with suffix U, or above INT64_MAX        */
};

struct fgs__lex {
    const char *p, *end, *line_start;
    uint32_t line;
    bool line_blank;        /* nothing but white space on this line so far  */
    const char *why;
};

void fgs__lex_init(struct fgs__lex *lx, const char *text, size_t len);
void fgs__lex_next(struct fgs__lex *lx, struct fgs__tok *tok);

/* FNV-1a, which grows by the character. */
#define FGS__HASH_START 2166136261u
static inline uint32_t fgs__hash_char(uint32_t h, unsigned char c)
{
    return (h ^ c) * 16777619u;
}
static inline uint32_t fgs__hash_more(uint32_t h, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = fgs__hash_char(h, (unsigned char)s[i]);
    return h;
}

#endif
