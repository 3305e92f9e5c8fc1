// Gradients of convolutions as matrix products over patches of the images (im2col: Chellapilla,
// Puri and Simard, "High performance convolutional neural networks for document processing", 2006),
// for images in NHWC.
//
// oneDNN's own kernels for these gradients are slower than its matrix products where the kernel is
// 1x1, the stride is above 1 or the images are small: in bfloat16 ten times on processors with AMX
// (oneDNN 2), in float two to four times on processors without AVX-512 (strides of 1x1 kernels).
// With AVX-512 but not AMX, its gradients of filters are up to 1.8 times as slow as products of our
// own tiles (tiled_filter_gradient.h), in bfloat16 and in float. Products are summed in float; a
// result in bfloat16 is rounded once. One thread at a time runs an object; the work inside is
// parallel.
#pragma once

#include <cstdint>
#include <vector>

#include "caffe2/utils/onednn_conv.h"

namespace caffe2::onednn {

// True if the classes below support the problem: two spatial axes, images in NHWC, filters in
// float, one group, no bias; images in float, or in bfloat16 if oneDNN multiplies it on this
// processor.
bool PatchesSupport(const ConvProblem& problem);

// Sizes of a problem, the patches of some images, and how many images are handled at a time.
class ImagePatches {
 public:
  // `bytes`: the size of an element of the patches.
  ImagePatches(const ConvProblem& problem, int64_t bytes);

  // Patches of one image are rows x width() elements: the source's pixels under the kernel.
  int64_t rows() const { return out_height_ * out_width_; }
  int64_t width() const { return kernel_height_ * kernel_width_ * channels_; }
  int64_t images() const { return images_; }
  int64_t images_at_a_time() const { return images_at_a_time_; }
  int64_t channels() const { return channels_; }
  int64_t filters() const { return filters_; }
  int64_t image_size() const { return height_ * width_in_ * channels_; }
  // True if the source is its own patches: a 1x1 kernel with stride 1 and without padding.
  bool trivial() const;

  // Copies the patches of `count` images of float or bfloat16. Pixels outside are 0.
  template <typename T>
  void Gather(int64_t count, const T* images, T* patches) const;
  // The elements of the kernel in a corner of the size of the stride. With dilation 1, they lie on
  // almost all pixels once.
  std::vector<int64_t> TapsOfStride() const;
  // Where the pixels lie that are under element `tap` of the kernel, for `count` patches of all
  // images from `first` on: `outside` for pixels outside of the image, and after the last patch.
  template <typename T>
  void PixelsUnder(int64_t tap, int64_t first, int64_t count, const T* images, const T* outside,
                   const T** pixels) const;
  // Sums the patches of `count` images into the pixels that they came from.
  template <typename T>
  void Scatter(int64_t count, const float* patches, T* images) const;

 private:
  // The part of an image under the kernel, from its corner (y, x), which may be outside.
  template <typename T>
  struct Window {
    const T* image;
    int64_t y, x;
  };
  // The window of a patch.
  template <typename T>
  Window<T> WindowOf(int64_t row, const T* images) const;
  // The pixel under element (i, j) of the kernel, null if it is outside.
  template <typename T>
  const T* PixelUnder(const Window<T>& window, int64_t i, int64_t j) const;

  int64_t images_, height_, width_in_, channels_, filters_;
  int64_t out_height_, out_width_, kernel_height_, kernel_width_;
  int64_t stride_y_, stride_x_, dilation_y_, dilation_x_, pad_y_, pad_x_;
  int64_t images_at_a_time_;
};

// d filter = (d dst)^T patches(src).
class PatchFilterGradient {
 public:
  explicit PatchFilterGradient(const ConvProblem& problem);
  // `d_filter` is float.
  void Run(const void* src, const void* d_dst, void* d_filter) const;

 private:
  template <typename T>
  void RunWithType(const T* images, const T* gradients, void* d_filter) const;

  const bool in_float_;
  const ImagePatches patches_;
};

// d src = the sum of patches d dst * filter, or += it if the problem has add_to_dst.
class PatchDataGradient {
 public:
  // Throws EnforceNotMet if the problem has add_to_dst but Adds(problem) is false.
  explicit PatchDataGradient(const ConvProblem& problem);
  // True if d src is its own patches, so that products can be added to it.
  static bool Adds(const ConvProblem& problem);
  // `filter` is float.
  void Run(const void* d_dst, const void* filter, void* d_src) const;

 private:
  template <typename T>
  void RunWithType(const T* gradients, const float* filter, T* images) const;

  const bool in_float_, accumulate_;
  const ImagePatches patches_;
};

}  // namespace caffe2::onednn
