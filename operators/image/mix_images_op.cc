#include "operators/image/mix_images_op.h"

namespace caffe2 {

void CheckMixedLabels(const Tensor& labels, int64_t num_labels) {
  if (labels.device().type != CPU) return;
  const int32_t* label = labels.data<int32_t>();
  for (int64_t i = 0; i < labels.numel(); ++i) {
    CAFFE_ENFORCE(label[i] >= 0 && label[i] < num_labels, "label ", label[i], " of image ", i,
                  " is not in [0, num_labels = ", num_labels, ")");
  }
}

template <>
MixSource MixImagesOp<CPUContext>::Draw(int64_t images, int64_t height, int64_t width) {
  return {DrawMix(options_, images, height, width, &context_.random())};
}

REGISTER_CPU_OPERATOR(MixImages, MixImagesOp<CPUContext>);

OPERATOR_SCHEMA(MixImages)
    .NumInputs(2)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const auto labels = ArgumentHelper(def).GetSingleArgument<int64_t>("num_labels", 0);
      return std::vector<TensorShape>{
          in[0],
          CreateTensorShape(std::vector<int64_t>{in[0].dims(0), labels}, TensorProto::FLOAT)};
    })
    .SetDoc(R"DOC(
Mixes each image of a batch with another one, and their labels in proportion, as mixup (Zhang et
al., 2018) and CutMix (Yun et al., 2019) do. Each run draws one lambda from Beta(alpha, alpha), and
how many places further in the batch the other image is. Mixup gives lambda * image + (1 - lambda) *
other. CutMix puts a box of the other image, with about 1 - lambda of the area, into the image. With
both, each run takes one of them with probability 1/2. The random numbers are the operator's own,
seeded by device_option.random_seed. Not in Caffe2.
)DOC")
    .Arg<float>("mixup_alpha", "(>= 0, default 0) alpha of mixup; 0: only CutMix.")
    .Arg<float>("cutmix_alpha",
                "(>= 0, default 0) alpha of CutMix; 0: only mixup. One must be positive.")
    .Arg<int>("num_labels", "(> 0) The number of labels.", /*required=*/true)
    .Arg<float>("label_smoothing",
                "(in [0, 1), default 0) The share of the probability that is spread evenly over "
                "all labels.")
    .ArgOrder()
    .Input(0, "images", "N images of float, float16 or bfloat16.")
    .Input(1, "labels",
           "int32 {N}, from 0 to num_labels - 1. On CUDA devices this is not checked: a label out "
           "of range gets no probability.")
    .Output(0, "mixed", "The mixed images, shaped like the images. They cannot overwrite them.")
    .Output(1, "probabilities",
            "float {N, num_labels}: the probabilities of the labels, for SoftmaxWithLoss with "
            "label_prob.");

NO_GRADIENT(MixImages);

}  // namespace caffe2
