#include "db/image/image_transform.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/utils/narrow_float.h"
#include "db/image/area_resize.h"
#include "db/image/color_jitter.h"
#include "db/image/image_codec.h"
#include "db/image/normalize_image.h"

namespace caffe2::db {
namespace {

constexpr int kMaxChannels = 3;

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
    CAFFE_THROW("the output type of images must be float, float16 or bfloat16, found ",
                meta.name());
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
  CAFFE_ENFORCE(scaled <= 1 << 20, "the rescaled image would have a side of ", scaled,
                " pixels, more than ", 1 << 20);
  return static_cast<int>(scaled);
}

template <typename Pixel>
void CheckSource(const ImageSource<Pixel>& source) {
  CAFFE_ENFORCE((source.channels() == 1 || source.channels() == 3) && source.height() > 0 &&
                    source.width() > 0,
                "cannot crop an image of ", source.height(), "x", source.width(), " with ",
                source.channels(), " channels");
}

// A black square of `side` with the view at (y, x).
template <typename Pixel>
Image<Pixel> OnBlack(const ImageView<Pixel>& view, int side, int y, int x) {
  const auto pixels = std::make_shared<std::vector<Pixel>>(size_t{1} * side * side * view.channels);
  const auto square = ImageView<Pixel>::Interleaved(pixels->data(), side, side, view.channels);
  for (int row = 0; row < view.height; ++row) {
    Pixel* to = pixels->data() + (square.At(y + row, x) - square.data);
    for (int column = 0; column < view.width; ++column) {
      for (int c = 0; c < view.channels; ++c) *to++ = *view.At(row, column, c);
    }
  }
  return {square, pixels};
}

}  // namespace

ImageTransform::ImageTransform(const ImageTransformOptions& options) : options_(options) {
  const bool random_scale = options.random_scale_min > 0 || options.random_scale_max > 0;
  CAFFE_ENFORCE(options.crop > 0,
                "crop, the height and width of the output, must be positive, found ", options.crop);
  CAFFE_ENFORCE(options.scale <= 0 || options.minsize <= 0, "scale (", options.scale,
                ") and minsize (", options.minsize, ") cannot be used together");
  CAFFE_ENFORCE(options.pad >= 0 && options.pad < options.crop, "pad (", options.pad,
                ") must be at least 0 and less than crop (", options.crop, ")");
  const int size = options.scale > 0 ? options.scale : options.minsize;
  CAFFE_ENFORCE(size <= 0 || size + 2 * pad() >= options.crop || random_scale,
                options.scale > 0 ? "scale (" : "minsize (", size, ") is less than crop (",
                options.crop, ")");
  CAFFE_ENFORCE(options.pad == 0 || options.scale_jitter == ScaleJitter::kNone, "pad (",
                options.pad, ") and scale_jitter_type cannot be used together");
  if (random_scale) {
    CAFFE_ENFORCE(options.random_scale_min >= options.crop &&
                      options.random_scale_max >= options.random_scale_min,
                  "random_scale [", options.random_scale_min, ", ", options.random_scale_max,
                  "] must be an ascending range from at least crop (", options.crop, ")");
  }
  CAFFE_ENFORCE(options.random_erasing >= 0 && options.random_erasing <= 1, "random_erasing (",
                options.random_erasing, ") must be a probability, from 0 to 1");
  const auto per_channel = [this](const std::vector<float>& values, const char* name, float* to) {
    CAFFE_ENFORCE(values.size() == 1 || static_cast<int>(values.size()) == channels(), name,
                  " must have one value, or one for each of the ", channels(), " channels, found ",
                  values.size());
    for (int c = 0; c < kMaxChannels; ++c)
      to[c] = values[values.size() == 1 ? 0 : c % values.size()];
  };
  per_channel(options.mean, "mean", mean_);
  per_channel(options.std, "std", std_);
  for (const float std : std_) {
    CAFFE_ENFORCE(std != 0 && std::isfinite(std), "std must be finite and not 0, found ", std);
  }
  DispatchOutput(options.output_type, []<typename T>() {});  // checks the type
  for (int i = 0; i < options.crop * channels(); ++i) {
    const int c = options.channels_first ? i / options.crop : i % channels();
    mean_row_.push_back(mean_[c]);
    std_row_.push_back(std_[c]);
  }
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
      NormalizeImage(crop, mirror, options_.channels_first, mean_row_.data(), std_row_.data(), out);
    } else {
      WritePixels(
          crop, mirror, options_.channels_first,
          [this](float pixel, int c) {
            T value;
            Store((pixel - mean_[c]) / std_[c], &value);
            return value;
          },
          out);
    }
  });
}

