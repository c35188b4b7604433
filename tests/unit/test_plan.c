/* test_plan.c -- making plans: what fits together and what does not
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "rig.h"

static struct rig rig;

static int open_rig(void **state)
{
    struct rig_opts o = { .engine = FGS_ENGINE_POLL, .tiles = 4 };
    fgs_error err;
    fgs_result r = rig_parts(&rig, &o, &err);

    (void)state;
    if (r < 0)
        print_error("%s\n", err.text);
    if (r < 0 && !strcmp(rig_provider(), "cuda") && !rig.dev)
        exit(77);
    return r < 0 ? -1 : 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_free(&rig);
    return 0;
}

static fgs_plan_desc good(void)
{
    struct rig_opts o = { 0 };

    return rig_desc(&rig, &o);
}

/* The result, and whether the text has the words. */
static fgs_result refused(const fgs_plan_desc *d, const char *words)
{
    fgs_plan *p = (fgs_plan *)16;
    fgs_error err = { .result = FGS_OK };
    fgs_result r = fgs_plan_make(&p, rig.dev, d, &err);

    assert_null(p);
    assert_int_equal(err.result, r);
    if (!strstr(err.text, words))
        print_error("%s\n", err.text);
    assert_non_null(strstr(err.text, words));
    return r;
}

static void plan_is_made_and_freed(void **state)
{
    fgs_plan_desc d = good();
    fgs_plan *p = NULL;
    fgs_error err;

    (void)state;
    RIG_OK(fgs_plan_make(&p, rig.dev, &d, &err), err);
    fgs_plan_free(p);
    assert_int_equal(fgs_plan_run(p, NULL, 1, &err), FGS_E_FREED);
    assert_int_equal(fgs_plan_wait(p, &err), FGS_E_FREED);
    assert_int_equal(fgs_plan_query(p, &err), FGS_E_FREED);
    assert_int_equal(fgs_plan_run(NULL, NULL, 1, &err), FGS_E_NULL);
    fgs_plan_free(p);
    fgs_plan_free(NULL);
}

static void description_that_is_wrong_is_refused(void **state)
{
    fgs_plan_desc d = good();
    fgs_plan *p;
    fgs_error err;

    (void)state;
    assert_int_equal(fgs_plan_make(NULL, rig.dev, &d, &err), FGS_E_NULL);
    assert_int_equal(fgs_plan_make(&p, NULL, &d, &err), FGS_E_NULL);
    assert_int_equal(fgs_plan_make(&p, rig.dev, NULL, &err), FGS_E_NULL);
    d.size = 1;
    assert_int_equal(refused(&d, "fgs_plan_desc.size is 1"), FGS_E_INVAL);
    d = good();
    d.reserved = 1;
    assert_int_equal(refused(&d, "reserved"), FGS_E_ABI);
    d = good();
    d.reserved2 = 1;
    assert_int_equal(refused(&d, "reserved"), FGS_E_ABI);
    d = good();
    d.no_pdl = 2;
    assert_int_equal(refused(&d, "no_pdl is 2"), FGS_E_INVAL);
}

static void part_that_is_missing_is_named(void **state)
{
    fgs_plan_desc d = good();

    (void)state;
    d.init = NULL;
    assert_int_equal(refused(&d, "fgs_plan_desc.init is NULL"), FGS_E_NULL);
    d = good();
    d.producer = NULL;
    assert_int_equal(refused(&d, "fgs_plan_desc.producer"), FGS_E_NULL);
    d = good();
    d.consumer = NULL;
    assert_int_equal(refused(&d, "fgs_plan_desc.consumer"), FGS_E_NULL);
    d = good();
    d.in = NULL;
    assert_int_equal(refused(&d, "fgs_plan_desc.in"), FGS_E_NULL);
    d = good();
    d.mid = NULL;
    assert_int_equal(refused(&d, "fgs_plan_desc.mid"), FGS_E_NULL);
    d = good();
    d.out = NULL;
    assert_int_equal(refused(&d, "fgs_plan_desc.out"), FGS_E_NULL);
}

static void kernels_stand_in_their_roles(void **state)
{
    fgs_plan_desc d = good();

    (void)state;
    d.producer = rig.consumer;
    assert_int_equal(refused(&d, "fgs_plan_desc.producer (fgs_poll_consume) "
                                 "is a kernel for consumer"),
                     FGS_E_MISMATCH);
    d = good();
    d.init = rig.producer;
    assert_int_equal(refused(&d, "fgs_scale_produce"), FGS_E_MISMATCH);
}

static void buffers_lie_apart(void **state)
{
    fgs_buffer_desc b = { .size = sizeof b, .name = "part", .tiles = 4 };
    fgs_plan_desc d = good();
    fgs_buffer *wide = NULL, *part = NULL;
    fgs_error err;

    (void)state;
    d.out = rig.mid;
    assert_int_equal(refused(&d, "overlap"), FGS_E_MISMATCH);
    d = good();
    d.in = rig.mid;
    assert_int_equal(refused(&d, "overlap"), FGS_E_MISMATCH);
    RIG_OK(rig_buffer(&wide, rig.dev, "wide", 8, &err), err);
    b.pointer = fgs_buffer_get_pointer(wide) + 3 * RIG_TILE_BYTES;
    b.pointer_bytes = 4 * RIG_TILE_BYTES;
    RIG_OK(fgs_buffer_make(&part, rig.dev, &b, &err), err);
    fgs_buffer_free(rig.out);
    rig.out = NULL;
    b.pointer = fgs_buffer_get_pointer(wide);
    b.name = "front";
    RIG_OK(fgs_buffer_make(&rig.out, rig.dev, &b, &err), err);
    d = good();
    d.mid = part;
    assert_int_equal(refused(&d, "buffers 'part' and 'front' overlap"),
                     FGS_E_MISMATCH);
    fgs_buffer_free(part);
    fgs_buffer_free(rig.out);
    fgs_buffer_free(wide);
    RIG_OK(rig_buffer(&rig.out, rig.dev, "out", 4, &err), err);
}

