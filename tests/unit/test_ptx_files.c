/* test_ptx_files.c -- each text of tests/ptx/run does what its comments say
 *
 * ptx_file.h has their form.  Each file runs at every level of vectors that the
 * CPU has.
 */
#include "base/compat.h"
#include "fgs/fgs_sim.h"
#include "ptx/module.h"
#include "sim/device.h"
#include "sim/isa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "ptx_file.h"

#include <dirent.h>

enum { FILES = 4096, PATH = 300 };
static const char folder[] = "tests/ptx/run";

static struct file now;
static unsigned char got[BYTES];
static bool covered[FGS__OP_COUNT];

/* The one entry, and which rows of opcode.def the text holds. */
static void find_entry(struct file *f)
{
    struct fgs__ptx_diags diags;
    struct fgs__ptx_module *m;
    unsigned entries = 0;

    fgs__ptx_diags_init(&diags, &fgs__malloc);
    if (fgs__ptx_load(&m, f->text, f->len, &fgs__malloc, &diags))
        refuse(f, diags.count ? diags.item[0].pos.line : 0, "%s",
               diags.count ? diags.item[0].text : "it is not loaded");
    f->cc = m->target_cc;
    for (const struct fgs__ptx_func *k = m->funcs; k; k = k->next) {
        for (uint32_t i = 0; i < k->insn_count; i++)
            covered[k->insn[i].op] = true;
        if (!k->entry)
            continue;
        entries++;
        snprintf(f->entry, sizeof f->entry, "%s", k->name);
        if (k->param_count > 2u + f->map.there + f->texs)
            refuse(f, k->pos.line, "an entry with other parameters");
    }
    fgs__ptx_free(m);
    fgs__ptx_diags_free(&diags);
    if (entries != 1)
        refuse(f, 1, "%u entries", entries);
}

/* --------------------------------------------------------------- the run -- */

static void ok(const struct file *f, const char *what, CUresult cu,
               const char *log)
{
    if (cu)
        fail_msg("%s: %s: error %d %s %s", f->path, what, (int)cu, log,
                 fgs_sim_last_fault());
}

/* Textures and surfaces: parameters from `at` on, or what references hold. */
static void make_textures(struct file *f, CUmodule mod, CUdeviceptr in,
                          void **at)
{
    for (unsigned k = 0; k < f->texs; k++) {
        struct tex_line *t = &f->tex[k];
        CUdeviceptr var;

        ok(f, "texture", tex_make(t, in), "");
        if (!t->ref[0]) {
            *at++ = &t->object;
            continue;
        }
        ok(f, t->ref, fgs__sim_cuModuleGetGlobal(&var, NULL, mod, t->ref), "");
        ok(f, t->ref, fgs__sim_cuMemcpyHtoD(var, &t->object, 8), "");
    }
}

/* Launch and wait. */
static CUresult launch(struct file *f, CUmodule mod, CUdeviceptr in,
                       CUdeviceptr out)
{
    FGS__ALIGN(64) CUtensorMap map;
    void *params[3 + TEX_LINES] = { &in, &out, &map };
    CUlaunchAttribute attr = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    CUlaunchConfig c = { f->grid[0], f->grid[1], f->grid[2], f->block[0],
                         f->block[1], f->block[2], f->shared, NULL, &attr,
                         !!f->cluster[0] };
    CUfunction k;
    CUresult cu;

    attr.value.clusterDim.x = f->cluster[0];
    attr.value.clusterDim.y = f->cluster[1];
    attr.value.clusterDim.z = f->cluster[2];
    if (f->map.there)
        ok(f, "map", map_encode(&f->map, f->map.out ? out : in, &map), "");
    make_textures(f, mod, in, params + 2 + f->map.there);
    ok(f, f->entry, fgs__sim_cuModuleGetFunction(&k, mod, f->entry), "");
    ok(f, f->entry, fgs__sim_cuFuncSetAttribute(
        k, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1), "");
    cu = fgs__sim_cuLaunchKernelEx(&c, k, params, NULL);
    return cu ? cu : fgs__sim_cuCtxSynchronize();
}

static void compare(const struct file *f)
{
    unsigned bad = 0;

    for (size_t at = 0, n = 0; at < f->out.len; at += f->out.width[at], n++) {
        unsigned w = f->out.width[at];
        uint64_t want[2] = { 0, 0 }, have[2] = { 0, 0 };

        if (!memcmp(f->out.at + at, got + at, w))
            continue;
        memcpy(want, f->out.at + at, w);
        memcpy(have, got + at, w);
        if (bad++ < 8)
            printf("%s: out[%zu] (b%u, level %d): expected 0x%llx'%016llx "
                   "got 0x%llx'%016llx\n", f->path, n, 8 * w, f->level,
                   (unsigned long long)want[1], (unsigned long long)want[0],
                   (unsigned long long)have[1], (unsigned long long)have[0]);
    }
    if (bad)
        fail_msg("%s: %u values differ", f->path, bad);
}

