// Trains a small network on MNIST: the flags and log lines of MXNet's train_mnist.py.
#include <cctype>
#include <cstdio>
#include <cstring>
#include <utility>

#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "examples/model_flags.h"
#include "examples/trainer_flags.h"
#include "examples/trainer_help.h"
#include "train/log_style.h"

DEFINE_string(network, "mlp", "mlp or lenet");
DEFINE_int32(num_labels, 10, "number of labels");
DEFINE_string(model_prefix, "", "save models as <prefix>-<epoch>.mdl; empty: save none");
DEFINE_string(log_style, "mxnet", "whose log lines: caffe2, mxnet or pytorch");
DEFINE_int32(keep_models, 0, "models of this run to keep, the newest; 0: all");
DEFINE_int32(load_epoch, 0, "start from the model saved after this epoch; 0: a new model");
DEFINE_int32(num_epochs, 20, "number of epochs");
DEFINE_int64(num_examples, 60000,
             "images per epoch, over all shards; 0: all images of --train_data");
DEFINE_int64(batch_size, 64, "images per iteration of this shard");
DEFINE_int64(disp_batches, 100, "iterations between log lines");
DEFINE_double(lr, 0.02, "initial learning rate");
DEFINE_int32(lr_step_epochs, 10, "number of epochs between changes of the learning rate");
DEFINE_double(mom, 0.9, "momentum");
DEFINE_double(wd, 1e-4, "weight decay");
DEFINE_string(hidden, "500,500", "sizes of the hidden layers of mlp");
DEFINE_string(file_store_path, "/tmp", "directory where the shards meet without another store");

namespace caffe2 {
namespace {

constexpr char kExamples[] =
    "mnist_trainer --use_cpu --network lenet --train_data mnist/ --test_data mnist/ --num_epochs "
    "5\n"
    "doppio run -n 2 -- mnist_trainer --use_cpu --train_data mnist_train_lmdb --batch_size 32";

constexpr int kImageSize = 28;

std::vector<int> HiddenLayers() {
  std::vector<int> sizes = IntegerList("--hidden", FLAGS_hidden);
  for (const int size : sizes)
    CheckUsage(size > 0, "--hidden is ", FLAGS_hidden, ", must be positive");
  return sizes;
}

std::string ModelPath(int epoch) {
  char number[16];
  std::snprintf(number, sizeof(number), "-%04d.mdl", epoch);
  return FLAGS_model_prefix + number;
}

TrainOptions Options(const ShardOptions& shards) {
  TrainOptions options = OptionsFromFlags(shards, /*mean=*/0.f, /*std=*/256.f);
  options.data.image_scale = kImageSize;
  options.data.mirror = false;
  options.model.network = FLAGS_network;
  options.model.shape.image_size = kImageSize;
  options.model.shape.num_channels = 1;
  options.model.shape.num_labels = FLAGS_num_labels;
  options.model.shape.hidden = HiddenLayers();
  options.model.base_learning_rate = static_cast<float>(FLAGS_lr);
  options.model.momentum = static_cast<float>(FLAGS_mom);
  options.model.nesterov = false;
  options.model.weight_decay = static_cast<float>(FLAGS_wd);
  options.model.lr_step_epochs = FLAGS_lr_step_epochs;
  options.schedule.batch_size = FLAGS_batch_size;
  options.schedule.epoch_size = FLAGS_num_examples;
  options.schedule.num_epochs = FLAGS_num_epochs;
  OutputOptions& output = options.output;
  CheckNamesFile("--model_prefix", FLAGS_model_prefix, ModelPath(1));
  if (!FLAGS_model_prefix.empty()) {
    output.model_path = ModelPath;
    output.checkpoint_on_stop = !shards.HasServers();
    output.best_model_path = FLAGS_model_prefix + "-best.mdl";
  }
  output.keep_models = FLAGS_keep_models;
  if (output.checkpoint_path.empty()) {
    output.checkpoint_path =
        (FLAGS_model_prefix.empty() ? "mnist_" + FLAGS_network : FLAGS_model_prefix) +
        ".checkpoint";
  }
  if (FLAGS_load_epoch > 0) {
    CheckUsage(!FLAGS_model_prefix.empty(), "--load_epoch needs --model_prefix");
    CheckUsage(FLAGS_load_model_path.empty() && !FLAGS_finetune,
               "--load_epoch cannot be used with --load_model_path or --finetune: leave it out");
    output.load_epoch = FLAGS_load_epoch;
    output.load_model_path = ModelPath(FLAGS_load_epoch);
  }
  output.log_every = FLAGS_disp_batches;
  return options;
}

// The text with this program's names of the flags that the other trainer names otherwise.
std::string WithOwnFlags(std::string text) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"--base_learning_rate", "--lr"},  {"--momentum", "--mom"},
      {"--weight_decay", "--wd"},        {"--epoch_size", "--num_examples"},
      {"--log_every", "--disp_batches"}, {"--model", "--network"}};
  for (const auto& [from, to] : kNames) {
    const size_t length = std::strlen(from);
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; ++at) {
      const char next = at + length < text.size() ? text[at + length] : ' ';
      if (next != '_' && std::isalnum(static_cast<unsigned char>(next)) == 0) {
        text.replace(at, length, to);
      }
    }
  }
  return text;
}

int Run() {
  const Launch launch = LaunchFromFlags(IsGiven("file_store_path"));
  const ShardOptions shards = ShardOptionsFromFlags(launch, FLAGS_file_store_path);
  if (!launch.Trains()) return ServeRun(launch, shards);
  CheckUsage(FLAGS_network == "mlp" || FLAGS_network == "lenet", "--network is ", FLAGS_network,
             "; known: mlp lenet");
  try {
    return Train(Options(shards), MakeLog(FLAGS_log_style));
  } catch (const UsageError& error) {
    throw UsageError(WithOwnFlags(error.what()));
  }
}

int Main() {
  if (FLAGS_evaluate) {
    TakeFlagsFromModel(FLAGS_load_epoch > 0 ? ModelPath(FLAGS_load_epoch) : FLAGS_load_model_path);
  }
  return WithFileStorePath(FLAGS_file_store_path, Run);
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  caffe2::SpellOutResume(&argc, argv);
  return caffe2::RunProgram(
      &argc, &argv,
      "trains a small network on an MNIST database, alone or as one of several shards",
      caffe2::Main, caffe2::TrainerProgram("mnist_trainer", caffe2::kExamples));
}
