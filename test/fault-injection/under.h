// What both shims share: the real calls, and which open file is one of the directory they watch.
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

/** The next definition of a call: the C library's. Looked up at its first use, which may come before any constructor. */
#define REAL(name)                                                              \
  ({                                                                            \
    static __typeof__(&name) real_##name;                                       \
    if (real_##name == NULL) real_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
    real_##name;                                                                \
  })

static char watched_dir[PATH_MAX];
static size_t watched_length;

/** Remembers the directory named by an environment variable; 0 when there is none, and the shim lets everything pass. */
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
 * Whether an open file lies in the directory, by the name the kernel has for it: the runtime opens files without the C
 * library, so opening cannot be watched. The index of SQLite's log is left out: it is made anew after a crash.
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
