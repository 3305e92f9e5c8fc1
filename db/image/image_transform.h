// Turns a decoded image into the normalised crop that a net trains on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/core/random.h"
#include "caffe2/core/type_meta.h"
#include "db/image/augmentation.h"
#include "db/image/image_source.h"

namespace caffe2::db {

enum class ScaleJitter { kNone = 0, kInception = 1 };

struct ImageTransformOptions {
  bool color = true;  // 3 channels; otherwise 1
  int crop = 0;       // height and width of the output
  // Set at most one of scale and minsize. With neither the image keeps its size.
  int scale = -1;     // length to which the shorter side is scaled
  int minsize = -1;   // the same, but only for images with a shorter side below it
  bool warp = false;  // scale both sides to that length, whatever the aspect ratio
  int random_scale_min = -1, random_scale_max = -1;  // in training, draw `scale` from this range
  ScaleJitter scale_jitter = ScaleJitter::kNone;
  // In training, the rows and columns of black pixels (0 before normalisation) on each side of the
  // scaled image that a crop may contain. Less than crop; not together with a scale jitter.
  int pad = 0;
  bool mirror = false;   // in training, mirror half of the images left to right
  bool is_test = false;  // crop the centre and draw nothing at random
  bool channels_first = false;
  bool color_jitter = false;
  float saturation = 0.4f, brightness = 0.4f, contrast = 0.4f;
  bool color_lighting = false;
  float color_lighting_std = 0.1f;
  std::vector<float> color_lighting_eigvecs, color_lighting_eigvals;  // empty: ImageNet's
  // In training, the probability that a random box of the normalised crop becomes 0, with 2 to 33 %
  // of the area and sides 0.3 to 3.3 to 1 (Zhong et al., "Random erasing data augmentation", 2017).
  float random_erasing = 0.f;
  BoundingBox box;                                 // for images without their own
  std::vector<float> mean = {0.f}, std = {1.f};    // one value, or one for each channel
  TypeMeta output_type = TypeMeta::Make<float>();  // float, float16, bfloat16
};

// Rescales, crops, mirrors, jitters and normalises: (pixel - mean[c]) / std[c]. All random choices
// depend only on the size of the image and on the seed given with it. So they are made first, and
// only the pixels that the crop needs are read. Scaling the whole image (by OpenCV's INTER_AREA)
// and cropping it gives the same result: only a shrunken pixel may differ by one of 256 values.
// Where a JPEG is shrunk to a quarter or less, libjpeg does a part of it, and pixels of photographs
// differ by 0.35 to 1.3 values on average and by up to 32 (db/README.md). Thread-safe.
class ImageTransform {
 public:
  // Throws EnforceNotMet for options that contradict each other.
  explicit ImageTransform(const ImageTransformOptions& options);

  const ImageTransformOptions& options() const { return options_; }
  int channels() const { return options_.color ? 3 : 1; }
  // Writes crop * crop * channels() elements of output_type, in row, column, channel order or,
  // with channels_first, channel, row, column. Throws EnforceNotMet if the image has neither 1 nor
  // 3 channels or is too small to crop, or if the box is not inside it; and as source->Read.
  template <typename Pixel>
  void Apply(ImageSource<Pixel>* source, const BoundingBox& box, uint64_t seed, void* output) const;

  // The first of two steps that together do the same as Apply; a device can do the second for many
  // images at once. Crop rescales and crops: it writes crop * crop * channels() elements of `type`
  // (uint8_t or float) to `pixels`, in row, column, channel order, and the other random choices to
  // `augmentation`. Throws as Apply, and for float pixels with `type` uint8_t.
  template <typename Pixel>
  void Crop(ImageSource<Pixel>* source, const BoundingBox& box, uint64_t seed, TypeMeta type,
            void* pixels, SampledAugmentation* augmentation) const;
  // All random choices for one image.
  struct CropPlan : CropGeometry {
    SampledAugmentation augmentation;
  };
  // The choices of Crop for an image of height x width. Throws as Crop.
  CropPlan SampleCrop(int height, int width, const BoundingBox& box, uint64_t seed) const;
  // The parameters of the second step, which also needs the SampledAugmentation of each image.
  NormalizeParams normalize_params() const;

 private:
  // A crop and the memory that it points into, unless that is the source's or this thread's.
  template <typename Pixel>
  struct CroppedImage {
    ImageView<Pixel> view;
    Image<Pixel> gray, resized, padded;
  };
  // The part of the crop inside the scaled image, in its coordinates.
  BoundingBox Visible(const CropPlan& plan) const;
  template <typename Pixel>
  CroppedImage<Pixel> ReadCrop(const CropPlan& plan, ImageSource<Pixel>* source) const;
  // The pixels of Visible().
  template <typename Pixel>
  CroppedImage<Pixel> ReadVisible(const CropPlan& plan, ImageSource<Pixel>* source) const;
  // Reads the pixels under Visible() and shrinks them. Only if the part is scaled to fewer rows and
  // columns. The view is valid until the next call in this thread.
  ImageView<uint8_t> ReadShrunkenCrop(const CropPlan& plan, ImageSource<uint8_t>* source) const;
  // Replaces the size of an image by the size to which it is scaled before the crop.
  void ChooseSize(int* height, int* width, RandomGenerator* random) const;
  // Draws a random part as Inception does; false if none was found.
  bool ChoosePart(int height, int width, RandomGenerator* random, BoundingBox* part) const;
  template <typename Pixel>
  void Write(const ImageView<Pixel>& crop, bool mirror, void* output) const;
  template <typename Pixel>
  void WriteAugmented(const ImageView<Pixel>& crop, const SampledAugmentation& augmentation,
                      void* output) const;
  // Draws the box to erase.
  void ChooseErased(RandomGenerator* random, SampledAugmentation* augmentation) const;
  // Erases it from a finished output.
  void Erase(const SampledAugmentation& augmentation, void* output) const;
  int pad() const { return options_.is_test ? 0 : options_.pad; }
  bool blends() const { return options_.color && !options_.is_test && options_.color_jitter; }
  bool shifts() const { return options_.color && !options_.is_test && options_.color_lighting; }

  ImageTransformOptions options_;
  float mean_[3], std_[3];
  std::vector<float> mean_row_, std_row_;  // for NormalizeImage
};

}  // namespace caffe2::db
