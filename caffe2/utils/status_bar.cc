#include "caffe2/utils/status_bar.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "caffe2/core/logging.h"

namespace caffe2 {

namespace {

constexpr size_t kMinBar = 5, kMaxBar = 20;  // characters between the brackets
constexpr size_t kUsualWidth = 80;
// No program writes these by accident.
constexpr char kRecordStart = '\x1e', kSeparator = '\x1f';
constexpr char kRecordName[] = "doppio-bar";
constexpr char kNotInLog[] = "not in the log";  // the last part, if it is there

using Fields = std::vector<const StatusBar::Field*>;

std::string Joined(const Fields& fields, bool brief, const std::string& after_first) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line += i == 1 ? after_first : ", ";
    line += brief ? fields[i]->brief : fields[i]->text;
  }
  return line;
}

// The line with the widest bar for which there is room; nullopt if there is none with a bar, or
// with no bar if that is allowed.
std::optional<std::string> LineOf(const StatusBar& bar, const Fields& fields, bool brief,
                                  size_t width, bool needs_bar) {
  constexpr size_t kAround = 4;  // brackets and blanks
  const std::string bare = Joined(fields, brief, "");
  const size_t most = std::min(kMaxBar, width - std::min(width, bare.size() + kAround));
  if (fields.size() > 1 && most >= kMinBar) {
    return Joined(fields, brief, " " + BarText(bar.done, bar.total, static_cast<int>(most)) + " ");
  }
  if (needs_bar) return std::nullopt;
  std::string line = Joined(fields, brief, ", ");
  if (line.size() > width) return std::nullopt;
  return line;
}

template <typename Number>
bool ReadNumber(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string> SplitRecord(std::string_view line) {
  std::vector<std::string> parts = {""};
  for (const char c : line) {
    if (c == kSeparator) {
      parts.emplace_back();
    } else if (static_cast<unsigned char>(c) >= ' ') {  // others would move the cursor
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

std::string BarText(int64_t done, int64_t total, int width) {
  const int64_t filled =
      total > 0 ? std::clamp<int64_t>(done * width / total, 0, width) : int64_t{width};
  return "[" + std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(width - filled), ' ') + "]";
}

std::string StatusBar::Fit(size_t width) const {
  Fields kept;
  for (const Field& field : fields) kept.push_back(&field);
  if (kept.empty()) return "";
  if (const auto line = LineOf(*this, kept, false, width, /*needs_bar=*/true)) return *line;
  while (true) {
    if (const auto line = LineOf(*this, kept, true, width, /*needs_bar=*/false)) return *line;
    if (kept.size() == 1) return kept[0]->brief.substr(0, width);
    kept.erase(std::max_element(kept.begin(), kept.end(),
                                [](const Field* a, const Field* b) { return a->rank < b->rank; }));
  }
}

std::string StatusBar::Text() const {
  Fields all;
  for (const Field& field : fields) all.push_back(&field);
  return Joined(all, false, ", ");
}

std::string StatusBar::Encode() const {
  std::string line = MakeString(kRecordStart, kRecordName, kSeparator, done, kSeparator, total);
  for (const Field& field : fields) {
    line += MakeString(kSeparator, field.text, kSeparator, field.brief, kSeparator, field.rank);
  }
  return in_log ? line : MakeString(line, kSeparator, kNotInLog);
}

std::optional<StatusBar> StatusBar::Decode(std::string_view line) {
  if (line.empty() || line[0] != kRecordStart) return std::nullopt;
  const std::vector<std::string> parts = SplitRecord(line);
  if (parts[0] != kRecordName) return std::nullopt;
  StatusBar bar;
  bar.in_log = parts.back() != kNotInLog;
  const size_t end = parts.size() - (bar.in_log ? 0 : 1);
  if (end % 3 != 0) return std::nullopt;
  bool good = ReadNumber(parts[1], &bar.done) && ReadNumber(parts[2], &bar.total);
  for (size_t i = 3; i < end; i += 3) {
    bar.fields.push_back({parts[i], parts[i + 1]});
    good = ReadNumber(parts[i + 2], &bar.fields.back().rank) && good;
  }
  if (!good) return std::nullopt;
  return bar;
}

std::string StreamIdentity(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? MakeString(status.st_dev, ":", status.st_ino) : "";
}

bool LauncherShowsBar() {
  const char* stream = std::getenv(kBarStreamVariable);
  return stream != nullptr && *stream != '\0' && stream == StreamIdentity(STDERR_FILENO);
}

size_t TerminalWidth(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualWidth;
}

}  // namespace caffe2
