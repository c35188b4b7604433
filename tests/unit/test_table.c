/* test_table.c -- the rows of the tables against the guide and the ISA */
#include "base/compat.h"
#include "table/table.h"
#include "table/record.h"

#include <fgs/fgs_sim.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* What a qualifier's words say (guide 4.6.3, table 15): after the last "::"
 * stands the pattern in hex, a hex digit for each four bits of the element. */
static void parse_qualifier(const char *q, uint32_t *bits, uint32_t *pattern,
                            uint32_t *checks)
{
    const char *hex = q;

    for (const char *p = q; (p = strstr(p, "::")); p += 2)
        hex = p + 2;
    *pattern = (uint32_t)strtoul(hex, NULL, 16);
    *bits = 4 * (uint32_t)strlen(hex);
    *checks = strstr(q, "::per_element::") ? 2 : 1;
}

static void sentinel_and_width_follow_from_the_qualifier(void **state)
{
    int rows = 0;

    (void)state;
    for (int m = 0; m < FGS_MECHANISM_COUNT; m++) {
        const fgs_mechanism_info *info =
            fgs_mechanism_get_info((fgs_mechanism)m);
        uint32_t bits, pattern, checks;

        assert_non_null(info);
        if (m == FGS_MECHANISM_DISABLED) {
            assert_string_equal(info->qualifier, "disabled");
            assert_int_equal(info->checks, 0);
            continue;
        }
        assert_memory_equal(info->qualifier, "validity::", 10);
        parse_qualifier(info->qualifier, &bits, &pattern, &checks);
        assert_int_equal(info->bits, bits);
        assert_int_equal(info->sentinel, pattern);
        assert_int_equal(info->checks, checks);
        rows++;
    }
    assert_int_equal(rows, 5); /* table 15 without `disabled` */
}

static void fill_repeats_the_sentinel_over_a_word(void **state)
{
    (void)state;
    for (int e = 0; e < FGS_ELEMENT_COUNT; e++) {
        const fgs_element_info *info = fgs_element_get_info((fgs_element)e);
        uint32_t fill = 0;

        assert_non_null(info);
        for (uint32_t at = 0; at < 32; at += info->bits)
            fill |= info->sentinel << at;
        assert_int_equal(info->fill, fill);
    }
}

/* Negative zero of a format with sign: the sign bit alone. */
static void sentinel_is_negative_zero_or_all_ones(void **state)
{
    (void)state;
    for (int e = 0; e < FGS_ELEMENT_COUNT; e++) {
        const fgs_element_info *info = fgs_element_get_info((fgs_element)e);
        uint32_t sign = 1u << (info->bits - 1);
        uint32_t ones = sign | (sign - 1);

        if (info->mechanism == FGS_MECHANISM_EACH_FF)
            assert_int_equal(info->sentinel, ones);
        else
            assert_int_equal(info->sentinel, sign);
    }
}

static void mechanism_looks_for_the_element_pattern(void **state)
{
    (void)state;
    for (int e = 0; e < FGS_ELEMENT_COUNT; e++) {
        const fgs_element_info *info = fgs_element_get_info((fgs_element)e);
        const fgs_mechanism_info *m = fgs_mechanism_get_info(info->mechanism);
        uint32_t mask = m->bits == 32 ? UINT32_MAX : (1u << m->bits) - 1;

        /* 4-bit metadata fills whole bytes with ones (guide 4.6.4.1). */
        assert_int_equal(info->fill & mask, m->sentinel);
    }
}

