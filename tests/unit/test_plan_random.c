/* test_plan_random.c -- random plans: refused, or the same by every order
 *
 * Stages of the library in any DAG, slots, fills, tables, slow writers.  A plan
 * that one order refuses by name may be good by another; all that run leave the
 * same bytes, on the device that FGS_PROVIDER names.  FGS_PLANS=N makes N of
 * them, FGS_PLAN=S the one of seed S.
 */
#include "compose_rig.h"

#include <stdlib.h>

enum { PLANS = 25, TILE = 64, STAGES = 7, ROUNDS = 4 };

static struct net net;
static uint32_t slots_of[NET_BUFFERS], inputs;
static fgs_buffer *input[STAGES];
static uint64_t state_of_draws;

static uint32_t draw(uint32_t below)
{
    state_of_draws = state_of_draws * 6364136223846793005u +
                     1442695040888963407u;
    return (uint32_t)(state_of_draws >> 33) % below;
}

static fgs_buffer *buffer(uint32_t tiles, uint32_t slots)
{
    fgs_buffer_desc d = { .size = sizeof d, .tiles = tiles, .slots = slots,
                          .tile_bytes = TILE };
    char name[16];
    fgs_error err;

    snprintf(name, sizeof name, "b%u", net.buffers);
    d.name = name;
    slots_of[net.buffers] = slots;
    RIG_OK(fgs_buffer_make(&net.b[net.buffers], net.dev, &d, &err), err);
    return net.b[net.buffers++];
}

static fgs_kernel *kernel(fgs_role role, fgs_engine e, uint32_t self)
{
    fgs_kernel_desc d = { .role = role, .engine = e, .tile_bytes = TILE,
                          .threads = 32, .self_init = self };

    return net_kernel(&net, &d);
}

/* A stage behind what was made so far; `live` are buffers that may be read. */
static void add_stage(fgs_buffer **live, uint32_t *lives, uint32_t tiles,
                      uint32_t *table)
{
    static const char *const names[] = { "s0", "s1", "s2", "s3", "s4", "s5",
                                         "s6" };
    uint32_t n = net.spec.stage_count, slots = 1 + draw(3);
    fgs_role role = !*lives || !draw(3) ? FGS_ROLE_PRODUCER
                    : draw(3) ? FGS_ROLE_RELAY : FGS_ROLE_CONSUMER;
    fgs_engine e = draw(2) ? FGS_ENGINE_POLL : net_checking(&net);
    uint32_t self = role != FGS_ROLE_CONSUMER && !draw(4);
    fgs_buffer *in, *out = buffer(tiles, slots);
    fgs_stage_desc *s;

    in = role == FGS_ROLE_PRODUCER ? buffer(tiles, 1) : live[draw(*lives)];
    if (role == FGS_ROLE_PRODUCER) {
        input[inputs++] = in;
        e = FGS_ENGINE_AUTO;
    }
    s = net_stage(&net, names[n], kernel(role, e, self), in, NULL, out);
    if (role != FGS_ROLE_PRODUCER)
        s->ordered = kernel(role, FGS_ENGINE_PLAIN, self);
    s->spread_ns = draw(2) ? draw(5000) : 0;
    if (role == FGS_ROLE_RELAY && !draw(4)) {
        for (uint32_t i = 0; i < tiles; i++)
            table[i] = draw(tiles);
        net.access[n][0].table = table;
        net.access[n][0].tables = tiles;
    }
    if (!draw(4))
        net_use(&net, out, draw(2) ? FGS_FILL_MEMSET : FGS_FILL_READER, NULL);
    if (role != FGS_ROLE_CONSUMER)
        live[(*lives)++] = out;
}

/* What the plan leaves, all buffers in all slots; NULL = it was refused. */
static unsigned char *result(fgs_order order, uint64_t *bytes)
{
    unsigned char *all, *at;
    fgs_error err;
    fgs_result r;

    net.spec.order = order;
    r = net_compose(&net, &err);
    if (r < 0) { /* by a rule, which names the buffer */
        if (r != FGS_E_PLAN || !err.buffer[0])
            print_error("%s: %s\n", fgs_result_name(r), err.text);
        assert_int_equal(r, FGS_E_PLAN);
        assert_int_not_equal(err.buffer[0], 0);
        return NULL;
    }
    for (uint32_t i = 0; i < 2; i++) { /* what is stale is of the other input */
        for (uint32_t k = 0; k < inputs; k++)
            net_write(input[k], 2 * k + i + 1);
        net_run(&net, NULL, ROUNDS);
    }
    *bytes = 0;
    for (uint32_t i = 0; i < net.buffers; i++)
        *bytes += fgs_buffer_get_bytes(net.b[i]);
    all = at = malloc((size_t)*bytes);
    assert_non_null(all);
    for (uint32_t i = 0; i < net.buffers; i++) {
        uint64_t n = fgs_buffer_get_bytes(net.b[i]);

        RIG_OK(fgs_buffer_read(net.b[i], 0, at, n, &err), err);
        at += n;
    }
    return all;
}

/* Of the buffers that no stage reads, what the last round wrote. */
static void compare(const unsigned char *x, const unsigned char *y,
                    fgs_order order, uint64_t seed)
{
    for (uint32_t i = 0; i < net.buffers; i++) {
        uint64_t n = fgs_buffer_get_bytes(net.b[i]), slot = n / slots_of[i];
        uint64_t at = (2 * ROUNDS - 1) % slots_of[i] * slot;
        int read = 0;

        for (uint32_t s = 0; s < net.spec.stage_count; s++)
            read |= net.access[s][0].buffer == net.b[i];
        if (!read && memcmp(x + at, y + at, (size_t)slot)) {
            print_error("seed %llu: buffer b%u by order %s\n",
                        (unsigned long long)seed, i, fgs_order_name(order));
            fail();
        }
        x += n;
        y += n;
    }
}

static int one(uint64_t seed)
{
    static uint32_t table[STAGES][16];
    fgs_buffer *live[STAGES];
    uint32_t lives = 0, stages, tiles;
    unsigned char *first = NULL;
    uint64_t bytes;
    int good = 0;

    state_of_draws = seed;
    inputs = 0;
    net_open(&net);
    tiles = 1 + draw(13);
    stages = 1 + draw(STAGES);
    for (uint32_t i = 0; i < stages; i++)
        add_stage(live, &lives, tiles, table[i]);
    for (fgs_order o = FGS_ORDER_AUTO; o < FGS_ORDER_COUNT; o++) {
        unsigned char *now = result(o, &bytes);

        if (now && first)
            compare(first, now, o, seed);
        good += now != NULL;
        free(first && now ? now : NULL);
        first = first ? first : now;
    }
    free(first);
    net_close(&net);
    return good;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *v = getenv(name);

    return v && *v ? strtoull(v, NULL, 10) : otherwise;
}

static void random_plans_leave_the_same_by_every_order(void **state)
{
    uint64_t only = number("FGS_PLAN", 0), n = number("FGS_PLANS", PLANS);
    int good = 0;

    (void)state;
    if (only)
        good = one(only);
    for (uint64_t seed = 1; !only && seed <= n; seed++)
        good += one(seed);
    print_message("%d runs; FGS_PLANS=N: of N plans\n", good);
    assert_true(only || good > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans_leave_the_same_by_every_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
