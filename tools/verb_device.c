/* verb_device.c -- fgs device: what there is and what each can do */
#include "tool.h"

#include <fgs/fgs_sim.h>
#include <inttypes.h>
#include <string.h>

const char usage_device[] =
    "usage: fgs device [OPTION]...\n"
    "\n"
    "List the devices of each provider: name, compute capability, the newest\n"
    "PTX the driver takes, nvJitLink, and each copy engine with the reason\n"
    "where it cannot be used.\n"
    "\n"
    "  --provider cuda|sim  only this one\n"
    "  --api                the driver's symbols instead: which of them the\n"
    "                       software device has\n"
    "  --json               as JSON\n"
    "\n"
    "Exit: 0 good, 1 failed, 2 wrong usage, 77 the provider that was asked\n"
    "for, or every provider, has no device.\n";

static const char *const providers[] = {"cuda", "sim"};
enum { PROVIDERS = sizeof providers / sizeof providers[0] };

static const char *version_text(int32_t tenths, const char *none, char text[32])
{
    snprintf(text, 32, "%d.%d", (int)tenths / 10, (int)tenths % 10);
    return tenths ? text : none;
}

/* NULL = the engine can be used, else the reason. */
static const char *lacks(fgs_device *dev, fgs_engine e, fgs_error *err)
{
    return fgs_device_can(dev, e, err) == FGS_OK ? NULL : err->text;
}

static void print_device(fgs_device *dev, const fgs_device_info *i)
{
    char jit[32], link[32];
    fgs_error err;
    int e;

    printf("%s %d: %s\n", i->provider, (int)i->ordinal, i->name);
    printf("  compute    %d.%d, %d SMs, %" PRIu64 " MiB\n", (int)i->cc / 10,
           (int)i->cc % 10, (int)i->sm_count, i->memory >> 20);
    printf("  driver     %d.%d, takes PTX %s\n", (int)i->driver_version / 1000,
           (int)i->driver_version % 1000 / 10,
           version_text(i->ptx_version, "of an unknown version", jit));
    printf("  nvJitLink  %s\n", version_text(i->nvjitlink, "none", link));
    for (e = FGS_ENGINE_AUTO + 1; e < FGS_ENGINE_COUNT; e++) {
        const char *why = lacks(dev, (fgs_engine)e, &err);

        printf("  %-9s  %s%s\n", fgs_engine_name((fgs_engine)e),
               why ? "no: " : "yes", why ? why : "");
    }
}

static void json_or_null(struct json *j, const char *key, int32_t tenths)
{
    char text[32];

    json_text(j, key, version_text(tenths, NULL, text));
}

