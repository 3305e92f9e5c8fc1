#include "caffe2/core/tensor.h"
#include "caffe2/cuda/convolution.h"

namespace caffe2::cuda {

std::string ConvProblem::ToString() const {
  return MakeString("x ", ShapeString(x), " filter ", ShapeString(filter), " y ", ShapeString(y),
                    " stride ", ShapeString(stride), " dilation ", ShapeString(dilation), " pads ",
                    ShapeString(pad_begin), " ", ShapeString(pad_end),
                    channels_last ? " NHWC " : " NCHW ", type.name());
}

}  // namespace caffe2::cuda
