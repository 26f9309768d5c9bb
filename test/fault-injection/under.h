// Shared code of both shims: the real calls, and whether an open file is in the watched directory.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/** The C library's definition of a call, resolved at its first use, which may precede all constructors. */
#define REAL(name)                                                              \
  ({                                                                            \
    static __typeof__(&name) real_##name;                                       \
    if (real_##name == NULL) real_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
    real_##name;                                                                \
  })

static char watched_dir[PATH_MAX];
static size_t watched_length;

/** Stores the directory from an environment variable; returns 0 if there is none, and the shim then passes all calls on. */
static int watch_directory(const char *variable) {
  const char *name = getenv(variable);
  if (name == NULL || realpath(name, watched_dir) == NULL) return 0;
  watched_length = strlen(watched_dir);
  return 1;
}

static int ends_with(const char *text, const char *end) {
  size_t length = strlen(text), wanted = strlen(end);
  return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/**
 * Whether an open file is in the directory, by the kernel's name of it: the runtime opens files without the C library, so the
 * shim cannot intercept open. SQLite's -shm index is excluded, because SQLite rebuilds it after a crash.
 */
static int path_of(int fd, char path[PATH_MAX]) {
  char link[40];
  if (watched_length == 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < (ssize_t)watched_length) return 0;
  path[length] = 0;
  if (strncmp(path, watched_dir, watched_length) != 0) return 0;
  if (path[watched_length] != '/' && path[watched_length] != 0) return 0;
  return !ends_with(path, " (deleted)") && !ends_with(path, "-shm");
}