/* Guide table 16, by name. */
static void elements_are_those_of_the_guide(void **state)
{
    static const struct {
        const char *name;
        uint32_t bits, sentinel;
    } guide[] = {
        { "f32", 32, 0x80000000u }, { "f16", 16, 0x8000 },
        { "bf16", 16, 0x8000 },     { "e4m3", 8, 0x80 },
        { "e5m2", 8, 0x80 },        { "e2m1", 4, 0x8 },
        { "ue8m0", 8, 0xff },       { "ue5m3", 8, 0xff },
        { "x8", 8, 0xff },          { "meta4", 4, 0xf },
        { "i32", 32, 0x80000000u }, { "i16", 16, 0x8000 },
        { "i8", 8, 0x80 },          { "i8ff", 8, 0xff },
    };

    (void)state;
    assert_int_equal(sizeof guide / sizeof guide[0], FGS_ELEMENT_COUNT);
    for (int e = 0; e < FGS_ELEMENT_COUNT; e++) {
        const fgs_element_info *info = fgs_element_get_info((fgs_element)e);

        assert_string_equal(info->name, guide[e].name);
        assert_int_equal(info->bits, guide[e].bits);
        assert_int_equal(info->sentinel, guide[e].sentinel);
    }
}

static void rows_out_of_range_are_null(void **state)
{
    (void)state;
    assert_null(fgs_element_get_info(FGS_ELEMENT_COUNT));
    assert_null(fgs_element_get_info((fgs_element)-1));
    assert_null(fgs_mechanism_get_info(FGS_MECHANISM_COUNT));
    assert_null(fgs_engine_name(FGS_ENGINE_COUNT));
}

static void engine_is_found_by_name(void **state)
{
    fgs_engine e;

    (void)state;
    for (int i = 0; i < FGS_ENGINE_COUNT; i++) {
        assert_int_equal(fgs_engine_find(fgs_engine_name((fgs_engine)i), &e),
                         FGS_OK);
        assert_int_equal(e, i);
    }
    assert_int_equal(fgs_engine_find("tma", &e), FGS_E_INVAL);
    assert_int_equal(fgs_engine_find(NULL, &e), FGS_E_NULL);
    assert_int_equal(fgs_engine_find("poll", NULL), FGS_E_NULL);
}

static void registers_are_stated_for_every_kernel(void **state)
{
    (void)state;
    assert_int_equal(fgs_role_registers(FGS_ROLE_INIT, FGS_ENGINE_AUTO), 24);
    assert_true(fgs_role_registers(FGS_ROLE_PRODUCER, FGS_ENGINE_POLL) > 16);
    for (int i = FGS_ENGINE_AUTO + 1; i < FGS_ENGINE_COUNT; i++) {
        uint32_t n = fgs_role_registers(FGS_ROLE_CONSUMER, (fgs_engine)i);

        assert_true(n > 0 && n <= 64 && n % 8 == 0);
    }
    assert_int_equal(fgs_role_registers(FGS_ROLE_CONSUMER, FGS_ENGINE_AUTO), 0);
    assert_int_equal(fgs_role_registers(FGS_ROLE_CONSUMER, FGS_ENGINE_COUNT),
                     0);
    assert_int_equal(fgs_role_registers((fgs_role)0, FGS_ENGINE_POLL), 0);
    assert_int_equal(fgs_role_registers((fgs_role)9, FGS_ENGINE_POLL), 0);
}

static void arch_is_the_newest_row_of_its_generation(void **state)
{
    (void)state;
    assert_int_equal(fgs__arch_find(107)->cc, 107);
    assert_int_equal(fgs__arch_find(90)->cc, 90);
    assert_int_equal(fgs__arch_find(108)->cc, 107);
    assert_int_equal(fgs__arch_find(88)->cc, 87);
    assert_int_equal(fgs__arch_find(130)->cc, 121);
    assert_null(fgs__arch_find(60));
}

static void only_the_107_family_reports(void **state)
{
    (void)state;
    assert_true(fgs__arch_find(107)->has[FGS__FEAT_REPORT]);
    assert_false(fgs__arch_find(103)->has[FGS__FEAT_REPORT]);
    assert_false(fgs__arch_find(120)->has[FGS__FEAT_REPORT]);
    assert_false(fgs__arch_find(90)->has[FGS__FEAT_REPORT]);
    assert_true(fgs__arch_find(90)->has[FGS__FEAT_BULK]);
    assert_false(fgs__arch_find(89)->has[FGS__FEAT_BULK]);
}

