/* test_kernel.c -- loading: texts, contracts, wrong calls, handles */
#include "replace.h"

static void text_that_is_broken_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *from, *to;
        int more; /* lines between the change and where the error is */
    } rows[] = {
        { "mul.rn.f32 ", "mull.rn.f32 ", 0 },          /* unknown word   */
        { "mul.rn.f32 ", "mul.rn.u32 ", 0 },           /* wrong type     */
        { "setp.ge.u64             %p_idle, %item",
          "setp.ge.u64             %p_idle, %items", 0 }, /* unknown name */
        { "@%p_idle bra            L_end;",
          "@%p_idle bra            L_nowhere;", 0 },   /* no such label  */
    };
    fgs_error err;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t line = put_changed(rows[i].from, rows[i].to);
        fgs_result r = load_producer("cuda", &err);

        if (r != FGS_E_PTX)
            print_error("row %zu: %s\n", i, err.text);
        assert_int_equal(r, FGS_E_PTX);
        assert_int_equal(err.line, line);
        assert_true(err.column > 0);
        assert_non_null(strstr(err.file, "/scale_produce.ptx"));
        assert_int_equal(fake->launches, 0);
    }
}

static void text_that_is_cut_off_is_refused(void **state)
{
    char *text = own_text();
    fgs_error err;

    (void)state;
    put_text(text, strlen(text) / 2);
    free(text);
    assert_int_equal(load_producer("sim", &err), FGS_E_PTX);
    assert_non_null(strstr(err.file, "/scale_produce.ptx"));
    assert_true(err.line > 1);
    assert_true(err.column > 0);
    put_text("", 0);
    assert_int_equal(load_producer("sim", &err), FGS_E_PTX);
}

static void text_that_is_newer_than_all_is_refused(void **state)
{
    uint32_t line = put_changed(".version 8.3", ".version 99.0");
    fgs_error err;

    (void)state;
    assert_int_equal(load_producer("sim", &err), FGS_E_PTXVERSION);
    assert_int_equal(err.line, line);
    assert_non_null(strstr(err.text, "99.0"));
}

static void text_that_breaks_its_contract_is_refused(void **state)
{
    static const struct {
        const char *from, *to, *text;
    } rows[] = {
        { ".entry fgs_scale_produce(", ".entry fgs_scale(",
          "the text has no entry fgs_scale_produce" },
        { ".param .u64 p_out", ".param .u64 p_result",
          "parameter 3 of entry fgs_scale_produce is .u64 p_result; it must be "
          ".u64 p_out" },
        { ".param .u64 p_rec", ".param .u32 p_rec", "is .u32 p_rec" },
        { ".param .u32 p_grids",
          ".param .u32 p_grids, .param .u32 p_more", "p_more" },
        /* what the body reads is there, but no parameter */
        { ",\n    .param .u32 p_grids\n)\n    .reqntid 256, 1, 1\n{",
          "\n)\n    .reqntid 256, 1, 1\n{\n    .param .u32 p_grids;",
          "has 22 parameters" },
        { ".reqntid 256, 1, 1", ".reqntid 128, 1, 1", "blocks of 256 threads" },
    };
    fgs_error err;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fgs_result r;

        put_changed(rows[i].from, rows[i].to);
        r = load_producer("sim", &err);
        if (r != FGS_E_CONTRACT || !strstr(err.text, rows[i].text))
            print_error("row %zu: %s\n", i, err.text);
        assert_int_equal(r, FGS_E_CONTRACT);
        assert_non_null(strstr(err.text, rows[i].text));
        assert_true(err.line > 0);
    }
}

