#include "distributed/launcher/shard_output.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "caffe2/core/logging.h"

namespace caffe2 {

namespace {

constexpr std::string_view kEndStart = "doppio: ended with exit status ";
constexpr std::string_view kEndHost = " on ";
constexpr char kClearLine[] = "\r\033[K";  // of a terminal
constexpr std::string_view kSaves = "doppio: it still writes files";

// Parses a number at the start of the text and removes it.
std::optional<int> TakeNumber(std::string_view* text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return number;
}

bool TakeStart(std::string_view start, std::string_view* text) {
  if (text->substr(0, start.size()) != start) return false;
  text->remove_prefix(start.size());
  return true;
}

}  // namespace

void LineSplitter::Add(std::string_view bytes) {
  for (const char c : bytes) {
    const bool second_half = c == '\n' && after_return_;
    after_return_ = c == '\r';
    if (second_half) continue;
    if (c == '\n' || c == '\r') {
      sink_(line_);
      line_.clear();
      continue;
    }
    line_ += c;
    if (line_.size() == kMaxLine) Finish();
  }
}

void LineSplitter::Finish() {
  if (!line_.empty()) sink_(line_);
  line_.clear();
}

struct OutputWriter::State {
  using Clock = std::chrono::steady_clock;

  State(int fd, milliseconds stall) : fd(fd), stall(stall) {}

  const int fd;
  const milliseconds stall;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> queue;
  std::string bar;
  size_t queued = 0;     // bytes in the queue
  size_t left_out = 0;   // lines
  bool writing = false;  // in write()
  bool broken = false;   // nobody reads any more
  bool stop = false;
  Clock::time_point last_progress = Clock::now();

  bool Idle() const { return queue.empty() && !writing; }
  Clock::time_point StallTime() const { return last_progress + stall; }

  void Run() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return !queue.empty() || stop; });
      if (queue.empty()) return;
      std::string text = std::move(queue.front());
      queue.pop_front();
      queued -= text.size();
      if (left_out > 0) {
        text = MakeString("doppio: ", left_out,
                          " lines were left out here: the terminal was stuck\n", text);
        left_out = 0;
      }
      writing = true;
      lock.unlock();
      WriteAll(text);
      lock.lock();
      writing = false;
      changed.notify_all();
    }
  }

  void WriteAll(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = write(fd, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      const std::lock_guard<std::mutex> lock(mutex);
      if (n < 0) {
        broken = true;
        return;
      }
      last_progress = Clock::now();
      text.remove_prefix(static_cast<size_t>(n));
    }
  }
};

OutputWriter::OutputWriter(int fd, milliseconds stall)
    : state_(std::make_shared<State>(fd, stall)) {
  std::thread([state = state_] { state->Run(); }).detach();
}

OutputWriter::~OutputWriter() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
  while (!state_->Idle() && State::Clock::now() < state_->StallTime()) {
    state_->changed.wait_until(lock, state_->StallTime());
  }
}

void OutputWriter::Write(std::string text) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  if (state_->broken) return;
  if (!state_->bar.empty()) text = kClearLine + text + state_->bar;
  if (state_->Idle()) state_->last_progress = State::Clock::now();
  while (state_->queued + text.size() > kMaxQueued && !state_->queue.empty()) {
    if (State::Clock::now() >= state_->StallTime()) {
      ++state_->left_out;
      return;
    }
    state_->changed.wait_until(lock, state_->StallTime());
    if (state_->broken) return;
  }
  state_->queued += text.size();
  state_->queue.push_back(std::move(text));
  state_->changed.notify_all();
}

void OutputWriter::WaitUntilWritten(milliseconds limit) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait_for(lock, limit, [this] { return state_->Idle() || state_->broken; });
}

void OutputWriter::ShowBar(const std::string& bar) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->broken || bar == state_->bar) return;
  // A bar for which there is no room is not worth a wait: the next one says more. Its end is.
  if (!bar.empty() && state_->queued + bar.size() > kMaxQueued) return;
  state_->bar = bar;
  if (state_->Idle()) state_->last_progress = State::Clock::now();
  state_->queue.push_back(kClearLine + bar);
  state_->queued += state_->queue.back().size();
  state_->changed.notify_all();
}

namespace {

// Never closed: another thread may be writing to the stream when its StderrThroughWriter ends.
struct StderrLines {
  std::mutex mutex;                // guards all members
  OutputWriter* writer = nullptr;  // null: `before` gets the text
  FILE* before = nullptr;
  std::string line;
};

ssize_t WriteStderrLines(void* cookie, const char* data, size_t size) {
  auto* lines = static_cast<StderrLines*>(cookie);
  const std::lock_guard<std::mutex> lock(lines->mutex);
  if (lines->writer == nullptr) return static_cast<ssize_t>(fwrite(data, 1, size, lines->before));
  lines->line.append(data, size);
  const size_t whole = lines->line.rfind('\n') + 1;
  if (whole > 0) {
    lines->writer->Write(lines->line.substr(0, whole));
    // The process may be about to abort.
    lines->writer->WaitUntilWritten(milliseconds(100));
  }
  lines->line.erase(0, whole);
  return static_cast<ssize_t>(size);
}

StderrLines& LinesOfStderr() {
  static auto* lines = new StderrLines;
  return *lines;
}

FILE* StderrLinesStream() {
  static FILE* stream = [] {
    FILE* made = fopencookie(&LinesOfStderr(), "w", {nullptr, WriteStderrLines, nullptr, nullptr});
    if (made != nullptr) setvbuf(made, nullptr, _IONBF, 0);
    return made;
  }();
  return stream;
}

}  // namespace

StderrThroughWriter::StderrThroughWriter(OutputWriter* writer) {
  FILE* stream = StderrLinesStream();
  if (stream == nullptr) return;  // stderr stays as it is
  StderrLines& lines = LinesOfStderr();
  const std::lock_guard<std::mutex> lock(lines.mutex);
  lines.writer = writer;
  lines.before = std::exchange(stderr, stream);
}

StderrThroughWriter::~StderrThroughWriter() {
  StderrLines& lines = LinesOfStderr();
  const std::lock_guard<std::mutex> lock(lines.mutex);
  if (lines.writer == nullptr) return;
  stderr = lines.before;
  if (!lines.line.empty()) lines.writer->Write(std::exchange(lines.line, "") + "\n");
  lines.writer = nullptr;
}

std::string PrefixLine(int shard, std::string_view line) {
  return MakeString("[", shard, "] ", line, "\n");
}

std::optional<ShardLine> ParseShardLine(std::string_view line) {
  if (!TakeStart("[", &line)) return std::nullopt;
  const auto shard = TakeNumber(&line);
  if (!shard || !TakeStart("] ", &line)) return std::nullopt;
  return ShardLine{*shard, line};
}

std::string ShardEndLine::Format() const { return MakeString(kEndStart, status, kEndHost, host); }

std::string ShardSavesLine::Format() { return std::string(kSaves); }

bool ShardSavesLine::Take(std::string_view* line) {
  if (!line->ends_with(kSaves)) return false;
  line->remove_suffix(kSaves.size());
  return true;
}

std::optional<ShardEndLine> ShardEndLine::Parse(std::string_view text) {
  if (!TakeStart(kEndStart, &text)) return std::nullopt;
  const auto status = TakeNumber(&text);
  if (!status || !TakeStart(kEndHost, &text)) return std::nullopt;
  return ShardEndLine{*status, std::string(text)};
}

}  // namespace caffe2
