/* test_sim_line.c -- movers of whole warps put each component where it belongs
 *
 * Component n of lane l lies at (l * count + n) * bytes in memory and is lane l
 * of register n: that, byte by byte, is the model.
 */
#include "sim/isa.h"
#include "sim/line.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { LANES = 32, ROOM = LANES * 16 * 4 + 64 };

struct room {
    _Alignas(64) unsigned char memory[ROOM], reg[4][LANES * 16];
};

static void fill(struct room *r, uint64_t seed)
{
    unsigned char *p = (unsigned char *)r;

    for (size_t k = 0; k < sizeof *r; k++)
        p[k] = (unsigned char)(fgs__sim_random(&seed) >> 11);
}

static void compare(unsigned count, unsigned bytes, const struct room *r,
                    const unsigned char *memory, const char *what)
{
    for (unsigned l = 0; l < LANES; l++)
        for (unsigned n = 0; n < count; n++)
            for (unsigned k = 0; k < bytes; k++)
                if (memory[(l * count + n) * bytes + k] !=
                    r->reg[n][l * bytes + k])
                    fail_msg("%s of %u components of %u bytes: lane %u, "
                             "component %u", what, count, bytes, l, n);
}

static void try_movers(const struct fgs__sim_shapes *m)
{
    static struct room r, old;
    void *reg[4] = { r.reg[0], r.reg[1], r.reg[2], r.reg[3] };
    unsigned c, s, movers = 0;
    unsigned char *at;
    size_t rest;

    for (c = 0; c < 4; c++)
        for (s = 0; s < 5; s++) {
            assert_int_equal(!m->line_load[c][s], !m->line_store[c][s]);
            if (!m->line_load[c][s])
                continue;
            fill(&r, 10 * c + s);
            old = r;
            /* Aligned as a lane is, no better. */
            at = r.memory + (1u << (c + s));
            m->line_load[c][s](reg, (char *)at);
            compare(1u << c, 1u << s, &r, at, "load");
            assert_memory_equal(r.memory, old.memory, ROOM);
            fill(&r, 10 * c + s + 7);
            old = r;
            m->line_store[c][s](reg, (char *)at);
            compare(1u << c, 1u << s, &r, at, "store");
            assert_memory_equal(r.reg, old.reg, sizeof r.reg);
            rest = (size_t)(LANES + 1) << (c + s);
            assert_memory_equal(r.memory + rest, old.memory + rest,
                                ROOM - rest);
            assert_memory_equal(r.memory, old.memory, 1u << (c + s));
            movers++;
        }
    assert_int_equal(movers, 8);
}

static void every_mover_keeps_lanes_and_components(void **state)
{
    (void)state;
    for (int k = FGS__ISA_BASE; k <= FGS__ISA_AVX512; k++) {
        fgs__sim_isa_limit((enum fgs__sim_isa)k);
        try_movers(fgs__sim_shapes_now());
    }
}

static void splat_fills_the_register_and_no_more(void **state)
{
    static struct room r, old;

    (void)state;
    for (int k = FGS__ISA_BASE; k <= FGS__ISA_AVX512; k++)
        for (unsigned bytes = 4; bytes <= 8; bytes += 4) {
            uint64_t v = 0x0123456789abcdefull;

            fgs__sim_isa_limit((enum fgs__sim_isa)k);
            fill(&r, bytes);
            old = r;
            fgs__sim_shapes_now()->splat(r.reg[0], v, bytes);
            for (unsigned l = 0; l < LANES; l++)
                assert_memory_equal(r.reg[0] + l * bytes, &v, bytes);
            memcpy(r.reg[0], old.reg[0], LANES * bytes);
            assert_memory_equal(&r, &old, sizeof r);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mover_keeps_lanes_and_components),
        cmocka_unit_test(splat_fills_the_register_and_no_more),
    };

    return cmocka_run_group_tests_name("line", tests, NULL, NULL);
}
