#include "caffe2/cuda/kernel.h"
#include "operators/image/image_input_kernels.h"

namespace caffe2 {
namespace {

using db::NormalizeParams;
using db::SampledAugmentation;

constexpr int kImageThreads = 512;

__device__ inline float Gray(const float* bgr) {
  constexpr float kBlue = db::kGrayWeights[0], kGreen = db::kGrayWeights[1],
                  kRed = db::kGrayWeights[2];
  return kBlue * bgr[0] + kGreen * bgr[1] + kRed * bgr[2];
}

// Applies the first `count` colour changes to one pixel. `mean` is the base of kContrast.
__device__ inline void Blend(const SampledAugmentation& augmentation, int count, float mean,
                             float* bgr) {
  for (int b = 0; b < count; ++b) {
    const SampledAugmentation::Kind kind = augmentation.blend[b].kind;
    const float factor = augmentation.blend[b].factor;
    const float base = kind == SampledAugmentation::kSaturation   ? Gray(bgr)
                       : kind == SampledAugmentation::kBrightness ? 0.f
                                                                  : mean;
    for (int c = 0; c < 3; ++c) bgr[c] = factor * bgr[c] + (1.f - factor) * base;
  }
}

// True for a pixel of the mirrored crop in the box that is erased.
__device__ inline bool IsErased(const SampledAugmentation& augmentation, int y, int x) {
  const int row = y - augmentation.erased_y, column = x - augmentation.erased_x;
  return row >= 0 && row < augmentation.erased_height && column >= 0 &&
         column < augmentation.erased_width;
}

// Where the pixels of crops are. Read gives kPack neighbouring pixels of crop n, which begin at
// (y, x), as kPack * kChannels elements.
template <typename Value, int channels>
struct CropsOfBatch {
  using Pixel = Value;
  static constexpr int kChannels = channels;
  const Pixel* pixels;
  int crop;

  template <int kPack>
  __device__ void Read(int64_t n, int y, int x, cuda::Pack<Pixel, kPack>* in) const {
    const Pixel* from = pixels + ((n * crop + y) * crop + x) * kChannels;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      in[c] = reinterpret_cast<const cuda::Pack<Pixel, kPack>*>(from)[c];
    }
  }
};

template <int channels>
struct CropsOfResident {
  using Pixel = uint8_t;
  static constexpr int kChannels = channels;
  ResidentImages images;

  template <int kPack>
  __device__ void Read(int64_t n, int y, int x, cuda::Pack<Pixel, kPack>* in) const {
    static_assert(kPack == 1);
    const db::ResidentCrop& crop = images.crops[n];
    const int side = images.side, row = crop.y + y, column = crop.x + x;
    const bool inside = row >= 0 && row < side && column >= 0 && column < side;
    const Pixel* from = images.pixels + ((crop.image * side + row) * side + column) * kChannels;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) in[c].v[0] = inside ? from[c] : Pixel{0};
  }
};

// The mean gray value of a crop, if its contrast changes. All threads of the block must call it.
template <typename Crops>
__device__ float MeanGray(const SampledAugmentation& augmentation, int crop, int64_t n,
                          const Crops& crops) {
  int before = 0;
  while (before < augmentation.num_blends &&
         augmentation.blend[before].kind != SampledAugmentation::kContrast) {
    ++before;
  }
  if (before == augmentation.num_blends) return 0.f;  // the same in all threads of the block
  double sum = 0;
  const int area = crop * crop;
  for (int i = threadIdx.x; i < area; i += kImageThreads) {
    cuda::Pack<typename Crops::Pixel, 1> in[3];
    crops.template Read<1>(n, i / crop, i % crop, in);
    float bgr[3];
    for (int c = 0; c < 3; ++c) bgr[c] = static_cast<float>(in[c].v[0]);
    Blend(augmentation, before, 0.f, bgr);
    sum += Gray(bgr);
  }
  return static_cast<float>(cuda::BlockSum<kImageThreads>(sum) / area);
}

