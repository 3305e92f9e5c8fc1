// From a decoded image to the normalised crop that a net trains on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/core/random.h"
#include "caffe2/core/type_meta.h"
#include "db/image/augmentation.h"
#include "db/image/image_view.h"

namespace caffe2::db {

enum class ScaleJitter { kNone = 0, kInception = 1 };

// Pixel rows and columns; not set if height is 0.
struct BoundingBox {
  int ymin = 0, xmin = 0, height = 0, width = 0;
};

struct ImageTransformOptions {
  bool color = true;  // 3 channels, else 1
  int crop = 0;       // height and width of the output
  // At most one of the two; neither keeps the size.
  int scale = -1;                                    // the shorter side becomes this long
  int minsize = -1;                                  // the same, but only if it is shorter
  bool warp = false;                                 // both sides become that long
  int random_scale_min = -1, random_scale_max = -1;  // instead of scale: drawn from this range
  ScaleJitter scale_jitter = ScaleJitter::kNone;
  bool mirror = false;   // half of the images, in training
  bool is_test = false;  // crop the centre, draw nothing
  bool channels_first = false;
  bool color_jitter = false;
  float saturation = 0.4f, brightness = 0.4f, contrast = 0.4f;
  bool color_lighting = false;
  float color_lighting_std = 0.1f;
  std::vector<float> color_lighting_eigvecs, color_lighting_eigvals;  // ImageNet's where empty
  BoundingBox box;                                 // of every image without one of its own
  std::vector<float> mean = {0.f}, std = {1.f};    // one value, or one for each channel
  TypeMeta output_type = TypeMeta::Make<float>();  // float, float16, bfloat16
};

// Rescales, crops, mirrors, jitters and normalises: (pixel - mean[c]) / std[c]. What is random is a
// function of the seed given with the image alone. Thread-safe.
class ImageTransform {
 public:
  // Throws EnforceNotMet for options that contradict.
  explicit ImageTransform(const ImageTransformOptions& options);

  const ImageTransformOptions& options() const { return options_; }
  int channels() const { return options_.color ? 3 : 1; }
  // Writes crop * crop * channels() elements of output_type, in row, column, channel order or,
  // with channels_first, channel, row, column. Throws EnforceNotMet if the image has neither 1 nor
  // 3 channels, or is too small to crop.
  template <typename Pixel>
  void Apply(const ImageView<Pixel>& source, const BoundingBox& box, uint64_t seed,
             void* output) const;

  // The same in two steps, the second of which a device can take for many images at once. Crop
  // rescales and crops: it writes crop * crop * channels() elements, in row, column, channel order
  // and of `type` (uint8_t or float), and into `augmentation` what else was drawn. Throws as Apply,
  // and if pixels are floats where bytes are asked for.
  template <typename Pixel>
  void Crop(const ImageView<Pixel>& source, const BoundingBox& box, uint64_t seed, TypeMeta type,
            void* pixels, SampledAugmentation* augmentation) const;
  // The second step: with the change of each image, all that Apply does besides.
  NormalizeParams normalize_params() const;

 private:
  // A crop with the memory it lies in.
  template <typename Pixel>
  struct CroppedImage {
    ImageView<Pixel> view;
    SampledAugmentation augmentation;
    Image<Pixel> gray, resized;
  };
  template <typename Pixel>
  CroppedImage<Pixel> SampleCrop(const ImageView<Pixel>& source, const BoundingBox& box,
                                 uint64_t seed) const;
  // The size to bring an image of this size to, before the crop.
  void ChooseSize(int* height, int* width, RandomGenerator* random) const;
  // A random part in the manner of Inception; false if none was found.
  bool ChoosePart(int height, int width, RandomGenerator* random, BoundingBox* part) const;
  template <typename Pixel>
  void Write(const ImageView<Pixel>& crop, bool mirror, void* output) const;
  template <typename Pixel>
  void WriteAugmented(const ImageView<Pixel>& crop, const SampledAugmentation& augmentation,
                      void* output) const;
  bool blends() const { return options_.color && !options_.is_test && options_.color_jitter; }
  bool shifts() const { return options_.color && !options_.is_test && options_.color_lighting; }

  ImageTransformOptions options_;
  float mean_[3], std_[3];
  std::vector<char> tables_;  // the normalised values of every byte, by channel, in output_type
};

}  // namespace caffe2::db
