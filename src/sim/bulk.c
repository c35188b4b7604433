/* bulk.c -- bulk copies in flight
 *
 * A copy is cut into groups of chunks, its groups are put into an order by an
 * affine permutation drawn from the block's seed, and the ordered groups go
 * into a few parts, each with its own time between copy_ns and three times
 * that.  A load reads a chunk of global memory at its part's time; a store
 * reads all of its source first and writes it part by part, so that
 * wait_group.read can return while writes are still pending.
 *
 * Plain copies move their groups at once, the others chunk by chunk (piece.c).
 * Data and completion go to each target block of the cluster, which is asked
 * for when a part lands: it may have ended.
 */
#include "sim/bulk.h"
#include "sim/chunk.h"
#include "sim/cluster.h"
#include "sim/mbar.h"
#include "sim/piece.h"

enum { PARTS = 4 };

struct fgs__sim_copy {
    struct fgs__sim_copy *next; /* by due_ps                              */
    struct fgs__sim_copy_req req;
    struct fgs__sim_check check;
    uint64_t due_ps;
    uint64_t pause_ps;         /* most between two parts                 */
    uint32_t chunks, group;    /* of the copy, in a group                */
    uint32_t groups, step, at; /* the permutation and its place          */
    uint32_t parts, part;
    bool backward; /* within a group                         */
    /* a store's */
    bool read, committed;
    uint32_t age; /* groups of the thread committed since   */
    char *data;   /* its source as read                     */
    struct fgs__tensor_walk *walk; /* NULL = no tensor             */
    struct fgs__sim_range range;   /* of the pieces                */
    uint32_t generation;
    bool plain;
};

/* ------------------------------------------------------------ life of one */

static void insert(struct fgs__sim_block *b, struct fgs__sim_copy *c)
{
    struct fgs__sim_copy **at = &b->copies;

    while (*at && (*at)->due_ps <= c->due_ps)
        at = &(*at)->next;
    c->next = *at;
    *at = c;
}

static void copy_free(const struct fgs__sim_block *b, struct fgs__sim_copy *c)
{
    const fgs_allocator *a = b->grid->code->alloc;

    fgs__free(a, c->data);
    fgs__free(a, c->walk);
    fgs__free(a, c);
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t r = a % b;

        a = b;
        b = r;
    }
    return a;
}

/* Small copies are permuted by the chunk, large ones by the cache line and
 * more, which costs little and still leaves no order to rely on. */
static void permute(struct fgs__sim_copy *c, uint64_t *rng)
{
    c->chunks = c->req.bytes / 16;
    c->group = c->chunks < 64 ? 1 : c->chunks < 1024 ? 4 : 16;
    c->groups = (c->chunks + c->group - 1) / c->group;
    if (c->groups) {
        c->at = (uint32_t)(fgs__sim_random(rng) % c->groups);
        c->step = 1 + (uint32_t)(fgs__sim_random(rng) % c->groups);
        while (gcd(c->step, c->groups) != 1)
            c->step++;
        c->step %= c->groups;
    }
    c->backward = fgs__sim_random(rng) & 1;
    c->parts = 1 + (uint32_t)(fgs__sim_random(rng) % PARTS);
    if (c->parts > c->groups)
        c->parts = c->groups ? c->groups : 1;
}

bool fgs__sim_copy_start(struct fgs__sim_block *b,
                         const struct fgs__sim_copy_req *req, uint64_t now_ps)
{
    const fgs_allocator *a = b->grid->code->alloc;
    const fgs_sim_config *cfg = b->sm->cfg;
    uint64_t copy_ps = (uint64_t)cfg->copy_ns * FGS__SIM_PS_PER_NS;
    struct fgs__sim_copy *c = fgs__zalloc(a, sizeof *c);

    if (!c)
        return false;
    c->req = *req;
    c->plain = !req->tensor && !req->peer && !req->masked && !req->left &&
               !req->right && !req->reduction.op;
    if (req->store && req->bytes)
        c->data = fgs__alloc(a, req->bytes);
    if (req->tensor)
        c->walk = fgs__alloc(a, sizeof *c->walk);
    if ((req->store && req->bytes && !c->data) || (req->tensor && !c->walk)) {
        copy_free(b, c);
        return false;
    }
    if (c->walk)
        *c->walk = *req->tensor;
    c->generation = fgs__sim_mem_generation(b->sm->mem);
    c->check =
        fgs__sim_check_make(req->store ? FGS_MECHANISM_DISABLED : req->mech,
                            (fgs_sim_sample)cfg->sample);
    permute(c, &b->rng);
    c->pause_ps = copy_ps / 2;
    /* A store's source is read before the first part is due. */
    c->due_ps = now_ps + (req->store ? copy_ps / 2 : copy_ps) +
                fgs__sim_random(&b->rng) % (c->pause_ps + 1);
    insert(b, c);
    return true;
}

