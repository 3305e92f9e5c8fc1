// Errors and checks.
//
// Bad input throws an exception derived from Error; libraries never end the process. The message
// of a check is its arguments: CAFFE_ENFORCE(a > 0, "blob ", name) fails with
//   "blob data [enforce fail at file.cc:12]",
// and without arguments with "a > 0 [enforce fail at file.cc:12]". A comparison adds both values:
// CAFFE_ENFORCE_EQ(a, b, "blob ", name) fails with
//   "a == b (3 vs 4): blob data [enforce fail at file.cc:12]".
// what() is one line. Callers use AddContext to add the place where the error happened.
#pragma once

#include <glog/logging.h>

#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace caffe2 {

// Base of all errors this library throws.
class Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override;
  // Appends " (<context>)": for instance the operator and net in which the error happened.
  void AddContext(const std::string& context);

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

namespace internal {
// One part of a message: a value, and the function that writes it. Refers to the value.
//
// The functions that join parts are not templates. So a message costs its caller, which rarely
// writes it, only a list of pointers.
class TextPart {
 public:
  template <typename T>
  TextPart(const T& value) : value_(&value), write_(&Write<T>) {}
  TextPart(const char* text) : value_(text), write_(&WriteChars) {}
  // std::hex and its like.
  TextPart(std::ios_base& (*manipulator)(std::ios_base&))
      : value_(reinterpret_cast<const void*>(manipulator)), write_(&Manipulate) {}
  void WriteTo(std::ostream& stream) const { write_(stream, value_); }

 private:
  template <typename T>
  static void Write(std::ostream& stream, const void* value) {
    stream << *static_cast<const T*>(value);
  }
  static void WriteChars(std::ostream& stream, const void* text);
  static void Manipulate(std::ostream& stream, const void* manipulator);

  const void* value_;
  void (*write_)(std::ostream& stream, const void* value);
};
extern template void TextPart::Write<std::string>(std::ostream& stream, const void* value);
extern template void TextPart::Write<int>(std::ostream& stream, const void* value);
extern template void TextPart::Write<int64_t>(std::ostream& stream, const void* value);
extern template void TextPart::Write<size_t>(std::ostream& stream, const void* value);
extern template void TextPart::Write<float>(std::ostream& stream, const void* value);

using TextParts = std::initializer_list<TextPart>;
std::string Concatenate(TextParts parts);

// Throw EnforceNotMet with "<text> [enforce fail at file:line]". The text is the message or, if
// that is empty, the condition. For a comparison it is "<expression> (<x> vs <y>)", and ":
// <message>".
[[noreturn]] void ThrowEnforceNotMet(const char* file, int line, const char* condition,
                                     TextParts message);
[[noreturn]] void ThrowComparison(const char* file, int line, const char* expression, TextPart x,
                                  TextPart y, TextParts message);
}  // namespace internal

// Concatenates its arguments by operator<<.
template <typename... Args>
std::string MakeString(const Args&... args) {
  return internal::Concatenate({args...});
}
inline std::string MakeString(const std::string& text) { return text; }
inline std::string MakeString(const char* text) { return text; }

}  // namespace caffe2

#define CAFFE_ENFORCE(condition, ...)                                                        \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      ::caffe2::internal::ThrowEnforceNotMet(__FILE__, __LINE__, #condition, {__VA_ARGS__}); \
    }                                                                                        \
  } while (false)

#define CAFFE_THROW(...) \
  ::caffe2::internal::ThrowEnforceNotMet(__FILE__, __LINE__, "", {__VA_ARGS__})

// Evaluates the operands once. Comparing signed with unsigned is a compiler warning as usual.
#define CAFFE_ENFORCE_COMPARE(x, op, y, ...)                                                \
  do {                                                                                      \
    const auto& enforce_x = (x);                                                            \
    const auto& enforce_y = (y);                                                            \
    if (!(enforce_x op enforce_y)) [[unlikely]] {                                           \
      ::caffe2::internal::ThrowComparison(__FILE__, __LINE__, #x " " #op " " #y, enforce_x, \
                                          enforce_y, {__VA_ARGS__});                        \
    }                                                                                       \
  } while (false)

#define CAFFE_ENFORCE_EQ(x, y, ...) CAFFE_ENFORCE_COMPARE(x, ==, y, ##__VA_ARGS__)
#define CAFFE_ENFORCE_NE(x, y, ...) CAFFE_ENFORCE_COMPARE(x, !=, y, ##__VA_ARGS__)
#define CAFFE_ENFORCE_LE(x, y, ...) CAFFE_ENFORCE_COMPARE(x, <=, y, ##__VA_ARGS__)
#define CAFFE_ENFORCE_LT(x, y, ...) CAFFE_ENFORCE_COMPARE(x, <, y, ##__VA_ARGS__)
#define CAFFE_ENFORCE_GE(x, y, ...) CAFFE_ENFORCE_COMPARE(x, >=, y, ##__VA_ARGS__)
#define CAFFE_ENFORCE_GT(x, y, ...) CAFFE_ENFORCE_COMPARE(x, >, y, ##__VA_ARGS__)