template <typename Pixel>
void ImageTransform::WriteAugmented(const ImageView<Pixel>& crop,
                                    const SampledAugmentation& augmentation, void* output) const {
  thread_local std::vector<float> pixels;
  pixels.resize(size_t{3} * crop.height * crop.width);
  WritePixels(
      crop, augmentation.mirror != 0, /*channels_first=*/false,
      [](Pixel pixel, int) { return static_cast<float>(pixel); }, pixels.data());
  AugmentColors(augmentation, int64_t{crop.height} * crop.width, pixels.data());
  Write(ImageView<float>::Interleaved(pixels.data(), crop.height, crop.width, 3),
        /*mirror=*/false, output);
}

// As torchvision's RandomErasing, which leaves an image whole if ten boxes do not fit.
void ImageTransform::ChooseErased(RandomGenerator* random,
                                  SampledAugmentation* augmentation) const {
  constexpr int kTrials = 10;
  constexpr float kMinArea = 0.02f, kMaxArea = 0.33f, kMaxLogAspect = 1.1939225f;  // log 3.3
  constexpr float kMinLogAspect = -1.2039728f;                                     // log 0.3
  if (random->Uniform() >= options_.random_erasing) return;
  const int crop = options_.crop;
  for (int trial = 0; trial < kTrials; ++trial) {
    const float area = static_cast<float>(crop) * static_cast<float>(crop) *
                       (kMinArea + (kMaxArea - kMinArea) * random->Uniform());
    const float aspect =
        std::exp(kMinLogAspect + (kMaxLogAspect - kMinLogAspect) * random->Uniform());
    const int height = static_cast<int>(std::lround(std::sqrt(area * aspect)));
    const int width = static_cast<int>(std::lround(std::sqrt(area / aspect)));
    if (height < 1 || width < 1 || height >= crop || width >= crop) continue;
    augmentation->erased_y = RandomInRange(0, crop - height, random);
    augmentation->erased_x = RandomInRange(0, crop - width, random);
    augmentation->erased_height = height;
    augmentation->erased_width = width;
    return;
  }
}

void ImageTransform::Erase(const SampledAugmentation& augmentation, void* output) const {
  const int crop = options_.crop;
  const bool planar = options_.channels_first;
  // The crop is planes of rows, and each pixel of a row has so many elements.
  const int planes = planar ? channels() : 1, elements = planar ? 1 : channels();
  DispatchOutput(options_.output_type, [&]<typename T>() {
    for (int plane = 0; plane < planes; ++plane) {
      for (int y = 0; y < augmentation.erased_height; ++y) {
        const int64_t row = (int64_t{plane} * crop + augmentation.erased_y + y) * crop;
        std::fill_n(static_cast<T*>(output) + (row + augmentation.erased_x) * elements,
                    int64_t{augmentation.erased_width} * elements, T{});
      }
    }
  });
}

