/* test_far.c -- tiles beyond the first 4 GiB of a buffer; FGS_PROVIDER
 *
 * A table names a few tiles of buffers of more than 2^28 tiles, on both sides
 * of the place where an offset of 32 bits would begin again.  The writers fill
 * their own tiles, so that little more than those is ever touched.
 */
#include "compose_rig.h"
#include "rtc.h"

enum { TILE = 16, ELEMS = TILE / 4, PICKED = 7 };

#define TILES ((1ull << 28) + 64)

static const uint32_t picked[PICKED] = {
    TILES - 1, 0, 1u << 27, 1u << 28, 1, (1u << 28) + 1, TILES - 2
};
static struct net net;

static fgs_buffer *buffer(const char *name)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = name, .tiles = TILES,
                          .tile_bytes = TILE };
    fgs_error err;

    RIG_OK(fgs_buffer_make(&net.b[net.buffers], net.dev, &d, &err), err);
    return net.b[net.buffers++];
}

static fgs_kernel *kernel(fgs_role role, fgs_engine e, fgs_language l)
{
    fgs_kernel_desc d = { .role = role, .engine = e, .tile_bytes = TILE,
                          .threads = 32, .language = l,
                          .self_init = role != FGS_ROLE_CONSUMER };

    return net_kernel(&net, &d);
}

/* Element j of the i-th tile that the table names. */
static float value(uint32_t i, uint32_t j)
{
    return (float)(i * 16 + j + 1);
}

static void write_in(fgs_buffer *b)
{
    float x[ELEMS];
    fgs_error err;

    for (uint32_t i = 0; i < PICKED; i++) {
        for (uint32_t j = 0; j < ELEMS; j++)
            x[j] = value(i, j);
        RIG_OK(fgs_buffer_write(b, (uint64_t)picked[i] * TILE, x, TILE, &err),
               err);
    }
}

/* Tile i of the last ones is what became of the i-th that was picked. */
static void expect(fgs_buffer *b, int turned)
{
    float x[ELEMS];
    fgs_error err;

    for (uint32_t i = 0; i < PICKED; i++) {
        uint64_t tile = TILES - PICKED + i;

        RIG_OK(fgs_buffer_read(b, tile * TILE, x, TILE, &err), err);
        for (uint32_t j = 0; j < ELEMS; j++)
            assert_true(x[turned ? ELEMS - 1 - j : j] == 2 * value(i, j));
    }
}

/* make: picked tiles to the same ones; pass: those to the last ones; use: the
 * last ones to the last ones. */
static void hand_over(fgs_engine e, fgs_language l)
{
    fgs_buffer *in = buffer("in"), *mid = buffer("mid"), *far = buffer("far");
    fgs_buffer *out = buffer("out");
    fgs_stage_desc *s;
    fgs_error err;

    s = net_stage(&net, "make", kernel(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, l),
                  in, NULL, mid);
    s->grid[0] = PICKED;
    net_stage(&net, "pass", kernel(FGS_ROLE_RELAY, e, l), mid, NULL,
              far)->grid[0] = PICKED;
    net_stage(&net, "use", kernel(FGS_ROLE_CONSUMER, e, l), far, NULL,
              out)->grid[0] = PICKED;
    net.access[0][0].table = net.access[0][1].table = picked;
    net.access[0][0].tables = net.access[0][1].tables = PICKED;
    net.access[1][0].table = picked;
    net.access[1][0].tables = PICKED;
    net.access[1][1].first = net.access[2][0].first = TILES - PICKED;
    net.access[2][1].first = TILES - PICKED;
    net.spec.order = FGS_ORDER_SENTINEL;
    RIG_OK(net_compose(&net, &err), err);
    write_in(in);
    net_run(&net, NULL, 2);
    expect(far, 1);
    expect(out, 0);
}

/* A net of its own for each engine. */
static void by_each_engine(fgs_language l)
{
    for (int e = FGS_ENGINE_REPORT; e <= FGS_ENGINE_ASYNC; e++) {
        net_open(&net);
        if (fgs_device_can(net.dev, (fgs_engine)e, NULL) >= 0)
            hand_over((fgs_engine)e, l);
        net_close(&net);
    }
}

static void tiles_beyond_4_gib_in_ptx(void **state)
{
    (void)state;
    by_each_engine(FGS_LANGUAGE_PTX);
}

static void tiles_beyond_4_gib_in_cuda(void **state)
{
    (void)state;
    rtc_real();
    by_each_engine(FGS_LANGUAGE_CUDA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_beyond_4_gib_in_ptx),
        cmocka_unit_test(tiles_beyond_4_gib_in_cuda),
    };

    /* Four buffers; memory is committed when it is touched. */
    setenv("FGS_SIM_MEMORY", "34359738368", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
