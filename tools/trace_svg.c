/* trace_svg.c -- a trace as a picture: blocks on SMs over time, by stage
 *
 * Above, a bar a stage from its first block's start to its last one's end;
 * below, a row a block that an SM has at a time.  A block's waiting part is
 * hatched.  Where a stage ran before one that it reads from had ended, the
 * ground is shaded: overlap is seen before any bar is compared.  One file, no
 * script, no font or style from elsewhere; the same trace makes the same bytes.
 */
#include "trace.h"

#include <inttypes.h>
#include <string.h>

/* Neighbours in the plan are far apart; all are told apart by most eyes. */
static const char *const colours[] = {
    "#4477aa", "#ee7733", "#228833", "#cc3377", "#66ccee", "#997700",
    "#aa4499", "#44bb99", "#882255", "#ccbb44", "#332288", "#bbbbbb",
};
enum { COLOURS = sizeof colours / sizeof colours[0] };

enum { LEFT = 110, PLOT = 1080, RIGHT = 20, HEAD = 58, GAP = 24, TICKS = 10 };

struct picture {
    const struct trace *t;
    FILE *to;
    double scale;              /* pixels a ns                             */
    double bar, lane;          /* heights of a stage's row, of a block's  */
    double bars, rows, bottom; /* tops of the two parts, end of the last  */
};

static double x_of(const struct picture *p, uint64_t ns)
{
    return LEFT + (double)(ns - p->t->first) * p->scale;
}

/* Names come from anywhere: what markup means by a character is written as an
 * entity, and what is no printable ASCII as '?'. */
static void put_text(FILE *to, const char *s)
{
    for (; *s; s++) {
        if (*s == '&')
            fputs("&amp;", to);
        else if (*s == '<')
            fputs("&lt;", to);
        else if (*s == '>')
            fputs("&gt;", to);
        else if (*s == '"')
            fputs("&quot;", to);
        else
            fputc(*s < 0x20 || *s > 0x7e ? '?' : *s, to);
    }
}

static void put_us(FILE *to, uint64_t ns)
{
    fprintf(to, "%" PRIu64 ".%03u us", ns / 1000, (unsigned)(ns % 1000));
}

