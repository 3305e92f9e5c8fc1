// The output of shards: splits it into lines, and shows each line with the number of its shard.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "distributed/store_handler.h"

namespace caffe2 {

// Splits a stream of any bytes into lines. "\n", "\r\n" and "\r" (progress bars) end a line. A line
// longer than kMaxLine is passed on in parts of that size. Not thread-safe.
class LineSplitter {
 public:
  static constexpr size_t kMaxLine = size_t{64} << 10;
  using Sink = std::function<void(std::string_view line)>;  // without the end of the line

  explicit LineSplitter(Sink sink) : sink_(std::move(sink)) {}
  void Add(std::string_view bytes);
  // Passes on a last line that has no end.
  void Finish();

 private:
  Sink sink_;
  std::string line_;
  bool after_return_ = false;  // the last byte was "\r"
};

// Writes to a file descriptor in a thread of its own, so that a slow terminal does not hold up the
// thread that reads from the shards. While the terminal takes bytes, Write() waits for it and
// nothing is lost. After it has taken nothing for kStall, text is left out until it takes bytes
// again; a line then says how much. Thread-safe. (caffe2/utils/stderr_stream.h has no queue: a
// trainer prints little, and drops text after a second.)
class OutputWriter {
 public:
  static constexpr milliseconds kStall{5000};
  static constexpr size_t kMaxQueued = size_t{1} << 20;  // bytes

  explicit OutputWriter(int fd, milliseconds stall = kStall);
  // Waits until all text is written or the descriptor has taken nothing for the stall time.
  ~OutputWriter();
  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  // Queues whole lines.
  void Write(std::string text);
  // Waits until all text is written, at most for `limit`.
  void WaitUntilWritten(milliseconds limit);
  // Shows a text without an end of line below all lines, in place of the last such text; "": none.
  // For terminals only.
  void ShowBar(const std::string& bar);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread, which outlives this if it is stuck
};

// While it exists, whole lines that this process writes to the C stream `stderr`, as its log, go
// through the writer, so that they do not land in the row of its bar. One at a time.
class StderrThroughWriter {
 public:
  explicit StderrThroughWriter(OutputWriter* writer);
  // Writes the rest of an unfinished line.
  ~StderrThroughWriter();
  StderrThroughWriter(const StderrThroughWriter&) = delete;
  StderrThroughWriter& operator=(const StderrThroughWriter&) = delete;
};

// "[2] line\n".
std::string PrefixLine(int shard, std::string_view line);
// A line with the prefix of a shard; nullopt for other lines.
struct ShardLine {
  int shard = 0;
  std::string_view text;
};
std::optional<ShardLine> ParseShardLine(std::string_view line);

// The line with which a supervisor reports the end of its shard, if another launcher (mpirun, srun)
// is between it and `doppio run`.
struct ShardEndLine {
  int status = 0;
  std::string host;

  std::string Format() const;
  static std::optional<ShardEndLine> Parse(std::string_view text);
};

// The line with which a supervisor tells `doppio run` that its shard, which was told to end, still
// writes files.
struct ShardSavesLine {
  static std::string Format();
  // Removes it from the end of a line, which may begin with an unfinished line of the shard.
  static bool Take(std::string_view* line);
};

}  // namespace caffe2
