// Trains ResNet-50 and other networks on images, with the flags of Caffe2's resnet50_trainer.py.
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "examples/model_flags.h"
#include "examples/trainer_flags.h"
#include "examples/trainer_help.h"
#include "train/log_style.h"
#include "train/model_file.h"

DEFINE_string(model, "resnet50",
              "resnet18, resnet34, resnet50, resnet101, resnet152, resnet20_cifar, resnet9_cifar, "
              "lenet or mlp");
DEFINE_int32(num_channels, 3, "colour channels: 3, or 1 for grey");
DEFINE_int32(image_size, 227, "side of the square crop that the network sees");
DEFINE_int32(image_scale, 0,
             "shorter side of the image before the crop; 0: 256 for crops of 224 to 256, otherwise "
             "--image_size x 256 / 227");
DEFINE_bool(mirror, true, "mirror half of the training images");
DEFINE_int32(num_labels, 1000, "number of labels");
DEFINE_int64(batch_size, 32, "images per iteration of this shard, over all its devices");
DEFINE_int64(epoch_size, 1500000,
             "images per epoch, over all shards; 0: all images of --train_data");
DEFINE_int32(num_epochs, 1000, "number of epochs");
DEFINE_double(base_learning_rate, 0.1, "initial learning rate");
DEFINE_int32(lr_step_epochs, 30, "number of epochs between changes of the learning rate");
DEFINE_double(momentum, 0.9, "momentum of --optimizer sgd (Nesterov's) and rmsprop");
DEFINE_double(weight_decay, 1e-4, "weight decay (L2 regularization)");
DEFINE_bool(small_stem, false,
            "start ResNets with a 3x3 convolution that keeps the resolution, for small images");
DEFINE_bool(zero_init_residual, false,
            "initialize each residual block as the identity, for larger learning rates");
DEFINE_double(bn_momentum, 0.9, "weight of the old value in the running statistics of batch norm");
DEFINE_string(file_store_path, "/tmp",
              "directory for saved models, where the shards also meet without another store");
DEFINE_string(rendezvous_path, "",
              "directory where the shards meet without another store; empty: --file_store_path");
DEFINE_string(save_model_name, "resnet50_model", "save models as <name>_<epoch>.mdl");
DEFINE_string(log_csv, "",
              "CSV file with one line per epoch; auto: Caffe2's name, in --log_dir or, without it, "
              "the current directory; empty: none");
DEFINE_string(log_style, "caffe2", "whose log lines: caffe2, mxnet or pytorch");
DEFINE_int32(keep_models, 1, "models of this run to keep, the newest; 0: all");
DEFINE_int64(log_every, 1, "iterations between log lines");
DEFINE_bool(model_parallel, false,
            "split the model over GPUs: not available, each GPU holds the whole model");
// Flags of Caffe2's trainer without an effect; NoteFlagsWithoutEffect() warns about them.
DEFINE_int32(cudnn_workspace_limit_mb, 64,
             "no effect: cuDNN may use up to an eighth of a GPU's memory, at most 4 GiB");
DEFINE_bool(float16_compute, false, "no effect: parameters and their updates are float");
DEFINE_bool(enable_tensor_core, false,
            "no effect: 16-bit types always use tensor cores, float does if the environment "
            "variable CAFFE2_CUDA_TF32 is 1");

