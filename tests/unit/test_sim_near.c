/* test_sim_near.c -- whole warps in shared memory, and where addresses point
 *
 * The models are loops over the lanes: component n of lane l lies n words
 * behind the lane's offset; a lane is good when it is aligned and inside.
 */
#include "sim/isa.h"
#include "sim/near.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { LANES = 32, ROOM = 4096 };

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
                    const uint32_t *off, const char *what)
{
    for (unsigned l = 0; l < LANES; l++)
        for (unsigned n = 0; n < count; n++)
            if (memcmp(r->memory + off[l] + (size_t)n * bytes,
                       r->reg[n] + (size_t)l * bytes, bytes))
                fail_msg("%s of %u components of %u bytes: lane %u, "
                         "component %u", what, count, bytes, l, n);
}

/* Each level of vectors that the host has. */
#define LEVELS                                                                 \
    for (int level = FGS__ISA_BASE;                                            \
         fgs__sim_isa_limit((enum fgs__sim_isa)level),                         \
             level <= FGS__ISA_AVX512 &&                                       \
             fgs__sim_isa_now() == (enum fgs__sim_isa)level;                   \
         level++)

static void try_movers(const struct fgs__sim_shapes *m)
{
    static struct room r;
    void *reg[4] = {r.reg[0], r.reg[1], r.reg[2], r.reg[3]};
    uint32_t off[LANES];
    unsigned movers = 0;

    for (unsigned c = 0; c < 4; c++)
        for (unsigned s = 0; s < 5; s++) {
            if (!m->near_load[c][s])
                continue;
            /* an odd factor: a permutation of the lanes' places */
            for (uint32_t l = 0; l < LANES; l++)
                off[l] = (l * 13 + 5) % LANES * 3 << (c + s);
            fill(&r, 10 * c + s);
            m->near_load[c][s](reg, (char *)r.memory, off);
            compare(1u << c, 1u << s, &r, off, "load");
            fill(&r, 10 * c + s + 7);
            m->near_store[c][s](reg, (char *)r.memory, off);
            compare(1u << c, 1u << s, &r, off, "store");
            movers++;
        }
    assert_int_equal(movers, 8);
}

static void mover_follows_the_offsets_of_the_lanes(void **state)
{
    (void)state;
    LEVELS try_movers(fgs__sim_shapes_now());
    fgs__sim_isa_limit(FGS__ISA_AVX512);
}

static void last_lane_wins_at_one_place(void **state)
{
    static struct room r;
    void *reg[4] = {r.reg[0], NULL, NULL, NULL};
    uint32_t off[LANES] = {0};

    (void)state;
    for (unsigned s = 0; s < 5; s++) {
        fill(&r, s);
        fgs__sim_shapes_now()->near_store[0][s](reg, (char *)r.memory, off);
        assert_memory_equal(r.memory, r.reg[0] + (31u << s), 1u << s);
    }
}

static void offsets_are_refused_where_one_lane_is_wrong(void **state)
{
    const uint32_t size = 1024, base = 0x3000000, add = (uint32_t)-0x3000000;
    uint64_t seed = 1;

    (void)state;
    LEVELS for (uint32_t round = 0; round < 4000; round++) {
        uint32_t step = 1u << round % 5, addr[LANES], off[LANES], want = 0;
        uint64_t draw = fgs__sim_random(&seed);
        uint32_t bad = (uint32_t)draw % 64, run = draw >> 8 & 1;

        for (uint32_t l = 0; l < LANES; l++)
            addr[l] = base + step * (run ? l : (uint32_t)
                                     fgs__sim_random(&seed) % (size / step));
        if (bad < LANES) {
            uint32_t how[] = {base - step, base + size, addr[bad] + step / 2,
                              UINT32_MAX - step + 1};

            addr[bad] = how[draw >> 16 & 3];
        }
        for (uint32_t l = 0; l < LANES; l++)
            want |= addr[l] % step || addr[l] - base > size - step;
        assert_int_equal(fgs__sim_shapes_now()->offsets(addr, add, size - step,
                                                        step, off),
                         want ? -1 : run && (bad >= LANES || addr[bad] ==
                                             base + step * bad)
                             ? FGS__SIM_RUN : FGS__SIM_SCATTER);
        for (uint32_t l = 0; l < LANES && !want; l++)
            assert_int_equal(off[l], addr[l] - base);
    }
    fgs__sim_isa_limit(FGS__ISA_AVX512);
}

static void places_ignore_lanes_that_do_not_run(void **state)
{
    static char memory[1024];
    const uint64_t lo = 0x200000000000ull;
    uint64_t seed = 2;

    (void)state;
    LEVELS for (uint32_t round = 0; round < 4000; round++) {
        uint64_t step = 1u << round % 5, addr[LANES];
        uint64_t draw = fgs__sim_random(&seed);
        uint32_t exec = round % 3 ? (uint32_t)(draw >> 32) : UINT32_MAX;
        uint32_t bad = (uint32_t)draw % 64;
        char *place[LANES];
        bool want = true;

        for (uint32_t l = 0; l < LANES; l++)
            addr[l] = lo + step * (fgs__sim_random(&seed) %
                                   (sizeof memory / step));
        if (bad < LANES) {
            uint64_t how[] = {lo - step, lo + sizeof memory, 0,
                              addr[bad] + step / 2, UINT64_MAX - step + 1};

            addr[bad] = how[(draw >> 16) % 5];
        }
        for (uint32_t l = 0; l < LANES; l++)
            if (exec >> l & 1)
                want &= addr[l] % step == 0 &&
                        addr[l] - lo <= sizeof memory - step;
        assert_int_equal(fgs__sim_shapes_now()->places(
                             addr, exec, lo, sizeof memory - step, step,
                             memory, place),
                         want);
        for (uint32_t l = 0; l < LANES && want; l++)
            if (exec >> l & 1)
                assert_ptr_equal(place[l], memory + (addr[l] - lo));
    }
    fgs__sim_isa_limit(FGS__ISA_AVX512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mover_follows_the_offsets_of_the_lanes),
        cmocka_unit_test(last_lane_wins_at_one_place),
        cmocka_unit_test(offsets_are_refused_where_one_lane_is_wrong),
        cmocka_unit_test(places_ignore_lanes_that_do_not_run),
    };

    return cmocka_run_group_tests_name("sim_near", tests, NULL, NULL);
}
