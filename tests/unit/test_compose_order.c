/* test_compose_order.c -- plans under each order, chains and mixes of orders
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "compose_rig.h"

static struct net net;

static void four_orders_give_the_same(void **state)
{
    static const char *const forms[FGS_ORDER_COUNT] = {
        [FGS_ORDER_STREAM] = "same stream",
        [FGS_ORDER_PDL] = "programmatic serialization",
        [FGS_ORDER_FLAG] = "programmatic serialization",
        [FGS_ORDER_SENTINEL] = "programmatic serialization",
    };
    fgs_error err;

    (void)state;
    net_pair(&net, 2);
    net.stage[1].ordered = net_plain(&net);
    for (fgs_order o = FGS_ORDER_STREAM; o < FGS_ORDER_COUNT; o++) {
        fgs_result r;

        net.access[1][0].order = o;
        r = net_compose(&net, &err);

        if (r == FGS_E_UNSUPPORTED)
            continue; /* pdl below 9.0 */
        RIG_OK(r, err);
        assert_int_equal(net_edge(&net, 0).taken, o);
        assert_string_equal(net_edge(&net, 0).form, forms[o]);
        for (uint32_t i = 0; i < 6; i++) {
            net_write(net.b[0], 10 * (uint32_t)o + i);
            net_run(&net, NULL, 1 + i % 2 * 2);
            net_expect(net.b[0], 0, net.b[2],
                       (uint32_t)(i % 2 ? i / 2 * 4 + 3 : i / 2 * 4) % 2, 1);
        }
    }
}

/* in -> b0 -> ... -> b[n] -> out by n relays; the last one consumes. */
static void chain(uint32_t relays, uint32_t slots, int self)
{
    fgs_kernel *p = net_kernel(
        &net, &(fgs_kernel_desc){ .role = FGS_ROLE_PRODUCER,
                                  .self_init = (uint32_t)self });
    fgs_kernel *r = net_kernel(
        &net, &(fgs_kernel_desc){ .role = FGS_ROLE_RELAY,
                                  .engine = net_checking(&net),
                                  .self_init = (uint32_t)self });
    fgs_kernel *o = net_kernel(
        &net, &(fgs_kernel_desc){ .role = FGS_ROLE_RELAY,
                                  .engine = FGS_ENGINE_PLAIN,
                                  .self_init = (uint32_t)self });
    fgs_buffer *from = net_buffer(&net, "in", 1), *to;

    net_write(from, 3);
    to = net_buffer(&net, "b0", slots);
    net_stage(&net, "produce", p, from, NULL, to);
    for (uint32_t i = 0; i < relays; i++) {
        from = to;
        to = net_buffer(&net, "b", slots);
        net_stage(&net, "relay", r, from, NULL, to)->ordered = o;
    }
    from = to;
    to = net_buffer(&net, "out", slots);
    net_stage(&net, "consume", net_consumer(&net), from, NULL, to)->ordered =
        net_plain(&net);
}

/* Every relay and the consumer reverse a tile. */
static void expect_chain(uint32_t relays, uint32_t slot)
{
    net_expect(net.b[0], 0, net.b[net.buffers - 1], slot, (int)relays + 1);
}

static void chain_of_twenty_under_each_order(void **state)
{
    fgs_error err;

    (void)state;
    chain(18, 1, 0);
    for (fgs_order o = FGS_ORDER_AUTO; o < FGS_ORDER_COUNT; o++) {
        fgs_result r;

        net.spec.order = o;
        r = net_compose(&net, &err);

        if (r == FGS_E_UNSUPPORTED)
            continue; /* pdl below 9.0 */
        RIG_OK(r, err);
        net_write(net.b[0], (uint32_t)o);
        net_run(&net, NULL, 3);
        expect_chain(18, 0);
    }
}

static void mixed_orders_in_a_chain_that_takes_turns(void **state)
{
    static const fgs_order mix[] = { FGS_ORDER_SENTINEL, FGS_ORDER_FLAG,
                                     FGS_ORDER_STREAM, FGS_ORDER_SENTINEL,
                                     FGS_ORDER_SENTINEL, FGS_ORDER_FLAG };
    fgs_error err;

    (void)state;
    chain(5, 3, 0);
    for (uint32_t i = 0; i < 6; i++)
        net.access[i + 1][0].order = mix[i];
    RIG_OK(net_compose(&net, &err), err);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(net_edge(&net, i).taken, mix[i]);
    for (uint32_t i = 0; i < 5; i++) {
        net_write(net.b[0], i);
        net_run(&net, NULL, 1);
        expect_chain(5, i % 3);
    }
}

static void chain_whose_stages_fill_their_own_output(void **state)
{
    fgs_error err;

    (void)state;
    chain(6, 1, 1);
    net.spec.order = FGS_ORDER_SENTINEL;
    RIG_OK(net_compose(&net, &err), err);
    for (uint32_t i = 0; i < 4; i++) {
        net_write(net.b[0], i);
        net_run(&net, NULL, 2);
        expect_chain(6, 0);
    }
}

static void order_of_the_plan_is_that_of_its_edges(void **state)
{
    fgs_error err;

    (void)state;
    net_pair(&net, 1);
    net.spec.order = FGS_ORDER_FLAG;
    assert_int_equal(net_compose(&net, &err), FGS_E_PLAN);
    assert_non_null(strstr(err.text, "no kernel that polls flags"));
    net.stage[1].ordered = net_plain(&net);
    RIG_OK(net_compose(&net, &err), err);
    assert_int_equal(net_edge(&net, 0).asked, FGS_ORDER_FLAG);
    net_run(&net, NULL, 3);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
}

int main(void)
{
#define TEST(f) NET_TEST(f, net)
    const struct CMUnitTest tests[] = {
        TEST(four_orders_give_the_same),
        TEST(chain_of_twenty_under_each_order),
        TEST(mixed_orders_in_a_chain_that_takes_turns),
        TEST(chain_whose_stages_fill_their_own_output),
        TEST(order_of_the_plan_is_that_of_its_edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
