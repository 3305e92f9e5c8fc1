// What a training run is: all settings of the trainers, checked before anything starts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/model/networks.h"
#include "distributed/store_url.h"

namespace caffe2 {

// How this process finds the others of its run.
struct ShardOptions {
  int num_shards = 1;
  int shard_id = 0;
  std::string run_id;  // names the run; needed for num_shards > 1
  // Among the shards on this host, as far as the launcher tells: local_rank < local_size, which is
  // 0 if it is not known.
  int local_rank = 0;
  int local_size = 0;
  // The store: one that shard 0 keeps at `tcp_store` if that is not empty, else Redis if a host is
  // given, else a directory that all shards share.
  StoreUrl tcp_store;
  std::string store_password;          // of tcp_store or Redis; never logged
  bool scheduler_keeps_store = false;  // a process without a part in training keeps the store
  std::string redis_host;
  int redis_port = 6379;
  std::string redis_user;
  int redis_db = 0;
  std::string file_store_path = "/tmp";
  std::string transport = "tcp";
  std::string interface;              // "" lets the transport choose
  double rendezvous_timeout = 300.0;  // seconds until all shards have joined
  double collective_timeout = 60.0;   // seconds that one collective may take
  bool use_nccl = false;              // gradients between GPUs by NCCL instead of Gloo
  // OpenMP threads of the thread that trains. 0: OMP_NUM_THREADS, else this shard's share of the
  // machine's cores (distributed/core_share.h).
  int num_threads = 0;
};

// Where images come from and what is done to them.
struct DataOptions {
  std::string train_data;  // database of Datum or TensorProtos records; "null": synthetic images
  std::string test_data;   // "": no tests
  std::string db_type = "lmdb";
  int image_scale = 0;  // shorter side before the crop; 0: see ImageScale()
  float mean = 128.f;   // subtracted, then divided by std
  float std = 128.f;
  bool mirror = true;    // flip half of the training images
  bool shuffle = false;  // a new order of the training records in each epoch, the same everywhere
  int decode_threads = 1;
  bool use_gpu_transform = true;  // GPUs mirror, normalise and convert images themselves
};

// The network and its update.
struct ModelOptions {
  std::string network = "resnet50";
  NetworkOptions shape;
  std::string order = "NHWC";
  std::string dtype = "float";     // of activations: float, bfloat16, or float16 (GPUs only)
  float loss_scale = 0.f;          // for float16; 0: dynamic
  std::string fuse_conv = "auto";  // auto, or a word of ParseConvNormFusion
  bool half_gradients = false;     // those of filters in 16 bits, as activations (GPUs only)
  std::string optimizer = "sgd";   // sgd, adam, adagrad, rmsprop
  float base_learning_rate = 0.1f;
  float momentum = 0.9f;
  bool nesterov = true;
  float weight_decay = 1e-4f;
  // step: the rate is multiplied by lr_factor every lr_step_epochs epochs; poly: it falls in a
  // straight line to zero at the end of the last epoch.
  std::string lr_policy = "step";
  int lr_step_epochs = 30;
  float lr_factor = 0.1f;
};

// How long.
struct ScheduleOptions {
  int64_t batch_size = 32;         // of one shard
  int64_t epoch_size = 1'500'000;  // images of all shards; rounded down to whole global batches
  int num_epochs = 1000;
  int64_t max_iterations = 0;   // of the whole run; 0: no limit
  int64_t test_epoch_size = 0;  // test at most so many images, in the order of the database; 0: all
  uint64_t seed = 1;
};

// What is written, by shard 0 alone.
struct OutputOptions {
  // Exported predictor after epoch n (counted from 1); "" exports none.
  std::function<std::string(int)> model_path;
  // Otherwise each export removes the one before it, if this process wrote that.
  bool keep_all_models = false;
  std::string checkpoint_path;
  int64_t checkpoint_every = 0;  // iterations; the end of the run counts too; 0: no checkpoints
  bool resume = false;           // continue from checkpoint_path, which must exist
  std::string load_model_path;   // start from the parameters of an exported predictor
  int load_epoch = 0;            // and count epochs from here
  std::string csv_path;          // one line per epoch (CsvLog); "": none
  std::string description;       // first line of the CSV: the settings of the run
  int64_t log_every = 1;         // iterations between log lines
};

struct TrainOptions {
  ShardOptions shards;
  DataOptions data;
  ModelOptions model;
  ScheduleOptions schedule;
  OutputOptions output;
  // Where the network runs: on each device a replica, which gets an equal part of each batch. Input
  // is read and decoded on the host.
  std::vector<Device> devices = {Device{}};
  bool cuda_graph = false;   // GPUs: iterations after the third start recorded work
  bool side_stream = false;  // GPUs: filter gradients beside the rest of the backward pass

  // Iterations of one epoch, at least 1 after Validate().
  int64_t EpochIterations() const {
    return schedule.epoch_size / (schedule.batch_size * shards.num_shards);
  }
  // The shorter side of images before the crop to image_size: 256 for the usual crops of 224 to
  // 256 pixels, as in Caffe2, and in proportion to Caffe2's 256:227 for other sizes.
  int ImageScale() const;
};

// Throws EnforceNotMet, naming the flag, on settings that contradict each other or cannot work:
// ids out of range, a missing run id, an epoch smaller than a global batch, unknown names, missing
// databases, directories that cannot be written.
void Validate(const TrainOptions& options);

}  // namespace caffe2
