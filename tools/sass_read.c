/* sass_read.c -- a disassembler's listing, cut into entries and instructions
 *
 * nvdisasm -c names a function by its section and a place by a label,
 * cuobjdump -sass by "Function :" and by an address; both are read.
 */
#include "sass.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

struct label {
    const char *name;
    uint32_t at; /* instruction of the current entry */
};

struct reader {
    struct sass_code *c;
    struct label *label;
    size_t labels;
    bool is_lost; /* no memory */
};

/* Room for one more; the sizes are powers of two. */
static void *grown(struct reader *r, void *rows, size_t count, size_t size)
{
    void *more = rows;

    if (!(count & (count - 1)) || !rows)
        more = realloc(rows, (count ? count * 2 : 1) * size);
    if (more)
        return more;
    r->is_lost = true;
    return NULL;
}

static struct sass_entry *last(struct sass_code *c)
{
    return c->count ? &c->entry[c->count - 1] : NULL;
}

static void begin_entry(struct reader *r, char *name)
{
    void *more = grown(r, r->c->entry, r->c->count, sizeof r->c->entry[0]);

    if (!more)
        return;
    r->c->entry = more;
    memset(&r->c->entry[r->c->count], 0, sizeof r->c->entry[0]);
    r->c->entry[r->c->count++].name = name;
}

static void add_label(struct reader *r, char *name, uint32_t at)
{
    void *more = grown(r, r->label, r->labels, sizeof r->label[0]);

    if (!more)
        return;
    r->label = more;
    r->label[r->labels++] = (struct label){name, at};
}

/* Cut the end off: "EXIT ;   / * 0x... * /" becomes "EXIT". */
static void trim(char *text)
{
    char *semicolon = strchr(text, ';');
    size_t n;

    if (semicolon)
        *semicolon = 0;
    for (n = strlen(text); n && strchr(" \t\r", text[n - 1]); n--)
        text[n - 1] = 0;
}

