// Simulates a power cut: keeps a copy of a directory that contains only synced data.
//
// POWERFS_DIR: the directory. POWERFS_COPY: an empty directory for the copy. POWERFS_DEAF: a part of the paths whose syncs have
// no effect (to prove that a test detects it). POWERFS_SYNC_MS: the duration of a sync before its bytes count. Files that exist
// at the start count as synced.
//
// f<id>: the bytes of a file as of its last fsync or fdatasync. d<id>: the names in a directory as of its last fsync:
// lines of type, id, inode, mode and name; d0 is the directory itself. After the cut, an unsynced name is missing, a file with a
// synced name but unsynced bytes is empty, and an unsynced rename or removal has no effect.
// begun: exists once the copy of the initial files is complete.
// Real file systems keep more than that, never less. Not watched: memory maps (only SQLite's -shm) and links.
#include "under.h"
#include <dirent.h>
#include <time.h>

typedef struct { off_t from, to; } span;
typedef struct node {
  struct node *next;
  ino_t inode;
  long id;
  /** Never synced, or written in more places than `spans` holds: the next sync copies the whole file. */
  int is_whole;
  /** The shortest length to which it was truncated since the last sync; -1 for never. */
  off_t cut_to;
  size_t count;
  span spans[256];
} node;

#define BUCKETS 4096
static node *nodes[BUCKETS];
static long next_id;
static dev_t device;
static char copy_dir[PATH_MAX];
static const char *deaf;
static long sync_ms;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static node *find_node(ino_t inode) {
  node *one = nodes[inode % BUCKETS];
  while (one != NULL && one->inode != inode) one = one->next;
  return one;
}

/** Whether writes are intercepted: SQLite uses the C library. Other files are copied whole with each sync. */
static int is_watched(const char *path) { return ends_with(path, ".db") || ends_with(path, "-wal") || ends_with(path, "-journal"); }

static node *add_node(ino_t inode) {
  node *one = calloc(1, sizeof *one);
  if (one == NULL) abort();
  *one = (node){.next = nodes[inode % BUCKETS], .inode = inode, .id = next_id++, .is_whole = 1, .cut_to = -1};
  return nodes[inode % BUCKETS] = one;
}

/** Removes the node of a deleted file, because its inode number may be reused. */
static void forget(ino_t inode) {
  node **at = &nodes[inode % BUCKETS];
  while (*at != NULL && (*at)->inode != inode) at = &(*at)->next;
  if (*at == NULL) return;
  node *gone = *at;
  *at = gone->next;
  free(gone);
}

/** The node of an open file in the directory; NULL for any other file. */
static node *node_of(int fd, struct stat *about, char path[PATH_MAX]) {
  if (watched_length == 0 || fstat(fd, about) != 0 || about->st_dev != device) return NULL;
  if (!S_ISREG(about->st_mode) && !S_ISDIR(about->st_mode)) return NULL;
  if (!path_of(fd, path)) return NULL;
  node *one = find_node(about->st_ino);
  return one != NULL ? one : add_node(about->st_ino);
}

static void note_span(node *one, off_t from, off_t to) {
  if (one->is_whole) return;
  if (one->count > 0 && one->spans[one->count - 1].to == from) {
    one->spans[one->count - 1].to = to;
  } else if (one->count == sizeof one->spans / sizeof one->spans[0]) {
    one->is_whole = 1;
  } else {
    one->spans[one->count++] = (span){from, to};
  }
}

static void copy_span(int from, int to, off_t start, off_t end) {
  static char piece[1 << 16];
  while (start < end) {
    size_t want = (size_t)(end - start) < sizeof piece ? (size_t)(end - start) : sizeof piece;
    ssize_t size = pread(from, piece, want, start);
    if (size <= 0) return;
    if (REAL(pwrite)(to, piece, (size_t)size, start) != size) abort();
    start += size;
  }
}

