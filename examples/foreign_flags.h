// Flags that users of other systems try, and what to use here.
#pragma once

#include <gflags/gflags.h>

#include <cstring>
#include <sstream>
#include <string>

namespace caffe2 {

struct ForeignFlag {
  const char* names;    // separated by blanks, with underscores
  const char* here;     // flags of our trainers for the same, separated by blanks; "": none
  const char* comment;  // follows `here` in the advice
};

inline constexpr ForeignFlag kForeignFlags[] = {
    {"kv_store kvstore", "",
     "shards sum their gradients in step, as dist_sync: leave it out; --param_servers trains as "
     "dist_async"},
    {"num_servers ps_num", "param_servers", ""},
    {"data_dir data", "train_data test_data", ": each names a database, a folder or an archive"},
    {"data_train", "train_data", ""},
    {"data_val data_test val_data", "test_data", ""},
    {"validation_split val_split", "holdout", ""},
    {"mixup_alpha", "mixup", ""},
    {"cutmix_alpha", "cutmix", ""},
    {"reprob random_erase", "random_erasing", ""},
    {"distribution_strategy", "",
     "start one process for each shard (--num_shards, --shard_id or a launcher: "
     "docs/launchers.md); "
     "--num_gpus or --num_cpu_replicas set the devices of a process"},
    {"dist_url", "init_method", ""},
    {"dist_backend backend", "use_nccl", "for NCCL; without it shards use Gloo"},
    {"world_size", "num_shards", ""},
    {"rank", "shard_id", ""},
    {"local_rank", "", "launchers tell it by variables (docs/launchers.md): leave it out"},
    {"multiprocessing_distributed", "", "start the shards with a launcher (docs/launchers.md)"},
    {"workers j num_workers", "decode_threads", ""},
    {"epochs train_epochs max_epochs", "num_epochs", ""},
    {"lr learning_rate", "base_learning_rate", ""},
    {"base_learning_rate", "lr", ""},
    {"momentum", "mom", ""},
    {"mom", "momentum", ""},
    {"wd", "weight_decay", ""},
    {"weight_decay", "wd", ""},
    {"arch a network resnet_size num_layers", "model network", ""},
    {"model", "network", ""},
    {"num_classes", "num_labels", ""},
    {"image_shape", "image_size num_channels", ""},
    {"num_examples", "epoch_size", ""},
    {"epoch_size", "num_examples", ""},
    {"disp_batches print_freq p log_interval", "log_every", ""},
    {"log_every print_freq log_interval", "disp_batches", ""},
    {"model_prefix save_dir model_dir output_dir", "file_store_path save_model_name", ""},
    {"save_model_name", "model_prefix", ""},
    {"load_epoch pretrained weights", "load_model_path", ""},
    {"lr_step_epochs step_epochs milestones", "lr_steps", ""},
    {"warmup", "warmup_epochs", ""},
    {"local_steps local_sgd_steps average_every", "sync_every", ""},
    {"freeze_layers freeze_backbone freeze_prefix", "freeze", ""},
    {"clip_grad clip_grad_norm max_grad_norm gradient_clip_val", "clip_gradients", ""},
    {"keep", "keep_models", ""},
    {"gpu", "gpus", ""},
    {"no_cuda", "use_cpu", ""},
    {"fp16 amp", "dtype", "float16"},
    {"precision", "dtype", ""},
    {"early_stop early_stopping early_stopping_patience", "patience", "EPOCHS"},
    {"config config_file cfg", "flagfile", ", a file with --name=value in each line"},
    {"tensorboard logdir tensorboard_dir", "log_dir", ": TensorBoard reads this folder"},
    {"resume_from resume_from_checkpoint ckpt_path", "checkpoint_path", "FILE --resume"},
    {"log_csv", "log_dir", ": metrics.jsonl there has a line for each epoch"},
    {"hosts H hostfile launcher", "", "start shards with `doppio run` (docs/launchers.md)"},
};

// Advice on a flag (with dashes or underscores) that this program does not have; "" if there is
// none.
inline std::string AdviceOnFlag(std::string flag) {
  for (char& c : flag) c = c == '-' ? '_' : c;
  const auto has_word = [](const char* words, const std::string& wanted) {
    std::istringstream stream(words);
    for (std::string word; stream >> word;) {
      if (word == wanted) return true;
    }
    return false;
  };
  for (const ForeignFlag& foreign : kForeignFlags) {
    if (!has_word(foreign.names, flag)) continue;
    if (std::strlen(foreign.here) == 0) return foreign.comment;
    std::string advice;
    std::istringstream stream(foreign.here);
    gflags::CommandLineFlagInfo info;
    for (std::string name; stream >> name;) {
      if (!gflags::GetCommandLineFlagInfo(name.c_str(), &info)) continue;
      advice += (advice.empty() ? "use --" : " or --") + name;
    }
    if (advice.empty()) continue;  // flags of another trainer
    const bool blank = std::strchr(":,", foreign.comment[0]) == nullptr;  // "": none, too
    return advice + (blank ? " " : "") + foreign.comment;
  }
  return "";
}

}  // namespace caffe2
