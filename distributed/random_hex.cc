#include "distributed/random_hex.h"

#include <random>

namespace caffe2 {

std::string RandomHex(int bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string text;
  for (int i = 0; i < 2 * bytes; ++i) text += kDigits[random() % 16];
  return text;
}

}  // namespace caffe2
