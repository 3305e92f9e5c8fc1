// Converts between images and OpenCV matrices.
#pragma once

#include <memory>
#include <opencv2/core.hpp>
#include <type_traits>
#include <utility>

#include "db/image/image_view.h"

namespace caffe2::db {

// An image that shares the pixels of the matrix and keeps them alive.
template <typename Pixel>
Image<Pixel> FromMat(cv::Mat mat) {
  auto owner = std::make_shared<cv::Mat>(std::move(mat));
  Image<Pixel> image;
  image.view = {owner->ptr<Pixel>(),
                owner->rows,
                owner->cols,
                owner->channels(),
                static_cast<int64_t>(owner->step1()),
                owner->channels(),
                1};
  image.memory = std::move(owner);
  return image;
}

template <typename Pixel>
constexpr int MatType(int channels) {
  return CV_MAKETYPE((std::is_same_v<Pixel, float> ? CV_32F : CV_8U), channels);
}

// A matrix that shares interleaved pixels (the view must outlive it) or copies others.
template <typename Pixel>
cv::Mat ToMat(const ImageView<Pixel>& view) {
  if (view.channel_stride == 1 && view.column_stride == view.channels) {
    return cv::Mat(view.height, view.width, MatType<Pixel>(view.channels),
                   const_cast<Pixel*>(view.data), view.row_stride * sizeof(Pixel));
  }
  cv::Mat mat(view.height, view.width, MatType<Pixel>(view.channels));
  for (int y = 0; y < view.height; ++y) {
    auto* row = mat.ptr<Pixel>(y);
    for (int x = 0; x < view.width; ++x) {
      for (int c = 0; c < view.channels; ++c) *row++ = *view.At(y, x, c);
    }
  }
  return mat;
}

}  // namespace caffe2::db
