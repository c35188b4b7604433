/* plan_list.c -- the words of plan files, listed from their rows */
#include "plan_words.h"

#include <string.h>

/* How a kind of value is written. */
static const char *kind_text(const struct plan_word *w)
{
    static const char *const text[] = {
        [PLAN_FLAG] = "",
        [PLAN_NUMBER] = "N",
        [PLAN_SIGNED] = "[-]N",
        [PLAN_TEXT] = "NAME",
        [PLAN_ENGINE] = "NAME",
        [PLAN_ELEMENT] = "NAME",
        [PLAN_DIM] = "N[xN[xN]]",
        [PLAN_TILES] = "FIRST STEP COUNT",
        [PLAN_TABLE] = "N,N...|FILE",
        [PLAN_WORD] = "",
        [PLAN_LIST] = "",
    };

    return w->words ? w->words : text[w->kind];
}

static void list_roles(void)
{
    static const struct {
        const char *word, *text;
    } roles[] = {
#define PLAN_ROLE(id, word, reads, text) {word, text},
#include "plan.def"
    };
    size_t i;

    puts("stage NAME ROLE ...");
    for (i = 0; i < sizeof roles / sizeof roles[0]; i++)
        printf("    %-10s  %s\n", roles[i].word, roles[i].text);
}

static void list_options(void)
{
    const struct plan_word *w;
    const char *said = "";

    for (w = plan_words; w->scope; w++) {
        if (strcmp(said, w->said))
            printf("%s ...\n", said = w->said);
        printf("    %-10s  %s\n", w->word, w->text);
        if (*kind_text(w) || w->whose != PLAN_OF_ANY)
            printf("    %-10s  %s%s%s\n", "", kind_text(w),
                   *kind_text(w) && w->whose != PLAN_OF_ANY ? "; " : "",
                   w->whose == PLAN_OF_ANY       ? ""
                   : w->whose == PLAN_OF_LIBRARY ? "of the library's kernels"
                                                 : "of kernels of yours");
    }
}

static void list_args(void)
{
    static const char *const behind[] = {
        [PLAN_BEHIND_NONE] = "",
        [PLAN_BEHIND_BUFFER] = " BUFFER",
        [PLAN_BEHIND_NUMBER] = " N",
        [PLAN_BEHIND_FLOAT] = " X",
    };
    static const char *const text[] = {
#define PLAN_ARG(id, word, behind, bytes, text) text,
#include "plan.def"
    };
    size_t i;

    puts("arg ...");
    for (i = 0; i < sizeof text / sizeof text[0]; i++) {
        char word[32];

        snprintf(word, sizeof word, "%s%s", plan_args[i].word,
                 behind[plan_args[i].behind]);
        printf("    %-14s  %u bytes: %s\n", word, (unsigned)plan_args[i].bytes,
               text[i]);
    }
}

void plan_words_list(void)
{
    list_roles();
    list_options();
    list_args();
}
