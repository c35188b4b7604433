/* shapes_rig.h -- a plan of two kernels of an application over a tensor
 *
 * What one shape needs: geometry, tensor map, data, the mirror on the host and
 * the comparison.  The including file has one test program.
 */
#ifndef SHAPES_RIG_H
#define SHAPES_RIG_H

#include "graph_calls.h"
#include "shapes.h"
#include "shapes_two_ptx.h"

enum { BY_SENTINEL = 1 << FGS_ORDER_SENTINEL,
       BY_EITHER = BY_SENTINEL | 1 << FGS_ORDER_FLAG,
       THREADS = 64, LATE_NS = 20000 };

/* ------------------------------------------------------------ the device -- */

static struct net net;
static CUcontext context;

static struct {
    int (*load)(void **, const void *);
    int (*unload)(void *);
    int (*function)(CUfunction *, void *, const char *);
    int (*encode)(struct map *, int, uint32_t, void *, const uint64_t *,
                  const uint64_t *, const uint32_t *, const uint32_t *, int,
                  int, int, int);
} code;

static inline int setup(void **state)
{
    (void)state;
    net_open(&net);
    calls_get(net.dev);
    net_proc(net.dev, "cuModuleLoadData", &code.load);
    net_proc(net.dev, "cuModuleUnload", &code.unload);
    net_proc(net.dev, "cuModuleGetFunction", &code.function);
    net_proc(net.dev, "cuTensorMapEncodeTiled", &code.encode);
    assert_int_equal(cu.retain(&context, 0), 0);
    assert_int_equal(cu.push(context), 0);
    return 0;
}

static void *module[4];

static inline int teardown(void **state)
{
    (void)state;
    fgs_plan_free(net.plan);
    net.plan = NULL;
    for (int i = 0; i < 4; i++) {
        if (module[i])
            code.unload(module[i]);
        module[i] = NULL;
    }
    cu.pop(&context);
    cu.release(0);
    net_close(&net);
    return 0;
}

/* The parts joined; a part that is NULL is the copy of `rank` dimensions. */
static inline CUfunction load(void **m, const char *const *part, size_t parts,
                              uint32_t rank, const char *entry)
{
    static char text[1 << 15];
    size_t at = 0;
    CUfunction f;

    for (size_t i = 0; i < parts; i++)
        at += (size_t)(part[i] ? snprintf(text + at, sizeof text - at, "%s",
                                          part[i])
                               : shapes_copy(text + at, sizeof text - at,
                                             rank));
    assert_true(at < sizeof text);
    assert_int_equal(code.load(m, text), 0);
    assert_int_equal(code.function(&f, *m, entry), 0);
    return f;
}

#define LOAD(m, part, rank, entry)                                             \
    load(m, part, sizeof part / sizeof *part, rank, entry)

static inline struct map map_of(const struct shape *s, const struct geom *g,
                                CUdeviceptr at)
{
    static const uint32_t step[5] = { 1, 1, 1, 1, 1 };
    uint64_t dims[5], stride[5] = { 0 };
    uint32_t box[5];
    struct map m;

    for (uint32_t i = 0; i < s->rank; i++) {
        dims[i] = g->d[i].size;
        box[i] = g->d[i].box;
        if (i)
            stride[i - 1] = g->d[i].pitch;
    }
    /* f16 is type 6, f32 7; zeros outside */
    assert_int_equal(code.encode(&m, s->element == FGS_ELEMENT_F16 ? 6 : 7,
                               s->rank, (void *)(uintptr_t)at, dims, stride,
                               box, step, 0, (int)s->swizzle, 0, 0), 0);
    return m;
}

/* ----------------------------------------------------------------- plans -- */

/* A plan of one writer and one reader; `table`s make boxes of tiles. */
struct pair {
    struct shape s;
    struct geom w, r;
    fgs_buffer *in, *mid, *out, *table[2];
    fgs_box wbox, rbox;
    struct map map;
    uint32_t fill, late, sentinel, turn, early;
    uint64_t none;
    uint32_t shift;    /* of a tile's bytes                                  */
    int flags;         /* both kernels know flags, which all tiles get       */
    fgs_arg wargs[9], rargs[13];
    CUfunction writer, reader;
};

static inline fgs_buffer *buffer(const char *name, fgs_element e,
                                 uint64_t tiles, uint32_t tile_bytes)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = name, .element = e,
                          .tiles = tiles, .tile_bytes = tile_bytes };
    fgs_error err;

    RIG_OK(fgs_buffer_make(&net.b[net.buffers], net.dev, &d, &err), err);
    return net.b[net.buffers++];
}

#define VALUE(x) { .value = &(x), .bytes = sizeof(x) }
#define HELD(b) { .kind = FGS_ARG_BUFFER, .buffer = (b) }

