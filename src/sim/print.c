/* print.c -- vprintf: format parsing, and the buffer that syncs write out
 *
 * A thread's text is made where it calls vprintf and kept in the context's
 * buffer; whoever waits for the context's work writes it to stdout, as the
 * driver does.  A full buffer loses its oldest texts.
 */
#include "sim/access.h"
#include "sim/builtin.h"
#include <stdarg.h>

enum { TEXT_MOST = 1 << 16, SPEC_MOST = 64 };

/* Guards every context's buffer: printing is rare. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Before each text: its length, and where it goes. */
struct head {
    uint32_t bytes;
    uint32_t to_stderr;
};

/* ---------------------------------------------------------------- buffer -- */

static void drop_oldest(struct fgs__sim_print *p)
{
    struct head h;

    memcpy(&h, p->text + p->first, sizeof h);
    p->first += sizeof h + h.bytes;
}

/* Room behind the last text: what was dropped is closed up first. */
static bool make_room(struct fgs__sim_print *p, const fgs_allocator *a,
                      size_t bytes)
{
    size_t cap = p->cap ? p->cap : 4096;
    char *text;

    if (p->first > p->end / 2) {
        memmove(p->text, p->text + p->first, p->end - p->first);
        p->end -= p->first;
        p->first = 0;
    }
    while (cap - p->end < bytes)
        cap *= 2;
    if (cap == p->cap)
        return true;
    text = fgs__alloc_array(a, cap, 1);
    if (!text)
        return false;
    if (p->end)
        memcpy(text, p->text, p->end);
    fgs__free(a, p->text);
    p->text = text;
    p->cap = cap;
    return true;
}