static double between(double v, double lo, double hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* --------------------------------------------------------------- frame -- */

static void lay_out(struct picture *p)
{
    const struct trace *t = p->t;
    uint64_t span = t->last > t->first ? t->last - t->first : 1, lanes = 0;
    uint32_t sm;

    for (sm = 0; sm < t->sms; sm++)
        lanes += t->lanes[sm];
    p->scale = (double)PLOT / (double)span;
    p->bar = between(600.0 / (t->stage_count ? t->stage_count : 1), 2, 14);
    p->lane = between(1400.0 / (double)(lanes ? lanes : 1), 2, 12);
    p->bars = HEAD;
    p->rows = p->bars + p->bar * t->stage_count + GAP;
    p->bottom = p->rows + p->lane * (double)lanes + 2.0 * t->sms;
}

/* The blocks that wait for nothing have no phase of it. */
static void put_patterns(const struct picture *p)
{
    uint32_t i;

    fputs("<defs>\n", p->to);
    for (i = 0; i < COLOURS && i < p->t->stage_count; i++)
        fprintf(p->to,
                "<pattern id=\"w%" PRIu32 "\" width=\"5\" height=\"5\" "
                "patternUnits=\"userSpaceOnUse\">"
                "<path d=\"M0 0H5V5H0Z\" fill=\"#fff\"/>"
                "<path d=\"M-1 1L1 -1M0 5L5 0M4 6L6 4\" stroke=\"%s\" "
                "stroke-width=\"1.2\"/></pattern>\n",
                i, colours[i]);
    fputs("</defs>\n", p->to);
}

static void put_head(const struct picture *p)
{
    const struct trace *t = p->t;
    double height = p->bottom + 30;

    fprintf(p->to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%.2f\" viewBox=\"0 0 %d %.2f\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            LEFT + PLOT + RIGHT, height, LEFT + PLOT + RIGHT, height);
    put_patterns(p);
    fputs("<text x=\"8\" y=\"18\" font-size=\"14\">", p->to);
    put_text(p->to, t->device);
    fprintf(p->to,
            ": %" PRIu64 " blocks of %" PRIu32 " grids on %" PRIu32 " SMs, ",
            t->blocks, t->stage_count, t->sms);
    put_us(p->to, t->last - t->first);
    fputs("</text>\n<text x=\"8\" y=\"36\">", p->to);
    if (!t->edge_count)
        fputs("no edges", p->to);
    else if (!t->overlapping)
        fprintf(p->to, "no overlap on any of %" PRIu32 " edges", t->edge_count);
    else
        fprintf(p->to,
                "overlap on %" PRIu64 " of %" PRIu32
                " edges: shaded, where blocks ran before a grid that they read "
                "from had ended",
                t->overlapping, t->edge_count);
    fputs("; hatched: waiting for its tile</text>\n", p->to);
}

/* A round number of ns of which TICKS at most fit. */
static uint64_t tick(uint64_t span)
{
    uint64_t n = 1;

    while (span / n > TICKS)
        n *= span / n / 2 > TICKS ? span / n / 5 > TICKS ? 10 : 5 : 2;
    return n;
}

static void put_axis(const struct picture *p)
{
    const struct trace *t = p->t;
    uint64_t at, step = tick(t->last - t->first);

    for (at = t->first; at <= t->last; at += step) {
        double x = x_of(p, at);

        fprintf(p->to,
                "<path d=\"M%.2f %.2fV%.2f\" stroke=\"#ddd\"/>"
                "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%.10g"
                "</text>\n",
                x, p->bars, p->bottom, x, p->bottom + 14,
                (double)(at - t->first) / 1000);
    }
    fprintf(p->to, "<text x=\"8\" y=\"%.2f\">us</text>\n", p->bottom + 14);
}

/* Many that lie over one another are no darker than a few. */
static void put_overlaps(const struct picture *p)
{
    const struct trace *t = p->t;
    double dark = between(0.6 / (double)(t->overlapping + 1), 0.01, 0.15);
    uint32_t i;

    for (i = 0; i < t->edge_count; i++) {
        const struct trace_edge *e = &t->edges[i];
        const struct trace_stage *to = &t->stages[e->to];
        uint64_t ns = trace_overlap(t, e);

        if (!ns)
            continue;
        fprintf(p->to,
                "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                "fill=\"#fd0\" fill-opacity=\"%.3f\"><title>",
                x_of(p, to->first), p->bars, (double)ns * p->scale,
                p->bottom - p->bars, dark);
        put_text(p->to, to->name);
        fputs(" before the end of ", p->to);
        put_text(p->to, t->stages[e->from].name);
        fputs(": ", p->to);
        put_us(p->to, ns);
        fputs("</title></rect>\n", p->to);
    }
}

/* ---------------------------------------------------------------- bars -- */

static void put_rect(const struct picture *p, uint64_t from, uint64_t end,
                     double y, double height, const char *fill)
{
    double x = x_of(p, from), w = (double)(end - from) * p->scale;

    fprintf(p->to,
            "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
            "fill=\"%s\"/>",
            x, y, w < 0.3 ? 0.3 : w, height, fill);
}

static uint64_t reissues_of(const struct trace_stage *s)
{
    uint64_t k, n = 0;

    for (k = 0; k < s->count; k++)
        n += s->rows[k].tries ? s->rows[k].tries - 1 : 0;
    return n;
}

static void put_stage(const struct picture *p, uint32_t i)
{
    const struct trace_stage *s = &p->t->stages[i];
    double y = p->bars + p->bar * i;

    fputs("<g><title>", p->to);
    put_text(p->to, s->name);
    fputs(" (", p->to);
    put_text(p->to, s->entry);
    fprintf(p->to, "): %" PRIu64 " blocks, ", s->count);
    put_us(p->to, s->first - (s->count ? p->t->first : 0));
    fputs(" to ", p->to);
    put_us(p->to, s->last - (s->count ? p->t->first : 0));
    fprintf(p->to, ", %" PRIu64 " re-issues</title>", reissues_of(s));
    if (s->count)
        put_rect(p, s->first, s->last, y, p->bar > 4 ? p->bar - 2 : p->bar,
                 colours[i % COLOURS]);
    if (p->bar >= 9) {
        fprintf(p->to, "<text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">",
                LEFT - 6, y + p->bar - 3);
        put_text(p->to, s->name);
        fputs("</text>", p->to);
    }
    fputs("</g>\n", p->to);
}

/* ---------------------------------------------------------------- rows -- */

/* Top of an SM's first row. */
static double sm_top(const struct picture *p, uint32_t sm)
{
    double y = p->rows;
    uint32_t i;

    for (i = 0; i < sm; i++)
        y += p->lane * p->t->lanes[i] + 2;
    return y;
}

static void put_block(const struct picture *p, const struct trace_stage *s,
                      uint32_t stage, uint64_t block, double top)
{
    const struct trace_row *r = &s->rows[block];
    double y = top + p->lane * r->lane, h = p->lane > 3 ? p->lane - 1 : p->lane;
    uint64_t ready = r->ready ? r->ready : r->start;
    char hatched[16];

    fputs("<g><title>", p->to);
    put_text(p->to, s->name);
    fprintf(p->to, " block %" PRIu64 " on SM %" PRIu32 ": ", block, r->sm);
    put_us(p->to, r->start - p->t->first);
    fputs(" to ", p->to);
    put_us(p->to, r->end - p->t->first);
    if (r->ready) {
        fputs(", waited ", p->to);
        put_us(p->to, ready - r->start);
        fprintf(p->to, ", %" PRIu32 " re-issues", r->tries ? r->tries - 1 : 0);
    }
    fputs("</title>", p->to);
    put_rect(p, ready, r->end, y, h, colours[stage % COLOURS]);
    if (ready > r->start) {
        snprintf(hatched, sizeof hatched, "url(#w%u)",
                 (unsigned)(stage % COLOURS));
        put_rect(p, r->start, ready, y, h, hatched);
    }
    fputs("</g>\n", p->to);
}

/* A label wherever the one before is far enough. */
static void put_sms(const struct picture *p)
{
    double y = p->rows, said = -100;
    uint32_t sm;

    for (sm = 0; sm < p->t->sms; sm++) {
        double h = p->lane * p->t->lanes[sm];

        if (y + h / 2 - said >= 11) {
            said = y + h / 2;
            fprintf(p->to,
                    "<text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">SM %" PRIu32
                    "</text>\n",
                    LEFT - 6, said + 4, sm);
        }
        fprintf(p->to, "<path d=\"M%d %.2fH%d\" stroke=\"#eee\"/>\n", LEFT,
                y + h + 0.5, LEFT + PLOT);
        y += h + 2;
    }
}

void trace_svg_write(const struct trace *t, FILE *to)
{
    struct picture p = {.t = t, .to = to};
    uint32_t i;
    uint64_t k;

    lay_out(&p);
    put_head(&p);
    put_overlaps(&p);
    put_axis(&p);
    put_sms(&p);
    for (i = 0; i < t->stage_count; i++)
        put_stage(&p, i);
    for (i = 0; i < t->stage_count; i++)
        for (k = 0; k < t->stages[i].count; k++)
            put_block(&p, &t->stages[i], i, k,
                      sm_top(&p, t->stages[i].rows[k].sm));
    fputs("</svg>\n", to);
}