/* The parameters, as the texts have them. */
static inline void pass(struct pair *p)
{
    fgs_arg w[] = { HELD(p->in), HELD(p->mid), VALUE(p->w), VALUE(p->none),
                    VALUE(p->fill), VALUE(p->late),
                    { .kind = FGS_ARG_FLAGS, .buffer = p->mid },
                    { .kind = FGS_ARG_ROUND }, VALUE(p->shift) };
    fgs_arg r[] = { VALUE(p->map), HELD(p->out), VALUE(p->r), VALUE(p->none),
                    VALUE(p->sentinel), VALUE(p->turn),
                    { .kind = FGS_ARG_CTL }, { .kind = FGS_ARG_REC },
                    { .kind = FGS_ARG_BOUND_NS }, VALUE(p->early),
                    { .kind = FGS_ARG_FLAGS, .buffer = p->mid },
                    { .kind = FGS_ARG_ROUND }, VALUE(p->shift) };

    memcpy(p->wargs, w, sizeof w);
    memcpy(p->rargs, r, sizeof r);
    if (p->table[0])
        p->wargs[3] = (fgs_arg)HELD(p->table[0]);
    if (p->table[1])
        p->rargs[3] = (fgs_arg)HELD(p->table[1]);
}

static inline fgs_stage_desc *own(const char *name, CUfunction f,
                                  const fgs_arg *args, uint32_t count,
                                  uint32_t grid)
{
    fgs_stage_desc *s = &net.stage[net.spec.stage_count];

    *s = (fgs_stage_desc){ .size = sizeof *s, .name = name, .function = f,
                           .args = args, .arg_count = count,
                           .accesses = net.access[net.spec.stage_count],
                           .access_count = 2, .grid = { grid, 1, 1 },
                           .block = { THREADS, 1, 1 } };
    net.spec.stage_count++;
    return s;
}

/* Device and host side of a shape; `tile` = 0: the buffer has tiles of 16
 * bytes, for boxes. */
static inline void prepare(struct pair *p, const struct shape *s, uint32_t tile)
{
    static const uint32_t turn[] = { 0, 1, 3, 7 };
    uint32_t bytes = bytes_of(s);

    memset(p, 0, sizeof *p);
    p->s = *s;
    p->w = geom_of(s, s->write, s->dims[0]);
    p->r = geom_of(s, s->read, seen_of(s));
    p->in = buffer("in", s->element, bytes / 16, 16);
    p->mid = buffer("mid", s->element, bytes / (tile ? tile : 16),
                    tile ? tile : 16);
    p->map = map_of(s, &p->r, fgs_buffer_get_pointer(p->mid));
    p->wbox = box_of(&p->w, s->rank);
    p->rbox = box_of(&p->r, s->rank);
    p->sentinel = size_of(s) == 2 ? 0x80008000u : 0x80000000u;
    p->fill = s->self ? p->sentinel : 0;
    p->turn = turn[s->swizzle];
    p->late = LATE_NS;
    p->shift = tile == 512 ? 9 : 4;
    p->flags = s->expected != FGS_PADDING_PRESET;
    p->writer = LOAD(&module[0], shapes_writer, 0, "write_boxes");
    p->reader = LOAD(&module[1], shapes_reader, s->rank, "read_boxes");
}

/* The stages; `out` has a tile a block of the reader. */
static inline void connect(struct pair *p, uint32_t writers, uint32_t readers)
{
    fgs_stage_desc *s;

    p->out = buffer("out", p->s.element, readers, box_bytes(&p->r));
    pass(p);
    s = own("write", p->writer, p->wargs, 9, writers);
    s->triggers = p->s.self ? FGS_TRIGGERS_FILLED : FGS_TRIGGERS_START;
    net.access[0][0] = (fgs_access){ .buffer = p->in, .box = &p->wbox };
    net.access[0][1] = (fgs_access){ .buffer = p->mid, .write = 1,
                                     .can = BY_EITHER, .box = &p->wbox,
                                     .padding = p->s.written };
    s = own("read", p->reader, p->rargs, 13, readers);
    s->waits = FGS_WAITS_LAST;
    s->shared_bytes = box_bytes(&p->r);
    net.access[1][0] = (fgs_access){ .buffer = p->mid, .can = BY_EITHER,
                                     .box = &p->rbox,
                                     .padding = p->s.expected };
    net.access[1][1] = (fgs_access){ .buffer = p->out, .write = 1 };
}

/* What stands in the middle before the first round: +0 where the application
 * sees to what no stage writes, else something that must not be seen. */