bool fgs__sim_print_add(struct fgs__sim_ctx *ctx, bool to_stderr,
                        const char *text, size_t bytes)
{
    struct fgs__sim_print *p = &ctx->print;
    struct head h = { (uint32_t)bytes, to_stderr };
    size_t most = ctx->limit[CU_LIMIT_PRINTF_FIFO_SIZE];
    bool ok;

    if (bytes + sizeof h > most)
        return true; /* it would be lost before it is seen */
    pthread_mutex_lock(&lock);
    while (p->end - p->first + sizeof h + bytes > most)
        drop_oldest(p);
    ok = make_room(p, &ctx->dev->alloc, sizeof h + bytes);
    if (ok) {
        memcpy(p->text + p->end, &h, sizeof h);
        memcpy(p->text + p->end + sizeof h, text, bytes);
        p->end += sizeof h + bytes;
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

void fgs__sim_print_flush(struct fgs__sim_ctx *ctx)
{
    struct fgs__sim_print *p = &ctx->print;
    bool out = false;

    pthread_mutex_lock(&lock);
    while (p->first < p->end) {
        struct head h;

        memcpy(&h, p->text + p->first, sizeof h);
        fwrite(p->text + p->first + sizeof h, 1, h.bytes,
               h.to_stderr ? stderr : stdout);
        out = out || !h.to_stderr;
        drop_oldest(p);
    }
    p->first = p->end = 0;
    pthread_mutex_unlock(&lock);
    if (out)
        fflush(stdout);
}

void fgs__sim_print_free(struct fgs__sim_ctx *ctx)
{
    fgs__sim_print_flush(ctx);
    fgs__free(&ctx->dev->alloc, ctx->print.text);
}

/* ---------------------------------------------------------------- format -- */

struct printer {
    struct fgs__sim_warp *w;
    int lane;
    uint64_t args, at; /* generic address of the arguments, and the next one */
    char *out;
    size_t len;
    uint32_t parsed;
    bool bad;          /* an address that is none */
};

static void put(struct printer *p, const char *s, size_t n)
{
    if (n > TEXT_MOST - p->len)
        n = TEXT_MOST - p->len;
    memcpy(p->out + p->len, s, n);
    p->len += n;
}

bool fgs__sim_text(struct fgs__sim_warp *w, int lane, uint64_t addr, char *out,
                   size_t most)
{
    const char *c;

    for (size_t n = 0;; n++, addr++) {
        c = fgs__sim_generic(w, lane, addr, 1);
        if (!c)
            return false;
        out[n] = n + 1 < most ? *c : 0;
        if (!out[n])
            return true;
    }
}

/* The next argument, aligned to its size (ISA, vprintf's layout). */
static uint64_t next(struct printer *p, uint32_t bytes)
{
    uint64_t at = (p->at + bytes - 1) & ~(uint64_t)(bytes - 1), v = 0;
    const char *from = fgs__sim_generic(p->w, p->lane, p->args + at, bytes);

    p->at = at + bytes;
    if (from)
        memcpy(&v, from, bytes);
    else
        p->bad = true;
    return v;
}

static void FGS__PRINTF(2, 3) put_format(struct printer *p, const char *fmt,
                                         ...)
{
    size_t room = TEXT_MOST - p->len;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(p->out + p->len, room, fmt, ap);
    va_end(ap);
    if (n > 0)
        p->len += (size_t)n < room ? (size_t)n : room - 1;
}

/* A conversion's flags, width and precision, in a form of our own: the host's
 * printf gets only formats that are written here. */
struct spec {
    bool minus, plus, blank, hash, zero, has_prec;
    int width, prec;
    bool wide;   /* 64 bits */
    int narrow;  /* h, hh */
    char conv;
};

static int number(struct printer *p, const char **s)
{
    int v = 0;

    if (**s == '*') {
        ++*s;
        return (int)(uint32_t)next(p, 4);
    }
    while (**s >= '0' && **s <= '9' && v < 10000)
        v = v * 10 + (*(*s)++ - '0');
    return v;
}

static const char *parse_spec(struct printer *p, const char *s, struct spec *f)
{
    memset(f, 0, sizeof *f);
    for (;; s++) {
        if (*s == '-')
            f->minus = true;
        else if (*s == '+')
            f->plus = true;
        else if (*s == ' ')
            f->blank = true;
        else if (*s == '#')
            f->hash = true;
        else if (*s == '0')
            f->zero = true;
        else
            break;
    }
    f->width = number(p, &s);
    if (f->width < 0) {
        f->minus = true;
        f->width = f->width == INT32_MIN ? 0 : -f->width;
    }
    if (*s == '.') {
        s++;
        f->prec = number(p, &s);
        f->has_prec = f->prec >= 0;
    }
    for (;; s++) {
        if (*s == 'l' || *s == 'j' || *s == 'z' || *s == 't' || *s == 'q')
            f->wide = true;
        else if (*s == 'h')
            f->narrow++;
        else
            break;
    }
    f->conv = *s;
    return *s ? s + 1 : s;
}

/* Blanks or zeros around a text that is `len` long. */
static void put_padded(struct printer *p, const struct spec *f, const char *s,
                       size_t len)
{
    size_t pad = f->width > 0 && (size_t)f->width > len
        ? (size_t)f->width - len : 0;

    while (!f->minus && pad && p->len < TEXT_MOST) {
        put(p, " ", 1);
        pad--;
    }
    put(p, s, len);
    while (f->minus && pad && p->len < TEXT_MOST) {
        put(p, " ", 1);
        pad--;
    }
}

/* The host's format of a number: %[flags]*.*CONV with length ll or none. */
static void host_format(char *out, const struct spec *f, bool integer)
{
    char *o = out;

    *o++ = '%';
    if (f->minus)
        *o++ = '-';
    if (f->plus)
        *o++ = '+';
    if (f->blank)
        *o++ = ' ';
    if (f->hash)
        *o++ = '#';
    if (f->zero)
        *o++ = '0';
    memcpy(o, "*.*", 3);
    o += 3;
    if (integer) {
        *o++ = 'l';
        *o++ = 'l';
    }
    *o++ = f->conv;
    *o = 0;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void put_number(struct printer *p, const struct spec *f, uint64_t v,
                       bool integer)
{
    char fmt[16];
    int prec = f->has_prec ? f->prec : -1;
    double x;

    host_format(fmt, f, integer);
    memcpy(&x, &v, sizeof x);
    if (integer)
        put_format(p, fmt, f->width, prec, (long long)v);
    else
        put_format(p, fmt, f->width, prec, x);
}
#pragma GCC diagnostic pop

static void put_integer(struct printer *p, const struct spec *f)
{
    bool sign = f->conv == 'd' || f->conv == 'i';
    uint64_t v = next(p, f->wide ? 8 : 4);
    unsigned bits = f->wide ? 64 : f->narrow > 1 ? 8 : f->narrow ? 16 : 32;

    if (bits < 64) {
        v &= ((uint64_t)1 << bits) - 1;
        if (sign && v >> (bits - 1))
            v |= ~(uint64_t)0 << bits;
    }
    put_number(p, f, v, true);
}

static void put_string(struct printer *p, const struct spec *f)
{
    static const char none[] = "(null)";
    uint64_t addr = next(p, 8);
    char text[4096];
    size_t n;

    if (!addr)
        memcpy(text, none, sizeof none);
    else if (!fgs__sim_text(p->w, p->lane, addr, text, sizeof text))
        p->bad = true;
    if (p->bad)
        return;
    n = strlen(text);
    if (f->has_prec && (size_t)f->prec < n)
        n = (size_t)f->prec;
    put_padded(p, f, text, n);
}

/* One conversion; what is none is printed as it stands. */
static const char *convert(struct printer *p, const char *s)
{
    struct spec f;
    const char *start = s - 1;
    char c, text[32];

    s = parse_spec(p, s, &f);
    switch (f.conv) {
    case '%':
        put(p, "%", 1);
        return s;
    case 'd': case 'i': case 'o': case 'u': case 'x': case 'X':
        put_integer(p, &f);
        break;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a':
    case 'A':
        put_number(p, &f, next(p, 8), false);
        break;
    case 'c':
        c = (char)next(p, 4);
        put_padded(p, &f, &c, 1);
        break;
    case 's':
        put_string(p, &f);
        break;
    case 'p':
        put_padded(p, &f, text,
                   (size_t)snprintf(text, sizeof text, "0x%llx",
                                    (unsigned long long)next(p, 8)));
        break;
    default:
        put(p, start, (size_t)(s - start));
        return s;
    }
    p->parsed++;
    return s;
}

/* Number of arguments printed; -1 without a format (guide, formatted output).
 * False = an address that is none. */
bool fgs__sim_vprintf(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      int lane, const uint64_t *arg, uint64_t *result)
{
    struct printer p = { .w = w, .lane = lane, .args = arg[1] };
    const fgs_allocator *a = w->block->grid->code->alloc;
    char format[4096];
    const char *s = format;
    bool ok = false;

    *result = UINT32_MAX;
    if (!arg[0])
        return true;
    p.out = fgs__alloc_array(a, TEXT_MOST, 1);
    if (!p.out) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_OUT_OF_MEMORY, lane,
                            "no host memory for the text of vprintf");
        return false;
    }
    p.bad = !fgs__sim_text(w, lane, arg[0], format, sizeof format);
    while (!p.bad && *s) {
        const char *end = strchr(s, '%');

        put(&p, s, end ? (size_t)(end - s) : strlen(s));
        if (!end)
            break;
        s = convert(&p, end + 1);
    }
    if (p.bad)
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                            "vprintf: the format, an argument or a string is "
                            "at an address that nothing has");
    else if (!fgs__sim_print_add(w->block->grid->ctx, false, p.out, p.len))
        fgs__sim_warp_fault(w, i, CUDA_ERROR_OUT_OF_MEMORY, lane,
                            "no host memory for the text of vprintf");
    else
        ok = true;
    *result = p.parsed;
    fgs__free(a, p.out);
    return ok;
}
