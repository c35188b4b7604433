/* test_reload_files.c -- the watch sees what is included, and what is not read
 *
 * The producer doubles; here what it multiplies by is in a file that its text
 * includes, so that the output tells which was read.
 */
#include "rig.h"

#include "counting.h"
#include "rtc.h"
#include "text/embed.h"

#include <sys/stat.h>

static struct rig rig;
static struct counting heap;
static fgs_allocator counted;
static char dir[64];
static fgs_error err;
static int unread, reloads;

static const char *in_dir(const char *name)
{
    static char path[160];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* A new file renamed over the old one, as an editor does it. */
static void put(const char *name, const char *text)
{
    char fresh[160];
    FILE *f;

    snprintf(fresh, sizeof fresh, "%s/new", dir);
    f = fopen(fresh, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(fresh, in_dir(name)), 0);
}

static char *library_file(const char *name)
{
    static char text[64 * 1024];
    const struct fgs__embedded *e = fgs__embedded;

    while (e->name && strcmp(e->name, name))
        e++;
    assert_non_null(e->name);
    assert_true(e->size < sizeof text - 1024);
    memcpy(text, e->text, e->size + 1);
    return text;
}

/* `by` in place of what is from `from` up to `to`. */
static void replace(char *text, const char *from, const char *to,
                    const char *by)
{
    char *at = strstr(text, from), *end;

    assert_non_null(at);
    end = strstr(at, to);
    assert_non_null(end);
    memmove(at + strlen(by), end, strlen(end) + 1);
    memcpy(at, by, strlen(by));
}

static void watch_log(void *cookie, fgs_log_level level, const char *id,
                      const char *text)
{
    (void)cookie;
    (void)level;
    (void)text;
    unread += !strcmp(id, "load.unread");
    reloads += !strcmp(id, "reload.kernel");
}

static void open_rig(fgs_language language)
{
    struct rig_opts o = { .tiles = 4, .engine = FGS_ENGINE_POLL };
    fgs_device_opts d = { .size = sizeof d, .provider = "sim",
                          .allocator = &counted, .log = watch_log,
                          .ptx_dir = dir, .watch = 1 };
    fgs_kernel_desc k = { .size = sizeof k, .role = FGS_ROLE_PRODUCER,
                          .language = language };
    fgs_plan_desc p;

    rig.tiles = o.tiles;
    RIG_OK(fgs_device_open(&rig.dev, &d, &err), err);
    RIG_OK(rig_kernel(&rig.init, rig.dev, FGS_ROLE_INIT, NULL, 0, 0, &err),
           err);
    RIG_OK(fgs_kernel_make(&rig.producer, rig.dev, &k, &err), err);
    RIG_OK(rig_kernel(&rig.consumer, rig.dev, FGS_ROLE_CONSUMER, NULL,
                      o.engine, 0, &err), err);
    RIG_OK(rig_buffer(&rig.in, rig.dev, "in", 4, &err), err);
    RIG_OK(rig_buffer(&rig.mid, rig.dev, "mid", 4, &err), err);
    RIG_OK(rig_buffer(&rig.out, rig.dev, "out", 4, &err), err);
    p = rig_desc(&rig, &o);
    RIG_OK(fgs_plan_make(&rig.plan, rig.dev, &p, &err), err);
}

/* The number that ones become. */
static float run(void)
{
    static float v[4 * RIG_TILE_ELEMS];

    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        v[i] = 1;
    RIG_OK(fgs_buffer_write(rig.in, 0, v, sizeof v, &err), err);
    RIG_OK(fgs_plan_run(rig.plan, NULL, 2, &err), err);
    RIG_OK(fgs_plan_wait(rig.plan, &err), err);
    RIG_OK(fgs_buffer_read(rig.out, 0, v, sizeof v, &err), err);
    for (size_t i = 1; i < sizeof v / sizeof *v; i++)
        assert_true(v[i] == v[0]);
    return v[0];
}

/* ---------------------------------------------------------------- tests -- */

static void put_template(void)
{
    char *text = library_file("scale_produce.ptx.in");

    replace(text, "    @IF_FLOAT@mul.rn.f32", "    @IF_FLOAT@add.rn.f32",
            "@INCLUDE factor.inc@\n");
    put("scale_produce.ptx.in", text);
}

static void put_factor(const char *factor)
{
    char text[400] = "";

    for (int i = 0; i < 4; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "    mul.rn.f32 %%v%d, %%v%d, %s;\n", i, i, factor);
    put("factor.inc", text);
}

static void file_that_a_template_includes_is_watched(void **state)
{
    (void)state;
    put_factor("0f40800000");
    put_template();
    open_rig(FGS_LANGUAGE_PTX);
    assert_true(run() == 4);
    put_factor("0f41000000");
    assert_true(run() == 8);
    assert_int_equal(reloads, 1);
    /* Gone it is missed, and tried again as soon as it is back. */
    assert_int_equal(unlink(in_dir("factor.inc")), 0);
    assert_true(run() == 8);
    assert_non_null(strstr(rig_receipt(&rig).note, "factor.inc"));
    put_factor("0f40400000");
    assert_true(run() == 3);
    assert_string_equal(rig_receipt(&rig).note, "");
    assert_int_equal(reloads, 2);
}

/* The second one is found beside the first, not beside the text. */
static void files_that_cuda_includes_are_watched(void **state)
{
    char *text = library_file("scale_produce.cu");

    (void)state;
    rtc_real();
    while (strstr(text, "2.0f"))
        replace(text, "2.0f", ")", "BY");
    memmove(text + 16, text, strlen(text) + 1);
    memcpy(text, "#include \"s/a.h\"", 16);
    replace(text, "/* scale", "#include <", "\n");
    assert_int_equal(mkdir(in_dir("s"), 0700), 0);
    put("s/a.h", "#pragma once\n  #  include \"b.h\"\n");
    put("s/b.h", "#include \"../c.h\"\n#define BY (C * 2.0f)\n");
    put("c.h", "#define C 2\n");
    put("scale_produce.cu", text);
    open_rig(FGS_LANGUAGE_CUDA);
    assert_true(run() == 4);
    put("s/b.h", "#include \"../c.h\"\n#define BY (C * 4.0f)\n");
    assert_true(run() == 8);
    put("c.h", "#define C 3\n");
    assert_true(run() == 12);
    assert_int_equal(reloads, 2);
    assert_int_equal(unread, 0);
}

/* A file that came and is not read is told, and no longer when it went. */
static void file_that_is_not_read_is_in_the_receipt(void **state)
{
    (void)state;
    open_rig(FGS_LANGUAGE_PTX);
    assert_true(run() == 2);
    assert_string_equal(rig_receipt(&rig).note, "");
    put("scale_produce.f32.ptx", "");
    assert_true(run() == 2);
    assert_int_equal(unread, 1);
    assert_non_null(strstr(rig_receipt(&rig).note, "scale_produce.f32.ptx"));
    /* Its bytes do not matter. */
    put("scale_produce.f32.ptx", "else");
    assert_true(run() == 2);
    assert_int_equal(unread, 1);
    assert_int_equal(unlink(in_dir("scale_produce.f32.ptx")), 0);
    assert_true(run() == 2);
    assert_string_equal(rig_receipt(&rig).note, "");
}

/* ----------------------------------------------------------------- main -- */

static int start(void **state)
{
    (void)state;
    memset(&heap, 0, sizeof heap);
    memset(&rig, 0, sizeof rig);
    counted = counting_allocator(&heap);
    unread = reloads = 0;
    snprintf(dir, sizeof dir, "/tmp/fgs-reload-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    static const char *const names[] = {
        "factor.inc", "scale_produce.ptx.in", "scale_produce.f32.ptx", "s/a.h",
        "s/b.h", "s", "c.h", "scale_produce.cu",
    };

    (void)state;
    rig_free(&rig);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(in_dir(names[i]));
    return rmdir(dir) || heap.live ? -1 : 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(file_that_a_template_includes_is_watched),
        T(files_that_cuda_includes_are_watched),
        T(file_that_is_not_read_is_in_the_receipt),
    };

    setenv("FGS_CACHE_DIR", "none", 1);
    return cmocka_run_group_tests_name("reload_files", tests, NULL, NULL);
}
