/* program.c -- find and run the assembler's programs; temporary folders */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void program_folder(char *dir, size_t room)
{
    ssize_t n = readlink("/proc/self/exe", dir, room - 1);
    char *slash;

    dir[n > 0 ? n : 0] = 0;
    slash = strrchr(dir, '/');
    if (slash)
        *slash = 0;
}

static bool try_folder(const char *dir, size_t len, const char *name,
                       char path[PROGRAM_PATH])
{
    int n = snprintf(path, PROGRAM_PATH, "%.*s/%s", (int)len, dir, name);

    return len && n > 0 && n < PROGRAM_PATH && !access(path, X_OK);
}

bool program_find(const char *name, char path[PROGRAM_PATH])
{
    /* Where `make toolchain` puts it, seen from build/ and build/asan/. */
    static const char *const below[] = {
        "/toolchain/nvidia/cu13/bin",
        "/../toolchain/nvidia/cu13/bin",
    };
    const char *p = getenv("PATH");
    char own[PROGRAM_PATH], dir[PROGRAM_PATH + 64];
    size_t i, len;

    program_folder(own, sizeof own);
    for (i = 0; own[0] && i < sizeof below / sizeof below[0]; i++) {
        snprintf(dir, sizeof dir, "%s%s", own, below[i]);
        if (try_folder(dir, strlen(dir), name, path))
            return true;
    }
    for (; p && *p; p += len + (p[len] == ':')) {
        len = strcspn(p, ":");
        if (try_folder(p, len, name, path))
            return true;
    }
    return try_folder("/usr/local/cuda/bin", 19, name, path);
}

int program_run(char *const argv[], const char *to)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status, bad = posix_spawn_file_actions_init(&actions);

    if (bad)
        return failure("sass", "%s: %s", argv[0], strerror(bad));
    if (to)
        bad = posix_spawn_file_actions_addopen(
            &actions, STDOUT_FILENO, to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!bad)
        bad = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (bad)
        return failure("sass", "%s: %s", argv[0], strerror(bad));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return failure("sass", "%s: %s", argv[0], strerror(errno));
    if (WIFSIGNALED(status))
        return failure("sass", "%s: ended by signal %d", argv[0],
                       WTERMSIG(status));
    if (WEXITSTATUS(status))
        return failure("sass", "%s: exit status %d", argv[0],
                       WEXITSTATUS(status));
    return EXIT_GOOD;
}

int folder_make(char dir[PROGRAM_PATH])
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(dir, PROGRAM_PATH, "%s/fgs-XXXXXX",
                     tmp && *tmp ? tmp : "/tmp");

    if (n >= PROGRAM_PATH)
        return failure("sass", "TMPDIR: its path is too long");
    if (!mkdtemp(dir))
        return failure("sass", "%s: %s", dir, strerror(errno));
    return EXIT_GOOD;
}

int file_write(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    int bad = 0;

    if (!f)
        return failure("sass", "%s: %s", path, strerror(errno));
    if (fwrite(data, 1, size, f) != size)
        bad = errno;
    if (fclose(f) && !bad)
        bad = errno;
    return bad ? failure("sass", "%s: %s", path, strerror(bad)) : EXIT_GOOD;
}
