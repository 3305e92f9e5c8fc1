#include "caffe2/utils/printable_text.h"

#include <gtest/gtest.h>

namespace caffe2 {
namespace {

TEST(PrintableTextTest, ReplacesWhatControlsATerminal) {
  EXPECT_EQ(PrintableText("a\x1b[2J\rb\x7f\tc\n"), "a?[2J?b?\tc\n");
  EXPECT_EQ(PrintableText(std::string("\0x", 2)), "?x");
  EXPECT_EQ(PrintableText("CSI: \xc2\x9b"
                          "2J"),
            "CSI: ?2J");
}

TEST(PrintableTextTest, LeavesOtherTextsAlone) {
  for (const char* text : {"", "plain", "\xc3\xa4\xc2\xb5 \xe2\x82\xac \xf0\x9f\x8d\x80", "\xc2"}) {
    EXPECT_EQ(PrintableText(text), text);
  }
}

}  // namespace
}  // namespace caffe2
