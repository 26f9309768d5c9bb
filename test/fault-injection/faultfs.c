// Injects disk faults: the n-th write or sync of a directory's files fails, syncs are slow, or the space runs out.
//
// FAULTFS_DIR: the directory. FAULTFS_MATCH: a part of the affected paths (default: all paths).
// FAULTFS_FAIL_WRITE_AT, FAULTFS_FAIL_SYNC_AT: the call that fails, counted from 1; FAULTFS_TIMES=on: all later ones fail too.
// FAULTFS_ERRNO: EIO (the default), ENOSPC or EDQUOT. FAULTFS_SLOW_SYNC_MS: how long each sync takes.
// FAULTFS_BUDGET: bytes by which files may grow before ENOSPC, over the life of the process.
// FAULTFS_TYPE: the file system type that statfs returns for the directory, for example 0x6969 for NFS.
// FAULTFS_BOARD: a file of eight 64-bit numbers that the test and the shim share: writes, syncs, injected faults, bytes grown,
// and a switch that the test sets: 1 while faults are enabled. Without the file they always are. The counts are always updated.
// The runtime writes by direct system calls, which a library cannot intercept: only SQLite's writes, and all syncs, can fail.
#include "under.h"
#include <sys/mman.h>
#include <sys/statfs.h>
#include <time.h>

enum { WRITES, SYNCS, STRUCK, GROWN, ARMED, NUMBERS = 8 };
static uint64_t own_board[NUMBERS] = {[ARMED] = 1};
static volatile uint64_t *board = own_board;
static uint64_t fail_write_at, fail_sync_at, budget;
static int is_repeated, refusal = EIO;
static long slow_ms;
static const char *match;

static uint64_t number_of(const char *variable) {
  const char *text = getenv(variable);
  return text == NULL ? 0 : strtoull(text, NULL, 0);
}

__attribute__((constructor)) static void begin(void) {
  if (!watch_directory("FAULTFS_DIR")) return;
  const char *name = getenv("FAULTFS_ERRNO"), *times = getenv("FAULTFS_TIMES"), *path = getenv("FAULTFS_BOARD");
  if (name != NULL) refusal = strcmp(name, "ENOSPC") == 0 ? ENOSPC : strcmp(name, "EDQUOT") == 0 ? EDQUOT : EIO;
  is_repeated = times != NULL && strcmp(times, "on") == 0;
  fail_write_at = number_of("FAULTFS_FAIL_WRITE_AT");
  fail_sync_at = number_of("FAULTFS_FAIL_SYNC_AT");
  slow_ms = (long)number_of("FAULTFS_SLOW_SYNC_MS");
  budget = number_of("FAULTFS_BUDGET");
  match = getenv("FAULTFS_MATCH");
  if (path == NULL) return;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  void *shared = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof own_board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) abort();
  close(fd);
  board = shared;
}

static int is_meant(int fd, struct stat *about) {
  char path[PATH_MAX];
  if (watched_length == 0 || fstat(fd, about) != 0) return 0;
  if (!S_ISREG(about->st_mode) && !S_ISDIR(about->st_mode)) return 0;
  return path_of(fd, path) && (match == NULL || strstr(path, match) != NULL);
}

/** Counts a call and returns whether it must fail. */
static int strikes(int kind, uint64_t at) {
  uint64_t n = __sync_add_and_fetch(&board[kind], 1);
  if (at == 0 || !board[ARMED] || (is_repeated ? n < at : n != at)) return 0;
  __sync_add_and_fetch(&board[STRUCK], 1);
  return 1;
}

/** Fails a write if a fault applies; `end` is its end offset in the file, negative for "from the descriptor's position". */
static int refuses(int fd, size_t size, off_t end) {
  struct stat about;
  if (!is_meant(fd, &about)) return 0;
  if (strikes(WRITES, fail_write_at)) {
    errno = refusal;
    return 1;
  }
  if (budget == 0 || !board[ARMED]) return 0;
  if (end < 0) end = (fcntl(fd, F_GETFL) & O_APPEND ? about.st_size : lseek(fd, 0, SEEK_CUR)) + (off_t)size;
  if (end <= about.st_size) return 0;
  uint64_t growth = (uint64_t)(end - about.st_size);
  if (__sync_add_and_fetch(&board[GROWN], growth) <= budget) return 0;
  __sync_sub_and_fetch(&board[GROWN], growth);
  __sync_add_and_fetch(&board[STRUCK], 1);
  errno = ENOSPC;
  return 1;
}

/** A sync that is slow, fails, or both; the data before it may be on disk nevertheless. */
static int refuses_sync(int fd) {
  struct stat about;
  if (!is_meant(fd, &about)) return 0;
  int is_refused = strikes(SYNCS, fail_sync_at);
  if (slow_ms > 0 && board[ARMED]) {
    struct timespec wait = {slow_ms / 1000, (slow_ms % 1000) * 1000000};
    while (nanosleep(&wait, &wait) != 0 && errno == EINTR) continue;
  }
  if (is_refused) errno = refusal;
  return is_refused;
}

static size_t sum_of(const struct iovec *parts, int count) {
  size_t sum = 0;
  for (int n = 0; n < count; n += 1) sum += parts[n].iov_len;
  return sum;
}

ssize_t write(int fd, const void *bytes, size_t size) { return refuses(fd, size, -1) ? -1 : REAL(write)(fd, bytes, size); }
ssize_t writev(int fd, const struct iovec *parts, int count) { return refuses(fd, sum_of(parts, count), -1) ? -1 : REAL(writev)(fd, parts, count); }
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return refuses(fd, size, at + (off_t)size) ? -1 : REAL(pwrite)(fd, bytes, size, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) { return refuses(fd, size, at + (off_t)size) ? -1 : REAL(pwrite64)(fd, bytes, size, at); }

/** The result of statfs for a path, with the configured file system type. */
static int with_type(int result, uint64_t type, __typeof__(((struct statfs *)0)->f_type) *into) {
  if (result == 0 && watched_length > 0 && type != 0) *into = (__typeof__(*into))type;
  return result;
}
int statfs(const char *path, struct statfs *about) { return with_type(REAL(statfs)(path, about), number_of("FAULTFS_TYPE"), &about->f_type); }
int statfs64(const char *path, struct statfs64 *about) { return with_type(REAL(statfs64)(path, about), number_of("FAULTFS_TYPE"), &about->f_type); }
int fsync(int fd) { return refuses_sync(fd) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return refuses_sync(fd) ? -1 : REAL(fdatasync)(fd); }
