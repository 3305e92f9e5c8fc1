// Random changes of colour, for float pixels from 0 to 255 in blue, green, red order.
#pragma once

#include <cstdint>
#include <vector>

#include "caffe2/core/random.h"
#include "db/image/augmentation.h"

namespace caffe2::db {

// Draws changes of saturation, brightness and contrast in random order, each with a factor from
// [1 - amount, 1 + amount] (Howard, "Some improvements on deep convolutional neural network based
// image classification", 2013). Adds them to augmentation->blend, which must be empty.
void DrawColorJitter(float saturation, float brightness, float contrast, RandomGenerator* random,
                     SampledAugmentation* augmentation);

// Draws noise along the principal components of the colours (Krizhevsky et al., "ImageNet
// classification with deep convolutional neural networks", 2012): each eigenvector times its
// eigenvalue times a normal variate of standard deviation `std`. `eigvecs` has 9 values (rows: red,
// green, blue; columns: components) and `eigvals` 3, for pixels up to 255; if empty, ImageNet's.
// Adds to augmentation->shift. Throws EnforceNotMet for other sizes.
void DrawColorLighting(float std, const std::vector<float>& eigvecs,
                       const std::vector<float>& eigvals, RandomGenerator* random,
                       SampledAugmentation* augmentation);

// Applies the blends and the shift to `area` pixels of 3 values each, in place. Does not mirror.
void AugmentColors(const SampledAugmentation& augmentation, int64_t area, float* pixels);

}  // namespace caffe2::db