// In each turn a thread handles kPack neighbouring pixels of a row, which are aligned words of the
// input and of the output. With kBlends one block handles a whole image.
template <typename Crops, typename T, int kPack, bool kChannelsFirst, bool kBlends>
__global__ void NormalizeImagesKernel(NormalizeParams params, int64_t images, Crops crops,
                                      const SampledAugmentation* augmentations, T* output) {
  constexpr int kChannels = Crops::kChannels;
  using In = cuda::Pack<typename Crops::Pixel, kPack>;
  using Out = cuda::Pack<T, kPack>;
  const int crop = params.crop, area = crop * crop, packs = area / kPack;
  for (int64_t n = blockIdx.y; n < images; n += gridDim.y) {
    const SampledAugmentation& augmentation = augmentations[n];
    const bool mirror = augmentation.mirror != 0;
    T* out = output + n * area * kChannels;
    float mean = 0.f;
    if constexpr (kBlends) mean = MeanGray(augmentation, crop, n, crops);
    for (int i = blockIdx.x * kImageThreads + threadIdx.x; i < packs;
         i += gridDim.x * kImageThreads) {
      const int y = i * kPack / crop, x = i * kPack % crop;
      In in[kChannels];
      Out result[kChannels];
      crops.template Read<kPack>(n, y, mirror ? crop - kPack - x : x, in);
#pragma unroll
      for (int p = 0; p < kPack; ++p) {
        float pixel[kChannels];
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          const int k = p * kChannels + c, mirrored = (kPack - 1 - p) * kChannels + c;
          pixel[c] = static_cast<float>(mirror ? in[mirrored / kPack].v[mirrored % kPack]
                                               : in[k / kPack].v[k % kPack]);
        }
        if constexpr (kBlends) Blend(augmentation, augmentation.num_blends, mean, pixel);
        const bool erased = IsErased(augmentation, y, x + p);
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          const int k = kChannelsFirst ? c * kPack + p : p * kChannels + c;
          const float value = (pixel[c] + augmentation.shift[c] - params.mean[c]) / params.std[c];
          result[k / kPack].v[k % kPack] = cuda::Narrow<T>(erased ? 0.f : value);
        }
      }
      T* place = out + (kChannelsFirst ? int64_t{i} * kPack : int64_t{i} * kPack * kChannels);
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        *reinterpret_cast<Out*>(place + (kChannelsFirst ? int64_t{c} * area : c * kPack)) =
            result[c];
      }
    }
  }
}

// Blocks of kImageThreads for so many pieces of work in each image.
dim3 GridFor(int64_t images, int64_t pieces) {
  constexpr int64_t kMaxImages = 32768;  // a limit of grids
  return dim3(cuda::BlocksFor(pieces, kImageThreads),
              static_cast<unsigned>(std::min(kMaxImages, images)));
}

template <typename T, int kPack, bool kChannelsFirst, bool kBlends, typename Crops>
void NormalizeImages(const NormalizeParams& params, int64_t images, const Crops& crops,
                     const SampledAugmentation* augmentations, T* output, cuda::Stream stream) {
  const dim3 grid = GridFor(images, kBlends ? 1 : int64_t{params.crop} * params.crop / kPack);
  cuda::Launch("NormalizeImages", NormalizeImagesKernel<Crops, T, kPack, kChannelsFirst, kBlends>,
               grid, dim3(kImageThreads), stream, params, images, crops, augmentations, output);
}

// Handles four pixels at once if the width is a multiple of four. Float images and images with
// changed colours are rarer: they share the most general kernel.
template <typename Pixel, typename T, bool kChannelsFirst>
void NormalizeColorImages(const NormalizeParams& params, int64_t images, const Pixel* pixels,
                          const SampledAugmentation* augmentations, T* output,
                          cuda::Stream stream) {
  const CropsOfBatch<Pixel, 3> crops{pixels, params.crop};
  if constexpr (sizeof(Pixel) == 1) {
    if (!params.blends) {
      const auto launch =
          params.crop % 4 == 0
              ? NormalizeImages<T, 4, kChannelsFirst, false, CropsOfBatch<Pixel, 3>>
              : NormalizeImages<T, 1, kChannelsFirst, false, CropsOfBatch<Pixel, 3>>;
      return launch(params, images, crops, augmentations, output, stream);
    }
  }
  NormalizeImages<T, 1, kChannelsFirst, true>(params, images, crops, augmentations, output, stream);
}