/* 4 x instead of 2 x, no rebuild. */
static void text_that_is_changed_takes_effect(void **state)
{
    struct rig_opts o = { .provider = "sim", .ptx_dir = dir, .tiles = 2 };
    float in = 3, out = 0;
    struct rig r;
    fgs_error err;
    fgs_kernel_info info = { .size = sizeof info };

    (void)state;
    put_changed("mul.rn.f32    %v0, %v0, 0f40000000",
                "mul.rn.f32    %v0, %v0, 0f40800000");
    RIG_OK(rig_make(&r, &o, &err), err);
    RIG_OK(fgs_kernel_get_info(r.producer, &info), err);
    assert_non_null(strstr(info.file, "/scale_produce.ptx"));
    free(rig_fill(&r, 1));
    RIG_OK(fgs_buffer_write(r.in, 0, &in, 4, &err), err);
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    RIG_OK(fgs_buffer_read(r.out, 4092, &out, 4, &err), err);
    assert_true(out == 12);
    rig_free(&r);
}

static void attribute_is_set_on_the_consumer_alone(void **state)
{
    struct rig_opts o = { .provider = "cuda", .tiles = 2 };
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 1));
    RIG_OK(fgs_plan_run(r.plan, NULL, 4, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(fake->launches, 3 * 4);
    assert_int_equal(fake->pdl_launches, 4);
    assert_int_equal(fake->pdl_last, 3 * 4);
    rig_free(&r);
}

/* A producer that stores where no memory is: the context is lost, the error
 * has the device's own words, and a new context is well. */
static void fault_of_a_kernel_is_told_with_its_place(void **state)
{
    struct rig_opts o = { .provider = "sim", .ptx_dir = dir, .tiles = 2 };
    struct rig r;
    fgs_error err;
    uint32_t *in;

    (void)state;
    put_changed("ld.param.u64            %a_tile, [p_mid];",
                "mov.u64                 %a_tile, 4096;");
    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 1));
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    assert_int_equal(fgs_plan_wait(r.plan, &err), FGS_E_FAULT);
    assert_string_equal(err.name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_int_equal(err.driver, 700);
    assert_non_null(strstr(err.text, "fgs_scale_produce"));
    assert_non_null(strstr(err.text, "PTX line"));
    assert_int_equal(fgs_plan_wait(r.plan, &err), FGS_E_STATE);
    assert_int_equal(fgs_plan_run(r.plan, NULL, 1, &err), FGS_E_FAULT);
    rig_free(&r);
    o.ptx_dir = NULL;
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 1);
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(rig_mismatches(&r, in), 0);
    free(in);
    rig_free(&r);
}

/* Without griddepcontrol.wait nothing would order the consumer's end. */
static void left_out(const char *word, const char *why)
{
    struct rig_opts o = { .provider = "cuda", .ptx_dir = dir, .tiles = 2,
                          .engine = FGS_ENGINE_POLL };
    fgs_receipt c;
    struct rig r;
    fgs_error err;

    put_changed(word, "");
    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 1));
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    c = rig_receipt(&r);
    assert_int_equal(c.pdl, 0);
    assert_string_equal(c.pdl_why, why);
    assert_int_equal(fake->launches, 3);
    assert_int_equal(fake->pdl_launches, 0);
    rig_free(&r);
}

static void attribute_is_left_out_without_a_wait_in_the_text(void **state)
{
    (void)state;
    replaced = "poll_consume";
    left_out("\n    griddepcontrol.wait;",
             "left out: fgs_poll_consume does not execute griddepcontrol.wait");
}

static void attribute_is_left_out_without_a_trigger_in_the_text(void **state)
{
    (void)state;
    left_out("\n    griddepcontrol.launch_dependents;",
             "left out: fgs_scale_produce does not execute "
             "griddepcontrol.launch_dependents");
}

/* ------------------------------------------------------- API, handles -- */