static void sync_file(node *one, int fd, const char *name, off_t size) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/f%ld", copy_dir, one->id);
  int copy = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (copy < 0) abort();
  // Reads through a separate descriptor, because the caller's may be write-only.
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  int source = open(link, O_RDONLY | O_CLOEXEC);
  if (source < 0) abort();
  if (one->cut_to >= 0 && REAL(ftruncate)(copy, one->cut_to) != 0) abort();
  if (one->is_whole) copy_span(source, copy, 0, size);
  for (size_t n = 0; !one->is_whole && n < one->count; n += 1)
    copy_span(source, copy, one->spans[n].from, one->spans[n].to < size ? one->spans[n].to : size);
  if (REAL(ftruncate)(copy, size) != 0) abort();
  close(source);
  close(copy);
  one->is_whole = !is_watched(name);
  one->count = 0;
  one->cut_to = -1;
}

/** Writes the list of a directory's names to a temporary file and renames it, so that a kill leaves the old or the new list. */
static void sync_names(node *one, int fd) {
  char path[PATH_MAX + 32], aside[PATH_MAX + 32], link[40];
  snprintf(path, sizeof path, "%s/d%ld", copy_dir, one->id);
  snprintf(aside, sizeof aside, "%s/aside", copy_dir);
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  DIR *names = opendir(link);
  FILE *list = fopen(aside, "w");
  if (names == NULL || list == NULL) abort();
  for (struct dirent *entry = readdir(names); entry != NULL; entry = readdir(names)) {
    struct stat about;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || ends_with(entry->d_name, "-shm")) continue;
    if (fstatat(dirfd(names), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) continue;
    node *child = find_node(about.st_ino);
    if (child == NULL) child = add_node(about.st_ino);
    fprintf(list, "%c %ld %lu %o %s\n", S_ISDIR(about.st_mode) ? 'd' : 'f', child->id, (unsigned long)about.st_ino,
            about.st_mode & 07777, entry->d_name);
  }
  closedir(names);
  fclose(list);
  if (REAL(rename)(aside, path) != 0) abort();
}

static void sync_any(int fd) {
  struct stat about;
  char path[PATH_MAX];
  struct timespec wait = {sync_ms / 1000, (sync_ms % 1000) * 1000000};
  if (sync_ms > 0) nanosleep(&wait, NULL);
  pthread_mutex_lock(&lock);
  node *one = node_of(fd, &about, path);
  if (one != NULL && (deaf == NULL || strstr(path, deaf) == NULL)) {
    if (S_ISDIR(about.st_mode)) sync_names(one, fd);
    else sync_file(one, fd, path, about.st_size);
  }
  pthread_mutex_unlock(&lock);
}

/** Copies all files that exist at the start. */
static void sync_tree(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  struct stat about;
  char named[PATH_MAX];
  node *one = node_of(fd, &about, named);
  if (one != NULL && S_ISREG(about.st_mode)) sync_file(one, fd, named, about.st_size);
  if (one != NULL && S_ISDIR(about.st_mode)) {
    sync_names(one, fd);
    DIR *names = opendir(path);
    for (struct dirent *entry = readdir(names); entry != NULL; entry = readdir(names)) {
      if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
      char below[PATH_MAX];
      if (snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below) sync_tree(below);
    }
    closedir(names);
  }
  close(fd);
}

