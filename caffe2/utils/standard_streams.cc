#include "caffe2/utils/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace caffe2 {

void OpenStandardStreams() {
  // open() takes the lowest number that is free.
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

}  // namespace caffe2