static void json_device(struct json *j, fgs_device *dev,
                        const fgs_device_info *i)
{
    fgs_error err;
    int e;

    json_open(j, NULL, '{');
    json_number(j, "ordinal", (uint64_t)i->ordinal);
    json_text(j, "name", i->name);
    json_or_null(j, "cc", i->cc);
    json_number(j, "sm_count", (uint64_t)i->sm_count);
    json_number(j, "memory", i->memory);
    json_number(j, "driver_version", (uint64_t)i->driver_version);
    json_or_null(j, "ptx_version", i->ptx_version);
    json_or_null(j, "nvjitlink", i->nvjitlink);
    json_open(j, "engines", '[');
    for (e = FGS_ENGINE_AUTO + 1; e < FGS_ENGINE_COUNT; e++) {
        const char *why = lacks(dev, (fgs_engine)e, &err);

        json_open(j, NULL, '{');
        json_text(j, "engine", fgs_engine_name((fgs_engine)e));
        json_bool(j, "can", !why);
        json_text(j, "why_not", why);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

/* All devices of a provider; their number, or -1 when one could not be
 * opened. */
static int list(const char *provider, struct json *j)
{
    fgs_device_opts opts = {.size = sizeof opts, .provider = provider};
    fgs_device_info info = {.size = sizeof info};
    fgs_device *dev;
    fgs_error err;
    fgs_result r;

    if (j) {
        json_open(j, NULL, '{');
        json_text(j, "provider", provider);
        json_open(j, "devices", '[');
    }
    while ((r = fgs_device_open(&dev, &opts, &err)) == FGS_OK) {
        r = fgs_device_get_info(dev, &info, &err);
        if (r == FGS_OK && j)
            json_device(j, dev, &info);
        else if (r == FGS_OK)
            print_device(dev, &info);
        fgs_device_close(dev);
        if (r < 0)
            break;
        opts.ordinal++;
    }
    /* Past the last device "no such device" is the list's end. */
    if (opts.ordinal && r == FGS_E_NODEVICE)
        r = FGS_OK;
    if (j) {
        json_close(j, ']');
        json_text(j, "error", r < 0 ? err.text : NULL);
        json_close(j, '}');
    } else if (r < 0) {
        printf("%s: none: %s\n", provider, err.text);
    }
    return r == FGS_OK || code_of(r) == EXIT_NODEVICE ? opts.ordinal : -1;
}

/* The first line: the device that `fgs run` would take. */
static void say_default(const char *provider)
{
    fgs_device_opts opts = {.size = sizeof opts, .provider = provider};
    fgs_device_info info = {.size = sizeof info};
    fgs_device *dev;
    fgs_error err;

    if (fgs_device_open(&dev, &opts, &err) < 0) {
        fprintf(stderr, "fgs: default is no device: %s\n", err.text);
        return;
    }
    if (fgs_device_get_info(dev, &info, &err) == FGS_OK)
        say_device("default is ", &info);
    fgs_device_close(dev);
}

static void list_symbols(struct json *j, int wanted)
{
    const char *name;
    size_t i;
    int present;

    json_open(j, wanted ? "present" : "absent", '[');
    for (i = 0; (name = fgs_sim_symbol(i, &present)); i++) {
        if (present == wanted)
            json_text(j, NULL, name);
    }
    json_close(j, ']');
}

/* The software device's entry points, out of its own tables. */
static int list_api(struct json *j)
{
    size_t i, n[2] = {0, 0};
    const char *name;
    int present;

    if (j) {
        json_open(j, NULL, '{');
        list_symbols(j, 1);
        list_symbols(j, 0);
        json_close(j, '}');
        return EXIT_GOOD;
    }
    for (i = 0; (name = fgs_sim_symbol(i, &present)); i++) {
        printf("%-8s %s\n", present ? "present" : "absent", name);
        n[present]++;
    }
    fprintf(stderr, "fgs: sim device has %zu symbols of the driver, %zu "
            "answer CUDA_ERROR_NOT_SUPPORTED\n", n[1], n[0]);
    return EXIT_GOOD;
}

int verb_device(int argc, char **argv)
{
    const char *provider = NULL;
    bool json = false, bad = false, api = false;
    struct json j = {.to = stdout};
    const struct opt table[] = {
        {"--provider", OPT_TEXT, &provider, 0, 0, "cuda|sim", NULL},
        {"--api", OPT_FLAG, &api, 0, 0, NULL, NULL},
        {"--json", OPT_FLAG, &json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int i, n, operands, total = 0;
    int code = opt_parse(verb_find("device"), argc, argv, table, &operands);

    if (code >= 0)
        return code;
    if (operands)
        return usage_error("device", "\"%s\": no word is expected", argv[1]);
    if (api)
        return list_api(json ? &j : NULL);
    say_default(provider);
    if (json) {
        json_open(&j, NULL, '{');
        json_open(&j, "providers", '[');
    }
    for (i = 0; i < PROVIDERS; i++) {
        if (provider && strcmp(provider, providers[i]))
            continue;
        n = list(providers[i], json ? &j : NULL);
        bad |= n < 0;
        total += n > 0 ? n : 0;
    }
    if (json) {
        json_close(&j, ']');
        json_close(&j, '}');
    }
    return bad ? EXIT_BAD : total ? EXIT_GOOD : EXIT_NODEVICE;
}
