/* test_ptx_parse.c -- what a module in memory holds */
#include "base/compat.h"
#include "ptx_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct loaded good(const char *text)
{
    struct loaded l = load(text);

    if (l.r < 0)
        print_message("%u:%u: %s\n", l.d.item[0].pos.line,
                      l.d.item[0].pos.column, l.d.item[0].text);
    assert_int_equal(l.r, FGS_OK);
    assert_non_null(l.m);
    return l;
}

static const struct fgs__ptx_sym *symbol(const struct fgs__ptx_func *f,
                                         const char *name)
{
    for (struct fgs__ptx_sym *s = f->syms; s; s = s->next) {
        if (!strcmp(s->name, name))
            return s;
    }
    return NULL;
}

static void header_gives_version_and_target(void **state)
{
    struct loaded l = good("\n.version 9.4\n.target sm_107a, debug\n");

    (void)state;
    assert_int_equal(l.m->version, 94);
    assert_int_equal(l.m->target_cc, 107);
    assert_int_equal(l.m->target_suffix, 'a');
    assert_string_equal(l.m->target, "sm_107a");
    assert_int_equal(l.m->address_size, 64);
    unload(&l);
}

static void newer_version_stands_alone(void **state)
{
    static const struct {
        const char *text;
        int version;
    } list[] = {
        { ".version 9.6\n.foo", 96 },
        { ".version 9.10\n`", 99 },
        { ".version 10.0\n.target sm_200\n", 100 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct loaded l = load(list[i].text);

        assert_int_equal(l.r, FGS_E_PTXVERSION);
        assert_null(l.m);
        assert_int_equal(l.d.newer_version, list[i].version);
        assert_int_equal(l.d.count, 1);
        assert_int_equal(l.d.item[0].pos.column, 10);
        unload(&l);
    }
}

static void parameters_have_natural_places(void **state)
{
    struct loaded l = good(HEAD
        ".entry k(.param .u8 a, .param .u16 b, .param .u64 c,\n"
        "         .param .u8 d, .param .align 16 .b8 e[20], .param .f32 f)\n"
        "{ ret; }\n");
    const struct fgs__ptx_func *f = fgs__ptx_find_func(l.m, "k");
    static const uint64_t offsets[] = { 0, 2, 8, 16, 32, 52 };
    unsigned n = 0;

    (void)state;
    assert_true(f && f->entry && f->body);
    assert_int_equal(f->param_count, 6);
    assert_int_equal(f->param_bytes, 56);
    for (struct fgs__ptx_sym *v = f->params; v; v = v->next)
        assert_int_equal(v->offset, offsets[n++]);
    unload(&l);
}

static void registers_of_a_range_are_those_in_use(void **state)
{
    struct loaded l = good(HEAD
        ".entry k()\n{\n"
        "    .reg .u32 %r<4000000000>, x;\n"
        "    add.u32 %r7, %r3999999999, x;\n    add.u32 %r7, %r7, 1;\n}\n");
    const struct fgs__ptx_func *f = l.m->funcs;

    (void)state;
    assert_int_equal(f->reg_count, 3);
    for (uint32_t i = 0; i < f->reg_count; i++)
        assert_int_equal(f->regs[i]->index, i);
    assert_string_equal(f->regs[0]->name, "x");
    assert_string_equal(f->regs[1]->name, "%r7");
    assert_ptr_equal(f->insn[0].operand[0].sym, f->regs[1]);
    assert_ptr_equal(f->insn[1].operand[0].sym, f->regs[1]);
    unload(&l);
}

static void inner_names_hide_outer_ones(void **state)
{
    struct loaded l = good(HEAD
        ".entry k()\n{\n    .reg .u32 a, r<9>;\n    mov.u32 a, r1;\n"
        "    {\n        .reg .u64 a, r1;\n        .reg .u64 q<3>;\n"
        "        mov.u64 a, r1;\n        mov.u64 q1, 0;\n    }\n"
        "    mov.u32 a, r1;\n}\n");
    const struct fgs__ptx_insn *i = l.m->funcs->insn;

    (void)state;
    assert_int_equal(i[1].operand[0].sym->type, FGS__T_U64);
    assert_int_equal(i[1].operand[1].sym->type, FGS__T_U64);
    assert_ptr_equal(i[0].operand[0].sym, i[3].operand[0].sym);
    assert_ptr_equal(i[0].operand[1].sym, i[3].operand[1].sym);
    unload(&l);
}

static void labels_name_the_next_instruction(void **state)
{
    struct loaded l = good(HEAD
        ".entry k()\n{\n    .reg .pred p;\n    bra M;\n"
        "L:  { bra L; { @!p bra M; L: bra L; } }\n    trap;\nM:\n}\n");
    const struct fgs__ptx_insn *i = l.m->funcs->insn;

    (void)state;
    assert_int_equal(l.m->funcs->insn_count, 6);
    assert_int_equal(i[0].operand[0].kind, FGS__O_LABEL);
    assert_int_equal(i[0].operand[0].sym->target, 5);
    assert_int_equal(i[1].operand[0].sym->target, 1);
    assert_int_equal(i[2].operand[0].sym->target, 5);
    assert_true(i[2].guard_neg);
    assert_string_equal(i[2].guard->name, "p");
    assert_int_equal(i[3].operand[0].sym->target, 3);
    /* A label at the end has an instruction: the return. */
    assert_int_equal(i[5].op, FGS__OP_RET);
    unload(&l);
}

static void bulk_copy_keeps_words_spaces_and_operands(void **state)
{
    struct loaded l = good(HEAD
        ".entry k()\n{\n    .reg .u32 st, sb; .reg .u64 src;\n"
        "    cp.async.bulk.b128.mbarrier::report::validity::per_16bytes::8000\n"
        "        .gpu.relaxed.shared::cta.mbarrier::complete_tx::bytes.global\n"
        "        [st+16], [src+-8], 64, [sb];\n}\n");
    const struct fgs__ptx_insn *i = l.m->funcs->insn;

    (void)state;
    assert_int_equal(i->op, FGS__OP_BULK_COPY);
    assert_int_equal(i->pos.line, 8);
    assert_int_equal(i->pos.column, 5);
    assert_int_equal(i->space[0], FGS__M_SHARED_CTA);
    assert_int_equal(i->space[1], FGS__M_GLOBAL);
    assert_int_equal(i->mod[FGS__G_SEM], FGS__M_RELAXED);
    assert_int_equal(i->mod[FGS__G_SCOPE], FGS__M_GPU);
    assert_int_equal(i->mod[FGS__G_REPORT], FGS__M_REPORT_W16);
    assert_int_equal(i->mod[FGS__G_COMPLETION], FGS__M_MBAR_BYTES);
    assert_int_equal(i->mod[FGS__G_MULTICAST], FGS__M_NONE);
    assert_int_equal(i->types, 1);
    assert_int_equal(i->type[0], FGS__T_B128);
    assert_int_equal(i->operands, 4);
    assert_int_equal(i->operand[0].kind, FGS__O_ADDR);
    assert_int_equal(i->operand[0].offset, 16);
    assert_int_equal(i->operand[1].offset, -8);
    assert_int_equal(i->operand[2].kind, FGS__O_INT);
    assert_int_equal(i->operand[2].imm, 64);
    unload(&l);
}

static void same_word_belongs_to_the_opcode_it_stands_with(void **state)
{
    struct loaded l = good(HEAD
        ".entry k()\n{\n    .reg .u32 n; .reg .pred p; .reg .u64 a;\n"
        "    mul.lo.u32 n, n, n;\n    setp.lo.and.u32 p, n, n, !p;\n"
        "    atom.global.and.b32 n, [a], n;\n    membar.cta;\n"
        "    fence.cta;\n    fence.proxy.async.global;\n}\n");
    const struct fgs__ptx_insn *i = l.m->funcs->insn;

    (void)state;
    assert_int_equal(i[0].mod[FGS__G_WIDTH], FGS__M_LO);
    assert_int_equal(i[1].mod[FGS__G_CMP], FGS__M_CMP_LO);
    assert_int_equal(i[1].mod[FGS__G_BOOL], FGS__M_BOOL_AND);
    assert_true(i[1].operand[3].neg);
    assert_int_equal(i[2].mod[FGS__G_ATOM], FGS__M_ATOM_AND);
    assert_int_equal(i[3].mod[FGS__G_LEVEL], FGS__M_LEVEL_CTA);
    assert_int_equal(i[4].mod[FGS__G_SCOPE], FGS__M_CTA);
    assert_int_equal(i[5].mod[FGS__G_PROXY], FGS__M_PROXY_ASYNC_GLOBAL);
    assert_int_equal(i[5].space[0], FGS__M_NONE);
    unload(&l);
}

static void operands_have_their_kinds(void **state)
{
    struct loaded l = good(HEAD
        ".shared .b32 v[8];\n.entry k()\n{\n"
        "    .reg .v4 .f32 w; .reg .f32 f; .reg .u32 n; .reg .b64 d;\n"
        "    .reg .pred p, q;\n"
        "    mov.f32 f, w.z;\n    mov.u32 n, %ctaid.y;\n"
        "    mov.u32 n, v+12;\n    mov.u32 n, v[3];\n"
        "    setp.eq.u32 p|_, n, -1;\n    mov.b64 d, {n, 7};\n"
        "    mov.f32 f, -1.5;\n    mov.f32 f, 0fBFC00000;\n"
        "    ld.shared.b32 n, [v+8];\n    mov.u32 n, WARP_SZ;\n}\n");
    const struct fgs__ptx_insn *i = l.m->funcs->insn;
    const struct fgs__ptx_operand *o;

    (void)state;
    assert_int_equal(i[0].operand[1].comp, 3);
    assert_int_equal(i[1].operand[1].kind, FGS__O_SREG);
    assert_int_equal(i[1].operand[1].sreg, FGS__SR_CTAID);
    assert_int_equal(i[1].operand[1].comp, 1);
    assert_int_equal(i[2].operand[1].kind, FGS__O_SYM);
    assert_int_equal(i[2].operand[1].offset, 12);
    assert_int_equal(i[3].operand[1].offset, 12);
    o = &i[4].operand[0];
    assert_int_equal(o->kind, FGS__O_PAIR);
    assert_int_equal(o->child[0].kind, FGS__O_REG);
    assert_int_equal(o->child[1].kind, FGS__O_SINK);
    assert_true(i[4].operand[2].imm == UINT64_MAX);
    o = &i[5].operand[1];
    assert_int_equal(o->kind, FGS__O_VEC);
    assert_int_equal(o->children, 2);
    assert_int_equal(o->child[1].imm, 7);
    assert_int_equal(i[6].operand[1].kind, FGS__O_F64);
    assert_true(i[6].operand[1].imm == 0xBFF8000000000000u);
    assert_int_equal(i[7].operand[1].kind, FGS__O_F32);
    assert_true(i[7].operand[1].imm == 0xBFC00000u);
    assert_int_equal(i[8].operand[1].offset, 8);
    assert_int_equal(i[8].operand[1].sym->kind, FGS__SYM_VAR);
    assert_int_equal(i[9].operand[1].imm, 32);
    unload(&l);
}

static void constants_follow_the_rules_of_c(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } list[] = {
        { "1+2*3", 7 }, { "(1+2)*3", 9 }, { "-7/2", (uint64_t)-3 },
        { "-7 % 2", (uint64_t)-1 }, { "7-2-1", 4 }, { "1<<4|2", 18 },
        { "~0", UINT64_MAX }, { "!5", 0 }, { "!0", 1 },
        { "-(3)", (uint64_t)-3 },
        { "-16>>2", (uint64_t)-4 }, { "0x8000000000000000>>63", 1 },
        { "1 ? 2 : 3", 2 }, { "0 ? 2 : 1 ? 4 : 5", 4 }, { "3>2&&1<0||1", 1 },
        { "(.u64)-1 > 0", 1 }, { "-1 > 0", 0 }, { "5&3^1", 0 },
        { "1==1!=0", 1 },
        { "(.s64)4/-2+2", 0 },
        { "(.s64)0x8000000000000000/-1", 0x8000000000000000u },
    };

    (void)state;
    for (size_t n = 0; n < sizeof list / sizeof list[0]; n++) {
        char text[200];
        struct loaded l;

        snprintf(text, sizeof text, HEAD ".entry k() { .reg .u64 a; "
                 "mov.u64 a, %s; }", list[n].text);
        l = good(text);
        if (l.m->funcs->insn->operand[1].imm != list[n].value)
            print_message("%s\n", list[n].text);
        assert_true(l.m->funcs->insn->operand[1].imm == list[n].value);
        unload(&l);
    }
}