/* A device that takes the text; the one that is presented takes no later
 * family. */
static void present(int cc)
{
    static int last;
    fgs_sim_config cfg = { .size = sizeof cfg };
    fgs_error err;

    cc = cc < 110 ? 107 : cc;
    if (cc == last)
        return;
    assert_int_equal(fgs_sim_config_get(&cfg, &err), FGS_OK);
    cfg.cc = (uint32_t)cc;
    assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_OK);
    last = cc;
}

static void run_level(struct file *f)
{
    char log[600] = "";
    CUjit_option opt[] = { (CUjit_option)5, (CUjit_option)6 };
    void *val[2] = { log, (void *)sizeof log };
    CUdeviceptr in = 0, out = 0;
    CUcontext ctx;
    CUmodule mod;
    CUresult cu;

    ok(f, "context", fgs__sim_cuCtxCreate(&ctx, 0, 0), "");
    ok(f, "load", fgs__sim_cuModuleLoadDataEx(&mod, f->text, 2, opt, val), log);
    ok(f, "in", fgs__sim_cuMemAlloc(&in, f->in.len + 16), "");
    if (f->in.len)
        ok(f, "in", fgs__sim_cuMemcpyHtoD(in, f->in.at, f->in.len), "");
    ok(f, "out", fgs__sim_cuMemAlloc(&out, f->out.len + 16), "");
    ok(f, "out", fgs__sim_cuMemsetD8(out, 0, f->out.len + 16), "");
    cu = launch(f, mod, in, out);
    if (f->fault[0]) {
        if (!cu || !strstr(fgs_sim_last_fault(), f->fault))
            fail_msg("%s: expected a fault with \"%s\", got error %d %s",
                     f->path, f->fault, (int)cu,
                     cu ? fgs_sim_last_fault() : "");
    } else {
        ok(f, "kernel", cu, "");
        for (unsigned k = 0; k < f->texs; k++)
            ok(f, "back", tex_back(&f->tex[k], out), "");
        ok(f, "copy", fgs__sim_cuMemcpyDtoH(got, out, f->out.len), "");
    }
    fgs__sim_cuCtxDestroy(ctx);
    if (!f->fault[0])
        compare(f);
}

static void file_does_what_it_says(void **state)
{
    int last = -1;

    read_file(&now, *state);
    find_entry(&now);
    present(now.cc);
    for (int level = FGS__ISA_BASE; level <= FGS__ISA_AVX512; level++) {
        fgs__sim_isa_limit((enum fgs__sim_isa)level);
        now.level = (int)fgs__sim_isa_now();
        if (now.level != last)
            run_level(&now);
        last = now.level;
    }
}

/* Every row of opcode.def is used by a file of tests/ptx/run; files are read
 * before this runs. */
static void rows_have_files(void **state)
{
    unsigned missing = 0, rows = FGS__OP_COUNT - 1;

    (void)state;
    for (int op = 1; op < FGS__OP_COUNT; op++) {
        if (covered[op])
            continue;
        missing++;
        printf("no file: %s\n", fgs__ptx_op_name((enum fgs__ptx_op)op));
    }
    printf("rows of opcode.def with a file: %u of %u\n", rows - missing, rows);
    assert_int_equal(missing, 0);
}

/* ------------------------------------------------------------- the files -- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct CMUnitTest *)a)->name,
                  ((const struct CMUnitTest *)b)->name);
}

/* With names as arguments only those, for work on one file. */
static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(name, argv[i]))
            return true;
    return argc < 2;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[FILES + 1];
    static char paths[FILES][PATH];
    DIR *dir = opendir(folder);
    size_t n = 0;

    if (!dir || fgs__sim_cuInit(0))
        return 1;
    for (struct dirent *e; (e = readdir(dir)); ) {
        size_t len = strlen(e->d_name);

        if (len < 5 || strcmp(e->d_name + len - 4, ".ptx") ||
            !wanted(e->d_name, argc, argv))
            continue;
        if (n == FILES)
            return 1;
        snprintf(paths[n], PATH, "%s/%.200s", folder, e->d_name);
        tests[n].name = paths[n] + sizeof folder;
        tests[n].test_func = file_does_what_it_says;
        tests[n].initial_state = paths[n];
        n++;
    }
    closedir(dir);
    qsort(tests, n, sizeof tests[0], by_name);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(rows_have_files);
    return _cmocka_run_group_tests("ptx_files", tests, n, NULL, NULL);
}
