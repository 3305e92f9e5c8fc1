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

// The mean gray value of an image, if its contrast changes. All threads of the block must call it.
template <typename Pixel>
__device__ float MeanGray(const SampledAugmentation& augmentation, int area, const Pixel* image) {
  int before = 0;
  while (before < augmentation.num_blends &&
         augmentation.blend[before].kind != SampledAugmentation::kContrast) {
    ++before;
  }
  double sum = 0;
  for (int i = threadIdx.x; i < area; i += kImageThreads) {
    float bgr[3];
    for (int c = 0; c < 3; ++c) bgr[c] = static_cast<float>(image[int64_t{3} * i + c]);
    Blend(augmentation, before, 0.f, bgr);
    sum += Gray(bgr);
  }
  return static_cast<float>(cuda::BlockSum<kImageThreads>(sum) / area);
}

// In each turn a thread handles kPack neighbouring pixels of a row, which are aligned words of the
// input and of the output. With kBlends one block handles a whole image.
template <typename Pixel, typename T, int kChannels, int kPack, bool kChannelsFirst, bool kBlends>
__global__ void NormalizeImagesKernel(NormalizeParams params, int64_t images, const Pixel* pixels,
                                      const SampledAugmentation* augmentations, T* output) {
  using In = cuda::Pack<Pixel, kPack>;
  using Out = cuda::Pack<T, kPack>;
  const int crop = params.crop, area = crop * crop, packs = area / kPack;
  for (int64_t n = blockIdx.y; n < images; n += gridDim.y) {
    const SampledAugmentation& augmentation = augmentations[n];
    const bool mirror = augmentation.mirror != 0;
    const Pixel* image = pixels + n * area * kChannels;
    T* out = output + n * area * kChannels;
    float mean = 0.f;
    if constexpr (kBlends) mean = MeanGray(augmentation, area, image);
    for (int i = blockIdx.x * kImageThreads + threadIdx.x; i < packs;
         i += gridDim.x * kImageThreads) {
      const int y = i * kPack / crop, x = i * kPack % crop;
      const int64_t source = y * crop + (mirror ? crop - kPack - x : x);
      In in[kChannels];
      Out result[kChannels];
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        in[c] = reinterpret_cast<const In*>(image + source * kChannels)[c];
      }
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

template <typename Pixel, typename T, int kChannels, int kPack, bool kChannelsFirst, bool kBlends>
void NormalizeImages(const NormalizeParams& params, int64_t images, const Pixel* pixels,
                     const SampledAugmentation* augmentations, T* output, cuda::Stream stream) {
  constexpr int64_t kMaxImages = 32768;  // a limit of grids
  const int64_t packs = int64_t{params.crop} * params.crop / kPack;
  const dim3 grid(kBlends ? 1 : cuda::BlocksFor(packs, kImageThreads),
                  static_cast<unsigned>(std::min(kMaxImages, images)));
  cuda::Launch("NormalizeImages",
               NormalizeImagesKernel<Pixel, T, kChannels, kPack, kChannelsFirst, kBlends>, grid,
               dim3(kImageThreads), stream, params, images, pixels, augmentations, output);
}

// Handles four pixels at once if the width is a multiple of four. Float images and images with
// changed colours are rarer: they share the most general kernel.
template <typename Pixel, typename T, bool kChannelsFirst>
void NormalizeColorImages(const NormalizeParams& params, int64_t images, const Pixel* pixels,
                          const SampledAugmentation* augmentations, T* output,
                          cuda::Stream stream) {
  if constexpr (sizeof(Pixel) == 1) {
    if (!params.blends) {
      const auto launch = params.crop % 4 == 0
                              ? NormalizeImages<Pixel, T, 3, 4, kChannelsFirst, false>
                              : NormalizeImages<Pixel, T, 3, 1, kChannelsFirst, false>;
      return launch(params, images, pixels, augmentations, output, stream);
    }
  }
  NormalizeImages<Pixel, T, 3, 1, kChannelsFirst, true>(params, images, pixels, augmentations,
                                                        output, stream);
}

}  // namespace

template <typename Pixel, typename T>
void LaunchNormalizeImages(const NormalizeParams& params, int64_t images, const Pixel* pixels,
                           const SampledAugmentation* augmentations, T* output,
                           cuda::Stream stream) {
  const auto launch = params.channels == 1    ? NormalizeImages<Pixel, T, 1, 1, false, false>
                      : params.channels_first ? NormalizeColorImages<Pixel, T, true>
                                              : NormalizeColorImages<Pixel, T, false>;
  launch(params, images, pixels, augmentations, output, stream);
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

}  // namespace caffe2
