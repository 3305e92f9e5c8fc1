// What the trainers pass to RunProgram: their recipes, advice on flags, and the order of --help.
#pragma once

#include <string>

#include "caffe2/utils/program.h"
#include "examples/foreign_flags.h"
#include "train/recipes.h"

namespace caffe2 {

// The flags of both trainers, grouped by task. `examples` are command lines.
inline ProgramHelp TrainerHelp(const std::string& examples) {
  return {
      {
          {"Recipes", "recipe dry_run"},
          {"Data",
           "test_data holdout db_type num_channels image_size image_scale image_pad mirror "
           "random_resized_crop random_erasing mean std shuffle check_coverage decode_threads "
           "max_bad_records max_image_pixels max_jpeg_mb max_jpeg_scans"},
          {"Model",
           "model network hidden num_labels small_stem zero_init_residual bn_momentum "
           "load_model_path load_epoch trust_model finetune freeze evaluate"},
          {"Schedule and optimizer",
           "batch_size epoch_size num_examples num_epochs max_iterations optimizer lars_trust "
           "base_learning_rate lr lr_policy lr_steps lr_step_epochs lr_factor lr_batch_size "
           "warmup_epochs warmup_start momentum mom weight_decay wd clip_gradients label_smoothing "
           "class_weights mixup cutmix ema_decay ema_every patience seed"},
          {"Processors and GPUs",
           "use_cpu num_cpu_replicas num_threads gpus num_gpus dtype order loss_scale cuda_graph "
           "use_gpu_transform decode_on_gpu resident_data fuse_conv half_gradients"},
          {"Several shards",
           "num_shards shard_id run_id init_method sync_every block_momentum block_learning_rate "
           "param_servers max_staleness redis_host redis_port redis_user redis_password_file "
           "redis_db redis_tls redis_ca_file redis_cert_file redis_key_file secret_file "
           "rendezvous_path distributed_transport distributed_interfaces port_range use_nccl "
           "rendezvous_timeout collective_timeout check_parameters_every"},
          {"Results, checkpoints and logs",
           "file_store_path save_model_name model_prefix keep_models keep_best log_style "
           "log_all_shards log_csv log_every disp_batches log_dir log_histograms_every "
           "log_worst_images memory_report trace trace_iterations metrics_port metrics_address "
           "test_epoch_size checkpoint_every checkpoint_path keep_checkpoints resume auto_resume"},
          {"Without effect, kept for Caffe2's scripts",
           "model_parallel cudnn_workspace_limit_mb float16_compute enable_tensor_core"},
      },
      examples};
}

inline ProgramOptions TrainerProgram(const std::string& program, const std::string& examples) {
  return {.advice = AdviceOnFlag,
          .recipe = [program](const std::string& name) { return RecipeFlags(name, program); },
          .help = TrainerHelp(examples)};
}

}  // namespace caffe2
