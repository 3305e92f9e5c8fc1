// The random choices of MixImages.
#pragma once

#include "caffe2/core/random.h"
#include "operators/image/mix_images_functions.h"

namespace caffe2 {

// Draws from Beta(alpha, alpha), for alpha > 0; the result is in [0, 1]. Uses two gamma variables
// (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000) and their
// logarithms, so that a small alpha works.
double DrawBeta(double alpha, RandomGenerator* random);

// The alpha of Beta(alpha, alpha) for mixup and for CutMix; 0: not used. With both, each batch
// takes one of them with probability 1/2.
struct MixOptions {
  float mixup_alpha = 0;   // Zhang et al., "mixup: Beyond empirical risk minimization", 2018
  float cutmix_alpha = 0;  // Yun et al., "CutMix", 2019
};

// Draws the choice for one batch. Each image is mixed with another image, unless there is only one.
// As in torchvision, the box of CutMix is clipped at the border of the image, and the shares of the
// labels are the shares of the area after clipping.
MixChoice DrawMix(const MixOptions& options, int64_t images, int64_t height, int64_t width,
                  RandomGenerator* random);

}  // namespace caffe2
