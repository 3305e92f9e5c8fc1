// For tests of operators on images: moving values between NCHW and NHWC.
#pragma once

#include <cstdint>
#include <vector>

#include "caffe2/core/half.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {

// N x C x rest -> N x rest x C.
inline std::vector<int64_t> ToNHWC(const std::vector<int64_t>& dims) {
  std::vector<int64_t> result(dims.begin() + 2, dims.end());
  result.insert(result.begin(), dims[0]);
  result.push_back(dims[1]);
  return result;
}
template <typename T>
std::vector<T> ToNHWC(const std::vector<int64_t>& dims, const std::vector<T>& values) {
  const int64_t channels = dims[1], image = dims[0] == 0 ? 0 : values.size() / (dims[0] * channels);
  std::vector<T> result(values.size());
  for (int64_t n = 0; n < dims[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < image; ++i) {
        result[(n * image + i) * channels + c] = values[(n * channels + c) * image + i];
      }
    }
  }
  return result;
}

// Feeds values given in NCHW in the order asked for.
template <typename T>
void FeedImage(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
               const std::vector<T>& values, bool nhwc) {
  if (nhwc) {
    Feed(ws, name, ToNHWC(dims), ToNHWC(dims, values));
  } else {
    Feed(ws, name, dims, values);
  }
}
inline void ExpectImage(const Workspace& ws, const std::string& name,
                        const std::vector<int64_t>& dims, const std::vector<float>& expected,
                        bool nhwc, float rtol = 1e-5f, float atol = 1e-5f) {
  if (nhwc) {
    ExpectTensor(ws, name, ToNHWC(dims), ToNHWC(dims, expected), rtol, atol);
  } else {
    ExpectTensor(ws, name, dims, expected, rtol, atol);
  }
}

inline std::vector<bfloat16> ToBFloat16(const std::vector<float>& values) {
  std::vector<bfloat16> result;
  for (float value : values) result.push_back(caffe2::ToBFloat16(value));
  return result;
}
inline std::vector<float> ToFloat(const std::vector<bfloat16>& values) {
  std::vector<float> result;
  for (bfloat16 value : values) result.push_back(caffe2::ToFloat(value));
  return result;
}
// What bfloat16 makes of the values.
inline std::vector<float> Rounded(const std::vector<float>& values) {
  return ToFloat(ToBFloat16(values));
}
// Replaces a bfloat16 tensor by its values in float, for the Expect functions.
inline void WidenBlob(Workspace* ws, const std::string& name) {
  const std::vector<int64_t> dims = Fetch(*ws, name).sizes();
  Feed(ws, name, dims, ToFloat(FetchValues<bfloat16>(*ws, name)));
}

inline const char* OrderName(bool nhwc) { return nhwc ? "NHWC" : "NCHW"; }

}  // namespace caffe2::testing