void fgs__sim_copies_free(struct fgs__sim_block *b)
{
    while (b->copies) {
        struct fgs__sim_copy *c = b->copies;

        b->copies = c->next;
        copy_free(b, c);
    }
}

/* ----------------------------------------------------------------- a part */

static void part_fault(struct fgs__sim_block *b, const struct fgs__sim_copy *c,
                       CUresult cu, const char *text)
{
    fgs__sim_fault(b->grid, cu, c->req.src, b->linear, c->req.thread, "%s",
                   text);
    b->faulted = true;
}

/* The global side may have been freed since the copy was issued. */
static char *global_side(struct fgs__sim_block *b, struct fgs__sim_copy *c)
{
    struct fgs__sim_copy_req *r = &c->req;
    uint32_t generation = fgs__sim_mem_generation(b->sm->mem);
    struct fgs__sim_range at;

    if (r->generation == generation || !r->bytes)
        return r->host;
    r->generation = generation;
    if (fgs__sim_mem_find(b->sm->mem, r->global, &at) &&
        at.hi - r->global >= r->bytes) {
        r->host = at.host + (r->global - at.lo);
        return r->host;
    }
    part_fault(b, c, CUDA_ERROR_ILLEGAL_ADDRESS,
               "global memory was freed while a bulk copy used it");
    return NULL;
}

/* Move the groups of the next part; *bytes is how much that was.  True if the
 * inspection found the sentinel. */
static bool move_part(struct fgs__sim_block *b, struct fgs__sim_copy *c,
                      char *dst, const char *src, uint32_t *bytes)
{
    uint32_t from = (uint32_t)((uint64_t)c->groups * c->part / c->parts);
    uint32_t to = (uint32_t)((uint64_t)c->groups * (c->part + 1) / c->parts);
    bool hit = false;

    *bytes = 0;
    for (uint32_t n = from; n < to; n++) {
        uint32_t first = c->at * c->group;
        uint32_t count =
            c->chunks - first < c->group ? c->chunks - first : c->group;
        size_t at = 16 * (size_t)first;

        hit |= fgs__sim_move(dst + at, src + at, count, c->backward, &c->check,
                             &b->rng);
        *bytes += 16 * count;
        c->at += c->step;
        if (c->at >= c->groups)
            c->at -= c->groups;
    }
    c->part++;
    return hit;
}

static struct fgs__sim_piece piece_of(struct fgs__sim_block *b,
                                      struct fgs__sim_copy *c)
{
    return (struct fgs__sim_piece){.r = &c->req,
                                   .walk = c->walk,
                                   .check = &c->check,
                                   .mem = b->sm->mem,
                                   .rng = &b->rng,
                                   .chunks = c->chunks,
                                   .range = &c->range,
                                   .generation = &c->generation,
                                   .row_at = UINT32_MAX};
}

static void missing(struct fgs__sim_block *b, const struct fgs__sim_copy *c,
                    const struct fgs__sim_piece *p)
{
    fgs__sim_fault(b->grid, CUDA_ERROR_ILLEGAL_ADDRESS, c->req.src, b->linear,
                   c->req.thread, "the %s of a %s, global address 0x%llx, is "
                   "not inside any allocation",
                   c->req.store ? "destination" : "source",
                   c->walk ? "tensor copy" : "bulk copy",
                   (unsigned long long)p->missing);
    b->faulted = true;
}

/* One chunk of a load or peer copy to all its blocks. */
static bool land_piece(struct fgs__sim_block *b, struct fgs__sim_copy *c,
                       struct fgs__sim_piece *p, uint32_t n,
                       struct fgs__sim_block *const *to, uint32_t blocks)
{
    bool hit = false;
    char v[16];