static inline void preset(struct pair *p)
{
    uint64_t n = fgs_buffer_get_bytes(p->mid);
    unsigned char *v = malloc((size_t)n);
    fgs_error err;

    assert_non_null(v);
    memset(v, p->s.expected == FGS_PADDING_PRESET ? 0 : 0x5a, (size_t)n);
    RIG_OK(fgs_buffer_write(p->mid, 0, v, n, &err), err);
    free(v);
}

/* A writer that completes chunks puts +0 behind the end of each row. */
static inline void check_padding(const struct pair *p)
{
    uint32_t n = bytes_of(&p->s), end = p->s.dims[0] * size_of(&p->s), rows = 1;
    unsigned char *v = malloc(n);
    fgs_error err;

    assert_non_null(v);
    RIG_OK(fgs_buffer_read(p->mid, 0, v, n, &err), err);
    for (int i = 1; i < 5; i++)
        rows *= p->w.d[i].size;
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t rest = row, at = end;

        for (int i = 1; i < 5; i++) {
            at += rest % p->w.d[i].size * p->w.d[i].pitch;
            rest /= p->w.d[i].size;
        }
        for (; at % 16; at++)
            assert_int_equal(v[at], 0);
    }
    free(v);
}

/* Rounds by one order; `box[b]`: what block b read, NULL = b. */
static inline void run(struct pair *p, fgs_order o, uint32_t seed,
                       const uint32_t *box)
{
    uint32_t bytes = bytes_of(&p->s), one = box_bytes(&p->r);
    uint32_t readers = net.stage[1].grid[0];
    unsigned char *in = malloc(bytes), *want = malloc(one);
    unsigned char *got = malloc((size_t)one * readers);
    fgs_edge_info e = { .size = sizeof e };
    fgs_error err;

    assert_true(in && want && got);
    net.access[1][0].order = o;
    p->early = o == FGS_ORDER_PDL;
    net.stage[1].waits = p->early ? FGS_WAITS_FIRST : FGS_WAITS_LAST;
    RIG_OK(net_compose(&net, &err), err);
    RIG_OK(fgs_plan_get_edge(net.plan, 0, &e, &err), err);
    assert_int_equal(e.taken, o);
    preset(p);
    make_input(&p->s, in, seed);
    memset(got, 0xa5, (size_t)one * readers);
    RIG_OK(fgs_buffer_write(p->in, 0, in, bytes, &err), err);
    RIG_OK(fgs_buffer_write(p->out, 0, got, (uint64_t)one * readers, &err),
           err);
    /* One alone: no round before it leaves what would do. */
    net_run(&net, NULL, 2 - seed % 2);
    RIG_OK(fgs_buffer_read(p->out, 0, got, (uint64_t)one * readers, &err), err);
    if (p->s.written == FGS_PADDING_WRITTEN)
        check_padding(p);
    for (uint32_t b = 0; b < readers; b++) {
        mirror_box(&p->s, &p->r, box ? box[b] : b, in, want);
        if (memcmp(want, got + (size_t)b * one, one))
            print_error("rank %u, element %d, order %d: block %u\n", p->s.rank,
                        (int)p->s.element, (int)o, b);
        assert_memory_equal(want, got + (size_t)b * one, one);
    }
    free(in);
    free(want);
    free(got);
}

static inline void by_each_order(struct pair *p, const uint32_t *box)
{
    for (uint32_t seed = 1; seed <= 3; seed++) {
        run(p, FGS_ORDER_SENTINEL, seed, box);
        run(p, FGS_ORDER_PDL, seed + 10, box);
        run(p, FGS_ORDER_STREAM, seed + 20, box);
        if (p->flags)
            run(p, FGS_ORDER_FLAG, seed + 30, box);
    }
}

/* The plan is refused at a tile of the middle that nobody writes. */
static inline void uncovered(uint32_t tile)
{
    char words[80];
    fgs_error err = { .result = FGS_OK };

    net.access[1][0].order = FGS_ORDER_SENTINEL;
    snprintf(words, sizeof words, "waits for tile %u of buffer 'mid', which no "
                                  "stage writes", tile);
    assert_int_equal(net_compose(&net, &err), FGS_E_PLAN);
    if (!strstr(err.text, words))
        print_error("%s\n", err.text);
    assert_non_null(strstr(err.text, words));
    assert_string_equal(err.kernel, "read");
}

/* Tensor copies and clusters are of cc 9.0: exit 77 below that. */
static inline int shapes_group(void **state)
{
    fgs_device_info info = { .size = sizeof info };
    struct rig_opts o = { 0 };
    fgs_device *dev;
    fgs_error err;

    rig_group(state);
    RIG_OK(rig_open(&dev, &o, &err), err);
    RIG_OK(fgs_device_get_info(dev, &info, &err), err);
    fgs_device_close(dev);
    if (info.cc < 90) {
        print_message("%s has no tensor copies\n", info.name);
        exit(77);
    }
    return 0;
}

#endif
