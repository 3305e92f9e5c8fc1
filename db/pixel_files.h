// Puts pixels, as published data sets store them, into the order of Datum records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace caffe2::db {

// CIFAR's images are 32 x 32 pixels of 3 bytes, each after one label byte (CIFAR-100: two).
inline constexpr int kCifarSide = 32;
inline constexpr int kCifarImageBytes = 3 * kCifarSide * kCifarSide;
inline bool HasCifarRecords(uint64_t file_bytes, int label_bytes) {
  const auto record = static_cast<uint64_t>(kCifarImageBytes + label_bytes);
  return file_bytes > 0 && file_bytes % record == 0;
}

// The planes of an image in the opposite order: red, green, blue become blue, green, red, the order
// of decoded images. The number of bytes must be a multiple of `planes`.
inline std::string ReversePlanes(std::string_view pixels, size_t planes) {
  const size_t size = pixels.size() / planes;
  std::string reversed;
  for (size_t p = planes; p > 0; --p) reversed += pixels.substr((p - 1) * size, size);
  return reversed;
}

// Transposes planes of side x side bytes: exchanges rows and columns of each.
inline std::string TransposePlanes(std::string_view pixels, size_t side) {
  std::string transposed(pixels.size(), '\0');
  for (size_t begin = 0; begin < pixels.size(); begin += side * side) {
    for (size_t y = 0; y < side; ++y) {
      for (size_t x = 0; x < side; ++x) {
        transposed[begin + y * side + x] = pixels[begin + x * side + y];
      }
    }
  }
  return transposed;
}

}  // namespace caffe2::db