ImageTransform::CropPlan ImageTransform::SampleCrop(int source_height, int source_width,
                                                    const BoundingBox& own_box,
                                                    uint64_t seed) const {
  RandomGenerator random(seed);
  CropPlan plan;
  const BoundingBox& box = own_box.height > 0 ? own_box : options_.box;
  plan.part = {0, 0, source_height, source_width};
  if (box.height > 0) {
    CAFFE_ENFORCE(box.ymin >= 0 && box.xmin >= 0 && box.width > 0 &&
                      box.height <= source_height - box.ymin &&
                      box.width <= source_width - box.xmin,
                  "the bounding box of ", box.height, "x", box.width, " at (", box.ymin, ", ",
                  box.xmin, ") is not inside the image of ", source_height, "x", source_width);
    plan.part = box;
  }
  const int crop = options_.crop;
  plan.height = plan.part.height;
  plan.width = plan.part.width;
  BoundingBox part;
  if (options_.scale_jitter == ScaleJitter::kInception && !options_.is_test &&
      ChoosePart(plan.height, plan.width, &random, &part)) {
    plan.part = {plan.part.ymin + part.ymin, plan.part.xmin + part.xmin, part.height, part.width};
    plan.height = plan.width = crop;
  } else {
    ChooseSize(&plan.height, &plan.width, &random);
  }
  const int spare_rows = plan.height + 2 * pad() - crop,
            spare_columns = plan.width + 2 * pad() - crop;
  CAFFE_ENFORCE(spare_rows >= 0 && spare_columns >= 0, "an image of ", plan.height, "x", plan.width,
                " is too small for a crop of ", crop);
  plan.y = (plan.height - crop) / 2;
  plan.x = (plan.width - crop) / 2;
  if (!options_.is_test) {
    plan.y = RandomInRange(0, spare_rows, &random) - pad();
    plan.x = RandomInRange(0, spare_columns, &random) - pad();
    plan.augmentation.mirror = options_.mirror && (random() & 1) != 0;
  }
  if (blends()) {
    DrawColorJitter(options_.saturation, options_.brightness, options_.contrast, &random,
                    &plan.augmentation);
  }
  if (shifts()) {
    DrawColorLighting(options_.color_lighting_std, options_.color_lighting_eigvecs,
                      options_.color_lighting_eigvals, &random, &plan.augmentation);
  }
  if (!options_.is_test && options_.random_erasing > 0) ChooseErased(&random, &plan.augmentation);
  return plan;
}

BoundingBox ImageTransform::Visible(const CropPlan& plan) const {
  const int y = std::max(plan.y, 0), x = std::max(plan.x, 0);
  return {y, x, std::min(plan.y + options_.crop, plan.height) - y,
          std::min(plan.x + options_.crop, plan.width) - x};
}

ImageView<uint8_t> ImageTransform::ReadShrunkenCrop(const CropPlan& plan,
                                                    ImageSource<uint8_t>* source) const {
  // Reduced to at least twice the scaled size, so that the rest is still averaged. db/README.md
  // says how far pixels then differ.
  int reduction = 1;
  while (source->CanReduce() && reduction < 8 && plan.part.height >= 4 * reduction * plan.height &&
         plan.part.width >= 4 * reduction * plan.width) {
    reduction *= 2;
  }
  const auto axis = [&](int part_begin, int part_size, int scaled_size, int begin, int size) {
    const double step = static_cast<double>(part_size) / scaled_size;
    return AreaAxis{(part_begin + begin * step) / reduction, step / reduction, size};
  };
  const BoundingBox crop = Visible(plan);
  AreaAxis rows = axis(plan.part.ymin, plan.part.height, plan.height, crop.ymin, crop.height);
  AreaAxis columns = axis(plan.part.xmin, plan.part.width, plan.width, crop.xmin, crop.width);
  const BoundingBox region = {rows.first(), columns.first(), rows.end() - rows.first(),
                              columns.end() - columns.first()};
  ImageView<uint8_t> view = source->Read(region, reduction);
  Image<uint8_t> gray;
  if (view.channels == 3 && !options_.color) {
    gray = ToGray(view);
    view = gray.view;
  }
  rows.begin -= region.ymin;
  columns.begin -= region.xmin;
  thread_local std::vector<uint8_t> pixels;
  pixels.resize(size_t{1} * crop.height * crop.width * view.channels);
  ShrinkByArea(view, rows, columns, pixels.data());
  return ImageView<uint8_t>::Interleaved(pixels.data(), crop.height, crop.width, view.channels);
}

