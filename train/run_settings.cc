#include "train/run_settings.h"

#include <set>

#include "train/input.h"

namespace caffe2 {
std::map<std::string, std::string> RunSettings(const TrainOptions& options) {
  const ModelOptions& model = options.model;
  const DataOptions& data = options.data;
  const auto text = [](const auto& value) { return MakeString(value); };
  return {{"model", model.network},
          {"image_size", text(model.shape.image_size)},
          {"num_channels", text(model.shape.num_channels)},
          {"num_labels", text(model.shape.num_labels)},
          {"small_stem", text(model.shape.small_stem)},
          {"hidden", CommaList(model.shape.hidden)},
          {"bn_momentum", text(model.shape.bn_momentum)},
          {"order", model.order},
          {"dtype", model.dtype},
          {"loss_scale", text(model.loss_scale)},
          {"fuse_conv", model.fuse_conv},
          {"half_gradients", text(model.half_gradients)},
          {"optimizer", model.optimizer},
          {"freeze", CommaList(model.freeze)},
          {"lars_trust", text(model.lars_trust)},
          {"base_learning_rate", text(model.base_learning_rate)},
          {"momentum", text(model.momentum)},
          {"nesterov", text(model.nesterov)},
          {"weight_decay", text(model.weight_decay)},
          {"clip_gradients", text(model.clip_gradients)},
          {"lr_policy", model.lr_policy},
          {"lr_step_epochs", text(model.lr_step_epochs)},
          {"lr_factor", text(model.lr_factor)},
          {"lr_steps", CommaList(model.lr_steps)},
          {"lr_batch_size", text(model.lr_batch_size)},
          {"warmup_epochs", text(model.warmup_epochs)},
          {"warmup_start", text(model.warmup_start)},
          {"label_smoothing", text(model.label_smoothing)},
          {"class_weights", CommaList(model.class_weights)},
          {"mixup", text(model.mixup)},
          {"cutmix", text(model.cutmix)},
          {"ema_decay", text(model.ema_decay)},
          {"ema_every", text(model.ema_every)},
          {"num_shards", text(options.shards.num_shards)},
          {"param_servers", text(options.shards.num_servers)},
          {"max_staleness", text(options.shards.max_staleness)},
          {"num_devices", text(options.devices.size())},
          {"batch_size", text(options.schedule.batch_size)},
          {"epoch_size", text(options.schedule.epoch_size)},
          {"test_epoch_size", text(options.schedule.test_epoch_size)},
          {"seed", text(options.schedule.seed)},
          {"sync_every", text(options.schedule.sync_every)},
          {"block_momentum", text(options.schedule.block_momentum)},
          {"block_learning_rate", text(options.schedule.block_learning_rate)},
          {"image_scale", text(options.ImageScale())},
          {"image_pad", text(data.image_pad)},
          {"mirror", text(data.mirror)},
          {"shuffle", text(data.shuffle)},
          {"random_resized_crop", text(data.random_resized_crop)},
          {"random_erasing", text(data.random_erasing)},
          {"holdout", text(data.holdout)},
          {"decode_on_gpu", text(data.decode_on_gpu)},  // changes pixels
          {"mean", CommaList(data.mean)},
          {"std", CommaList(data.std)}};
}

bool IsTestSetting(const std::string& name) {
  static const std::set<std::string> names = {
      "model", "image_size",  "num_channels", "num_labels", "small_stem", "hidden",
      "order", "image_scale", "mean",         "std",        "ema_decay"};
  return names.count(name) > 0;
}

std::map<std::string, std::string> ShardSettings(const TrainOptions& options) {
  std::map<std::string, std::string> settings = RunSettings(options);
  const ScheduleOptions& schedule = options.schedule;
  const OutputOptions& output = options.output;
  settings["num_epochs"] = MakeString(schedule.num_epochs);
  settings["max_iterations"] = MakeString(schedule.max_iterations);
  settings["check_parameters_every"] = MakeString(schedule.check_parameters_every);
  settings["check_coverage"] = MakeString(options.data.check_coverage);
  settings["checkpoint_every"] = MakeString(output.checkpoint_every);
  settings["a stop is saved"] = MakeString(output.checkpoint_on_stop);
  settings["resume"] = MakeString(output.resume);
  settings["load_epoch"] = MakeString(output.load_epoch);
  settings["patience"] = MakeString(schedule.patience);
  settings["keep_best"] = MakeString(output.keep_best);
  settings["evaluate"] = MakeString(schedule.evaluate);
  settings["trace_iterations"] =
      output.trace_path.empty() ? "" : MakeString(output.trace_first, "-", output.trace_last);
  settings["finetune"] = MakeString(output.finetune);
  settings["models are saved"] = MakeString(output.model_path != nullptr);
  settings["zero_init_residual"] = MakeString(options.model.shape.residual_scale == 0);
  // With their dashes these come first: a difference in epoch_size often follows from them.
  settings["--train_data"] = DataFingerprint(options.data, options.data.train_data);
  // With --holdout both are the same database.
  if (options.data.holdout == 0) {
    settings["--test_data"] = DataFingerprint(options.data, options.data.test_data);
  }
  settings["use_nccl"] = MakeString(options.shards.use_nccl);
  // A NCCL operation in a CUDA graph does not work together with one outside of a graph on another
  // shard; with Gloo it does. The name makes it come after use_nccl, which it depends on.
  if (options.shards.use_nccl) {
    settings["use_nccl with cuda_graph"] = MakeString(options.cuda_graph);
  }
  return settings;
}

}  // namespace caffe2
