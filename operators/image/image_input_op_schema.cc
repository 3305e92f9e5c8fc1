// The schema of ImageInput.
#include "operators/image/image_input_op.h"

namespace caffe2 {
namespace {

std::vector<TensorShape> InferImageInput(const OperatorDef& def, const std::vector<TensorShape>&) {
  const ArgumentHelper args(def);
  const int64_t n = args.GetSingleArgument<int>("batch_size", 0);
  const int64_t crop = args.GetSingleArgument<int>("crop", -1);
  std::vector<TensorShape> shapes(def.output_size(), UnknownTensorShape());
  if (n <= 0 || crop <= 0 || shapes.empty()) return shapes;
  const int64_t channels = args.GetSingleArgument<int>("color", 1) != 0 ? 3 : 1;
  TensorProto::DataType type = TensorProto::FLOAT;
  if (args.HasSingleArgumentOfType<std::string>("output_type")) {
    const auto name = args.GetSingleArgument<std::string>("output_type", "");
    if (name == "float16") type = TensorProto::FLOAT16;
    if (name == "bfloat16") type = TensorProto::BFLOAT16;
  } else {
    type = static_cast<TensorProto::DataType>(args.GetSingleArgument<int>("output_type", type));
  }
  shapes[0] = IsChannelsFirst(def) ? CreateTensorShape({n, channels, crop, crop}, type)
                                   : CreateTensorShape({n, crop, crop, channels}, type);
  // With TensorProtos, the records give the types of labels and further outputs.
  const bool datum = args.GetSingleArgument<int>("use_caffe_datum", 0) != 0;
  if (shapes.size() < 2) return shapes;
  shapes[1] = CreateTensorShape({n}, datum ? TensorProto::INT32 : TensorProto::UNDEFINED);
  if (args.GetSingleArgument<int>("label_type", 0) != 0) {
    shapes[1].add_dims(args.GetSingleArgument<int>("num_labels", 0));
  }
  const auto sizes = args.GetRepeatedArgument<int>("output_sizes");
  for (size_t i = 2; i < shapes.size(); ++i) {
    const int64_t size = i - 2 < sizes.size() ? sizes[i - 2] : 1;
    shapes[i] = CreateTensorShape({n, size}, TensorProto::UNDEFINED);
  }
  return shapes;
}

OPERATOR_SCHEMA(ImageInput)
    .NumInputs(0, 1)
    .NumOutputs([](int n) { return n >= 2; })
    .NonTensorInputs({0})
    .TensorInferenceFunction(InferImageInput)
    .SetDoc(R"DOC(
Reads images and labels from a database, ahead of their use, in threads of its own. Each image is
decoded if need be, cut to its bounding box, rescaled, padded, cropped (at random, or in the centre
with is_test), mirrored at random, jittered in colour and normalized: (pixel - mean) / std by
channel.

Records are caffe Datum (raw, or with an encoded file) or TensorProtos: the image (STRING with an
encoded file, BYTE or FLOAT of height x width x channels or channels x height x width), the label
(INT32 or FLOAT), further outputs, and perhaps a bounding box (INT32: ymin, xmin, height, width).
Encoded images come out in blue, green, red order, raw images in the order of the record. Gray
images are repeated over 3 channels if color is 1.

Random choices depend only on seed and the place of the record in the reader's stream. An image
that cannot be decoded (truncated, damaged, too small, not of the stated size) is an error that
names the key and the database.

On a CUDA device the images are the same to rounding, unless the device decodes them. Batches are
decoded into page-locked memory and copied to the device on a stream of their own while the net
works on earlier ones; the outputs keep their addresses from run to run.
)DOC")
    .Arg<int>("batch_size", "(> 0) Images in a batch.", /*required=*/true)
    .Arg<int>("crop", "Height and width of the output.", /*required=*/true)
    .Arg<int>("scale", "Length to which the shorter side is resized (default -1: unchanged).")
    .Arg<int>("minsize",
              "As scale, but only for images whose shorter side is shorter (default -1). At most "
              "one of scale and minsize may be given.")
    .Arg<int>("warp", "1: resize both sides to scale or minsize (default 0).")
    .ArgList<int>("random_scale",
                  "[min, max]: draw scale from this range in training (default [-1, -1]).")
    .Arg<int>("scale_jitter_type",
              "1: cut a random part of 8 to 100 % of the area and resize it to the crop's size, in "
              "training (default 0).")
    .Arg<int>("pad",
              "Rows and columns of black pixels (0 before normalization) on each side of the "
              "rescaled image, from which training crops; less than crop, and not with "
              "scale_jitter_type (default 0). Not in Caffe2.")
    .Arg<float>(
        "random_erasing",
        "In training, the probability that a random box of the normalized crop becomes 0: 2 to 33 "
        "% of its area, with sides 0.3 to 3.3 to 1 (default 0; Zhong et al., 2017). Not in Caffe2.")
    .Arg<int>("color", "1 (default): 3 channels, 0: 1 channel.")
    .Arg<int>("mirror", "1: mirror half of the images, in training (default 0).")
    .Arg<float>("mean", "Subtracted from every channel (default 0).")
    .Arg<float>("std", "Every channel is divided by it (default 1).")
    .ArgList<float>("mean_per_channel", "Instead of mean, a value for each channel.")
    .ArgList<float>("std_per_channel", "Instead of std, a value for each channel.")
    .Arg<int>("color_jitter",
              "1: change saturation, brightness and contrast, in training (default 0).")
    .Arg<float>("img_saturation", "Largest change of the saturation (default 0.4).")
    .Arg<float>("img_brightness", "Largest change of the brightness (default 0.4).")
    .Arg<float>("img_contrast", "Largest change of the contrast (default 0.4).")
    .Arg<int>("color_lighting",
              "1: add noise along the principal colours, in training (default 0).")
    .Arg<float>("color_lighting_std", "Standard deviation of that noise (default 0.1).")
    .ArgList<float>("color_lighting_eigvecs",
                    "The principal colours, 9 values (default: ImageNet's).")
    .ArgList<float>("color_lighting_eigvals", "Their variances, 3 values (default: ImageNet's).")
    .Arg<int>("bounding_ymin", "First row of the bounding box of images without one (default 0).")
    .Arg<int>("bounding_xmin", "First column of that bounding box (default 0).")
    .Arg<int>("bounding_height", "Rows of that bounding box (default 0: no box).")
    .Arg<int>("bounding_width", "Columns of that bounding box.")
    .Arg<int>("label_type",
              "0 (default): one label, output [batch_size]. 1: a list of labels, output "
              "[batch_size, num_labels] of 0 and 1. 2: num_labels values.")
    .Arg<int>("num_labels",
              "Number of classes; a label out of range is an error. 0 (default) does not check "
              "single labels.")
    .ArgList<int>("output_sizes", "Length of each output after data and label (default 1 each).")
    .Arg<int>("use_caffe_datum", "1: records are caffe Datum, 0 (default): TensorProtos.")
    .Arg<int>("use_gpu_transform",
              "1: on a CUDA device, images are cropped on the host and copied as bytes, and the "
              "device mirrors, changes colours, normalizes and converts them. 0 (default): the "
              "host does all. No effect on the CPU.")
    .Arg<int>("decode_on_gpu",
              "1: on a CUDA device with use_gpu_transform, nvJPEG decodes JPEG files; pixels "
              "differ slightly. The host decodes what nvJPEG does not, and the log says how many "
              "images. An error on the CPU, together with resident, and without the library "
              "libnvjpeg.so. 0 (default): the host decodes. Not in Caffe2.")
    .Arg<int>(
        "resident",
        "1: on a CUDA device with use_gpu_transform, the first run decodes the whole database into "
        "the device's memory; later ones copy only the random choices there. Needs square images "
        "and the argument scale. Does not work with scale_jitter_type, warp, random_scale, "
        "bounding boxes, max_bad_records and further outputs. 0 (default): batches are read and "
        "decoded as they are needed. No effect on the CPU. Not in Caffe2.")
    .Arg<int>("decode_threads", "Threads that decode (default 4).")
    .Arg<int>("max_bad_records",
              "(>= 0, default 0) Different records that may be damaged: each is logged with its "
              "key, and its place "
              "in the batch gets a copy of the record before it (db/batch_pipeline.h). "
              "Not in Caffe2.")
    .Arg<TensorProto::DataType>("output_type", "(default float) float, float16 or bfloat16.")
    .ArgOrder(
        "The order of the output. Not in Caffe2, which always writes the default: NCHW if "
        "use_gpu_transform has an effect, else NHWC.")
    .Arg<int>("is_test", "1: crop the centre, and choose nothing at random (default 0).")
    .Arg<int>("seed",
              "Seed of random choices (default: the random_seed of the device option, else another "
              "one each time). Not in Caffe2.")
    .Arg<std::string>("db", "Without an input: path of the database.")
    .Arg<std::string>("db_type", "Without an input: type of the database (default leveldb).")
    .Input(0, "reader", "The reader made by CreateDB.")
    .Output(0, "data", "The images: [batch_size, crop, crop, channels], or as order says.")
    .Output(1, "label",
            "The labels, of the type in the records (int32 for Datum): [batch_size] "
            "or [batch_size, num_labels].")
    .Output(2, "additional", "Further tensors of the records, [batch_size, output_sizes[i]].");

NO_GRADIENT(ImageInput);

}  // namespace
}  // namespace caffe2