static void buffers_have_one_shape(void **state)
{
    fgs_buffer_desc b = { .size = sizeof b, .name = "odd", .tiles = 5 };
    fgs_plan_desc d = good();
    fgs_buffer *odd = NULL;
    fgs_error err;

    (void)state;
    RIG_OK(fgs_buffer_make(&odd, rig.dev, &b, &err), err);
    d.out = odd;
    assert_int_equal(refused(&d, "'odd' has 5 tiles, buffer 'mid' 4"),
                     FGS_E_MISMATCH);
    d = good();
    d.mid = odd;
    assert_int_equal(refused(&d, "tiles"), FGS_E_MISMATCH);
    fgs_buffer_free(odd);
    b.tiles = 4;
    b.tile_bytes = 32;
    RIG_OK(fgs_buffer_make(&odd, rig.dev, &b, &err), err);
    d = good();
    d.mid = odd;
    assert_int_equal(refused(&d, "'odd' has tiles of 32 bytes"),
                     FGS_E_MISMATCH);
    fgs_buffer_free(odd);
    b.tile_bytes = 4096;
    b.element = FGS_ELEMENT_F16;
    RIG_OK(fgs_buffer_make(&odd, rig.dev, &b, &err), err);
    d = good();
    d.mid = odd;
    assert_int_equal(refused(&d, "'odd' holds f16"), FGS_E_MISMATCH);
    fgs_buffer_free(odd);
}

static void parts_are_of_one_device(void **state)
{
    struct rig_opts o = { 0 };
    fgs_plan_desc d = good();
    fgs_device *other = NULL;
    fgs_buffer *b = NULL;
    fgs_kernel *k = NULL;
    fgs_error err;

    (void)state;
    RIG_OK(rig_open(&other, &o, &err), err);
    RIG_OK(rig_buffer(&b, other, "far", 4, &err), err);
    d.out = b;
    assert_int_equal(refused(&d, "('far') was made from another device"),
                     FGS_E_MISMATCH);
    RIG_OK(rig_kernel(&k, other, FGS_ROLE_INIT, NULL, FGS_ENGINE_AUTO, 0, &err),
           err);
    d = good();
    d.init = k;
    assert_int_equal(refused(&d, "made from another device"), FGS_E_MISMATCH);
    fgs_kernel_free(k);
    fgs_buffer_free(b);
    fgs_device_close(other);
}

static void freed_part_is_named(void **state)
{
    fgs_plan_desc d = good();
    fgs_buffer *b = NULL;
    fgs_error err;

    (void)state;
    RIG_OK(rig_buffer(&b, rig.dev, "gone", 4, &err), err);
    fgs_buffer_free(b);
    d.mid = b;
    assert_int_equal(refused(&d, "fgs_plan_desc.mid"), FGS_E_FREED);
    /* A buffer's handle is no kernel. */
    d = good();
    d.init = (fgs_kernel *)(void *)rig.mid;
    assert_int_equal(refused(&d, "fgs_plan_desc.init"), FGS_E_FREED);
}

/* It looks for no sentinel: the plan orders it otherwise, and fills nothing. */
static void plain_consumer_needs_no_init(void **state)
{
    struct rig_opts o = { .engine = FGS_ENGINE_PLAIN, .tiles = 24 };
    fgs_edge_info e = { .size = sizeof e };
    fgs_plan_info info = { .size = sizeof info };
    uint32_t *in;
    fgs_error err;
    struct rig r;

    (void)state;
    for (o.no_pdl = 0; o.no_pdl < 2; o.no_pdl++) {
        RIG_OK(rig_make(&r, &o, &err), err);
        RIG_OK(fgs_plan_get_info(r.plan, &info, &err), err);
        assert_int_equal(info.stages, 2);
        RIG_OK(fgs_plan_get_edge(r.plan, 0, &e, &err), err);
        assert_true(e.taken != FGS_ORDER_SENTINEL &&
                    e.taken != FGS_ORDER_AUTO);
        in = rig_fill(&r, o.no_pdl + 1);
        RIG_OK(fgs_plan_run(r.plan, NULL, 3, &err), err);
        RIG_OK(fgs_plan_wait(r.plan, &err), err);
        assert_int_equal(rig_mismatches(&r, in), 0);
        free(in);
        rig_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_is_made_and_freed),
        cmocka_unit_test(description_that_is_wrong_is_refused),
        cmocka_unit_test(part_that_is_missing_is_named),
        cmocka_unit_test(kernels_stand_in_their_roles),
        cmocka_unit_test(buffers_lie_apart),
        cmocka_unit_test(buffers_have_one_shape),
        cmocka_unit_test(parts_are_of_one_device),
        cmocka_unit_test(freed_part_is_named),
        cmocka_unit_test(plain_consumer_needs_no_init),
    };

    return cmocka_run_group_tests_name("plan", tests, open_rig, close_rig);
}