static void frames_hold_what_a_function_uses(void **state)
{
    struct loaded l = good(HEAD
        ".shared .b8 unused[1000];\n.shared .align 8 .b8 s[12];\n"
        ".extern .shared .align 32 .b8 dyn[];\n"
        ".entry k()\n{\n    .shared .b8 c; .shared .align 16 .b8 t[16];\n"
        "    .local .b8 x; .local .u64 y;\n    .reg .u32 a;\n"
        "    mov.u32 a, s; mov.u32 a, dyn; mov.u32 a, s;\n}\n"
        ".entry l()\n{\n    .reg .u32 a;\n    mov.u32 a, dyn;\n}\n"
        ".entry m()\n{\n    .reg .u32 a;\n    mov.u32 a, s;\n"
        "    .shared .u32 s;\n    mov.u32 a, s;\n}\n");
    const struct fgs__ptx_func *k = fgs__ptx_find_func(l.m, "k");
    const struct fgs__ptx_func *f = fgs__ptx_find_func(l.m, "l");
    const struct fgs__ptx_func *m = fgs__ptx_find_func(l.m, "m");

    (void)state;
    assert_int_equal(symbol(k, "c")->offset, 0);
    assert_int_equal(symbol(k, "t")->offset, 16);
    assert_int_equal(symbol(k, "s")->offset, 32);
    assert_int_equal(symbol(k, "dyn")->offset, 64);
    assert_int_equal(k->shared_bytes, 64);
    assert_int_equal(k->shared_align, 32);
    assert_int_equal(symbol(k, "y")->offset, 8);
    assert_int_equal(k->local_bytes, 16);
    assert_ptr_equal(k->insn[0].operand[1].sym, symbol(k, "s"));
    assert_ptr_equal(k->insn[2].operand[1].sym, symbol(k, "s"));
    assert_int_equal(symbol(f, "dyn")->offset, 0);
    assert_int_equal(f->shared_bytes, 0);
    /* A variable of the module, then the function's own of that name. */
    assert_int_equal(m->shared_bytes, 16);
    assert_int_equal(m->insn[0].operand[1].sym->bytes, 12);
    assert_int_equal(m->insn[1].operand[1].sym->bytes, 4);
    unload(&l);
}