template <typename Pixel>
ImageTransform::CroppedImage<Pixel> ImageTransform::ReadVisible(const CropPlan& plan,
                                                                ImageSource<Pixel>* source) const {
  const BoundingBox crop = Visible(plan);
  const BoundingBox& part = plan.part;
  CroppedImage<Pixel> cropped;
  ImageView<Pixel>& view = cropped.view;
  const bool scaled = plan.height != part.height || plan.width != part.width;
  const bool shrinks = plan.height <= part.height && plan.width <= part.width;
  bool done = false;
  if constexpr (std::is_same_v<Pixel, uint8_t>) {
    if (scaled && shrinks && source->IsInterleaved()) {
      view = ReadShrunkenCrop(plan, source);
      done = true;
    }
  }
  if (!done) {
    view = scaled ? source->Read(part, 1)
                  : source->Read(
                        {part.ymin + crop.ymin, part.xmin + crop.xmin, crop.height, crop.width}, 1);
    if (view.channels == 3 && !options_.color) {
      cropped.gray = ToGray(view);
      view = cropped.gray.view;
    }
    if (scaled) {
      cropped.resized = ResizeImage(view, plan.height, plan.width);
      view = cropped.resized.view.Part(crop.ymin, crop.xmin, crop.height, crop.width);
    }
  }
  return cropped;
}

template <typename Pixel>
ImageTransform::CroppedImage<Pixel> ImageTransform::ReadCrop(const CropPlan& plan,
                                                             ImageSource<Pixel>* source) const {
  CroppedImage<Pixel> cropped = ReadVisible(plan, source);
  ImageView<Pixel>& view = cropped.view;
  const int crop = options_.crop;
  if (view.height < crop || view.width < crop) {
    cropped.padded = OnBlack(view, crop, std::max(-plan.y, 0), std::max(-plan.x, 0));
    view = cropped.padded.view;
  }
  if (view.channels == 1 && options_.color) {
    view.channels = 3;
    view.channel_stride = 0;  // each channel reads the same pixels
  }
  return cropped;
}

template <typename Pixel>
void ImageTransform::Apply(ImageSource<Pixel>* source, const BoundingBox& box, uint64_t seed,
                           void* output) const {
  CheckSource(*source);
  const CropPlan plan = SampleCrop(source->height(), source->width(), box, seed);
  const CroppedImage<Pixel> cropped = ReadCrop(plan, source);
  if (blends() || shifts()) {
    WriteAugmented(cropped.view, plan.augmentation, output);
  } else {
    Write(cropped.view, plan.augmentation.mirror != 0, output);
  }
  Erase(plan.augmentation, output);
}

template <typename Pixel>
void ImageTransform::Crop(ImageSource<Pixel>* source, const BoundingBox& box, uint64_t seed,
                          TypeMeta type, void* pixels, SampledAugmentation* augmentation) const {
  CheckSource(*source);
  const CropPlan plan = SampleCrop(source->height(), source->width(), box, seed);
  const CroppedImage<Pixel> cropped = ReadCrop(plan, source);
  *augmentation = plan.augmentation;
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

template void ImageTransform::Apply(ImageSource<uint8_t>*, const BoundingBox&, uint64_t,
                                    void*) const;
template void ImageTransform::Apply(ImageSource<float>*, const BoundingBox&, uint64_t, void*) const;
template void ImageTransform::Crop(ImageSource<uint8_t>*, const BoundingBox&, uint64_t, TypeMeta,
                                   void*, SampledAugmentation*) const;
template void ImageTransform::Crop(ImageSource<float>*, const BoundingBox&, uint64_t, TypeMeta,
                                   void*, SampledAugmentation*) const;

}  // namespace caffe2::db
