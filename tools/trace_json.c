/* trace_json.c -- a trace for Perfetto: events of Chrome's format, one a line
 */
#include "trace.h"

#include <inttypes.h>
#include <string.h>

/* A process is a device, a thread an SM.  Slices of a thread must nest, so
 * blocks that share an SM at a time have threads of their own: lanes. */
enum { DEVICE_PID = 1, SM_LANES = 1024 };

static uint64_t tid(const struct trace_row *r)
{
    return (uint64_t)r->sm * SM_LANES + r->lane + 1;
}

/* Microseconds from the first block on; thousandths are ns. */
static void put_us(FILE *to, const char *key, uint64_t ns)
{
    fprintf(to, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000,
            (unsigned)(ns % 1000));
}

static void put_name(FILE *to, const char *kind, uint64_t id, const char *name)
{
    fprintf(to,
            ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%" PRIu64 ",\"name\":\"%s\"",
            DEVICE_PID, id, kind);
    fputs(",\"args\":{\"name\":", to);
    json_string(to, name);
    fputs("}}", to);
}

static void put_threads(const struct trace *t, FILE *to)
{
    uint32_t sm, lane;
    char name[48];

    for (sm = 0; sm < t->sms; sm++)
        for (lane = 0; lane < t->lanes[sm]; lane++) {
            struct trace_row r = {.sm = sm, .lane = lane};

            snprintf(name, sizeof name,
                     lane ? "SM %" PRIu32 ".%" PRIu32 : "SM %" PRIu32, sm,
                     lane);
            put_name(to, "thread_name", tid(&r), name);
            fprintf(to,
                    ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%" PRIu64
                    ",\"name\":\"thread_sort_index\""
                    ",\"args\":{\"sort_index\":%" PRIu64 "}}",
                    DEVICE_PID, tid(&r), tid(&r));
        }
}

static void put_slice(const struct trace *t, FILE *to, const char *name,
                      const char *category, const struct trace_row *r,
                      uint64_t from, uint64_t end)
{
    fputs(",\n{\"ph\":\"X\",\"name\":", to);
    json_string(to, name);
    fprintf(to, ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%" PRIu64, category,
            DEVICE_PID, tid(r));
    put_us(to, "ts", from - t->first);
    put_us(to, "dur", end - from);
}

static void put_block(const struct trace *t, FILE *to,
                      const struct trace_stage *s, uint64_t block)
{
    const struct trace_row *r = &s->rows[block];

    put_slice(t, to, s->name, "block", r, r->start, r->end);
    fputs(",\"args\":{\"entry\":", to);
    json_string(to, s->entry);
    fprintf(to, ",\"block\":%" PRIu64 ",\"reissues\":%" PRIu32, block,
            r->tries ? r->tries - 1 : 0);
    fprintf(to, ",\"wait_ns\":%" PRIu64 "}}",
            r->ready ? r->ready - r->start : 0);
    if (!r->ready)
        return;
    put_slice(t, to, "wait", "phase", r, r->start, r->ready);
    fputs("}", to);
    put_slice(t, to, "work", "phase", r, r->ready, r->end);
    fputs("}", to);
}

void trace_json_write(const struct trace *t, FILE *to)
{
    uint32_t i;
    uint64_t k;

    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
          "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\""
          ",\"args\":{\"name\":",
          to);
    json_string(to, t->device);
    fputs("}}", to);
    put_threads(t, to);
    for (i = 0; i < t->stage_count; i++)
        for (k = 0; k < t->stages[i].count; k++)
            put_block(t, to, &t->stages[i], k);
    fputs("\n]}\n", to);
}
