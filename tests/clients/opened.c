/* opened.c -- opens libcuda.so.1 and looks every name of its arguments up
 *
 * Each name is looked up with dlsym and with cuGetProcAddress_v2; exit 0 = all
 * are there, cuInit works, a name of no driver is refused.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*init_fn)(unsigned int);
typedef int (*get_fn)(const char *, void **, int, unsigned long long, int *);

static void *find(void *lib, const char *name)
{
    void *p = dlsym(lib, name);

    if (!p)
        fprintf(stderr, "%s: not in the library\n", name);
    return p;
}

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *p;
    init_fn init;
    get_fn get;
    int i, q = 9, bad = 0;

    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    p = find(lib, "cuInit");
    memcpy(&init, &p, sizeof p);
    p = find(lib, "cuGetProcAddress_v2");
    memcpy(&get, &p, sizeof p);
    if (init(0))
        return 1;
    for (i = 1; i < argc; i++) {
        bad |= !find(lib, argv[i]);
        if (get(argv[i], &p, 13040, 0, &q) || !p || q) {
            fprintf(stderr, "%s: not by cuGetProcAddress\n", argv[i]);
            bad = 1;
        }
    }
    if (get("", &p, 13040, 0, &q) != 500 || p || q != 1)
        bad = 1;
    if (get("cuNoSuchThing", &p, 13040, 0, &q) != 500 || p || q != 1)
        bad = 1;
    dlclose(lib);
    return bad;
}