static void kernel_tells_what_it_is(void **state)
{
    struct rig_opts o = { .provider = "sim" };
    fgs_kernel_info info = { .size = sizeof info };
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_parts(&r, &o, &err), err);
    RIG_OK(fgs_kernel_get_info(r.consumer, &info), err);
    assert_string_equal(info.stem, "report_consume");
    assert_string_equal(info.entry, "fgs_report_consume");
    assert_string_equal(info.file, "<report_consume.ptx>");
    assert_string_equal(info.assembled_by, "sim");
    assert_int_equal(info.engine, FGS_ENGINE_REPORT);
    assert_int_equal(info.ptx_version, 94);
    assert_string_equal(info.ptx_target, "sm_107a");
    assert_int_equal(info.waits, 1);
    assert_int_equal(info.triggers, 1);
    RIG_OK(fgs_kernel_get_info(r.producer, &info), err);
    assert_int_equal(info.waits, 0);
    assert_int_equal(info.triggers, 1);
    assert_non_null(strstr(fgs_kernel_get_ptx(r.producer),
                           ".visible .entry fgs_scale_produce"));
    assert_non_null(fgs_kernel_get_function(r.producer));
    assert_int_equal(fgs_kernel_get_info(r.producer, NULL), FGS_E_NULL);
    info.size = 0;
    assert_int_equal(fgs_kernel_get_info(r.producer, &info), FGS_E_INVAL);
    rig_free(&r);
}

static void description_that_is_wrong_is_refused(void **state)
{
    static const struct {
        fgs_kernel_desc d;
        fgs_result want;
        const char *text;
    } rows[] = {
        { { .role = 0 }, FGS_E_INVAL, "0 is no role" },
        { { .role = 9 }, FGS_E_INVAL, "9 is no role" },
        { { .role = FGS_ROLE_CONSUMER, .engine = FGS_ENGINE_COUNT },
          FGS_E_INVAL, "is no engine" },
        { { .role = FGS_ROLE_INIT, .engine = FGS_ENGINE_POLL }, FGS_E_INVAL,
          "only a consumer has an engine" },
        { { .role = FGS_ROLE_CONSUMER, .engine = FGS_ENGINE_POLL, .weak = 1 },
          FGS_E_INVAL, "engine poll has no weak form" },
        { { .role = FGS_ROLE_CONSUMER, .engine = FGS_ENGINE_BULK, .weak = 1,
            .stem = "bulk_consume" },
          FGS_E_INVAL, "give one" },
        { { .role = FGS_ROLE_INIT, .element = FGS_ELEMENT_COUNT }, FGS_E_INVAL,
          "is no element type" },
        { { .role = FGS_ROLE_INIT, .mechanism = FGS_MECHANISM_W16 },
          FGS_E_MISMATCH, "looks for a 16-bit sentinel, element f32" },
        { { .role = FGS_ROLE_CONSUMER, .element = FGS_ELEMENT_E4M3,
            .mechanism = FGS_MECHANISM_EACH_FF },
          FGS_E_MISMATCH, "takes all ones for not written, and e4m3" },
        { { .role = FGS_ROLE_INIT, .element = FGS_ELEMENT_I8FF,
            .mechanism = FGS_MECHANISM_W8 },
          FGS_E_MISMATCH, "and i8ff holds that as data" },
        { { .role = FGS_ROLE_INIT, .mechanism = FGS_MECHANISM_COUNT },
          FGS_E_INVAL, "is no mechanism" },
        { { .role = FGS_ROLE_INIT, .saturate = FGS_SATURATE_UP },
          FGS_E_INVAL, "only a producer saturates" },
        { { .role = FGS_ROLE_PRODUCER, .saturate = FGS_SATURATE_UP },
          FGS_E_INVAL, "f32 has no integer sentinel" },
        { { .role = FGS_ROLE_PRODUCER, .element = FGS_ELEMENT_I16,
            .saturate = FGS_SATURATE_DOWN },
          FGS_E_INVAL, "i16: its sentinel is its least value" },
        { { .role = FGS_ROLE_PRODUCER, .saturate = FGS_SATURATE_COUNT },
          FGS_E_INVAL, "is no saturation" },
        { { .role = FGS_ROLE_INIT, .tile_bytes = 24 }, FGS_E_ALIGN,
          "no multiple of 16" },
        { { .role = FGS_ROLE_INIT, .tile_bytes = 1 << 20 }, FGS_E_SIZE,
          "1048576 bytes: 16 to 232320 fit" },
        { { .role = FGS_ROLE_INIT, .threads = 48 }, FGS_E_SIZE,
          "a block of 48 threads" },
        { { .role = FGS_ROLE_INIT, .threads = 2048 }, FGS_E_SIZE,
          "a block of 2048 threads" },
        { { .role = FGS_ROLE_CONSUMER, .bulk_store = 1 }, FGS_E_INVAL,
          "consumer has no form 1 that stores" },
        { { .role = FGS_ROLE_PRODUCER, .bulk_store = 1,
            .stem = "scale_produce" },
          FGS_E_INVAL, "give one" },
        { { .role = FGS_ROLE_INIT, .language = FGS_LANGUAGE_COUNT },
          FGS_E_INVAL, "no language" },
        { { .role = FGS_ROLE_PRODUCER, .stem = "no_such_text" }, FGS_E_INVAL,
          "no_such_text" },
        { { .role = FGS_ROLE_CONSUMER, .stem = "my_consume" }, FGS_E_INVAL,
          "name the engine" },
    };
    struct rig_opts o = { .provider = "sim" };
    fgs_device *dev = NULL;
    fgs_kernel *k;
    fgs_error err;

    (void)state;
    RIG_OK(rig_open(&dev, &o, &err), err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fgs_kernel_desc d = rows[i].d;
        fgs_result r;

        d.size = sizeof d;
        k = (fgs_kernel *)16;
        r = fgs_kernel_make(&k, dev, &d, &err);
        if (r != rows[i].want || !strstr(err.text, rows[i].text))
            print_error("row %zu: %s\n", i, err.text);
        assert_int_equal(r, rows[i].want);
        assert_non_null(strstr(err.text, rows[i].text));
        assert_null(k);
    }
    assert_int_equal(fgs_kernel_make(NULL, dev, &rows[0].d, &err), FGS_E_NULL);
    assert_int_equal(fgs_kernel_make(&k, dev, NULL, &err), FGS_E_NULL);
    assert_int_equal(fgs_kernel_make(&k, NULL, &rows[0].d, &err), FGS_E_NULL);
    assert_int_equal(fgs_kernel_make(&k, dev, &rows[0].d, &err), FGS_E_INVAL);
    fgs_device_close(dev);
}

