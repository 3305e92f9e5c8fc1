#include "distributed/launcher/shard_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

namespace caffe2 {
namespace {

std::vector<std::string> Split(const std::vector<std::string>& parts) {
  std::vector<std::string> lines;
  LineSplitter splitter([&](std::string_view line) { lines.emplace_back(line); });
  for (const std::string& part : parts) splitter.Add(part);
  splitter.Finish();
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineSplitterTest, Lines) {
  EXPECT_EQ(Split({"a\nb", "c\n\nd"}), (Lines{"a", "bc", "", "d"}));
  EXPECT_EQ(Split({"1%\r2%\rend\r", "\nnext\r\n"}), (Lines{"1%", "2%", "end", "next"}));
  EXPECT_EQ(Split({""}), Lines{});
  EXPECT_EQ(Split({std::string("\0\xff\n\0", 4)}),
            (Lines{std::string("\0\xff", 2), std::string("\0", 1)}));
}

TEST(LineSplitterTest, LongLinesComeInParts) {
  const size_t size = 2 * LineSplitter::kMaxLine + 5;
  const Lines lines = Split({std::string(size, 'x') + "\ny\n"});
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], std::string(LineSplitter::kMaxLine, 'x'));
  EXPECT_EQ(lines[2], "xxxxx");
  EXPECT_EQ(lines[3], "y");
}

TEST(ShardLineTest, PrefixesComeBack) {
  EXPECT_EQ(PrefixLine(12, "text"), "[12] text\n");
  const auto line = ParseShardLine("[12] [3] text");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->shard, 12);
  EXPECT_EQ(line->text, "[3] text");
  for (const char* other : {"", "text", "[] a", "[-1] a", "[1]a", "[99999999999] a", "[1"}) {
    EXPECT_FALSE(ParseShardLine(other).has_value()) << other;
  }
  const auto end = ShardEndLine::Parse(ShardEndLine{75, "node 1"}.Format());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->status, 75);
  EXPECT_EQ(end->host, "node 1");
  EXPECT_FALSE(ShardEndLine::Parse("doppio: ended with exit status x on a").has_value());
}

TEST(ShardLineTest, ReportsOfSavesAreTakenOffUnfinishedLines) {
  const std::string report = ShardSavesLine::Format(), mixed = "50%\r" + report;
  for (const auto& [text, rest] : {std::pair(report, ""), std::pair(mixed, "50%\r")}) {
    std::string_view line = text;
    EXPECT_TRUE(ShardSavesLine::Take(&line));
    EXPECT_EQ(line, rest);
  }
  for (const std::string& other : {std::string(), std::string("text"), report + "."}) {
    std::string_view line = other;
    EXPECT_FALSE(ShardSavesLine::Take(&line)) << other;
    EXPECT_EQ(line, other);
  }
}

std::string ReadAvailable(int fd) {
  std::string all;
  char bytes[65536];
  for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;) all.append(bytes, n);
  return all;
}

TEST(OutputWriterTest, LosesNothingWhileSomebodyReads) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string expected, got;
  std::thread reader([&] { got = ReadAvailable(ends[0]); });
  {
    OutputWriter writer(ends[1]);
    for (int i = 0; i < 50000; ++i) {
      const std::string line = "a line with the number " + std::to_string(i) + "\n";
      expected += line;
      writer.Write(line);
    }
  }
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_TRUE(got == expected);
}

TEST(OutputWriterTest, LeavesOutTextIfNobodyReads) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto begin = std::chrono::steady_clock::now();
  const std::string line = std::string(1000, 'x') + "\n";
  std::string got;
  {
    OutputWriter writer(ends[1], milliseconds(200));
    for (int i = 0; i < 5000; ++i) writer.Write(line);  // five times what it keeps
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    // Now somebody reads again.
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 200; ++i) {
      got += ReadAvailable(ends[0]);
      std::this_thread::sleep_for(milliseconds(5));
    }
    writer.Write("the end\n");
  }
  got += ReadAvailable(ends[0]);
  EXPECT_NE(got.find(" lines were left out here"), std::string::npos);
  EXPECT_EQ(got.substr(got.size() - 8), "the end\n");
  for (const int fd : ends) close(fd);
}

TEST(OutputWriterTest, ABrokenPipeIsNoError) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  signal(SIGPIPE, SIG_IGN);
  {
    OutputWriter writer(ends[1]);
    for (int i = 0; i < 10000; ++i) writer.Write(std::string(1000, 'x'));
  }
  close(ends[1]);
}

// What a terminal shows after these bytes: its lines, the last of which has no end.
Lines ShownLines(const std::string& bytes) {
  Lines lines = {""};
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\n') {
      lines.emplace_back();
    } else if (bytes.compare(i, 4, "\r\033[K") == 0) {
      lines.back().clear();
      i += 3;
    } else {
      lines.back() += bytes[i];
    }
  }
  return lines;
}

TEST(OutputWriterTest, TheBarStaysBelowTheLines) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    OutputWriter writer(ends[1]);
    writer.Write("a\n");
    writer.ShowBar("10 %");
    writer.ShowBar("20 %");
    writer.Write("b\nc\n");
    writer.ShowBar("30 %");
  }
  close(ends[1]);
  const std::string bytes = ReadAvailable(ends[0]);
  close(ends[0]);
  EXPECT_EQ(ShownLines(bytes), (Lines{"a", "b", "c", "30 %"}));
  EXPECT_EQ(ShownLines(bytes.substr(0, bytes.find("b"))).back(), "");
  EXPECT_NE(bytes.find("c\n20 %"), std::string::npos);  // drawn again at once
}

TEST(OutputWriterTest, ABarGoesWithoutATrace) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    OutputWriter writer(ends[1]);
    writer.ShowBar("10 %");
    writer.ShowBar("");
    writer.Write("a\n");
  }
  close(ends[1]);
  EXPECT_EQ(ReadAvailable(ends[0]), "\r\033[K10 %\r\033[Ka\n");
  close(ends[0]);
}

}  // namespace
}  // namespace caffe2
