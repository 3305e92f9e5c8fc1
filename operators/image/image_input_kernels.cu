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
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          const int k = kChannelsFirst ? c * kPack + p : p * kChannels + c;
          result[k / kPack].v[k % kPack] =
              cuda::Narrow<T>((pixel[c] + augmentation.shift[c] - params.mean[c]) / params.std[c]);
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

template <typename T, int kPack, bool kChannelsFirst, bool kBlends, typename Crops>
void NormalizeImages(const NormalizeParams& params, int64_t images, const Crops& crops,
                     const SampledAugmentation* augmentations, T* output, cuda::Stream stream) {
  constexpr int64_t kMaxImages = 32768;  // a limit of grids
  const int64_t packs = int64_t{params.crop} * params.crop / kPack;
  const dim3 grid(kBlends ? 1 : cuda::BlocksFor(packs, kImageThreads),
                  static_cast<unsigned>(std::min(kMaxImages, images)));
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