static void initial_values_are_little_endian_bytes(void **state)
{
    struct loaded l = good(HEAD
        ".global .u32 a[2][2] = {{1}, {0x01020304, -1}};\n"
        ".global .u16 b[] = {1, 2, 3};\n.global .f32 c = 1.0;\n"
        ".global .v2 .u8 d[2] = {{1, 2}, {3, 0}};\n"
        ".global .f64 e = 0f3F800000;\n"
        ".const .b128 f = -2;\n.global .u32 g[4];\n"
        ".entry k() { .global .u8 inner = 9; ret; }\n");
    static const unsigned char a[] = { 1, 0, 0, 0, 0, 0, 0, 0,
                                       4, 3, 2, 1, 255, 255, 255, 255 };
    static const unsigned char b[] = { 1, 0, 2, 0, 3, 0 };
    static const unsigned char c[] = { 0, 0, 0x80, 0x3F };
    static const unsigned char d[] = { 1, 2, 3, 0 };
    static const unsigned char e[] = { 0, 0, 0, 0, 0, 0, 0xF0, 0x3F };
    const struct fgs__ptx_sym *v;

    (void)state;
    assert_memory_equal(fgs__ptx_find_var(l.m, "a")->init, a, sizeof a);
    v = fgs__ptx_find_var(l.m, "b");
    assert_int_equal(v->bytes, 6);
    assert_memory_equal(v->init, b, sizeof b);
    assert_memory_equal(fgs__ptx_find_var(l.m, "c")->init, c, sizeof c);
    assert_memory_equal(fgs__ptx_find_var(l.m, "d")->init, d, sizeof d);
    assert_memory_equal(fgs__ptx_find_var(l.m, "e")->init, e, sizeof e);
    v = fgs__ptx_find_var(l.m, "f");
    assert_int_equal(v->init[0], 0xFE);
    assert_int_equal(v->init[15], 0xFF);
    assert_null(fgs__ptx_find_var(l.m, "g")->init);
    assert_int_equal(fgs__ptx_find_var(l.m, "g")->align, 4);
    assert_int_equal(fgs__ptx_find_var(l.m, "inner")->init[0], 9);
    assert_null(fgs__ptx_find_var(l.m, "h"));
    unload(&l);
}