/* "@!P0 BRA ..." behind its address. */
static void add_insn(struct reader *r, char *text, uint32_t at, size_t line)
{
    struct sass_entry *e = last(r->c);
    struct sass_insn *i;
    void *more;

    trim(text);
    more = grown(r, e->insn, e->count, sizeof e->insn[0]);
    if (!more)
        return;
    e->insn = more;
    i = &e->insn[e->count++];
    memset(i, 0, sizeof *i);
    i->guarded = *text == '@';
    i->guard = -1;
    if (i->guarded) {
        i->guard_not = text[1] == '!';
        if (text[1 + i->guard_not] == 'P')
            i->guard = (int8_t)(text[2 + i->guard_not] - '0');
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    i->text = text;
    i->at = at;
    i->line = line;
    i->target = SASS_NONE;
}

static uint32_t find_label(const struct reader *r, const char *name,
                           size_t len)
{
    size_t i;

    for (i = 0; i < r->labels; i++)
        if (!strncmp(r->label[i].name, name, len) && !r->label[i].name[len])
            return r->label[i].at;
    return SASS_NONE;
}

static uint32_t find_address(const struct sass_entry *e, uint32_t at)
{
    uint32_t i;

    for (i = 0; i < e->count; i++)
        if (e->insn[i].at == at)
            return i;
    return SASS_NONE;
}

/* Instructions whose last operand is a place. */
static bool has_place(const char *text)
{
    static const char *const ops[] = {"BRA", "BSSY", "CALL", "JMP",
                                      "WARPSYNC.COLLECTIVE", "BRX"};
    size_t i;

    for (i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (!strncmp(text, ops[i], strlen(ops[i])))
            return true;
    return false;
}

/* BRX R10 -0x840 (*"BRANCH_TARGETS .L_x_1,.L_x_2"*): nvdisasm's words. */
static void mark_table(struct reader *r, struct sass_entry *e,
                       const char *names)
{
    size_t len;

    for (; *names == '.'; names += len + (names[len] == ',')) {
        uint32_t at;

        len = strcspn(names, ",\"");
        at = find_label(r, names, len);
        if (at < e->count)
            e->insn[at].in_table = true;
    }
}

/* Where the instructions of the last entry lead. */
static void end_entry(struct reader *r)
{
    struct sass_entry *e = last(r->c);
    size_t i;

    for (i = 0; e && i < e->count; i++) {
        struct sass_insn *n = &e->insn[i];
        const char *place = strstr(n->text, "`(");
        const char *blank = strrchr(n->text, ' ');
        const char *table = strstr(n->text, "BRANCH_TARGETS ");

        if (table)
            mark_table(r, e, table + 15);
        if (!has_place(n->text))
            continue;
        if (place)
            n->target = find_label(r, place + 2, strcspn(place + 2, ")"));
        else if (blank && !strncmp(blank + 1, "0x", 2))
            n->target = find_address(e, (uint32_t)strtoul(blank, NULL, 16));
        /* behind the last instruction: the end */
        if (n->target != SASS_NONE && n->target >= e->count)
            n->target = SASS_NONE;
    }
    r->labels = 0;
}

static void read_line(struct reader *r, char *line, size_t number)
{
    static const char section[] = "\t.section\t", text[] = ".text.";
    static const char function[] = "\t\tFunction : ";
    struct sass_entry *e = last(r->c);
    char *at = line + strspn(line, " \t"), *end;
    unsigned long address;

    if (!strncmp(line, section, sizeof section - 1)) {
        end_entry(r);
        line += sizeof section - 1;
        line[strcspn(line, ",")] = 0;
        if (!strncmp(line, text, sizeof text - 1))
            begin_entry(r, line + sizeof text - 1);
    } else if (!strncmp(line, function, sizeof function - 1)) {
        end_entry(r);
        begin_entry(r, line + sizeof function - 1);
    } else if (e && *line == '.' && line[strlen(line) - 1] == ':') {
        line[strlen(line) - 1] = 0;
        add_label(r, line, (uint32_t)e->count);
    } else if (e && !strncmp(at, "/*", 2)) {
        address = strtoul(at + 2, &end, 16);
        /* an encoding's second line has nothing but a comment */
        if (end != at + 2 && !strncmp(end, "*/", 2) && at[2] != ' ') {
            end += 2 + strspn(end + 2, " \t");
            if (*end && strncmp(end, "/*", 2))
                add_insn(r, end, (uint32_t)address, number);
        }
    }
}

/* ----------------------------------------------------------- resources -- */

/* Of .nv.info: attribute numbers, and the form with a size. */
enum { REGISTERS = 0x2F, FRAME = 0x11, SIZED = 4 };

struct image {
    const unsigned char *at;
    size_t size;
    Elf64_Ehdr head;
};

static bool image_get(const struct image *m, uint64_t at, void *to, size_t size)
{
    if (at > m->size || size > m->size - at)
        return false;
    memcpy(to, m->at + at, size);
    return true;
}

static bool section_at(const struct image *m, uint32_t i, Elf64_Shdr *s)
{
    return i < m->head.e_shnum &&
           image_get(m, m->head.e_shoff + (uint64_t)i * sizeof *s, s,
                     sizeof *s) &&
           (s->sh_type == SHT_NOBITS ||
            (s->sh_offset <= m->size && s->sh_size <= m->size - s->sh_offset));
}

/* Does the string at `offset` of a string section say `name`? */
static bool says(const struct image *m, const Elf64_Shdr *strings,
                 uint64_t offset, const char *name)
{
    size_t len = strlen(name) + 1;

    return offset < strings->sh_size && len <= strings->sh_size - offset &&
           !memcmp(m->at + strings->sh_offset + offset, name, len);
}

static struct sass_entry *entry_of(const struct image *m, struct sass_code *c,
                                   const Elf64_Shdr *symbols, uint32_t symbol)
{
    Elf64_Shdr strings;
    Elf64_Sym y;
    size_t i;

    if ((uint64_t)symbol >= symbols->sh_size / sizeof y ||
        !image_get(m, symbols->sh_offset + (uint64_t)symbol * sizeof y, &y,
                   sizeof y) ||
        !section_at(m, symbols->sh_link, &strings))
        return NULL;
    for (i = 0; i < c->count; i++)
        if (says(m, &strings, y.st_name, c->entry[i].name))
            return &c->entry[i];
    return NULL;
}

static void read_info(const struct image *m, struct sass_code *c,
                      const Elf64_Shdr *info, const Elf64_Shdr *symbols)
{
    const unsigned char *p = m->at + info->sh_offset;
    const unsigned char *end = p + info->sh_size;

    while (end - p >= 4) {
        uint16_t size = (uint16_t)(p[2] | p[3] << 8);
        uint32_t word[2];
        struct sass_entry *e;

        if (p[0] != SIZED)
            size = 0;
        if (size > end - p - 4)
            return;
        if ((p[1] == REGISTERS || p[1] == FRAME) && size >= sizeof word) {
            memcpy(word, p + 4, sizeof word);
            e = entry_of(m, c, symbols, word[0]);
            if (e && p[1] == REGISTERS) {
                e->registers = word[1];
                e->has_resources = true;
            } else if (e) {
                e->frame = word[1];
            }
        }
        p += 4 + size;
    }
}

static void read_resources(struct sass_code *c, const unsigned char *cubin,
                           size_t size)
{
    struct image m = {.at = cubin, .size = size};
    Elf64_Shdr names, s, symbols = {0};
    uint32_t i, info = 0;

    if (!image_get(&m, 0, &m.head, sizeof m.head) ||
        !section_at(&m, m.head.e_shstrndx, &names))
        return;
    for (i = 0; section_at(&m, i, &s); i++) {
        if (says(&m, &names, s.sh_name, ".symtab"))
            symbols = s;
        if (says(&m, &names, s.sh_name, ".nv.info"))
            info = i;
    }
    if (info && section_at(&m, info, &s) && s.sh_type != SHT_NOBITS)
        read_info(&m, c, &s, &symbols);
}

int sass_read(struct sass_code *c, char *listing, unsigned char *cubin,
              size_t size)
{
    struct reader r = {c, NULL, 0, false};
    char *line, *next;
    size_t number = 0;

    memset(c, 0, sizeof *c);
    c->listing = listing;
    c->own = malloc(strlen(listing) + 1);
    if (c->own)
        memcpy(c->own, listing, strlen(listing) + 1);
    for (line = c->own; line && !r.is_lost; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (*line)
            read_line(&r, line, number);
        number++;
    }
    end_entry(&r);
    free(r.label);
    if (cubin)
        read_resources(c, cubin, size);
    free(cubin);
    if (c->own && !r.is_lost)
        return EXIT_GOOD;
    sass_free(c);
    return failure("sass", "no memory");
}

void sass_free(struct sass_code *c)
{
    size_t i;

    for (i = 0; i < c->count; i++)
        free(c->entry[i].insn);
    free(c->entry);
    free(c->own);
    free(c->listing);
    memset(c, 0, sizeof *c);
}
