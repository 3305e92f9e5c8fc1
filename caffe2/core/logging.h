// Errors and checks.
//
// Bad input throws an exception derived from Error; libraries never end the process. The message
// of a check is its arguments: CAFFE_ENFORCE(a > 0, "blob ", name) fails with
//   "blob data [enforce fail at file.cc:12]",
// and without arguments with "a > 0 [enforce fail at file.cc:12]". A comparison adds both values:
// CAFFE_ENFORCE_EQ(a, b, "blob ", name) fails with
//   "a == b (3 vs 4): blob data [enforce fail at file.cc:12]".
// what() is one line. Callers add with AddContext where the error happened.
#pragma once

#include <glog/logging.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace caffe2 {

// Base of all errors this library throws.
class Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  // Appends " (<context>)": for instance the operator and net in which the error happened.
  void AddContext(const std::string& context) { message_ += " (" + context + ")"; }

 private:
  std::string message_;
};

// A requirement is not met: a bad graph, shape, argument or data.
class EnforceNotMet : public Error {
 public:
  using Error::Error;
};

// The environment failed: a file, a database, a socket, a store. The text names the path or peer.
class IoError : public Error {
 public:
  using Error::Error;
};

// A wait passed its deadline.
class TimeoutError : public IoError {
 public:
  using IoError::IoError;
};

// Concatenates its arguments by operator<<.
template <typename... Args>
std::string MakeString(const Args&... args) {
  std::ostringstream stream;
  (void)(stream << ... << args);
  return stream.str();
}
inline std::string MakeString() { return {}; }
inline std::string MakeString(const std::string& text) { return text; }
inline std::string MakeString(const char* text) { return text; }

namespace internal {
// Throws EnforceNotMet with "<text> [enforce fail at file:line]". Not inline, to keep callers
// small.
[[noreturn]] void ThrowEnforceNotMet(const char* file, int line, const std::string& text);

inline std::string Join(const std::string& what, const std::string& message) {
  return message.empty() ? what : what + ": " + message;
}

template <typename T, typename U>
std::string CompareText(const char* expression, const T& x, const U& y) {
  return MakeString(expression, " (", x, " vs ", y, ")");
}
}  // namespace internal

}  // namespace caffe2

#define CAFFE_ENFORCE(condition, ...)                                                  \
  do {                                                                                 \
    if (!(condition)) [[unlikely]] {                                                   \
      const std::string enforce_message = ::caffe2::MakeString(__VA_ARGS__);           \
      ::caffe2::internal::ThrowEnforceNotMet(                                          \
          __FILE__, __LINE__, enforce_message.empty() ? #condition : enforce_message); \
    }                                                                                  \
  } while (false)

#define CAFFE_THROW(...) \
  ::caffe2::internal::ThrowEnforceNotMet(__FILE__, __LINE__, ::caffe2::MakeString(__VA_ARGS__))

// Evaluates the operands once. Comparing signed with unsigned is a compiler warning as usual.
#define CAFFE_ENFORCE_COMPARE(x, op, y, ...)                                            \
  do {                                                                                  \
    const auto& enforce_x = (x);                                                        \
    const auto& enforce_y = (y);                                                        \
    if (!(enforce_x op enforce_y)) [[unlikely]] {                                       \
      ::caffe2::internal::ThrowEnforceNotMet(                                           \
          __FILE__, __LINE__,                                                           \
          ::caffe2::internal::Join(                                                     \
              ::caffe2::internal::CompareText(#x " " #op " " #y, enforce_x, enforce_y), \
              ::caffe2::MakeString(__VA_ARGS__)));                                      \
    }                                                                                   \
  } while (false)

#define CAFFE_ENFORCE_EQ(x, y, ...) CAFFE_ENFORCE_COMPARE(x, ==, y, ##__VA_ARGS__)
#define CAFFE_ENFORCE_NE(x, y, ...) CAFFE_ENFORCE_COMPARE(x, !=, y, ##__VA_ARGS__)
#define CAFFE_ENFORCE_LE(x, y, ...) CAFFE_ENFORCE_COMPARE(x, <=, y, ##__VA_ARGS__)
#define CAFFE_ENFORCE_LT(x, y, ...) CAFFE_ENFORCE_COMPARE(x, <, y, ##__VA_ARGS__)
#define CAFFE_ENFORCE_GE(x, y, ...) CAFFE_ENFORCE_COMPARE(x, >=, y, ##__VA_ARGS__)
#define CAFFE_ENFORCE_GT(x, y, ...) CAFFE_ENFORCE_COMPARE(x, >, y, ##__VA_ARGS__)
