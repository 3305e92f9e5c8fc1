// The random choices of MixImages.
#pragma once

#include "caffe2/core/random.h"
#include "operators/image/mix_images_functions.h"

namespace caffe2 {

// From Beta(alpha, alpha), in [0, 1], for alpha > 0: two gamma variables (Marsaglia and Tsang, "A
// simple method for generating gamma variables", 2000), compared by their logarithms, so that a
// small alpha works.
double DrawBeta(double alpha, RandomGenerator* random);

// Of each of both ways to mix, the parameter of its Beta(alpha, alpha); 0: it is not used. With
// both, each batch takes one of them with probability 1/2.
struct MixOptions {
  float mixup_alpha = 0;   // Zhang et al., "mixup: Beyond empirical risk minimization", 2018
  float cutmix_alpha = 0;  // Yun et al., "CutMix", 2019
};

// The choice for one batch. An image is mixed with another one, unless there is only one. As in
// torchvision, the box of CutMix is cut off at the border of the image, and the label's share is
// the share of the area that is left.
MixChoice DrawMix(const MixOptions& options, int64_t images, int64_t height, int64_t width,
                  RandomGenerator* random);

}  // namespace caffe2