    if (c->req.peer)
        memcpy(v, b->shared + c->req.from + 16 * (size_t)n, 16);
    else if (!fgs__sim_piece_load(p, n, v, &hit)) {
        missing(b, c, p);
        return false;
    }
    for (uint32_t k = 0; k < blocks; k++) {
        uint32_t at = fgs__sim_piece_at(p, c->req.shared, n);

        if (c->req.reduction.op)
            fgs__sim_reduce(to[k]->shared + at, v, 16, &c->req.reduction);
        else
            fgs__sim_piece_put(to[k]->shared, at, v);
    }
    return hit;
}

/* As move_part, chunk by chunk. */
static bool move_pieces(struct fgs__sim_block *b, struct fgs__sim_copy *c,
                        struct fgs__sim_block *const *to, uint32_t blocks,
                        uint32_t *bytes)
{
    uint32_t from = (uint32_t)((uint64_t)c->groups * c->part / c->parts);
    uint32_t end = (uint32_t)((uint64_t)c->groups * (c->part + 1) / c->parts);
    struct fgs__sim_piece p = piece_of(b, c);
    bool hit = false;

    *bytes = 0;
    for (; from < end && !b->faulted; from++) {
        uint32_t first = c->at * c->group;
        uint32_t count =
            c->chunks - first < c->group ? c->chunks - first : c->group;

        for (uint32_t k = 0; k < count && !b->faulted; k++) {
            uint32_t n = first + (c->backward ? count - 1 - k : k);

            if (!c->req.store)
                hit |= land_piece(b, c, &p, n, to, blocks);
            else if (!fgs__sim_piece_store(&p, n, c->data + 16 * (size_t)n))
                missing(b, c, &p);
        }
        *bytes += 16 * count;
        c->at = c->at + c->step >= c->groups ? c->at + c->step - c->groups
                                             : c->at + c->step;
    }
    c->part++;
    return hit;
}

/* The report comes first, else it could miss the phase that the bytes
 * complete (guide 4.6.3.1: the report belongs to the phase). */
static void complete_bytes(struct fgs__sim_block *b, struct fgs__sim_copy *c,
                           struct fgs__sim_block *at, uint32_t bytes, bool hit)
{
    uint64_t *bar = (uint64_t *)(void *)(at->shared + c->req.bar), before;
    enum fgs__mbar_rule rule;

    if (!at->mbar_live[c->req.bar / 8]) {
        part_fault(b, c, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                   at == b ? "the mbarrier object was invalidated while a bulk "
                             "copy was tracked by it"
                           : "there is no initialized mbarrier object in "
                             "another block that a bulk copy goes to");
        return;
    }
    before = *bar;
    if (hit)
        fgs__mbar_report(bar, 0);
    rule = fgs__mbar_complete_tx(bar, bytes);
    if (rule != FGS__MBAR_OK)
        part_fault(b, c, CUDA_ERROR_ILLEGAL_INSTRUCTION, fgs__mbar_text(rule));
    if (fgs__mbar_primary(before) != fgs__mbar_primary(*bar))
        fgs__sim_peer_event(at, c->due_ps);
}

static struct fgs__sim_block *target(struct fgs__sim_block *b,
                                     struct fgs__sim_copy *c, uint32_t rank)
{
    const char *why = NULL;
    struct fgs__sim_block *t = fgs__sim_peer(b, rank, &why);

    if (t)
        return t;
    fgs__sim_fault(b->grid, CUDA_ERROR_ILLEGAL_ADDRESS, c->req.src, b->linear,
                   c->req.thread, "block %u, which a bulk copy goes to, %s",
                   rank, why ? why : "does not exist in the cluster");
    b->faulted = true;
    return NULL;
}

/* The blocks that data and completion go to; 0 after a fault. */
static uint32_t targets_of(struct fgs__sim_block *b, struct fgs__sim_copy *c,
                           struct fgs__sim_block *to[32],
                           struct fgs__sim_block *bar[32])
{
    uint32_t n = 0, mask = c->req.targets;

    if (!mask) {
        to[0] = bar[0] = b;
        return 1;
    }
    for (; mask; mask &= mask - 1, n++) {
        uint32_t rank = (uint32_t)__builtin_ctz(mask);
        uint32_t with = c->req.pair ? (rank & ~1u) | (c->req.bar_rank & 1)
                                    : rank;

        to[n] = target(b, c, rank);
        bar[n] = to[n] ? target(b, c, with) : NULL;
        if (!bar[n])
            return 0;
    }
    return n;
}

