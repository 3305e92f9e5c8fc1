// The arguments of ImageInput.
#include <algorithm>

#include "operators/image/image_input_op.h"

namespace caffe2 {
namespace {

db::ImageTransformOptions ReadTransformOptions(const OperatorBase& op) {
  db::ImageTransformOptions options;
  options.color = op.GetSingleArgument<int>("color", 1) != 0;
  options.crop = op.GetSingleArgument<int>("crop", -1);
  options.scale = op.GetSingleArgument<int>("scale", -1);
  options.minsize = op.GetSingleArgument<int>("minsize", -1);
  options.warp = op.GetSingleArgument<int>("warp", 0) != 0;
  const auto range = op.GetRepeatedArgument<int>("random_scale", {-1, -1});
  CAFFE_ENFORCE(range.size() == 2, "argument random_scale must be min and max, found ",
                range.size(), " values");
  options.random_scale_min = range[0];
  options.random_scale_max = range[1];
  const int jitter = op.GetSingleArgument<int>("scale_jitter_type", 0);
  CAFFE_ENFORCE(jitter == 0 || jitter == 1, "argument scale_jitter_type must be 0 or 1, found ",
                jitter);
  options.scale_jitter = static_cast<db::ScaleJitter>(jitter);
  options.pad = op.GetSingleArgument<int>("pad", 0);
  options.mirror = op.GetSingleArgument<int>("mirror", 0) != 0;
  options.is_test = op.GetSingleArgument<int>("is_test", 0) != 0;
  options.channels_first = IsChannelsFirst(op.debug_def());
  options.color_jitter = op.GetSingleArgument<int>("color_jitter", 0) != 0;
  options.saturation = op.GetSingleArgument<float>("img_saturation", 0.4f);
  options.brightness = op.GetSingleArgument<float>("img_brightness", 0.4f);
  options.contrast = op.GetSingleArgument<float>("img_contrast", 0.4f);
  options.color_lighting = op.GetSingleArgument<int>("color_lighting", 0) != 0;
  options.color_lighting_std = op.GetSingleArgument<float>("color_lighting_std", 0.1f);
  options.color_lighting_eigvecs = op.GetRepeatedArgument<float>("color_lighting_eigvecs");
  options.color_lighting_eigvals = op.GetRepeatedArgument<float>("color_lighting_eigvals");
  options.random_erasing = op.GetSingleArgument<float>("random_erasing", 0.f);
  options.box = {op.GetSingleArgument<int>("bounding_ymin", 0),
                 op.GetSingleArgument<int>("bounding_xmin", 0),
                 op.GetSingleArgument<int>("bounding_height", 0),
                 op.GetSingleArgument<int>("bounding_width", 0)};
  options.mean =
      op.GetRepeatedArgument<float>("mean_per_channel", {op.GetSingleArgument<float>("mean", 0.f)});
  options.std =
      op.GetRepeatedArgument<float>("std_per_channel", {op.GetSingleArgument<float>("std", 1.f)});
  return options;
}

// "float", "float16", "bfloat16", or the number of the data type.
TypeMeta ReadOutputType(const OperatorBase& op) {
  if (op.HasSingleArgumentOfType<std::string>("output_type")) {
    const auto name = op.GetSingleArgument<std::string>("output_type", "float");
    if (name == "float16") return TypeMeta::Make<float16>();
    if (name == "bfloat16") return TypeMeta::Make<bfloat16>();
    CAFFE_ENFORCE(name.empty() || name == "float",
                  "argument output_type must be float, float16, bfloat16 or a data type, found ",
                  name);
    return TypeMeta::Make<float>();
  }
  const int type = op.GetSingleArgument<int>("output_type", TensorProto::FLOAT);
  CAFFE_ENFORCE(TensorProto::DataType_IsValid(type),
                "argument output_type must be a data type, found ", type);
  return DataTypeToTypeMeta(static_cast<TensorProto::DataType>(type));
}

}  // namespace

bool NormalizesOnDevice(const OperatorDef& def) {
  return def.device_option().device_type() == CUDA &&
         ArgumentHelper(def).GetSingleArgument<int>("use_gpu_transform", 0) != 0;
}

bool IsChannelsFirst(const OperatorDef& def) {
  const auto order = ArgumentHelper(def).GetSingleArgument<std::string>(
      "order", NormalizesOnDevice(def) ? "NCHW" : "NHWC");
  CAFFE_ENFORCE(order == "NHWC" || order == "NCHW", "argument order must be NHWC or NCHW, found ",
                order);
  return order == "NCHW";
}

ImageInputOptions ReadImageInputOptions(const OperatorBase& op, uint64_t default_seed) {
  ImageInputOptions options;
  options.batch_size = op.GetSingleArgument<int>("batch_size", 0);
  CAFFE_ENFORCE(options.batch_size > 0, "argument batch_size must be positive, found ",
                options.batch_size);
  options.use_caffe_datum = op.GetSingleArgument<int>("use_caffe_datum", 0) != 0;
  const int label_type = op.GetSingleArgument<int>("label_type", 0);
  CAFFE_ENFORCE(label_type >= 0 && label_type <= 2,
                "argument label_type must be 0 (single), 1 (sparse) or 2 (dense), found ",
                label_type);
  options.label_type = static_cast<LabelType>(label_type);
  options.num_labels = op.GetSingleArgument<int>("num_labels", 0);
  CAFFE_ENFORCE(options.num_labels > 0 || label_type == 0, "label_type ", label_type,
                " needs a positive num_labels, found ", options.num_labels);
  CAFFE_ENFORCE(!options.use_caffe_datum || label_type == 0,
                "a caffe Datum has a single label; label_type is ", label_type);
  options.decode_threads = op.GetSingleArgument<int>("decode_threads", 4);
  CAFFE_ENFORCE(options.decode_threads > 0 && options.decode_threads <= 1024,
                "argument decode_threads must be from 1 to 1024, found ", options.decode_threads);
  options.max_bad_records = op.GetSingleArgument<int64_t>("max_bad_records", 0);
  options.seed = static_cast<uint64_t>(
      op.GetSingleArgument<int64_t>("seed", static_cast<int64_t>(default_seed)));
  options.output_sizes = op.GetRepeatedArgument<int>("output_sizes");
  const int extra = op.OutputSize() - 2;
  if (options.output_sizes.empty()) options.output_sizes.assign(std::max(extra, 0), 1);
  CAFFE_ENFORCE(static_cast<int>(options.output_sizes.size()) == extra,
                "argument output_sizes must have one size for each of the ", extra,
                " outputs after data and label, found ", options.output_sizes.size());
  for (const int size : options.output_sizes)
    CAFFE_ENFORCE(size > 0, "argument output_sizes must be positive, found ", size);
  CAFFE_ENFORCE(extra == 0 || !options.use_caffe_datum, "a caffe Datum has no further outputs");
  options.normalize_on_device = NormalizesOnDevice(op.debug_def());
  options.resident = op.debug_def().device_option().device_type() == CUDA &&
                     op.GetSingleArgument<int>("resident", 0) != 0;
  CAFFE_ENFORCE(!options.resident || options.normalize_on_device,
                "resident images need use_gpu_transform");
  options.decode_on_device = op.GetSingleArgument<int>("decode_on_gpu", 0) != 0;
  CAFFE_ENFORCE(!options.decode_on_device || options.normalize_on_device,
                "decode_on_gpu needs a CUDA device and use_gpu_transform");
  CAFFE_ENFORCE(!options.decode_on_device || !options.resident,
                "decode_on_gpu and resident cannot be used together: the host decodes resident "
                "images, once");
  options.transform = ReadTransformOptions(op);
  options.transform.output_type = ReadOutputType(op);
  return options;
}

}  // namespace caffe2