// Crops begin anywhere, so pixels are read one by one. All colour images use the kernel that can
// change colours.
template <typename T, int kChannels>
void NormalizeResident(const NormalizeParams& params, int64_t images,
                       const ResidentImages& resident, const SampledAugmentation* augmentations,
                       T* output, cuda::Stream stream) {
  constexpr bool kColor = kChannels == 3;
  using Crops = CropsOfResident<kChannels>;
  const auto launch = params.channels_first && kColor ? NormalizeImages<T, 1, kColor, kColor, Crops>
                                                      : NormalizeImages<T, 1, false, kColor, Crops>;
  launch(params, images, Crops{resident}, augmentations, output, stream);
}

// The source pixels under one pixel of a scaled image, along one axis. Their weights add up to 1.
struct Taps {
  int first, count;
  float first_weight, inner_weight, last_weight;  // a single tap has the first

  __device__ float Weight(int tap) const {
    return tap == 0 ? first_weight : tap == count - 1 ? last_weight : inner_weight;
  }
};

// Pixel i of `scaled` pixels covers an area of `size` source pixels that begin at `begin`, as in
// db/image/area_resize.cc.
__device__ inline Taps AreaTaps(int begin, int size, int scaled, int i) {
  const double step = static_cast<double>(size) / scaled, from = begin + i * step;
  const double limit = begin + size, to = from + step < limit ? from + step : limit;
  Taps taps;
  taps.first = static_cast<int>(from + db::kMinAreaOverlap);
  const int end = static_cast<int>(ceil(to - db::kMinAreaOverlap));
  taps.count = end > taps.first + 1 ? end - taps.first : 1;
  const double scale = 1 / (to - from), low = from > taps.first ? from : taps.first;
  taps.inner_weight = static_cast<float>(scale);
  taps.last_weight = static_cast<float>((to - (end - 1)) * scale);
  taps.first_weight =
      static_cast<float>((taps.count > 1 ? taps.first + 1 - low : to - low) * scale);
  return taps;
}

// Interpolates as OpenCV's INTER_AREA where one axis of the image is enlarged.
__device__ inline Taps LinearTaps(int begin, int size, int scaled, int i) {
  const double inverse = static_cast<double>(scaled) / size, scale = 1 / inverse;
  const int at = static_cast<int>(floor(i * scale));
  float part = static_cast<float>(i + 1 - (at + 1) * inverse);
  part = part <= 0 ? 0.f : part - floorf(part);
  const bool is_last = at >= size - 1;
  return {begin + (is_last ? size - 1 : at), is_last || part == 0 ? 1 : 2,
          is_last || part == 0 ? 1.f : 1 - part, 0.f, part};
}

__device__ inline Taps TapsOf(bool shrinks, int begin, int size, int scaled, int i) {
  return shrinks ? AreaTaps(begin, size, scaled, i) : LinearTaps(begin, size, scaled, i);
}