namespace caffe2 {
namespace {

constexpr char kExamples[] =
    "resnet50_trainer --use_cpu --model resnet18 --image_size 224 --num_labels 10 --epoch_size 0 "
    "\\\n"
    "    --train_data stl10_binary --test_data stl10_binary\n"
    "doppio run -n 2 -- resnet50_trainer --use_cpu --train_data train_lmdb --num_labels 100";

std::string ExperimentName() {
  char name[128];
  std::snprintf(name, sizeof(name), "%s_gpu%d_b%lld_L%d_lr%.2f_v2", FLAGS_model.c_str(),
                FLAGS_num_gpus, static_cast<long long>(FLAGS_batch_size), FLAGS_num_labels,
                FLAGS_base_learning_rate);
  return name;
}

// N for a path "..._<N>.mdl"; 0, with a warning, for other models. Throws as CheckIsModel for a
// file that is no model.
int EpochOfModel(const std::string& path) {
  const size_t dot = path.rfind(".mdl"), underscore = path.rfind('_');
  if (dot != std::string::npos && underscore != std::string::npos && underscore + 1 < dot) {
    const std::string digits = path.substr(underscore + 1, dot - underscore - 1);
    if (digits.size() < 9 && digits.find_first_not_of("0123456789") == std::string::npos) {
      return std::atoi(digits.c_str());
    }
  }
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return 0;  // an error, which comes later
  if (std::filesystem::is_regular_file(path, error)) CheckIsModel(path);
  LOG(WARNING) << "--load_model_path " << path
               << " has no epoch in its name, as NAME_3.mdl has: epochs count from 0";
  return 0;
}

TrainOptions Options(const ShardOptions& shards) {
  TrainOptions options = OptionsFromFlags(shards, /*mean=*/128.f, /*std=*/128.f);
  options.data.image_scale = FLAGS_image_scale;
  options.data.mirror = FLAGS_mirror;
  options.model.network = FLAGS_model;
  options.model.shape.image_size = FLAGS_image_size;
  options.model.shape.num_channels = FLAGS_num_channels;
  options.model.shape.num_labels = FLAGS_num_labels;
  options.model.shape.small_stem = FLAGS_small_stem;
  options.model.shape.residual_scale = FLAGS_zero_init_residual ? 0.f : 1.f;
  options.model.shape.bn_momentum = static_cast<float>(FLAGS_bn_momentum);
  options.model.base_learning_rate = static_cast<float>(FLAGS_base_learning_rate);
  options.model.lr_step_epochs = FLAGS_lr_step_epochs;
  options.model.momentum = static_cast<float>(FLAGS_momentum);
  options.model.weight_decay = static_cast<float>(FLAGS_weight_decay);
  options.schedule.batch_size = FLAGS_batch_size;
  options.schedule.epoch_size = FLAGS_epoch_size;
  options.schedule.num_epochs = FLAGS_num_epochs;
  OutputOptions& output = options.output;
  const std::string prefix = FLAGS_file_store_path + "/" + FLAGS_save_model_name;
  CheckNamesFile("--save_model_name", FLAGS_save_model_name, prefix + "_1.mdl");
  if (!FLAGS_save_model_name.empty()) {
    output.model_path = [prefix](int epoch) { return MakeString(prefix, "_", epoch, ".mdl"); };
    output.checkpoint_on_stop = !shards.HasServers();
    output.best_model_path = prefix + "_best.mdl";
  }
  if (output.checkpoint_path.empty()) output.checkpoint_path = prefix + ".checkpoint";
  output.csv_path =
      FLAGS_log_csv == "auto" ? PathInLogDir(CsvFileName(ExperimentName()), shards) : FLAGS_log_csv;
  if (!FLAGS_load_model_path.empty() && !FLAGS_finetune) {
    output.load_epoch = EpochOfModel(FLAGS_load_model_path);
  }
  output.keep_models = FLAGS_keep_models;
  output.description = DescribeFlags();
  output.log_every = FLAGS_log_every;
  return options;
}

// Logs a warning for each given flag that has no effect.
void NoteFlagsWithoutEffect() {
  for (const char* name : {"cudnn_workspace_limit_mb", "float16_compute", "enable_tensor_core"}) {
    const auto flag = gflags::GetCommandLineFlagInfoOrDie(name);
    if (!flag.is_default) LOG(WARNING) << "--" << name << " has " << flag.description;
  }
}

int Run() {
  const bool names_directory = !FLAGS_rendezvous_path.empty();
  const Launch launch = LaunchFromFlags(names_directory);
  const ShardOptions shards = ShardOptionsFromFlags(
      launch, names_directory ? FLAGS_rendezvous_path : FLAGS_file_store_path);
  if (!launch.Trains()) return ServeRun(launch, shards);
  return Train(Options(shards), MakeLog(FLAGS_log_style));
}

int Main() {
  CheckUsage(!FLAGS_model_parallel,
             "--model_parallel is not available: each GPU holds the whole model and gets a part "
             "of the batch; leave the flag out");
  NoteFlagsWithoutEffect();
  if (FLAGS_evaluate && !FLAGS_load_model_path.empty()) TakeFlagsFromModel(FLAGS_load_model_path);
  return WithFileStorePath(FLAGS_file_store_path, Run);
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  caffe2::SpellOutResume(&argc, argv);
  return caffe2::RunProgram(&argc, &argv,
                            "trains ResNet-50 and other networks on an image database, alone or as "
                            "one of several shards",
                            caffe2::Main,
                            caffe2::TrainerProgram("resnet50_trainer", caffe2::kExamples));
}
