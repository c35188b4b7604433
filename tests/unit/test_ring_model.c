/* test_ring_model.c -- a ring of slots on a device whose stores land late
 *
 * The software device has one memory in which a store is seen at once, so a
 * fence that is lacking shows nowhere.  This model, which shares nothing with
 * the library, keeps each block's stores back as long as it likes, but for a
 * fence and for two of one place; grids start when all blocks of the one before
 * have triggered or ended.  An edge's data is its number.
 */
#include "base/compat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

enum { STAGES = 12, BLOCKS = 3, MOST_SLOTS = 4, SEEDS = 200, STEPS = 300 };
enum { EMPTY = -1, LATE = 8 };

/* What a block does, in this order. */
enum act { CONSUME, CLEAR, FENCE, TRIGGER, STORE, END };

struct scheme {
    const char *name;
    int slots;
    enum act act[6];
    int right;
};

static const struct scheme schemes[] = {
    { "consumes, clears, fences, triggers", 3,
      { CONSUME, CLEAR, FENCE, TRIGGER, STORE, END }, 1 },
    { "clears first", 3,
      { CLEAR, CONSUME, FENCE, TRIGGER, STORE, END }, 1 },
    { "four slots", 4,
      { CONSUME, CLEAR, FENCE, TRIGGER, STORE, END }, 1 },
    { "two slots, clears what it has consumed itself", 2,
      { CONSUME, CLEAR, FENCE, TRIGGER, STORE, END }, 1 },
    { "two slots, clears first", 2,
      { CLEAR, CONSUME, FENCE, TRIGGER, STORE, END }, 0 },
    { "triggers at its start", 3,
      { TRIGGER, CONSUME, CLEAR, FENCE, STORE, END }, 0 },
    { "clears behind its trigger and its store", 3,
      { CONSUME, TRIGGER, STORE, CLEAR, FENCE, END }, 0 },
    { "no fence", 3,
      { CONSUME, CLEAR, TRIGGER, STORE, END, END }, 0 },
    { "fences before it clears", 3,
      { CONSUME, FENCE, CLEAR, TRIGGER, STORE, END }, 0 },
    { "triggers before it has consumed", 3,
      { CLEAR, FENCE, TRIGGER, CONSUME, STORE, END }, 0 },
};

struct store {
    int slot, tile, value;
};

struct block {
    int at;        /* act that comes next */
    int triggered;
    struct store late[LATE];
    int stores;
};

static struct block grid[STAGES][BLOCKS];
static int memory[MOST_SLOTS][BLOCKS];
static uint32_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
}

/* One store of the block lands, the first one of its place. */
static void land(struct block *b, int i)
{
    struct store s = b->late[i];

    for (int j = 0; j < i; j++) {
        if (b->late[j].slot == s.slot && b->late[j].tile == s.tile) {
            land(b, j);
            return;
        }
    }
    memory[s.slot][s.tile] = s.value;
    memmove(&b->late[i], &b->late[i + 1],
            (size_t)(--b->stores - i) * sizeof *b->late);
}

static void put(struct block *b, int slot, int tile, int value)
{
    b->late[b->stores++] = (struct store){ slot, tile, value };
}

/* All stages have edges before and behind them: edge k - 1 is read, k is
 * written. */
static int slot_of(const struct scheme *s, int edge)
{
    return (edge + s->slots) % s->slots;
}

/* The stage may start: all blocks before it have triggered or ended. */
static int started(int stage)
{
    for (int i = 0; stage && i < BLOCKS; i++) {
        if (!grid[stage - 1][i].triggered)
            return 0;
    }
    return 1;
}

/* One act of a block; 0 = it took what is not its input. */
static int step(const struct scheme *s, int stage, int tile)
{
    struct block *b = &grid[stage][tile];
    int seen = memory[slot_of(s, stage - 1)][tile];

    switch (s->act[b->at]) {
    case CONSUME:
        if (stage && seen == EMPTY)
            return 1; /* looks again */
        if (stage && seen != stage - 1)
            return 0;
        break;
    case CLEAR: /* of two it has only what it reads to clear for the next */
        if (stage)
            put(b, slot_of(s, stage - (s->slots > 2 ? 2 : 1)), tile, EMPTY);
        break;
    case FENCE:
        while (b->stores)
            land(b, 0);
        break;
    case TRIGGER:
        b->triggered = 1;
        break;
    case STORE:
        put(b, slot_of(s, stage), tile, stage);
        break;
    case END: /* all lands in the end, and an end is a trigger, too */
        if (!b->stores)
            b->triggered = 1;
        return 1;
    }
    b->at++;
    return 1;
}

static int all_over(void)
{
    for (int i = 0; i < STAGES * BLOCKS; i++) {
        if (!grid[i / BLOCKS][i % BLOCKS].triggered ||
            grid[i / BLOCKS][i % BLOCKS].stores)
            return 0;
    }
    return 1;
}

/* A block each, drawn; it goes on, or a store of it lands. */
static int some_steps(const struct scheme *s)
{
    for (int i = 0; i < STAGES * BLOCKS; i++) {
        int stage = (int)draw(STAGES), tile = (int)draw(BLOCKS);
        struct block *b = &grid[stage][tile];

        if (b->stores && !draw(6))
            land(b, (int)draw((uint32_t)b->stores));
        else if (started(stage) && !step(s, stage, tile))
            return 0;
    }
    return 1;
}

/* Is each tile taken as it was meant, and none waited for in vain? */
static int run(const struct scheme *s, uint32_t seed)
{
    memset(grid, 0, sizeof grid);
    for (int i = 0; i < MOST_SLOTS * BLOCKS; i++)
        memory[i / BLOCKS][i % BLOCKS] = EMPTY;
    state = seed * 2654435761u + 1;
    for (int i = 0; i < STEPS && !all_over(); i++) {
        if (!some_steps(s))
            return 0;
    }
    return all_over();
}

static void slots_hold_what_they_should_only_behind_all_three(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        uint32_t bad = 0;

        for (uint32_t seed = 1; seed <= SEEDS; seed++)
            bad += !run(&schemes[i], seed);
        print_message("%s: %u of %d runs are wrong\n", schemes[i].name, bad,
                      SEEDS);
        if (schemes[i].right)
            assert_int_equal(bad, 0);
        else
            assert_true(bad > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_hold_what_they_should_only_behind_all_three),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