// A thread writes all channels of a pixel.
template <int kChannels>
__global__ void CropJpegsKernel(int crop, int64_t images, const uint8_t* decoded,
                                const db::JpegCrop* crops, uint8_t* output) {
  const int area = crop * crop;
  for (int64_t n = blockIdx.y; n < images; n += gridDim.y) {
    const db::JpegCrop& image = crops[n];
    if (image.bytes == 0) continue;
    const db::CropGeometry& geometry = image.geometry;
    const db::BoundingBox& part = geometry.part;
    const bool shrinks = geometry.height <= part.height && geometry.width <= part.width;
    for (int i = blockIdx.x * kImageThreads + threadIdx.x; i < area;
         i += gridDim.x * kImageThreads) {
      const int y = geometry.y + i / crop, x = geometry.x + i % crop;
      float mean[kChannels] = {};  // black where the crop reaches beyond the image
      if (y >= 0 && y < geometry.height && x >= 0 && x < geometry.width) {
        const Taps rows = TapsOf(shrinks, part.ymin, part.height, geometry.height, y),
                   columns = TapsOf(shrinks, part.xmin, part.width, geometry.width, x);
        const uint8_t* corner = decoded + image.first + int64_t{rows.first} * image.row_stride +
                                int64_t{columns.first} * image.column_stride;
        for (int column = 0; column < columns.count; ++column, corner += image.column_stride) {
          float sums[kChannels] = {};
          const uint8_t* pixel = corner;
          for (int row = 0; row < rows.count; ++row, pixel += image.row_stride) {
            const float weight = rows.Weight(row);
#pragma unroll
            for (int c = 0; c < kChannels; ++c) sums[c] += weight * static_cast<float>(pixel[c]);
          }
          const float weight = columns.Weight(column);
#pragma unroll
          for (int c = 0; c < kChannels; ++c) mean[c] += weight * sums[c];
        }
      }
      uint8_t* to = output + (n * area + i) * kChannels;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        to[c] = static_cast<uint8_t>(rintf(mean[c] < 255.f ? mean[c] : 255.f));
      }
    }
  }
}

}  // namespace

template <typename Pixel, typename T>
void LaunchNormalizeImages(const NormalizeParams& params, int64_t images, const Pixel* pixels,
                           const SampledAugmentation* augmentations, T* output,
                           cuda::Stream stream) {
  if (params.channels == 1) {
    return NormalizeImages<T, 1, false, false>(
        params, images, CropsOfBatch<Pixel, 1>{pixels, params.crop}, augmentations, output, stream);
  }
  const auto launch = params.channels_first ? NormalizeColorImages<Pixel, T, true>
                                            : NormalizeColorImages<Pixel, T, false>;
  launch(params, images, pixels, augmentations, output, stream);
}

template <typename T>
void LaunchNormalizeResidentImages(const NormalizeParams& params, int64_t images,
                                   const ResidentImages& resident,
                                   const SampledAugmentation* augmentations, T* output,
                                   cuda::Stream stream) {
  const auto launch = params.channels == 1 ? NormalizeResident<T, 1> : NormalizeResident<T, 3>;
  launch(params, images, resident, augmentations, output, stream);
}

void LaunchCropJpegs(int crop, int channels, int64_t images, const uint8_t* decoded,
                     const db::JpegCrop* crops, uint8_t* output, cuda::Stream stream) {
  const dim3 grid = GridFor(images, int64_t{crop} * crop);
  cuda::Launch("CropJpegs", channels == 1 ? CropJpegsKernel<1> : CropJpegsKernel<3>, grid,
               dim3(kImageThreads), stream, crop, images, decoded, crops, output);
}

#define INSTANTIATE(Pixel, T)                                                                  \
  template void LaunchNormalizeImages<Pixel, T>(const NormalizeParams&, int64_t, const Pixel*, \
                                                const SampledAugmentation*, T*, cuda::Stream)
INSTANTIATE(uint8_t, float);
INSTANTIATE(uint8_t, float16);
INSTANTIATE(uint8_t, bfloat16);
INSTANTIATE(float, float);
INSTANTIATE(float, float16);
INSTANTIATE(float, bfloat16);
#define INSTANTIATE_RESIDENT(T)                                                   \
  template void LaunchNormalizeResidentImages<T>(const NormalizeParams&, int64_t, \
                                                 const ResidentImages&,           \
                                                 const SampledAugmentation*, T*, cuda::Stream)
INSTANTIATE_RESIDENT(float);
INSTANTIATE_RESIDENT(float16);
INSTANTIATE_RESIDENT(bfloat16);

}  // namespace caffe2