static void addresses_in_initial_values_are_relocations(void **state)
{
    struct loaded l = good(HEAD
        ".global .u32 x;\n"
        ".global .u64 a[4] = {1, x, generic(x)+8, x+-4};\n");
    const struct fgs__ptx_sym *v = fgs__ptx_find_var(l.m, "a");
    const struct fgs__ptx_reloc *r = v->relocs;

    (void)state;
    assert_ptr_equal(r->target, fgs__ptx_find_var(l.m, "x"));
    assert_int_equal(r->at, 8);
    assert_false(r->generic);
    r = r->next;
    assert_int_equal(r->at, 16);
    assert_int_equal(r->addend, 8);
    assert_true(r->generic);
    r = r->next;
    assert_int_equal(r->at, 24);
    assert_int_equal(r->addend, -4);
    assert_null(r->next);
    unload(&l);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_gives_version_and_target),
        cmocka_unit_test(newer_version_stands_alone),
        cmocka_unit_test(parameters_have_natural_places),
        cmocka_unit_test(registers_of_a_range_are_those_in_use),
        cmocka_unit_test(inner_names_hide_outer_ones),
        cmocka_unit_test(labels_name_the_next_instruction),
        cmocka_unit_test(bulk_copy_keeps_words_spaces_and_operands),
        cmocka_unit_test(same_word_belongs_to_the_opcode_it_stands_with),
        cmocka_unit_test(operands_have_their_kinds),
        cmocka_unit_test(constants_follow_the_rules_of_c),
        cmocka_unit_test(frames_hold_what_a_function_uses),
        cmocka_unit_test(initial_values_are_little_endian_bytes),
        cmocka_unit_test(addresses_in_initial_values_are_relocations),
    };

    return cmocka_run_group_tests_name("ptx_parse", tests, NULL, NULL);
}