static void load_part(struct fgs__sim_block *b, struct fgs__sim_copy *c)
{
    struct fgs__sim_block *to[32], *bar[32];
    uint32_t blocks = targets_of(b, c, to, bar), bytes;
    bool hit;

    if (!blocks)
        return;
    if (c->plain && blocks == 1) {
        const char *src = global_side(b, c);

        if (b->faulted)
            return;
        hit = move_part(b, c, (char *)to[0]->shared + c->req.shared, src,
                        &bytes);
    } else {
        hit = move_pieces(b, c, to, blocks, &bytes);
    }
    for (uint32_t k = 0; k < blocks && !b->faulted; k++)
        complete_bytes(b, c, bar[k], bytes, hit);
}

/* The source of a store, in the order of its chunks. */
static void read_source(struct fgs__sim_block *b, struct fgs__sim_copy *c)
{
    struct fgs__sim_piece p = piece_of(b, c);

    for (uint32_t n = 0; c->walk && n < c->chunks; n++)
        fgs__sim_piece_get(b->shared, fgs__sim_piece_at(&p, c->req.shared, n),
                           c->data + 16 * (size_t)n);
    if (!c->walk && c->data)
        memcpy(c->data, b->shared + c->req.shared, c->req.bytes);
}

static void store_part(struct fgs__sim_block *b, struct fgs__sim_copy *c)
{
    char *dst;
    uint32_t bytes;

    if (!c->read) {
        read_source(b, c);
        c->read = true;
        fgs__sim_block_event(b, c->due_ps);
        return;
    }
    dst = c->plain ? global_side(b, c) : NULL;
    if (b->faulted)
        return;
    if (c->plain)
        move_part(b, c, dst, c->data, &bytes);
    else
        move_pieces(b, c, NULL, 0, &bytes);
    if (c->part == c->parts && !b->faulted)
        fgs__sim_block_event(b, c->due_ps);
}

uint64_t fgs__sim_copies_run(struct fgs__sim_block *b, uint64_t now_ps)
{
    while (b->copies && b->copies->due_ps <= now_ps && !b->faulted) {
        struct fgs__sim_copy *c = b->copies;

        b->copies = c->next;
        if (c->req.store)
            store_part(b, c);
        else
            load_part(b, c);
        if (c->part == c->parts) {
            copy_free(b, c);
            continue;
        }
        c->due_ps += 1 + fgs__sim_random(&b->rng) % (c->pause_ps + 1);
        insert(b, c);
    }
    return b->copies ? b->copies->due_ps : FGS__SIM_NEVER;
}

/* ----------------------------------------------------------------- groups */

void fgs__sim_copies_commit(struct fgs__sim_block *b, int64_t thread)
{
    for (struct fgs__sim_copy *c = b->copies; c; c = c->next) {
        if (!c->req.store || c->req.thread != thread)
            continue;
        if (c->committed)
            c->age++;
        c->committed = true;
    }
}

/* At most `newest` of the newest groups may be pending, none before them; an
 * uncommitted copy belongs to no group. */
bool fgs__sim_copies_pending(const struct fgs__sim_block *b, int64_t thread,
                             uint32_t newest, bool read)
{
    for (const struct fgs__sim_copy *c = b->copies; c; c = c->next)
        if (c->req.store && c->req.thread == thread && c->committed &&
            c->age >= newest && !(read && c->read))
            return true;
    return false;
}

/* -------------------------------------------------------------------- end */

bool fgs__sim_copies_orphaned(struct fgs__sim_block *b)
{
    for (const struct fgs__sim_copy *c = b->copies; c; c = c->next) {
        uint32_t targets = c->req.targets;

        if (c->req.store ? c->read
                         : !c->req.peer && targets && !(targets >> b->rank & 1))
            continue;
        part_fault(b, c, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                   c->req.store || c->req.peer
                       ? "the block ended before this bulk copy had read its "
                         "shared memory: cp.async.bulk.wait_group comes first"
                       : "the block ended while this bulk copy was writing "
                         "its shared memory: wait for its mbarrier first");
        return true;
    }
    return false;
}
