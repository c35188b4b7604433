/* record.c -- what kernels left: the give-up record as a sentence, the board */
#include "base/error.h"
#include "table/record.h"
#include "table/table.h"
#include "text/text.h"

enum { STAT_ROOM = FGS_BOARD_CONSUMER - FGS_BOARD_PRODUCER };
_Static_assert(sizeof(struct fgs__ctl) <= FGS_BOARD_PRODUCER &&
               sizeof(struct fgs__stat) <= STAT_ROOM &&
               sizeof(struct fgs__rec) <= FGS_RECORD_BYTES, "they have room");

static const char *giveup_text(uint32_t code)
{
    switch (code) {
#define GIVEUP(id, value, text)                                                \
    case value:                                                                \
        return text;
#include "table/record.def"
    default:
        return "for an unknown reason";
    }
}

static void write_bits(const struct fgs__rec *rec, uint8_t bits[16])
{
    memcpy(bits, &rec->bits0, 8);
    memcpy(bits + 8, &rec->bits1, 8);
}

/* A wait for something else than the data itself. */
static int is_waited_for(const struct fgs__rec *rec)
{
    return rec->code == FGS__GIVEUP_LANDING || rec->code == FGS__GIVEUP_FLAG;
}

static void write_place(const struct fgs__rec *rec, char *text, size_t size)
{
    uint8_t bits[16];
    size_t n;

    if (rec->code == FGS__GIVEUP_SENTINEL) {
        snprintf(text, size, " chunk %u", rec->chunk);
        return;
    }
    if (is_waited_for(rec)) {
        text[0] = '\0';
        return;
    }
    if (rec->chunk == FGS__NO_CHUNK) {
        snprintf(text, size, ", which has no sentinel any more");
        return;
    }
    n = (size_t)snprintf(text, size, " chunk %u", rec->chunk);
    write_bits(rec, bits);
    for (int i = 0; i < 16 && n + 4 < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%02x", i ? " " : " (",
                              bits[i]);
    snprintf(text + n, size - n, ")");
}

/* The sentence of a producer that refuses a result, or of a wait that ended. */
static fgs_result tell(const struct fgs__rec *rec, const char *kernel,
                       const char *buffer, const char *place, fgs_error *err)
{
    if (rec->code == FGS__GIVEUP_SENTINEL)
        return fgs__fail(err, FGS_E_SENTINEL,
                         "%s, block %llu: buffer '%s' tile %llu%s was not "
                         "stored: of the f32 input 0x%08x %s",
                         kernel, (unsigned long long)rec->block, buffer,
                         (unsigned long long)rec->tile, place,
                         (unsigned)rec->bits0, giveup_text(rec->code));
    return fgs__fail(err, FGS_E_LEAK,
                     "%s, block %llu: buffer '%s' tile %llu%s %s for "
                     "%llu.%03llu ms and %llu tries: %s",
                     kernel, (unsigned long long)rec->block, buffer,
                     (unsigned long long)rec->tile, place,
                     is_waited_for(rec) ? "was waited for"
                                        : "kept its sentinel",
                     (unsigned long long)(rec->elapsed_ns / 1000000),
                     (unsigned long long)(rec->elapsed_ns / 1000 % 1000),
                     (unsigned long long)rec->tries, giveup_text(rec->code));
}

fgs_result fgs_record_read(const void *record, const char *kernel,
                           const char *buffer, fgs_error *err)
{
    struct fgs__rec rec;
    char place[96], name[2][64];
    fgs_result r;

    if (!record || !kernel || !buffer)
        return fgs__fail(err, FGS_E_NULL, "fgs_record_read: %s is NULL",
                         !record ? "record" : !kernel ? "kernel" : "buffer");
    memcpy(&rec, record, sizeof rec);
    if (rec.code == FGS__GIVEUP_NONE)
        return FGS_OK;
    write_place(&rec, place, sizeof place);
    /* Names as long as those of *err: the sentence keeps its end. */
    snprintf(name[0], sizeof name[0], "%.63s", kernel);
    snprintf(name[1], sizeof name[1], "%.31s", buffer);
    r = tell(&rec, name[0], name[1], place, err);
    if (!err)
        return r;
    memcpy(err->kernel, name[0], sizeof err->kernel);
    memcpy(err->buffer, name[1], strlen(name[1]) + 1);
    err->block = rec.block;
    err->tile = rec.tile;
    err->chunk = rec.chunk;
    err->stage = rec.stage;
    write_bits(&rec, err->bits);
    err->tries = rec.tries;
    err->elapsed_ns = rec.elapsed_ns;
    return r;
}

fgs_result fgs_board_read(const void *board, fgs_counts *out)
{
    const char *at = board;
    struct fgs__ctl c;
    struct fgs__stat p, k;

    if (!board || !out)
        return FGS_E_NULL;
    if (out->size < sizeof *out)
        return FGS_E_INVAL;
    memcpy(&c, at, sizeof c);
    memcpy(&p, at + FGS_BOARD_PRODUCER, sizeof p);
    memcpy(&k, at + FGS_BOARD_CONSUMER, sizeof k);
    out->reissues = k.reissues;
    /* `first` is a complement; 0 = no consumer block ran */
    out->overlap = k.first && ~k.first < p.last;
    out->aborted = c.abort != 0;
    return FGS_OK;
}