__attribute__((constructor)) static void begin(void) {
  const char *copy = getenv("POWERFS_COPY");
  struct stat about;
  if (copy == NULL || realpath(copy, copy_dir) == NULL) return;
  char begun[PATH_MAX + 32];
  snprintf(begun, sizeof begun, "%s/begun", copy_dir);
  // A child process of the service inherits the settings and must not copy unsynced files over the copy.
  if (access(begun, F_OK) == 0 || !watch_directory("POWERFS_DIR")) return;
  if (stat(watched_dir, &about) != 0) abort();
  device = about.st_dev;
  sync_tree(watched_dir);
  // Until here the process has changed nothing; a copy without this file is incomplete.
  int mark = open(begun, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (mark < 0) abort();
  close(mark);
  // Set only now, so that a control run has the same initial copy.
  deaf = getenv("POWERFS_DEAF");
  const char *takes = getenv("POWERFS_SYNC_MS");
  sync_ms = takes == NULL ? 0 : strtol(takes, NULL, 10);
}

static void wrote(int fd, off_t end, ssize_t bytes) {
  struct stat about;
  char path[PATH_MAX];
  if (bytes <= 0) return;
  pthread_mutex_lock(&lock);
  node *one = node_of(fd, &about, path);
  if (one != NULL) {
    if (end < 0) end = lseek(fd, 0, SEEK_CUR);
    note_span(one, end - bytes, end);
  }
  pthread_mutex_unlock(&lock);
}

static void cut(int fd, off_t size) {
  struct stat about;
  char path[PATH_MAX];
  pthread_mutex_lock(&lock);
  node *one = node_of(fd, &about, path);
  if (one != NULL && (one->cut_to < 0 || size < one->cut_to)) one->cut_to = size;
  pthread_mutex_unlock(&lock);
}

/** Removes a name with the call, and the node if it was the file's last name. */
#define LOSING(directory, name, flags, call)                                              \
  struct stat lost;                                                                       \
  pthread_mutex_lock(&lock);                                                              \
  int was_there = watched_length > 0 && fstatat(directory, name, &lost, AT_SYMLINK_NOFOLLOW) == 0 && lost.st_dev == device; \
  int result = call;                                                                      \
  int fault = errno;                                                                      \
  if (result == 0 && was_there && (S_ISDIR(lost.st_mode) || lost.st_nlink == 1)) forget(lost.st_ino); \
  pthread_mutex_unlock(&lock);                                                            \
  errno = fault;                                                                          \
  return result;

int unlink(const char *name) { LOSING(AT_FDCWD, name, 0, REAL(unlink)(name)) }
int unlinkat(int at, const char *name, int flags) { LOSING(at, name, flags, REAL(unlinkat)(at, name, flags)) }
int rmdir(const char *name) { LOSING(AT_FDCWD, name, 0, REAL(rmdir)(name)) }
int rename(const char *from, const char *to) { LOSING(AT_FDCWD, to, 0, REAL(rename)(from, to)) }
int renameat(int a, const char *from, int b, const char *to) { LOSING(b, to, 0, REAL(renameat)(a, from, b, to)) }

#define KEEPING_ERRNO(type, call, after) \
  type result = call;                    \
  int fault = errno;                     \
  after;                                 \
  errno = fault;                         \
  return result;

ssize_t write(int fd, const void *bytes, size_t size) { KEEPING_ERRNO(ssize_t, REAL(write)(fd, bytes, size), wrote(fd, -1, result)) }
ssize_t writev(int fd, const struct iovec *parts, int count) { KEEPING_ERRNO(ssize_t, REAL(writev)(fd, parts, count), wrote(fd, -1, result)) }
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { KEEPING_ERRNO(ssize_t, REAL(pwrite)(fd, bytes, size, at), wrote(fd, at + result, result)) }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) { KEEPING_ERRNO(ssize_t, REAL(pwrite64)(fd, bytes, size, at), wrote(fd, at + result, result)) }
int ftruncate(int fd, off_t size) { KEEPING_ERRNO(int, REAL(ftruncate)(fd, size), if (result == 0) cut(fd, size)) }
int ftruncate64(int fd, off64_t size) { KEEPING_ERRNO(int, REAL(ftruncate64)(fd, size), if (result == 0) cut(fd, size)) }
/** Skips the real sync: only the copy counts, and tests stay fast. */
int fsync(int fd) { sync_any(fd); return 0; }
int fdatasync(int fd) { sync_any(fd); return 0; }
