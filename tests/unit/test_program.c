/* test_program.c -- random programs: any policy leaves the same memory
 *
 * FGS_GEN_SEED=N runs the program of that seed alone, FGS_GEN_PROGRAMS=N the
 * first N; the text of one that fails is written to $B/tests/program_SEED.ptx.
 */
#include "../gen/device.h"
#include "../gen/gen.h"
#include "../gen/program.h"
#include "base/compat.h"
#include "sim/isa.h"

#include <fgs/fgs_sim.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <cmocka.h>

enum { PROGRAMS = 96, ASSEMBLED = 16, MOST = 4096 };

static uint64_t first;
static unsigned count;

static void save(const char *name, uint64_t seed, const char *text)
{
    const char *b = getenv("B");
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/tests/%s_%llu.ptx", b ? b : ".", name,
             (unsigned long long)seed);
    f = fopen(path, "w");
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

static void programs_are_made_of_their_seed_alone(void **state)
{
    (void)state;
    for (uint64_t s = 1; s < 8; s++) {
        struct gen_program a = gen_program_make(s, "k");
        struct gen_program b = gen_program_make(s, "k");
        struct gen_program c = gen_program_make(s + 1, "k");

        assert_true(a.text && b.text && c.text);
        assert_string_equal(a.text, b.text);
        assert_string_not_equal(a.text, c.text);
        free(a.text);
        free(b.text);
        free(c.text);
    }
}

/* Many entries in one text; the assembler is asked once.  It takes much longer
 * than what runs them, so that it sees the first ones alone. */
static void assembler_takes_programs(void **state)
{
    const char *b = getenv("B"), *tc = getenv("TC");
    char path[512], command[2048], line[512], name[24];
    unsigned lines = 0;
    FILE *f;

    (void)state;
    snprintf(path, sizeof path, "%s/bin/ptxas", tc ? tc : "");
    if (!b || access(path, X_OK))
        skip();
    snprintf(path, sizeof path, "%s/tests/programs.ptx", b);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, ".version 9.0\n.target sm_90\n.address_size 64\n");
    for (unsigned k = 0; k < count && k < ASSEMBLED; k++) {
        struct gen_program p;

        snprintf(name, sizeof name, "k%llu", (unsigned long long)(first + k));
        p = gen_program_make(first + k, name);
        assert_non_null(p.text);
        fputs(p.text, f);
        free(p.text);
    }
    assert_int_equal(fclose(f), 0);
    snprintf(command, sizeof command, "'%s/bin/ptxas' -arch=sm_90 -O0 '%s' "
             "-o /dev/null 2>&1", tc, path);
    f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) && lines++ < 20)
        print_message("%s", line);
    assert_int_equal(pclose(f), 0);
}

/* ------------------------------------------------------------- policies -- */

static const struct policy {
    const char *seed, *sms, *sample, *overlap;
    int level;
} policies[] = {
    { "1", "132", "0", "1", FGS__ISA_AVX512 },
    { "2", "1", "1", "1", FGS__ISA_AVX512 },
    { "3", "4", "2", "0", FGS__ISA_AVX2 },
    { "4", "2", "3", "1", FGS__ISA_BASE },
    { "5", "16", "0", "0", FGS__ISA_BASE },
};
enum { POLICIES = sizeof policies / sizeof policies[0] };

static void run(struct gen_device *d, uint64_t seed, uint8_t *out,
                const char *policy)
{
    struct gen_program p = gen_program_make(seed, "k");
    char *text;

    assert_non_null(p.text);
    text = gen_program_module(&p);
    assert_non_null(text);
    gen_program_fill_out(&p, seed, out);
    if (!gen_run(d, &(struct gen_launch){ .text = text, .ptx = 90,
                     .blocks = p.blocks, .threads = p.threads, .out = out,
                     .out_bytes = p.out_bytes, .keep = true })) {
        save("program", seed, text);
        fail_msg("program %llu, %s: %s %s", (unsigned long long)seed, policy,
                 d->text, fgs_sim_last_fault());
    }
    free(text);
    free(p.text);
}

static void differs(uint64_t seed, const uint8_t *a, const uint8_t *b,
                    const char *policy)
{
    struct gen_program p = gen_program_make(seed, "k");
    char place[64];
    size_t at = 0;

    assert_non_null(p.text);
    while (a[at] == b[at])
        at++;
    gen_program_place(&p, at, place, sizeof place);
    save("program", seed, p.text);
    fail_msg("program %llu, %s: %s differs", (unsigned long long)seed, policy,
             place);
}

static size_t bytes_of(uint64_t seed)
{
    struct gen_program p = gen_program_make(seed, "k");

    assert_non_null(p.text);
    free(p.text);
    return p.out_bytes;
}

static void every_policy_leaves_the_same_memory(void **state)
{
    static uint8_t in[GEN_PROGRAM_IN], *want[MOST];
    static size_t bytes[MOST];
    uint64_t all = 0;

    (void)state;
    gen_program_fill_in(in);
    for (unsigned k = 0; k < count; k++)
        all += bytes[k] = bytes_of(first + k);
    for (unsigned n = 0; n < POLICIES; n++) {
        const struct policy *y = &policies[n];
        struct gen_device d;
        char text[64];
        fgs_error err;

        snprintf(text, sizeof text, "seed %s, %s SMs, samples %s, overlap %s",
                 y->seed, y->sms, y->sample, y->overlap);
        setenv("FGS_SIM_SEED", y->seed, 1);
        setenv("FGS_SIM_SMS", y->sms, 1);
        setenv("FGS_SIM_SAMPLE", y->sample, 1);
        setenv("FGS_SIM_OVERLAP", y->overlap, 1);
        fgs__sim_isa_limit((enum fgs__sim_isa)y->level);
        assert_int_equal(gen_open(&d, "sim", &err), FGS_OK);
        assert_true(gen_set_in(&d, in, sizeof in));
        for (unsigned k = 0; k < count; k++) {
            uint8_t *out = malloc(bytes[k]);

            assert_non_null(out);
            run(&d, first + k, out, text);
            if (n && memcmp(out, want[k], bytes[k]))
                differs(first + k, want[k], out, text);
            free(want[k]);
            want[k] = out;
        }
        gen_close(&d);
    }
    fgs__sim_isa_limit(FGS__ISA_AVX512);
    for (unsigned k = 0; k < count; k++)
        free(want[k]);
    print_message("%u programs, %u policies, %llu bytes each time\n", count,
                  (unsigned)POLICIES, (unsigned long long)all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_made_of_their_seed_alone),
        cmocka_unit_test(assembler_takes_programs),
        cmocka_unit_test(every_policy_leaves_the_same_memory),
    };
    const char *seed = getenv("FGS_GEN_SEED"), *n = getenv("FGS_GEN_PROGRAMS");

    first = seed ? strtoull(seed, NULL, 10) : 1;
    count = seed ? 1 : n ? (unsigned)strtoul(n, NULL, 10) : PROGRAMS;
    count = count > MOST ? MOST : count;
    fgs__words_init();
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