/* The knobs' defaults stand in a public header, which has no table. */
static void software_device_is_an_sm_of_its_row(void **state)
{
    const struct fgs__arch *row = fgs__arch_find(107);
    const struct {
#define MEMBER(name, type, env, def, lo, hi, text) type name;
        FGS_SIM_KNOBS(MEMBER)
#undef MEMBER
    } by_default = {
#define DEFAULT(name, type, env, def, lo, hi, text) .name = def,
        FGS_SIM_KNOBS(DEFAULT)
#undef DEFAULT
    };

    (void)state;
    assert_int_equal(by_default.cc, row->cc);
    assert_int_equal(by_default.sm_threads, 0); /* the row's */
    assert_int_equal(by_default.sm_blocks, 0);
    assert_int_equal(by_default.sm_shared, 0);
}

/* PTX ISA 9.4, release notes. */
static void isa_follows_the_cuda_version(void **state)
{
    (void)state;
    assert_int_equal(fgs__isa_of_cuda(10020), 0);
    assert_int_equal(fgs__isa_of_cuda(11080), 78);
    assert_int_equal(fgs__isa_of_cuda(12050), 85);
    assert_int_equal(fgs__isa_of_cuda(12060), 85);
    assert_int_equal(fgs__isa_of_cuda(12070), 86);
    assert_int_equal(fgs__isa_of_cuda(13000), 90);
    assert_int_equal(fgs__isa_of_cuda(13040), 94);
    assert_int_equal(fgs__isa_of_cuda(14000), 95);
}

static void launch_attribute_is_found_with_what_it_needs(void **state)
{
    const struct fgs__launch_attr *a =
        fgs__launch_attr_find("PROGRAMMATIC_STREAM_SERIALIZATION");

    (void)state;
    assert_non_null(a);
    assert_int_equal(a->id, 6);
    assert_int_equal(a->cc, 90);
    assert_string_equal(a->needs, "griddepcontrol.wait");
    assert_null(fgs__launch_attr_find("NOTHING"));
}

/* The kernels compute these offsets from the same rows. */
static void shared_structs_have_no_padding(void **state)
{
    size_t ctl = 0, stat = 0, trace = 0, rec = 0;

    (void)state;
#define CTL(id, type, name)                                                    \
    assert_int_equal(offsetof(struct fgs__ctl, name), ctl);                    \
    ctl += sizeof(type);
#define STAT(id, type, name)                                                   \
    assert_int_equal(offsetof(struct fgs__stat, name), stat);                  \
    stat += sizeof(type);
#define TRACE(id, type, name)                                                  \
    assert_int_equal(offsetof(struct fgs__trace, name), trace);                \
    trace += sizeof(type);
#define REC(id, type, name)                                                    \
    assert_int_equal(offsetof(struct fgs__rec, name), rec);                    \
    rec += sizeof(type);
#include "table/record.def"
    assert_int_equal(sizeof(struct fgs__ctl), ctl);
    assert_int_equal(sizeof(struct fgs__stat), stat);
    assert_int_equal(sizeof(struct fgs__trace), trace);
    assert_int_equal(trace, 32);
    assert_int_equal(sizeof(struct fgs__rec), rec);
    assert_int_equal(offsetof(struct fgs__ctl, abort), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentinel_and_width_follow_from_the_qualifier),
        cmocka_unit_test(fill_repeats_the_sentinel_over_a_word),
        cmocka_unit_test(sentinel_is_negative_zero_or_all_ones),
        cmocka_unit_test(mechanism_looks_for_the_element_pattern),
        cmocka_unit_test(elements_are_those_of_the_guide),
        cmocka_unit_test(rows_out_of_range_are_null),
        cmocka_unit_test(engine_is_found_by_name),
        cmocka_unit_test(registers_are_stated_for_every_kernel),
        cmocka_unit_test(arch_is_the_newest_row_of_its_generation),
        cmocka_unit_test(only_the_107_family_reports),
        cmocka_unit_test(software_device_is_an_sm_of_its_row),
        cmocka_unit_test(isa_follows_the_cuda_version),
        cmocka_unit_test(launch_attribute_is_found_with_what_it_needs),
        cmocka_unit_test(shared_structs_have_no_padding),
    };

    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
