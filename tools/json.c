/* json.c -- write JSON: one member a line, text escaped */
#include "tool.h"

#include <inttypes.h>
#include <string.h>

/* Bytes of the UTF-8 sequence at s, 0 when it is none: its length, its
 * shortest form and its range (RFC 3629) are checked. */
static size_t utf8_length(const unsigned char *s, size_t len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80   ? 1
               : s[0] < 0xC2 ? 0
               : s[0] < 0xE0 ? 2
               : s[0] < 0xF0 ? 3
               : s[0] < 0xF5 ? 4
                             : 0;
    uint32_t c = n > 1 ? s[0] & (0x7Fu >> n) : s[0];
    size_t i;

    if (!n || n > len)
        return 0;
    for (i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3Fu);
    }
    if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        return 0;
    return n;
}

static void put_bytes(FILE *to, const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t i, n;

    fputc('"', to);
    for (i = 0; i < len; i += n ? n : 1) {
        n = utf8_length(s + i, len - i);
        if (!n)
            fputs("\\ufffd", to);
        else if (s[i] == '"' || s[i] == '\\')
            fprintf(to, "\\%c", s[i]);
        else if (s[i] == '\n')
            fputs("\\n", to);
        else if (s[i] < 0x20 || s[i] == 0x7F)
            fprintf(to, "\\u%04x", s[i]);
        else
            fwrite(s + i, 1, n, to);
    }
    fputc('"', to);
}

void json_string(FILE *to, const char *text)
{
    put_bytes(to, text, strlen(text));
}

static void member(struct json *j, const char *key)
{
    if (j->depth)
        fprintf(j->to, "%s\n%*s", j->first ? "" : ",", 2 * j->depth, "");
    j->first = false;
    if (key) {
        json_string(j->to, key);
        fputs(": ", j->to);
    }
}

void json_open(struct json *j, const char *key, char bracket)
{
    member(j, key);
    fputc(bracket, j->to);
    j->depth++;
    j->first = true;
}

void json_close(struct json *j, char bracket)
{
    j->depth--;
    if (!j->first)
        fprintf(j->to, "\n%*s", 2 * j->depth, "");
    fputc(bracket, j->to);
    j->first = false;
    if (!j->depth)
        fputc('\n', j->to);
}

void json_bytes(struct json *j, const char *key, const char *text, size_t len)
{
    member(j, key);
    put_bytes(j->to, text, len);
}

void json_text(struct json *j, const char *key, const char *text)
{
    if (text)
        json_bytes(j, key, text, strlen(text));
    else
        json_null(j, key);
}

void json_number(struct json *j, const char *key, uint64_t n)
{
    member(j, key);
    fprintf(j->to, "%" PRIu64, n);
}

void json_signed(struct json *j, const char *key, int64_t n)
{
    member(j, key);
    fprintf(j->to, "%" PRId64, n);
}

void json_bool(struct json *j, const char *key, bool b)
{
    member(j, key);
    fputs(b ? "true" : "false", j->to);
}

void json_null(struct json *j, const char *key)
{
    member(j, key);
    fputs("null", j->to);
}
