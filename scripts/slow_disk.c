// A library for LD_PRELOAD: a disk that is slow, hangs or fails (scripts/soak.py). Three variables
// name files, which count while they exist:
//   SLOW_READS      each pread sleeps for the number of milliseconds in it, at most while it exists
//   SLOW_WRITES     so do each write to a file and each fsync
//   FAILING_FLUSHES each fsync fails with EIO
// If SLOW_PATHS is set, only writes and flushes of files whose path contains this text are slow.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void Delay(const char* variable) {
  const char* path = getenv(variable);
  FILE* file = path ? fopen(path, "r") : NULL;
  int ms = 0;
  if (file == NULL) return;
  if (fscanf(file, "%d", &ms) != 1) ms = 0;
  fclose(file);
  for (; ms > 0 && access(path, F_OK) == 0; ms -= 10) usleep((useconds_t)(ms < 10 ? ms : 10) * 1000);
}

static int IsSlowPath(int fd) {
  const char* part = getenv("SLOW_PATHS");
  char link[64], path[4096];
  ssize_t bytes;
  if (part == NULL) return 1;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  bytes = readlink(link, path, sizeof(path) - 1);
  if (bytes < 0) return 0;
  path[bytes] = '\0';
  return strstr(path, part) != NULL;
}

ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset) {
  static ssize_t (*next)(int, void*, size_t, off_t) = NULL;
  if (next == NULL) next = dlsym(RTLD_NEXT, "pread");
  Delay("SLOW_READS");
  return next(fd, buffer, bytes, offset);
}

ssize_t pread64(int fd, void* buffer, size_t bytes, off64_t offset) {
  static ssize_t (*next)(int, void*, size_t, off64_t) = NULL;
  if (next == NULL) next = dlsym(RTLD_NEXT, "pread64");
  Delay("SLOW_READS");
  return next(fd, buffer, bytes, offset);
}

ssize_t write(int fd, const void* buffer, size_t bytes) {
  static ssize_t (*next)(int, const void*, size_t) = NULL;
  struct stat status;
  if (next == NULL) next = dlsym(RTLD_NEXT, "write");
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && IsSlowPath(fd)) {
    Delay("SLOW_WRITES");
  }
  return next(fd, buffer, bytes);
}

int fsync(int fd) {
  static int (*next)(int) = NULL;
  const char* failing = getenv("FAILING_FLUSHES");
  if (next == NULL) next = dlsym(RTLD_NEXT, "fsync");
  if (IsSlowPath(fd)) Delay("SLOW_WRITES");
  if (failing != NULL && access(failing, F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  return next(fd);
}
