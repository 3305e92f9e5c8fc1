// Random changes of colour, on float pixels from 0 to 255 in blue, green, red order.
#pragma once

#include <cstdint>
#include <vector>

#include "caffe2/core/random.h"
#include "db/image/augmentation.h"

namespace caffe2::db {

// Draws changes of saturation, brightness and contrast, in random order, each by a factor from
// [1 - amount, 1 + amount] (Howard, "Some improvements on deep convolutional neural network based
// image classification", 2013).
void DrawColorJitter(float saturation, float brightness, float contrast, RandomGenerator* random,
                     SampledAugmentation* augmentation);

// Draws noise along the principal components of the colours (Krizhevsky et al., "ImageNet
// classification with deep convolutional neural networks", 2012): normal factors of deviation
// `std` times the eigenvalues. `eigvecs` holds 9 values, rows for red, green, blue, and `eigvals`
// 3; where empty, those of ImageNet for pixels up to 255.
void DrawColorLighting(float std, const std::vector<float>& eigvecs,
                       const std::vector<float>& eigvals, RandomGenerator* random,
                       SampledAugmentation* augmentation);

// Blends and shifts `area` pixels of 3 values, in place; does not mirror.
void AugmentColors(const SampledAugmentation& augmentation, int64_t area, float* pixels);

}  // namespace caffe2::db
