// A library for LD_PRELOAD: while the file that SLOW_READS names exists, each pread sleeps for the
// number of milliseconds in it, like on a disk that is slow or hangs (scripts/soak.py).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static void Delay(void) {
  const char* path = getenv("SLOW_READS");
  FILE* file = path ? fopen(path, "r") : NULL;
  int ms = 0;
  if (file == NULL) return;
  if (fscanf(file, "%d", &ms) == 1) usleep((useconds_t)ms * 1000);
  fclose(file);
}

ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset) {
  static ssize_t (*next)(int, void*, size_t, off_t) = NULL;
  if (next == NULL) next = dlsym(RTLD_NEXT, "pread");
  Delay();
  return next(fd, buffer, bytes, offset);
}

ssize_t pread64(int fd, void* buffer, size_t bytes, off64_t offset) {
  static ssize_t (*next)(int, void*, size_t, off64_t) = NULL;
  if (next == NULL) next = dlsym(RTLD_NEXT, "pread64");
  Delay();
  return next(fd, buffer, bytes, offset);
}
