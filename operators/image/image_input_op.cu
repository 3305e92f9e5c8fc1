#include "caffe2/cuda/kernel.h"
#include "operators/image/image_input_kernels.h"

namespace caffe2 {
namespace {

using db::ImageChange;
using db::ImageFinish;

constexpr int kImageThreads = 512;

__device__ inline float Gray(const float* bgr) {
  constexpr float kBlue = db::kGrayWeights[0], kGreen = db::kGrayWeights[1],
                  kRed = db::kGrayWeights[2];
  return kBlue * bgr[0] + kGreen * bgr[1] + kRed * bgr[2];
}

// The first `count` changes of colour of one pixel; `mean` is the base of kContrast.
__device__ inline void Blend(const ImageChange& change, int count, float mean, float* bgr) {
  for (int b = 0; b < count; ++b) {
    const ImageChange::Kind kind = change.blend[b].kind;
    const float factor = change.blend[b].factor;
    const float base = kind == ImageChange::kSaturation   ? Gray(bgr)
                       : kind == ImageChange::kBrightness ? 0.f
                                                          : mean;
    for (int c = 0; c < 3; ++c) bgr[c] = factor * bgr[c] + (1.f - factor) * base;
  }
}

// The mean gray value of an image when its contrast is to change. All threads of the block.
template <typename Pixel>
__device__ float MeanGray(const ImageChange& change, int area, const Pixel* image) {
  int before = 0;
  while (before < change.num_blends && change.blend[before].kind != ImageChange::kContrast) {
    ++before;
  }
  double sum = 0;
  for (int i = threadIdx.x; i < area; i += kImageThreads) {
    float bgr[3];
    for (int c = 0; c < 3; ++c) bgr[c] = static_cast<float>(image[int64_t{3} * i + c]);
    Blend(change, before, 0.f, bgr);
    sum += Gray(bgr);
  }
  return static_cast<float>(cuda::BlockSum<kImageThreads>(sum) / area);
}

// One thread and turn: kPack neighbouring pixels of a row, which are aligned words of the input and
// of the output. With kBlends one block does a whole image.
template <typename Pixel, typename T, int kChannels, int kPack, bool kChannelsFirst, bool kBlends>
__global__ void FinishImagesKernel(ImageFinish finish, int64_t images, const Pixel* pixels,
                                   const ImageChange* changes, T* output) {
  using In = cuda::Pack<Pixel, kPack>;
  using Out = cuda::Pack<T, kPack>;
  const int crop = finish.crop, area = crop * crop, packs = area / kPack;
  for (int64_t n = blockIdx.y; n < images; n += gridDim.y) {
    const ImageChange& change = changes[n];
    const bool mirror = change.mirror != 0;
    const Pixel* image = pixels + n * area * kChannels;
    T* out = output + n * area * kChannels;
    float mean = 0.f;
    if constexpr (kBlends) mean = MeanGray(change, area, image);
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
        if constexpr (kBlends) Blend(change, change.num_blends, mean, pixel);
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          const int k = kChannelsFirst ? c * kPack + p : p * kChannels + c;
          result[k / kPack].v[k % kPack] =
              cuda::Narrow<T>((pixel[c] + change.shift[c] - finish.mean[c]) / finish.std[c]);
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
void Finish(const ImageFinish& finish, int64_t images, const Pixel* pixels,
            const ImageChange* changes, T* output, cuda::Stream stream) {
  constexpr int64_t kMostImages = 32768;  // a limit of grids
  const int64_t packs = int64_t{finish.crop} * finish.crop / kPack;
  const dim3 grid(kBlends ? 1 : cuda::BlocksFor(packs, kImageThreads),
                  static_cast<unsigned>(std::min(kMostImages, images)));
  cuda::Launch("FinishImages",
               FinishImagesKernel<Pixel, T, kChannels, kPack, kChannelsFirst, kBlends>, grid,
               dim3(kImageThreads), stream, finish, images, pixels, changes, output);
}

// Four pixels at once where rows divide by it. Images of floats and of changed colours are rarer:
// they share the kernel that can do all.
template <typename Pixel, typename T, bool kChannelsFirst>
void FinishColor(const ImageFinish& finish, int64_t images, const Pixel* pixels,
                 const ImageChange* changes, T* output, cuda::Stream stream) {
  if constexpr (sizeof(Pixel) == 1) {
    if (!finish.blends) {
      const auto launch = finish.crop % 4 == 0 ? Finish<Pixel, T, 3, 4, kChannelsFirst, false>
                                               : Finish<Pixel, T, 3, 1, kChannelsFirst, false>;
      return launch(finish, images, pixels, changes, output, stream);
    }
  }
  Finish<Pixel, T, 3, 1, kChannelsFirst, true>(finish, images, pixels, changes, output, stream);
}

}  // namespace

template <typename Pixel, typename T>
void LaunchFinishImages(const ImageFinish& finish, int64_t images, const Pixel* pixels,
                        const ImageChange* changes, T* output, cuda::Stream stream) {
  const auto launch = finish.channels == 1    ? Finish<Pixel, T, 1, 1, false, false>
                      : finish.channels_first ? FinishColor<Pixel, T, true>
                                              : FinishColor<Pixel, T, false>;
  launch(finish, images, pixels, changes, output, stream);
}

#define INSTANTIATE(Pixel, T)                                                           \
  template void LaunchFinishImages<Pixel, T>(const ImageFinish&, int64_t, const Pixel*, \
                                             const ImageChange*, T*, cuda::Stream)
INSTANTIATE(uint8_t, float);
INSTANTIATE(uint8_t, float16);
INSTANTIATE(uint8_t, bfloat16);
INSTANTIATE(float, float);
INSTANTIATE(float, float16);
INSTANTIATE(float, bfloat16);

}  // namespace caffe2
