#include "caffe2/utils/stream_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace caffe2 {
namespace {

// Every number of bytes around a line or two, to and from every place in a line.
TEST(StreamBytes, CopiesTheBytesAndNoOthers) {
  std::vector<char> from(512);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + 1);
  for (int64_t n : {0, 1, 15, 16, 63, 64, 65, 127, 128, 129, 200, 256}) {
    for (int64_t at = 0; at < 64; ++at) {
      const int64_t source = 64 - at;
      std::vector<char> to(512, 0), expected = to;
      std::copy_n(from.data() + source, n, expected.data() + at);
      StreamBytes(n, from.data() + source, to.data() + at);
      FinishStreams();
      ASSERT_EQ(to, expected) << n << " bytes to place " << at;
    }
  }
}

}  // namespace
}  // namespace caffe2
