#include "db/image/image_transform.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "db/image/color_jitter.h"
#include "db/image/image_codec.h"

namespace caffe2::db {
namespace {

constexpr int kMaxChannels = 3;
constexpr int kByteValues = 256;

template <typename T>
T FromFloat(float value) {
  if constexpr (std::is_same_v<T, float16>) {
    return ToFloat16(value);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return ToBFloat16(value);
  } else {
    return value;
  }
}

// Calls action.operator()<T>() for the T that is the output type.
template <typename Action>
void DispatchOutput(TypeMeta meta, const Action& action) {
  if (meta.Match<float>()) {
    action.template operator()<float>();
  } else if (meta.Match<float16>()) {
    action.template operator()<float16>();
  } else if (meta.Match<bfloat16>()) {
    action.template operator()<bfloat16>();
  } else {
    CAFFE_THROW("the output type of images is ", meta.name(),
                "; it must be float, float16 or bfloat16");
  }
}

// Writes convert(pixel, channel) for each element of a crop.
template <typename Pixel, typename T, typename Convert>
void WritePixels(const ImageView<Pixel>& crop, bool mirror, bool channels_first,
                 const Convert& convert, T* output) {
  const int64_t area = int64_t{crop.height} * crop.width;
  const int64_t pixel_stride = channels_first ? 1 : crop.channels;
  for (int c = 0; c < crop.channels; ++c) {
    T* out = output + (channels_first ? c * area : c);
    for (int y = 0; y < crop.height; ++y) {
      const Pixel* in = crop.At(y, mirror ? crop.width - 1 : 0, c);
      const int64_t step = mirror ? -crop.column_stride : crop.column_stride;
      for (int x = 0; x < crop.width; ++x, in += step, out += pixel_stride) *out = convert(*in, c);
    }
  }
}

int RandomInRange(int low, int high, RandomGenerator* random) {
  return low + static_cast<int>(random->UniformInt(static_cast<uint64_t>(high - low) + 1));
}

// The new length of `side` when the shorter side changes from `old_shorter` to `shorter`.
int ScaledSide(int side, int old_shorter, int shorter) {
  const int64_t scaled = int64_t{side} * shorter / old_shorter;
  CAFFE_ENFORCE_LE(scaled, 1 << 20, "side of the rescaled image");
  return static_cast<int>(scaled);
}

}  // namespace

ImageTransform::ImageTransform(const ImageTransformOptions& options) : options_(options) {
  const bool random_scale = options.random_scale_min > 0 || options.random_scale_max > 0;
  CAFFE_ENFORCE_GT(options.crop, 0, "crop, the height and width of the output");
  CAFFE_ENFORCE(options.scale <= 0 || options.minsize <= 0, "scale (", options.scale,
                ") and minsize (", options.minsize, ") cannot be used together");
  const int size = options.scale > 0 ? options.scale : options.minsize;
  CAFFE_ENFORCE(size <= 0 || size >= options.crop || random_scale,
                options.scale > 0 ? "scale (" : "minsize (", size, ") is less than crop (",
                options.crop, ")");
  if (random_scale) {
    CAFFE_ENFORCE(options.random_scale_min >= options.crop &&
                      options.random_scale_max >= options.random_scale_min,
                  "random_scale [", options.random_scale_min, ", ", options.random_scale_max,
                  "] must be an ascending range from at least crop (", options.crop, ")");
  }
  const auto per_channel = [this](const std::vector<float>& values, const char* name, float* to) {
    CAFFE_ENFORCE(values.size() == 1 || static_cast<int>(values.size()) == channels(), name,
                  " has ", values.size(), " values for ", channels(), " channels");
    for (int c = 0; c < kMaxChannels; ++c)
      to[c] = values[values.size() == 1 ? 0 : c % values.size()];
  };
  per_channel(options.mean, "mean", mean_);
  per_channel(options.std, "std", std_);
  for (const float std : std_) {
    CAFFE_ENFORCE(std != 0 && std::isfinite(std), "std is ", std, "; it must be finite and not 0");
  }
  DispatchOutput(options.output_type, [this]<typename T>() {
    tables_.resize(kMaxChannels * kByteValues * sizeof(T));
    T* table = reinterpret_cast<T*>(tables_.data());
    for (int c = 0; c < kMaxChannels; ++c) {
      for (int value = 0; value < kByteValues; ++value) {
        *table++ = FromFloat<T>((static_cast<float>(value) - mean_[c]) / std_[c]);
      }
    }
  });
}

void ImageTransform::ChooseSize(int* height, int* width, RandomGenerator* random) const {
  int scale = options_.scale;
  if (options_.random_scale_min > 0 && !options_.is_test) {
    scale = RandomInRange(options_.random_scale_min, options_.random_scale_max, random);
  }
  const int shorter = std::min(*height, *width);
  if (scale <= 0) {
    if (options_.minsize <= 0) return;
    if (shorter >= options_.minsize && !options_.warp) return;
    scale = options_.minsize;
  }
  const int old_height = *height, old_width = *width;
  *height = options_.warp ? scale : ScaledSide(old_height, shorter, scale);
  *width = options_.warp ? scale : ScaledSide(old_width, shorter, scale);
}

// Szegedy et al., "Going deeper with convolutions", 2015: 8 to 100 % of the area, aspect ratio
// between 3/4 and 4/3.
bool ImageTransform::ChoosePart(int height, int width, RandomGenerator* random,
                                BoundingBox* part) const {
  constexpr int kTrials = 10;
  const float area = static_cast<float>(height) * static_cast<float>(width);
  for (int trial = 0; trial < kTrials; ++trial) {
    const float part_area = area * (0.08f + 0.92f * random->Uniform());
    const float aspect = 0.75f + (4.f / 3.f - 0.75f) * random->Uniform();
    int part_height = static_cast<int>(std::sqrt(part_area / aspect));
    int part_width = static_cast<int>(std::sqrt(part_area * aspect));
    if (random->Uniform() < 0.5f) std::swap(part_height, part_width);
    if (part_height < 1 || part_width < 1 || part_height > height || part_width > width) continue;
    *part = {RandomInRange(0, height - part_height, random),
             RandomInRange(0, width - part_width, random), part_height, part_width};
    return true;
  }
  return false;
}

template <typename Pixel>
void ImageTransform::Write(const ImageView<Pixel>& crop, bool mirror, void* output) const {
  DispatchOutput(options_.output_type, [&]<typename T>() {
    T* out = static_cast<T*>(output);
    if constexpr (std::is_same_v<Pixel, uint8_t>) {
      const T* table = reinterpret_cast<const T*>(tables_.data());
      WritePixels(
          crop, mirror, options_.channels_first,
          [table](uint8_t pixel, int c) { return table[c * kByteValues + pixel]; }, out);
    } else {
      WritePixels(
          crop, mirror, options_.channels_first,
          [this](float pixel, int c) { return FromFloat<T>((pixel - mean_[c]) / std_[c]); }, out);
    }
  });
}

template <typename Pixel>
void ImageTransform::WriteAugmented(const ImageView<Pixel>& crop,
                                    const SampledAugmentation& augmentation, void* output) const {
  std::vector<float> pixels(size_t{3} * crop.height * crop.width);
  WritePixels(
      crop, augmentation.mirror != 0, /*channels_first=*/false,
      [](Pixel pixel, int) { return static_cast<float>(pixel); }, pixels.data());
  AugmentColors(augmentation, int64_t{crop.height} * crop.width, pixels.data());
  Write(ImageView<float>::Interleaved(pixels.data(), crop.height, crop.width, 3),
        /*mirror=*/false, output);
}

template <typename Pixel>
ImageTransform::CroppedImage<Pixel> ImageTransform::SampleCrop(const ImageView<Pixel>& source,
                                                               const BoundingBox& own_box,
                                                               uint64_t seed) const {
  CAFFE_ENFORCE(
      (source.channels == 1 || source.channels == 3) && source.height > 0 && source.width > 0,
      "cannot crop an image of ", source.height, "x", source.width, " with ", source.channels,
      " channels");
  RandomGenerator random(seed);
  CroppedImage<Pixel> cropped;
  ImageView<Pixel>& view = cropped.view;
  view = source;
  const BoundingBox& box = own_box.height > 0 ? own_box : options_.box;
  if (box.height > 0) {
    CAFFE_ENFORCE(box.ymin >= 0 && box.xmin >= 0 && box.width > 0 &&
                      box.height <= view.height - box.ymin && box.width <= view.width - box.xmin,
                  "the bounding box of ", box.height, "x", box.width, " at (", box.ymin, ", ",
                  box.xmin, ") is not inside the image of ", view.height, "x", view.width);
    view = view.Part(box.ymin, box.xmin, box.height, box.width);
  }
  if (view.channels == 3 && !options_.color) {
    cropped.gray = ToGray(view);
    view = cropped.gray.view;
  }
  int height = view.height, width = view.width;
  BoundingBox part;
  if (options_.scale_jitter == ScaleJitter::kInception && !options_.is_test &&
      ChoosePart(height, width, &random, &part)) {
    view = view.Part(part.ymin, part.xmin, part.height, part.width);
    height = width = options_.crop;
  } else {
    ChooseSize(&height, &width, &random);
  }
  if (height != view.height || width != view.width) {
    cropped.resized = ResizeImage(view, height, width);
    view = cropped.resized.view;
  }
  if (view.channels == 1 && options_.color) {
    view.channels = 3;
    view.channel_stride = 0;  // each channel reads the same pixels
  }

  const int crop = options_.crop;
  CAFFE_ENFORCE(height >= crop && width >= crop, "an image of ", height, "x", width,
                " is too small for a crop of ", crop);
  int y = (height - crop) / 2, x = (width - crop) / 2;
  if (!options_.is_test) {
    y = RandomInRange(0, height - crop, &random);
    x = RandomInRange(0, width - crop, &random);
    cropped.augmentation.mirror = options_.mirror && (random() & 1) != 0;
  }
  view = view.Part(y, x, crop, crop);
  if (blends()) {
    DrawColorJitter(options_.saturation, options_.brightness, options_.contrast, &random,
                    &cropped.augmentation);
  }
  if (shifts()) {
    DrawColorLighting(options_.color_lighting_std, options_.color_lighting_eigvecs,
                      options_.color_lighting_eigvals, &random, &cropped.augmentation);
  }
  return cropped;
}

template <typename Pixel>
void ImageTransform::Apply(const ImageView<Pixel>& source, const BoundingBox& box, uint64_t seed,
                           void* output) const {
  const CroppedImage<Pixel> cropped = SampleCrop(source, box, seed);
  if (blends() || shifts()) {
    WriteAugmented(cropped.view, cropped.augmentation, output);
  } else {
    Write(cropped.view, cropped.augmentation.mirror != 0, output);
  }
}

template <typename Pixel>
void ImageTransform::Crop(const ImageView<Pixel>& source, const BoundingBox& box, uint64_t seed,
                          TypeMeta type, void* pixels, SampledAugmentation* augmentation) const {
  const CroppedImage<Pixel> cropped = SampleCrop(source, box, seed);
  *augmentation = cropped.augmentation;
  const auto write = [&]<typename T>(T* output) {
    if constexpr (std::is_same_v<T, Pixel>) {
      const ImageView<Pixel>& view = cropped.view;
      if (view.channel_stride == 1 && view.column_stride == view.channels) {
        const int64_t row = int64_t{view.width} * view.channels;
        for (int y = 0; y < view.height; ++y) std::copy_n(view.At(y, 0), row, output + y * row);
        return;
      }
    }
    WritePixels(
        cropped.view, /*mirror=*/false, /*channels_first=*/false,
        [](Pixel pixel, int) { return static_cast<T>(pixel); }, output);
  };
  if (type.Match<float>()) {
    write(static_cast<float*>(pixels));
  } else {
    CAFFE_ENFORCE((std::is_same_v<Pixel, uint8_t> && type.Match<uint8_t>()),
                  "cannot write a float image to a batch of type ", type.name());
    write(static_cast<uint8_t*>(pixels));
  }
}

NormalizeParams ImageTransform::normalize_params() const {
  NormalizeParams params;
  params.crop = options_.crop;
  params.channels = channels();
  params.channels_first = options_.channels_first;
  params.blends = blends();
  std::copy(mean_, mean_ + kMaxChannels, params.mean);
  std::copy(std_, std_ + kMaxChannels, params.std);
  return params;
}

template void ImageTransform::Apply(const ImageView<uint8_t>&, const BoundingBox&, uint64_t,
                                    void*) const;
template void ImageTransform::Apply(const ImageView<float>&, const BoundingBox&, uint64_t,
                                    void*) const;
template void ImageTransform::Crop(const ImageView<uint8_t>&, const BoundingBox&, uint64_t,
                                   TypeMeta, void*, SampledAugmentation*) const;
template void ImageTransform::Crop(const ImageView<float>&, const BoundingBox&, uint64_t, TypeMeta,
                                   void*, SampledAugmentation*) const;

}  // namespace caffe2::db
