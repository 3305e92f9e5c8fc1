#include "caffe2/utils/status_bar.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/core/scoped_variable.h"

namespace caffe2 {
namespace {

TEST(StatusBarTest, BarFillsInProportion) {
  EXPECT_EQ(BarText(0, 10, 5), "[     ]");
  EXPECT_EQ(BarText(5, 10, 4), "[##  ]");
  EXPECT_EQ(BarText(10, 10, 4), "[####]");
  EXPECT_EQ(BarText(20, 10, 4), "[####]");
  EXPECT_EQ(BarText(0, 0, 2), "[##]");
}

StatusBar Bar() {
  return {.done = 1,
          .total = 2,
          .fields = {{"epoch 3", "epoch 3", 1},
                     {"2.4 %", "2.4 %", 0},
                     {"ETA 1:02", "ETA 1:02", 3},
                     {"loss 2.1034", "loss 2.103", 2}}};
}

TEST(StatusBarTest, WideTerminalsShowAllInFull) {
  EXPECT_EQ(Bar().Fit(200), "epoch 3 [##########          ] 2.4 %, ETA 1:02, loss 2.1034");
  EXPECT_EQ(Bar().Text(), "epoch 3, 2.4 %, ETA 1:02, loss 2.1034");
}

TEST(StatusBarTest, TheBarTakesTheRoomThatIsLeft) {
  EXPECT_EQ(Bar().Fit(46), "epoch 3 [###    ] 2.4 %, ETA 1:02, loss 2.1034");
  EXPECT_EQ(Bar().Fit(44), "epoch 3 [##   ] 2.4 %, ETA 1:02, loss 2.1034");
}

TEST(StatusBarTest, FieldsGetBriefAndThenGo) {
  EXPECT_EQ(Bar().Fit(43), "epoch 3 [##   ] 2.4 %, ETA 1:02, loss 2.103");
  EXPECT_EQ(Bar().Fit(42), "epoch 3, 2.4 %, ETA 1:02, loss 2.103");
  EXPECT_EQ(Bar().Fit(36), "epoch 3, 2.4 %, ETA 1:02, loss 2.103");
  EXPECT_EQ(Bar().Fit(35), "epoch 3 [###    ] 2.4 %, loss 2.103");
  EXPECT_EQ(Bar().Fit(26), "epoch 3, 2.4 %, loss 2.103");
  EXPECT_EQ(Bar().Fit(14), "epoch 3, 2.4 %");
  EXPECT_EQ(Bar().Fit(13), "2.4 %");
  EXPECT_EQ(Bar().Fit(4), "2.4 ");
  EXPECT_EQ(Bar().Fit(0), "");
}

TEST(StatusBarTest, NoLineIsWiderThanTheTerminal) {
  for (size_t width = 0; width < 100; ++width) EXPECT_LE(Bar().Fit(width).size(), width);
  EXPECT_EQ(StatusBar{}.Fit(80), "");
}

TEST(StatusBarTest, ALauncherReadsWhatAShardWrites) {
  const auto bar = StatusBar::Decode(Bar().Encode());
  ASSERT_TRUE(bar.has_value());
  for (const size_t width : {30, 43, 60}) EXPECT_EQ(bar->Fit(width), Bar().Fit(width));
  EXPECT_TRUE(bar->in_log);
  StatusBar between = Bar();
  between.in_log = false;
  EXPECT_FALSE(StatusBar::Decode(between.Encode()).value().in_log);
  const auto empty = StatusBar::Decode(StatusBar{}.Encode());
  ASSERT_TRUE(empty.has_value());
  EXPECT_TRUE(empty->fields.empty());
}

TEST(StatusBarTest, OtherLinesAreNoBars) {
  const std::string line = Bar().Encode();
  std::string other_name = line;
  other_name[1] = 'D';
  for (const std::string& text : {std::string(), std::string("Finished iteration 1/2"),
                                  line.substr(1), other_name, line + "x", line + "\x1f",
                                  std::string("\x1e"
                                              "doppio-bar\x1f"
                                              "1"),
                                  std::string("\x1e"
                                              "doppio-bar\x1f"
                                              "1\x1f"
                                              "99999999999999999999")}) {
    EXPECT_FALSE(StatusBar::Decode(text).has_value()) << text;
  }
}

TEST(StatusBarTest, TextsCannotMoveTheCursor) {
  const auto bar = StatusBar::Decode(StatusBar{.fields = {{"a\033[2Jb", "a\rb"}}}.Encode());
  ASSERT_TRUE(bar.has_value());
  EXPECT_EQ(bar->fields[0].text, "a[2Jb");
  EXPECT_EQ(bar->fields[0].brief, "ab");
}

TEST(StatusBarTest, OnlyThePipeOfTheLauncherCounts) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_NE(StreamIdentity(ends[0]), "");
  EXPECT_NE(StreamIdentity(ends[0]), StreamIdentity(STDERR_FILENO));
  {
    const testing::ScopedVariable variable(kBarStreamVariable, StreamIdentity(STDERR_FILENO));
    EXPECT_TRUE(LauncherShowsBar());
  }
  {
    const testing::ScopedVariable variable(kBarStreamVariable, StreamIdentity(ends[0]));
    EXPECT_FALSE(LauncherShowsBar());
  }
  EXPECT_FALSE(LauncherShowsBar());
  for (const int end : ends) close(end);
  EXPECT_EQ(StreamIdentity(ends[0]), "");
}

}  // namespace
}  // namespace caffe2