static void freed_kernel_is_known_as_freed(void **state)
{
    struct rig_opts o = { .provider = "sim" };
    fgs_kernel_info info = { .size = sizeof info };
    fgs_plan_desc d;
    fgs_kernel *old;
    fgs_plan *plan = NULL;
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_parts(&r, &o, &err), err);
    d = rig_desc(&r, &o);
    old = r.init;
    fgs_kernel_free(r.init);
    r.init = NULL;
    assert_int_equal(fgs_kernel_get_info(old, &info), FGS_E_FREED);
    assert_null(fgs_kernel_get_ptx(old));
    assert_null(fgs_kernel_get_function(old));
    assert_int_equal(fgs_plan_make(&plan, r.dev, &d, &err), FGS_E_FREED);
    assert_non_null(strstr(err.text, "fgs_plan_desc.init"));
    fgs_kernel_free(old);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, clean)
        TEST(text_that_is_broken_is_refused_with_its_place),
        TEST(text_that_is_cut_off_is_refused),
        TEST(text_that_is_newer_than_all_is_refused),
        TEST(text_that_breaks_its_contract_is_refused),
        TEST(text_that_is_changed_takes_effect),
        TEST(fault_of_a_kernel_is_told_with_its_place),
        TEST(attribute_is_set_on_the_consumer_alone),
        TEST(attribute_is_left_out_without_a_wait_in_the_text),
        TEST(attribute_is_left_out_without_a_trigger_in_the_text),
        TEST(kernel_tells_what_it_is),
        TEST(description_that_is_wrong_is_refused),
        TEST(freed_kernel_is_known_as_freed),
    };

    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
