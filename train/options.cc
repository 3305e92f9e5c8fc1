#include "train/options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "caffe2/core/closest_word.h"
#include "caffe2/core/device_backend.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "distributed/peer_sockets.h"
#include "train/data_check.h"
#include "train/frozen_params.h"
#include "train/input.h"
#include "train/kept_checkpoints.h"
#include "train/model_file.h"

namespace caffe2 {
namespace {

template <typename T>
void CheckRange(const char* flag, T value, T low, T high) {
  CheckUsage(value >= low && value <= high, "--", flag, " is ", value, ", must be from ", low,
             " to ", high);
}

template <typename T>
void CheckPositive(const char* flag, T value) {
  CheckUsage(value > 0, "--", flag, " is ", value, ", must be positive");
}

template <typename T>
void CheckNotNegative(const char* flag, T value) {
  CheckUsage(value >= 0, "--", flag, " is ", value, ", must not be negative");
}

// The known word that a user probably meant: the only one that begins so, or else a similar one; ""
// if there is none.
std::string MeantWord(std::string word, const std::vector<std::string>& known) {
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto begins = [&](const std::string& each) {
    return !word.empty() && each.starts_with(word);
  };
  if (std::count_if(known.begin(), known.end(), begins) == 1) {
    return *std::find_if(known.begin(), known.end(), begins);
  }
  return ClosestWord(word, known);
}

void CheckOneOf(const char* flag, const std::string& value, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  std::string list;
  for (const std::string& each : known) list += " " + each;
  const std::string meant = MeantWord(value, known);
  ThrowUsage("--", flag, " is ", value, "; known:", list,
             meant.empty() ? "" : "; did you mean " + meant + "?");
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Creates and removes a file, because permissions alone are not enough (root, read-only mounts).
void CheckWritableDirectory(const std::string& directory) {
  struct stat status;
  if (stat(directory.c_str(), &status) != 0) {
    ThrowIoError(ExitCode::kCannotWrite, "cannot use directory ", directory, ": ",
                 std::strerror(errno));
  }
  if (!S_ISDIR(status.st_mode))
    ThrowIoError(ExitCode::kCannotWrite, directory, " is not a directory");
  std::string probe = directory + "/.doppio_probe_XXXXXX";
  const int fd = mkstemp(probe.data());
  if (fd < 0) {
    const char* cause = std::strerror(errno);
    std::error_code unknown;
    const std::string whole = std::filesystem::canonical(directory, unknown);
    ThrowIoError(ExitCode::kCannotWrite, "cannot write to directory ", unknown ? directory : whole,
                 ": ", cause,
                 "; start in a folder that you can write to, or name one with the file");
  }
  close(fd);
  unlink(probe.c_str());
}

// Throws IoError unless a file can be made or replaced there; `what` is written to it.
void CheckWritableFile(const char* what, const std::string& path) {
  CheckWritableDirectory(DirectoryOf(path));
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
  ThrowIoError(ExitCode::kCannotWrite, "cannot write ", what, " to ", path,
               S_ISDIR(status.st_mode) ? ": it is a folder; name a file in it"
                                       : ": it is not a regular file");
}

void ValidateShards(const ShardOptions& shards) {
  ParsePortRange("--port_range", shards.port_range);
  CheckUsage(shards.redis_tls || (shards.redis_ca_file.empty() && shards.redis_cert_file.empty() &&
                                  shards.redis_key_file.empty()),
             "--redis_ca_file, --redis_cert_file and --redis_key_file need --redis_tls or "
             "--init_method rediss://");
  CheckPositive("num_shards", shards.num_shards);
  CheckNotNegative("param_servers", shards.num_servers);
  CheckNotNegative("max_staleness", shards.max_staleness);
  CheckRange("shard_id", shards.shard_id, 0, shards.NumProcesses() - 1);
  CheckUsage(shards.NumProcesses() == 1 || !shards.run_id.empty(), "--num_shards is ",
             shards.NumProcesses(),
             ", so --run_id is needed: a name for this run, the same on all shards");
  CheckRange("redis_port", shards.redis_port, 1, 65535);
  CheckOneOf("distributed_transport", shards.transport, {"auto", "shared_memory", "tcp"});
  CheckPositive("rendezvous_timeout", shards.rendezvous_timeout);
  CheckPositive("collective_timeout", shards.collective_timeout);
  CheckNotNegative("num_threads", shards.num_threads);
  if (shards.NumProcesses() > 1 && shards.redis_host.empty() && shards.tcp_store.empty()) {
    CheckWritableDirectory(shards.file_store_path);
  }
}

void ValidateData(const DataOptions& data, const NetworkOptions& shape) {
  CheckUsage(!data.train_data.empty(),
             "--train_data is needed: a database of training images, or null for random images");
  CheckRange("num_channels", shape.num_channels, 1, 3);
  CheckUsage(shape.num_channels != 2, "--num_channels must be 1 or 3");
  CheckPositive("image_size", shape.image_size);
  CheckRange("image_scale", data.image_scale, 0, 1 << 14);
  CheckUsage(data.image_scale == 0 || data.image_scale >= shape.image_size, "--image_scale ",
             data.image_scale, " is smaller than --image_size ", shape.image_size);
  CheckUsage(data.image_pad >= 0 && data.image_pad < shape.image_size, "--image_pad is ",
             data.image_pad, ", must be at least 0 and less than --image_size ", shape.image_size);
  CheckUsage(data.image_pad == 0 || !data.random_resized_crop,
             "--image_pad and --random_resized_crop cannot be used together");
  CheckRange("random_erasing", data.random_erasing, 0.f, 1.f);
  for (const auto& [flag, values] : {std::pair("mean", data.mean), std::pair("std", data.std)}) {
    CheckUsage(values.size() == 1 || values.size() == static_cast<size_t>(shape.num_channels), "--",
               flag, " has ", values.size(), " values; give one, or ", shape.num_channels,
               " for --num_channels ", shape.num_channels);
  }
  for (const float value : data.std) CheckPositive("std", value);
  CheckPositive("decode_threads", data.decode_threads);
  CheckNotNegative("max_bad_records", data.max_bad_records);
  CheckUsage(!data.check_coverage || data.train_data != kSyntheticData,
             "--check_coverage needs a database as --train_data, not synthetic images");
  for (const std::string& source : {data.train_data, data.test_data}) {
    if (!source.empty() && source != kSyntheticData) RecordKindOf(data.db_type, source);
  }
  CheckClasses(data, shape.num_labels);
}

void ValidateHoldout(const TrainOptions& options) {
  const DataOptions& data = options.data;
  CheckUsage(data.holdout >= 0 && data.holdout < 1, "--holdout is ", data.holdout,
             ", must be at least 0 and below 1");
  if (data.holdout == 0) return;
  const bool evaluates = options.schedule.evaluate;
  CheckUsage(evaluates || data.test_data.empty() || data.test_data == data.train_data,
             "--holdout and --test_data cannot be used together: tests take the images that are "
             "held out of --train_data");
  const std::string& source = evaluates ? data.test_data : data.train_data;
  CheckUsage(source != kSyntheticData,
             "--holdout needs a database as --train_data, not synthetic images");
  const int64_t records = NumRecords(data.db_type, source, {});
  CheckUsage(records >= 2, "--holdout needs at least two images, --train_data ", source, " has ",
             records);
}

void ValidateSteps(const ModelOptions& model) {
  CheckUsage(model.lr_steps.empty() || model.lr_policy == "step",
             "--lr_steps needs --lr_policy step, found ", model.lr_policy);
  double last = std::max(model.warmup_epochs, 0.0);
  for (const int epoch : model.lr_steps) {
    CheckUsage(epoch > last, "--lr_steps has ", epoch, ", which must come after ", last,
               last == model.warmup_epochs && last > 0 ? ", the end of --warmup_epochs" : "");
    last = epoch;
  }
}

void ValidateClassWeights(const ModelOptions& model) {
  const std::vector<float>& weights = model.class_weights;
  if (weights.empty()) return;
  CheckUsage(static_cast<int64_t>(weights.size()) == model.shape.num_labels, "--class_weights has ",
             weights.size(), " numbers; give one for each of the ", model.shape.num_labels,
             " classes (--num_labels)");
  float largest = 0;
  for (const float weight : weights) {
    CheckUsage(weight >= 0 && std::isfinite(weight), "--class_weights has ", weight,
               "; weights must be finite and not negative");
    largest = std::max(largest, weight);
  }
  CheckUsage(largest > 0, "--class_weights has no positive number");
  CheckUsage(!model.MixesImages(),
             "--class_weights cannot be used together with --mixup or --cutmix: a mixed image has "
             "several classes");
}

void ValidateModel(const ModelOptions& model) {
  CheckOneOf("model", model.network, NetworkNames());
  CheckOneOf("order", model.order, {"NCHW", "NHWC"});
  CheckOneOf("dtype", model.dtype, {"float", "bfloat16", "float16"});
  CheckOneOf("fuse_conv", model.fuse_conv, {"auto", "none", "stats", "prologue", "residual"});
  CheckOneOf("optimizer", model.optimizer, {"sgd", "adam", "adamw", "adagrad", "rmsprop", "lars"});
  CheckOneOf("lr_policy", model.lr_policy, {"step", "poly", "cosine", "fixed"});
  CheckPositive("num_labels", model.shape.num_labels);
  CheckPositive("base_learning_rate", model.base_learning_rate);
  CheckRange("momentum", model.momentum, 0.f, 1.f);
  CheckUsage(std::isfinite(model.base_learning_rate), "--base_learning_rate is not finite");
  CheckUsage(model.weight_decay >= 0, "--weight_decay is ", model.weight_decay,
             ", must not be negative");
  for (const std::string& prefix : model.freeze) {
    CheckUsage(!prefix.empty(), "--freeze has an empty prefix");
    CheckUsage(prefix != kAllButLast || model.freeze.size() == 1, "--freeze has ", prefix,
               " beside other prefixes; give it alone");
  }
  CheckPositive("lars_trust", model.lars_trust);
  CheckUsage(std::isfinite(model.lars_trust), "--lars_trust is not finite");
  CheckUsage(model.clip_gradients >= 0 && std::isfinite(model.clip_gradients),
             "--clip_gradients is ", model.clip_gradients, ", must be finite and not negative");
  CheckUsage(model.clip_gradients == 0 || !model.half_gradients,
             "--clip_gradients and --half_gradients cannot be used together: gradients of 16 bits "
             "cannot be clipped yet");
  CheckPositive("lr_step_epochs", model.lr_step_epochs);
  CheckNotNegative("lr_batch_size", model.lr_batch_size);
  CheckPositive("lr_factor", model.lr_factor);
  CheckRange("lr_factor", model.lr_factor, 0.f, 1.f);
  CheckNotNegative("warmup_epochs", model.warmup_epochs);
  CheckRange("warmup_start", model.warmup_start, 0.f, 1.f);
  CheckUsage(model.label_smoothing >= 0 && model.label_smoothing < 1, "--label_smoothing is ",
             model.label_smoothing, ", must be at least 0 and below 1");
  ValidateClassWeights(model);
  for (const auto& [flag, alpha] :
       {std::pair("mixup", model.mixup), std::pair("cutmix", model.cutmix)}) {
    CheckUsage(alpha >= 0 && std::isfinite(alpha), "--", flag, " is ", alpha,
               ", must be finite and not negative");
  }
  CheckUsage(model.ema_decay >= 0 && model.ema_decay < 1, "--ema_decay is ", model.ema_decay,
             ", must be at least 0 and below 1");
  CheckPositive("ema_every", model.ema_every);
  ValidateSteps(model);
  CheckUsage(model.loss_scale >= 0 && std::isfinite(model.loss_scale), "--loss_scale is ",
             model.loss_scale, ", must be finite and not negative");
}

void ValidateDevices(const TrainOptions& options) {
  const std::vector<Device>& devices = options.devices;
  CheckUsage(!devices.empty(), "there is no device to train on");
  for (const Device& device : devices) {
    CheckUsage(device.type == devices[0].type, "all devices must have the same type; found ",
               devices[0].ToString(), " and ", device.ToString());
    CheckUsage(device.type == CPU || std::count(devices.begin(), devices.end(), device) == 1,
               "device ", device.ToString(), " is named twice");
    CheckDevice(device);
  }
  CheckUsage(options.schedule.batch_size % static_cast<int64_t>(devices.size()) == 0,
             "--batch_size ", options.schedule.batch_size, " is not a multiple of the ",
             devices.size(), " devices");
  CheckUsage(!options.model.MixesImages() ||
                 options.schedule.batch_size > static_cast<int64_t>(devices.size()),
             "--mixup and --cutmix mix images of one batch and device: --batch_size ",
             options.schedule.batch_size, " has only one image for each device");
  CheckUsage(!options.shards.use_nccl || devices[0].type == CUDA,
             "--use_nccl is for training on GPUs");
  CheckUsage(!options.cuda_graph || devices[0].type == CUDA,
             "--cuda_graph is for training on GPUs");
}

// A finetuned model counts epochs from 0, so its models may have the name of its start.
void CheckKeepsItsStart(const OutputOptions& output, int num_epochs) {
  if (!output.finetune || !output.model_path) return;
  for (int epoch = 1; epoch <= num_epochs; ++epoch) {
    CheckUsage(output.model_path(epoch) != output.load_model_path, "--finetune would overwrite ",
               output.load_model_path, " after epoch ", epoch,
               ": save models under another name or in another folder");
  }
}

void CheckCheckpointIsNoModel(const OutputOptions& output, int num_epochs) {
  if (!output.WritesCheckpoints() || !output.model_path) return;
  for (int epoch = 1; epoch <= num_epochs; ++epoch) {
    CheckUsage(output.model_path(epoch) != output.checkpoint_path, "--checkpoint_path is ",
               output.checkpoint_path, ", which is also the model after epoch ", epoch);
  }
}

void ValidateOutput(const OutputOptions& output, bool writes) {
  CheckPositive("log_every", output.log_every);
  CheckUsage(output.trace_path.empty() ||
                 (output.trace_first >= 1 && output.trace_first <= output.trace_last),
             "--trace_iterations is ", output.trace_first, "-", output.trace_last,
             ", must be two iterations in order, from 1");
  CheckNotNegative("checkpoint_every", output.checkpoint_every);
  CheckNotNegative("keep_models", output.keep_models);
  CheckUsage(!output.keep_best || output.model_path,
             "--keep_best needs a name for models: --save_model_name or --model_prefix");
  CheckRange("keep_checkpoints", output.keep_checkpoints, 1, 1000);
  CheckUsage(!output.resume || !output.auto_resume,
             "--resume and --auto_resume cannot be used together");
  CheckUsage(!output.auto_resume || output.WritesCheckpoints(),
             "--auto_resume needs --checkpoint_every, which writes the checkpoints (--resume auto "
             "is the same as --auto_resume)");
  CheckUsage(!output.resume || output.load_model_path.empty(),
             "--resume and --load_model_path cannot be used together");
  CheckUsage(!output.finetune || !output.load_model_path.empty(),
             "--finetune needs --load_model_path, the model to start from");
  if (!writes) return;
  if (output.resume && access(output.checkpoint_path.c_str(), R_OK) != 0) {
    const int error = errno;
    if (error != ENOENT || !HasCheckpoint(output)) {
      ThrowIoError(ExitCode::kNoInput, "--resume: cannot read checkpoint ", output.checkpoint_path,
                   ": ", std::strerror(error), " (--resume auto starts anew if there is none)");
    }
  }
  const bool resumes = output.resume || output.auto_resume;
  if (resumes && access(output.checkpoint_path.c_str(), R_OK) == 0) {
    CheckIsCheckpoint(output.checkpoint_path);
  }
  if (output.model_path) CheckWritableDirectory(DirectoryOf(output.model_path(1)));
  if (output.WritesCheckpoints()) {
    CheckWritableFile("checkpoints", output.checkpoint_path);
    if (!resumes) CheckCanBeCheckpoint(output.checkpoint_path);
  }
  if (!output.trace_path.empty()) CheckWritableFile("--trace", output.trace_path);
  if (!output.csv_path.empty()) CheckWritableDirectory(DirectoryOf(output.csv_path));
}

void ValidateResidentData(const TrainOptions& options) {
  const DataOptions& data = options.data;
  if (!data.resident_data) return;
  CheckUsage(!data.random_resized_crop,
             "--resident_data and --random_resized_crop cannot be used together: resident images "
             "have one size");
  CheckUsage(data.max_bad_records == 0,
             "--resident_data and --max_bad_records cannot be used together");
  CheckUsage(options.devices[0].type != CPU && data.use_gpu_transform,
             "--resident_data needs GPUs and --use_gpu_transform");
}

void ValidateDecodeOnGpu(const TrainOptions& options) {
  const DataOptions& data = options.data;
  if (!data.decode_on_gpu) return;
  CheckUsage(!data.resident_data,
             "--decode_on_gpu and --resident_data cannot be used together: the host decodes "
             "resident images, once");
  CheckUsage(options.devices[0].type != CPU && data.use_gpu_transform,
             "--decode_on_gpu needs GPUs and --use_gpu_transform");
}

void ValidateLocalSgd(const TrainOptions& options) {
  const ScheduleOptions& schedule = options.schedule;
  const int64_t every = schedule.sync_every;
  CheckNotNegative("sync_every", every);
  CheckUsage(schedule.block_momentum >= 0 && schedule.block_momentum < 1, "--block_momentum is ",
             schedule.block_momentum, ", must be at least 0 and below 1");
  CheckPositive("block_learning_rate", schedule.block_learning_rate);
  CheckUsage(std::isfinite(schedule.block_learning_rate), "--block_learning_rate is not finite");
  if (every == 0) {
    CheckUsage(schedule.block_momentum == 0 && schedule.block_learning_rate == 1,
               "--block_momentum and --block_learning_rate need --sync_every, the iterations "
               "between two averages");
    return;
  }
  CheckUsage(options.output.checkpoint_every % every == 0, "--checkpoint_every ",
             options.output.checkpoint_every, " is not a multiple of --sync_every ", every,
             ": only after an average all shards have the same parameters");
  CheckUsage(options.model.dtype != "float16" || options.model.loss_scale > 0,
             "--sync_every with --dtype float16 needs a fixed --loss_scale: shards that train by "
             "themselves have different dynamic ones");
}

void ValidateServers(const TrainOptions& options) {
  if (!options.shards.HasServers()) return;
  CheckUsage(
      options.devices[0].type == CPU,
      "--param_servers needs --use_cpu: servers update parameters on the CPU, and workers on "
      "GPUs do not exist yet");
  CheckUsage(options.shards.transport != "shared_memory",
             "--param_servers works over TCP: leave out --distributed_transport");
  CheckUsage(options.schedule.sync_every == 0,
             "--param_servers and --sync_every cannot be used together");
  CheckUsage(options.model.ema_decay == 0,
             "--param_servers and --ema_decay cannot be used together: no process has all updates "
             "in order");
  CheckUsage(
      options.model.clip_gradients == 0 || options.shards.max_staleness > 0,
      "--clip_gradients and --max_staleness 0 cannot be used together: a server has the mean "
      "of all workers' gradients only for its own parameters; with a larger --max_staleness "
      "each worker clips its gradients");
  CheckUsage(!options.data.check_coverage,
             "--check_coverage and --param_servers cannot be used together: workers of parameter "
             "servers do not train in step");
  CheckUsage(!options.schedule.evaluate,
             "--evaluate tests a saved model and needs no servers: leave out --param_servers");
  const OutputOptions& output = options.output;
  CheckUsage(options.schedule.patience == 0 && !output.keep_best,
             "--patience and --keep_best need the same test result on all shards, but with "
             "--param_servers one worker alone tests: leave them out");
  CheckUsage(output.checkpoint_every == 0 && !output.checkpoint_on_stop && !output.resume &&
                 !output.auto_resume,
             "--param_servers works without checkpoints: leave out --checkpoint_every, "
             "--checkpoint_path, --resume and --auto_resume; saved models can be trained further");
}

}  // namespace

int DefaultImageScale(int image_size) {
  if (image_size >= 224 && image_size <= 256) return 256;
  return static_cast<int>(std::lround(image_size * 256.0 / 227.0));
}

int TrainOptions::ImageScale() const {
  return data.image_scale > 0 ? data.image_scale : DefaultImageScale(model.shape.image_size);
}

void Validate(const TrainOptions& options) {
  ValidateShards(options.shards);
  const ScheduleOptions& schedule = options.schedule;
  CheckPositive("batch_size", schedule.batch_size);
  CheckRange<int64_t>("batch_size", schedule.batch_size, 1, 1 << 20);
  CheckNotNegative("epoch_size", schedule.epoch_size);
  CheckUsage(schedule.epoch_size == 0 || options.EpochIterations() > 0, "--epoch_size ",
             schedule.epoch_size, " is smaller than one batch of all shards: ", schedule.batch_size,
             " x ", options.shards.num_shards);
  CheckUsage(schedule.epoch_size > 0 || options.data.train_data != kSyntheticData,
             "--epoch_size is 0, which means all images of --train_data; synthetic images have no "
             "end: give their number");
  CheckNotNegative("num_epochs", schedule.num_epochs);
  CheckNotNegative("max_iterations", schedule.max_iterations);
  CheckNotNegative("test_epoch_size", schedule.test_epoch_size);
  CheckNotNegative("check_parameters_every", schedule.check_parameters_every);
  ValidateDevices(options);
  ValidateModel(options.model);
  CheckUsage(options.model.dtype != "float16" || options.devices[0].type != CPU,
             "--dtype float16 needs GPUs; use float or bfloat16 on the CPU");
  ValidateDecodeOnGpu(options);
  ValidateResidentData(options);
  CheckUsage(!options.model.half_gradients ||
                 (options.model.dtype != "float" && options.devices[0].type != CPU),
             "--half_gradients needs GPUs and --dtype float16 or bfloat16");
  ValidateData(options.data, options.model.shape);
  ValidateHoldout(options);
  ValidateLocalSgd(options);
  CheckNotNegative("patience", schedule.patience);
  const bool tests = !options.data.test_data.empty();
  CheckUsage(tests || schedule.patience == 0,
             "--patience needs --test_data or --holdout, whose accuracy decides when to stop");
  CheckUsage(
      tests || !options.output.keep_best,
      "--keep_best needs --test_data or --holdout, whose accuracy decides which model is best");
  CheckKeepsItsStart(options.output, schedule.num_epochs);
  CheckCheckpointIsNoModel(options.output, schedule.num_epochs);
  ValidateServers(options);
  ValidateOutput(options.output, options.shards.shard_id == 0);
}

TrainOptions WithEpochSize(TrainOptions options) {
  int64_t& size = options.schedule.epoch_size;
  if (size > 0) return options;
  const DataOptions& data = options.data;
  size = NumRecords(data.db_type, data.train_data, PartOf(data, /*train=*/true));
  CheckUsage(options.EpochIterations() > 0, "--train_data ", data.train_data, " has ", size,
             data.holdout > 0 ? " images that --holdout leaves for training" : " images",
             ", fewer than one batch of all shards: lower --batch_size ",
             options.schedule.batch_size, " x ", options.shards.num_shards);
  return options;
}

}  // namespace caffe2
