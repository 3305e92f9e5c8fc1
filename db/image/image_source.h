// Images that are read in parts: a crop needs only the pixels inside it.
#pragma once

#include <utility>

#include "db/image/crop_geometry.h"
#include "db/image/image_view.h"

namespace caffe2::db {

// An image of a known size. Not thread-safe.
template <typename Pixel>
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual int height() const = 0;
  virtual int width() const = 0;
  virtual int channels() const = 0;  // of the views that Read returns
  // True if the channels of a pixel lie side by side in the views.
  virtual bool IsInterleaved() const { return true; }
  // True if Read can reduce height and width by 2, 4 and 8 more cheaply than the caller.
  virtual bool CanReduce() const { return false; }
  // The pixels of a part of the image. With `reduction` 2, 4 or 8, one pixel stands for that many
  // in each direction, and `part` counts reduced pixels; the reduced image has ceil(height /
  // reduction) rows. The view is valid while the source lives, until the next call for any source
  // in this thread.
  virtual ImageView<Pixel> Read(const BoundingBox& part, int reduction) = 0;
};

// Pixels in memory, which must outlive it.
template <typename Pixel>
class ViewSource final : public ImageSource<Pixel> {
 public:
  explicit ViewSource(const ImageView<Pixel>& view) : view_(view) {}
  int height() const override { return view_.height; }
  int width() const override { return view_.width; }
  int channels() const override { return view_.channels; }
  bool IsInterleaved() const override {
    return view_.channel_stride == 1 && view_.column_stride == view_.channels;
  }
  ImageView<Pixel> Read(const BoundingBox& part, int /*reduction*/) override {
    return view_.Part(part.ymin, part.xmin, part.height, part.width);
  }

 private:
  const ImageView<Pixel> view_;
};

// A decoded image, which it owns.
class DecodedImage final : public ImageSource<uint8_t> {
 public:
  explicit DecodedImage(Image<uint8_t> image) : image_(std::move(image)), source_(image_.view) {}
  int height() const override { return source_.height(); }
  int width() const override { return source_.width(); }
  int channels() const override { return source_.channels(); }
  ImageView<uint8_t> Read(const BoundingBox& part, int reduction) override {
    return source_.Read(part, reduction);
  }

 private:
  const Image<uint8_t> image_;
  ViewSource<uint8_t> source_;
};

}  // namespace caffe2::db
