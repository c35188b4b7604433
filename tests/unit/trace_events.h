/* trace_events.h -- a trace of the software device, read back and parsed */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include "sim_calls.h"

#include <inttypes.h>
#include <unistd.h>

/* ---------------------------------------------------------------- files -- */

static char path[64];
static char *text; /* of the file that was read last                         */

static inline int setup(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/fgs_trace_XXXXXX");
    close(mkstemp(path));
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    fgs_sim_trace(NULL, NULL);
    unlink(path);
    free(text);
    text = NULL;
    return 0;
}

static inline void read_file(void)
{
    FILE *f = fopen(path, "r");
    size_t n;

    assert_non_null(f);
    free(text);
    text = calloc(1, 1 << 20);
    assert_non_null(text);
    n = fread(text, 1, (1 << 20) - 1, f);
    text[n] = '\0';
    fclose(f);
}

/* ----------------------------------------------------------------- JSON -- */

static inline const char *blanks(const char *p)
{
    return p + strspn(p, " \n\t");
}

static inline const char *json_string(const char *p)
{
    if (*p++ != '"')
        return NULL;
    for (; *p && *p != '"'; p++) {
        if ((unsigned char)*p < ' ')
            return NULL;
        if (*p == '\\' && !*++p)
            return NULL;
    }
    return *p ? p + 1 : NULL;
}

/* Behind the value at p; NULL = there is none. */
static inline const char *json(const char *p)
{
    char close = *(p = blanks(p)) == '{' ? '}' : ']', *end;

    if (*p == '"')
        return json_string(p);
    if (!strncmp(p, "true", 4))
        return p + 4;
    if (*p != '{' && *p != '[') {
        strtod(p, &end);
        return end == p ? NULL : end;
    }
    if (*(p = blanks(p + 1)) == close)
        return p + 1;
    for (;;) {
        if (close == '}') {
            p = json_string(blanks(p));
            if (!p || *(p = blanks(p)) != ':')
                return NULL;
            p++;
        }
        p = json(p);
        if (!p)
            return NULL;
        p = blanks(p);
        if (*p != ',')
            return *p == close ? p + 1 : NULL;
        p = blanks(p + 1);
    }
}

static inline void assert_whole(void)
{
    const char *p = json(text);

    assert_non_null(p);
    assert_string_equal(blanks(p), "");
    assert_int_equal(text[0], '[');
}

/* --------------------------------------------------------------- events -- */

struct event {
    char ph, name[32], cat[16], stream[32];
    uint32_t pid, tid, ctaid[3], rank;
    uint64_t start, end; /* ns */
    uint64_t grid, block, bytes;
    bool stopped;
};

static inline bool number(const char *line, const char *key, uint64_t *v)
{
    const char *at = strstr(line, key);

    if (at)
        *v = strtoull(at + strlen(key), NULL, 10);
    return at != NULL;
}

/* ns of us with three digits behind the point. */
static inline uint64_t time_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    char *end;
    uint64_t us;

    assert_non_null(at);
    us = strtoull(at + strlen(key), &end, 10);
    assert_int_equal(*end, '.');
    assert_int_equal(strspn(end + 1, "0123456789"), 3);
    return us * 1000 + strtoull(end + 1, NULL, 10);
}

static inline void word(const char *line, const char *key, char *out,
                        size_t size)
{
    const char *at = strstr(line, key);

    out[0] = '\0';
    if (at)
        snprintf(out, size, "%.*s", (int)strcspn(at + strlen(key), "\""),
                 at + strlen(key));
}

static inline struct event parse(const char *line)
{
    struct event e = { .ph = strstr(line, "\"ph\":\"")[6] };
    uint64_t v = 0;
    const char *at = strstr(line, "\"ctaid\":[");

    word(line, "\"name\":\"", e.name, sizeof e.name);
    word(line, "\"cat\":\"", e.cat, sizeof e.cat);
    word(line, "\"stream\":\"", e.stream, sizeof e.stream);
    assert_true(number(line, "\"pid\":", &v));
    e.pid = (uint32_t)v;
    assert_true(number(line, "\"tid\":", &v));
    e.tid = (uint32_t)v;
    if (e.ph != 'M')
        e.start = e.end = time_of(line, "\"ts\":");
    if (e.ph == 'X')
        e.end += time_of(line, "\"dur\":");
    number(line, "\"grid\":", &e.grid);
    number(line, "\"block\":", &e.block);
    number(line, "\"bytes\":", &e.bytes);
    if (number(line, "\"cluster_rank\":", &v))
        e.rank = (uint32_t)v;
    if (at)
        assert_int_equal(sscanf(at, "\"ctaid\":[%" SCNu32 ",%" SCNu32
                                    ",%" SCNu32 "]",
                                &e.ctaid[0], &e.ctaid[1], &e.ctaid[2]),
                         3);
    e.stopped = strstr(line, "\"stopped\":true") != NULL;
    return e;
}

enum { MOST = 4096 };
static struct event events[MOST];
static int count;

/* A process and each of its threads have a name before they have events. */
static inline void assert_named(int n)
{
    bool process = false, thread = false;

    for (int i = 0; i < n; i++) {
        if (events[i].ph != 'M' || events[i].pid != events[n].pid)
            continue;
        process |= !strcmp(events[i].name, "process_name");
        thread |= !strcmp(events[i].name, "thread_name") &&
            events[i].tid == events[n].tid;
    }
    assert_true(process && thread);
}

/* The trace is ended and read. */
static inline void read_events(void)
{
    fgs_error err;
    char *save = NULL;

    assert_int_equal(fgs_sim_trace(NULL, &err), FGS_OK);
    read_file();
    assert_whole();
    count = 0;
    for (char *l = strtok_r(text, "\n", &save); l;
         l = strtok_r(NULL, "\n", &save)) {
        if (*l != '{')
            continue;
        assert_true(count < MOST);
        events[count] = parse(l);
        if (events[count].ph != 'M')
            assert_named(count);
        count++;
    }
}

static inline int events_of(const char *cat, uint64_t grid)
{
    int n = 0;

    for (int i = 0; i < count; i++)
        n += !strcmp(events[i].cat, cat) && (!grid || events[i].grid == grid);
    return n;
}

/* The n-th event of a category. */
static inline const struct event *find(const char *cat, int n)
{
    for (int i = 0; i < count; i++) {
        if (!strcmp(events[i].cat, cat) && !n--)
            return &events[i];
    }
    fail();
    return NULL;
}

static inline struct sim open_traced(const fgs_sim_config *cfg, const char *ptx)
{
    struct sim s = sim_open(cfg, ptx);

    assert_int_equal(fgs_sim_trace(path, NULL), FGS_OK);
    return s;
}

#endif
