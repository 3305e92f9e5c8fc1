#include "caffe2/utils/stderr_stream.h"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>

#include "caffe2/utils/printable_text.h"

namespace caffe2 {

namespace {

constexpr int kPatienceMs = 1000;
constexpr char kClearLine[] = "\r\033[K";

// stdio locks the stream while it calls Write.
struct State {
  bool blocked = false;  // nobody has read for kPatienceMs
  long lost = 0;         // texts dropped since then
  bool in_bar = false;   // the last text began with a carriage return and did not end its line
};

bool HasRoom(int wait_ms) {
  pollfd entry{STDERR_FILENO, POLLOUT, 0};
  int ready = -1;
  do {
    ready = poll(&entry, 1, wait_ms);
  } while (ready < 0 && errno == EINTR);  // a signal says nothing about the reader
  return ready > 0;
}

// Returns the number of bytes written, which is 0 if that would block, or -1 after an error.
ssize_t WriteSome(const char* data, size_t size) {
  // A pipe with room takes this much at once. RWF_NOWAIT also holds if another process fills the
  // pipe after poll(); older kernels do not know it for pipes.
  iovec part{const_cast<char*>(data), std::min<size_t>(size, PIPE_BUF)};
  ssize_t n = pwritev2(STDERR_FILENO, &part, 1, -1, RWF_NOWAIT);
  if (n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)) {
    n = write(STDERR_FILENO, data, part.iov_len);
  }
  return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : n;
}

// False if the text was dropped, or its rest.
bool WriteAll(State* state, const char* data, size_t size) {
  while (size > 0) {
    if (!HasRoom(state->blocked ? 0 : kPatienceMs)) {
      state->blocked = true;
      return false;
    }
    const ssize_t n = WriteSome(data, size);
    if (n < 0) return true;  // a closed pipe or terminal: nobody wants the text
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

// True for a line that glog writes, such as "W20261128 ...": it may hold any names.
bool IsLogLine(const char* data, size_t size) {
  constexpr size_t kDateDigits = 8;
  return size > kDateDigits && std::strchr("IWEF", *data) != nullptr && *data != '\0' &&
         std::all_of(data + 1, data + 1 + kDateDigits,
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

ssize_t Write(void* cookie, const char* data, size_t size) {
  auto* state = static_cast<State*>(cookie);
  const size_t given = size;
  std::string clean;
  if (IsLogLine(data, size)) {
    clean = PrintableText({data, size});
    data = clean.data();
    size = clean.size();
  }
  if (state->blocked && HasRoom(0)) {
    const std::string note =
        "\n[" + std::to_string(state->lost) + " texts were lost here: nobody read them in time]\n";
    if (WriteAll(state, note.data(), note.size())) *state = State();
  }
  if (size == 0) return 0;
  // A progress bar ends without a line feed, and other threads log meanwhile.
  const bool follows_bar = state->in_bar && *data != '\r' && *data != '\n';
  if (follows_bar && !state->blocked) WriteAll(state, kClearLine, sizeof(kClearLine) - 1);
  state->in_bar = data[size - 1] != '\n' && *data == '\r';
  if (state->blocked || !WriteAll(state, data, size)) ++state->lost;
  return static_cast<ssize_t>(given);
}

}  // namespace

void KeepStderrFromBlocking() {
  static State state;
  FILE* stream = fopencookie(&state, "w", {nullptr, Write, nullptr, nullptr});
  if (stream == nullptr) return;  // stderr stays as it is
  setvbuf(stream, nullptr, _IONBF, 0);
  stderr = stream;
}

}  // namespace caffe2
