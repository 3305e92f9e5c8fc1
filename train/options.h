// All settings of a training run, checked before anything starts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/model/networks.h"
#include "distributed/store_url.h"

namespace caffe2 {

struct DataSources;  // train/data_check.h

// How this process finds the others of its run.
struct ShardOptions {
  int num_shards = 1;  // processes that train
  int shard_id = 0;    // this process; num_shards + s for parameter server s
  // The number of parameter servers (docs/design/async.md): processes of the run in addition to the
  // num_shards workers. 0: the shards exchange gradients with each other.
  int num_servers = 0;
  // With servers: how many iterations a worker may be ahead of the slowest one. 0: each iteration
  // makes one update, with the mean gradient of all workers.
  int max_staleness = 4;
  bool HasServers() const { return num_servers > 0; }
  bool IsServer() const { return shard_id >= num_shards; }
  int NumProcesses() const { return num_shards + num_servers; }
  std::string run_id;  // names the run; needed for several processes
  // The rank among the shards on this host: local_rank < local_size. local_size is 0 if the
  // launcher does not give it.
  int local_rank = 0;
  int local_size = 0;
  // The store is `tcp_store`, which shard 0 keeps, if it is not empty. Otherwise it is Redis, if
  // redis_host is given, or else the directory `file_store_path`, which all shards share.
  StoreUrl tcp_store;
  std::string store_password;          // of tcp_store or Redis; never logged
  std::string store_secret;            // signs values in the store (distributed/signed_store.h)
  bool scheduler_keeps_store = false;  // a process that does not train keeps `tcp_store`
  std::string redis_host;
  int redis_port = 6379;
  std::string redis_user;
  int redis_db = 0;
  bool redis_tls = false;
  std::string redis_ca_file, redis_cert_file, redis_key_file;  // as in RedisOptions
  std::string file_store_path = "/tmp";
  std::string transport = "auto";     // CommunicatorOptions::transport
  std::string interface;              // "": the transport chooses
  std::string port_range;             // "4000-4010": where shards listen; "": any port
  double rendezvous_timeout = 300.0;  // seconds until all shards have joined
  double collective_timeout = 60.0;   // seconds that one collective may take
  // Seconds that connecting with the others may take once all have joined. A dead or frozen shard
  // is found sooner, by its heartbeat.
  double ConnectTimeout() const {
    constexpr double kMinConnectTimeout = 30.0;
    return std::max(collective_timeout, std::min(rendezvous_timeout, kMinConnectTimeout));
  }
  bool use_nccl = false;  // sum gradients between GPUs with NCCL instead of Gloo
  // OpenMP threads of the training thread. 0: OMP_NUM_THREADS or, if that is not set, the share of
  // this shard in the cores of the machine (distributed/core_share.h).
  int num_threads = 0;
  // Called a few times a second while this shard waits for the store or for other shards to join.
  // An exception from it ends the wait.
  std::function<void()> while_waiting;
  // Returns the number of the signal that asks this process to stop, or 0. Called by another
  // thread; may be null. After such a signal, this shard does not wait in vain for others
  // (RunMembership::OnStopWhileBlocked).
  std::function<int()> stop_signal;
  // Called once, by another thread, with the line of the failure when another shard is lost. Must
  // not throw.
  std::function<void(const std::string& line)> on_peer_lost;
  // Called once the shard has joined its run, before it connects to the others.
  std::function<void()> on_joined;
};

// The source of the images and how they are prepared.
struct DataOptions {
  std::string train_data;  // database of Datum or TensorProtos records; "null": synthetic images
  std::string test_data;   // "": no tests
  // The share of the records of train_data that is held out for tests (db/holdout.h). test_data is
  // then train_data (or empty: no tests). A run that only evaluates has no train_data. 0: the run
  // trains on all records of train_data.
  float holdout = 0.f;
  std::string db_type = "lmdb";
  // What FindSources returned; null: each check calls it itself. To list a folder of a million
  // images takes seconds.
  std::shared_ptr<const DataSources> sources;
  // What DataFingerprint has returned in this run, by source; null: each call reads the database.
  std::shared_ptr<std::map<std::string, std::string>> fingerprints;
  // By label, for exported models and the records of the run (TrainingClassNames); empty: unknown.
  std::vector<std::string> class_names;
  int image_scale = 0;  // shorter side before the crop; 0: see ImageScale()
  int image_pad = 0;    // black pixels around the scaled image that a training crop may include
  // Pixels from 0 to 255 become (pixel - mean) / std. Each is one number for all channels, or one
  // number each for blue, green and red.
  std::vector<float> mean = {128.f}, std = {128.f};
  bool mirror = true;  // flip half of the training images
  // Train on parts of 8 to 100 % of an image, of sides 3:4 to 4:3, scaled to the crop (Szegedy et
  // al., "Going deeper with convolutions", 2014), instead of crops of the scaled image.
  bool random_resized_crop = false;
  // The probability that a random box of a training image is erased
  // (db::ImageTransformOptions::random_erasing).
  float random_erasing = 0.f;
  bool shuffle =
      false;  // a new order of the training records in each epoch, the same on all shards
  int decode_threads = 1;
  int64_t max_bad_records = 0;    // limit of distinct damaged training records (BadRecordCount)
  bool check_coverage = false;    // log whether each pass reads each record once (CoverageCheck)
  bool use_gpu_transform = true;  // mirror, normalise and convert images on the GPU
  bool decode_on_gpu = false;     // each GPU decodes JPEG files, by nvJPEG
  bool resident_data = false;     // each GPU keeps all images, decoded, in its memory
};

// The network and its optimizer.
struct ModelOptions {
  std::string network = "resnet50";
  NetworkOptions shape;
  std::string order = "NHWC";
  std::string dtype = "float";     // of activations: float, bfloat16, or float16 (only GPUs)
  float loss_scale = 0.f;          // for float16; 0: dynamic
  std::string fuse_conv = "auto";  // auto, or a word of ParseConvNormFusion
  bool half_gradients = false;     // keep filter gradients in 16 bits, like activations (only GPUs)
  std::string optimizer = "sgd";   // sgd, adam, adamw, adagrad, rmsprop, lars
  float lars_trust = 0.001f;       // of lars (SgdOptions)
  float base_learning_rate = 0.1f;
  // If positive, base_learning_rate is meant for batches of this many images over all shards, and
  // is scaled in proportion to the real batch (Goyal et al., "Accurate, large minibatch SGD",
  // 2017).
  int64_t lr_batch_size = 0;
  float momentum = 0.9f;
  bool nesterov = true;
  float weight_decay = 1e-4f;
  // The maximum L2 norm of all gradients of an update together (AddGradientClipping); 0: no limit.
  float clip_gradients = 0.f;
  // step: the rate is multiplied by lr_factor after each epoch in lr_steps or, if that is empty,
  // every lr_step_epochs epochs. poly, cosine: the rate falls to zero at the end of the last epoch,
  // linearly or as half a cosine. fixed: the rate is constant.
  std::string lr_policy = "step";
  int lr_step_epochs = 30;
  std::vector<int> lr_steps = {};
  float lr_factor = 0.1f;
  // During the first warmup_epochs the rate rises linearly from warmup_start times its value to all
  // of it.
  double warmup_epochs = 0;
  float warmup_start = 0.1f;
  // Prefixes of the names of parameters that keep their values, or only "all_but_last"
  // (frozen_params.h).
  std::vector<std::string> freeze = {};
  float label_smoothing = 0.f;  // share of the probability that is spread over all labels
  // For each label the weight of its images in the training loss. The loss of a batch is divided by
  // the sum of the weights of its images. Empty: all images have the same weight.
  std::vector<float> class_weights = {};
  // The alpha of mixup and of CutMix (operators/image/mix_choice.h); 0: that method is off.
  float mixup = 0.f, cutmix = 0.f;
  bool MixesImages() const { return mixup > 0 || cutmix > 0; }
  // Tests and exported models use a moving average of the parameters and running statistics that
  // keeps this share of itself in each iteration (train/moving_average.h); 0: none. It is updated
  // every ema_every iterations or, with local SGD, at the first exchange after them.
  double ema_decay = 0;
  int64_t ema_every = 8;
};

// The length of the run.
struct ScheduleOptions {
  int64_t batch_size = 32;  // of one shard
  // Images of all shards; rounded down to whole batches of all shards. 0: all images of train_data.
  int64_t epoch_size = 1'500'000;
  int num_epochs = 1000;
  int64_t max_iterations = 0;   // of the whole run; 0: no limit
  int64_t test_epoch_size = 0;  // test only the first images of the database; 0: all
  int patience = 0;  // end the run after this many epochs without a better accuracy; 0: never
  uint64_t seed = 1;
  // 0: the shards sum their gradients in every iteration. Otherwise local SGD: they average their
  // parameters every sync_every iterations and at the end of each epoch and of the run
  // (docs/design/async.md).
  int64_t sync_every = 0;
  float block_momentum = 0.f;  // momentum of the averages, from 0 to below 1 (BMUF)
  float block_learning_rate = 1.f;
  // Iterations between two comparisons of the shards' parameters (ParameterCheck); 0: none.
  int64_t check_parameters_every = 500;
  bool evaluate = false;  // test a saved model once instead of training (train/evaluation.h)
};

// The files that a run writes and starts from. Only shard 0 writes files.
struct OutputOptions {
  // The path of the predictor exported after epoch n (counted from 1); n = 0 names the lock file
  // (RunLock). Null: export none.
  std::function<std::string(int)> model_path;
  int keep_models = 1;          // how many exports of this process to keep, the newest ones; 0: all
  bool keep_best = false;       // export the model of the best test to best_model_path, too
  std::string best_model_path;  // "" without model_path
  std::string checkpoint_path;
  int64_t checkpoint_every = 0;     // iterations; if not 0, also writes one at the end of the run
  bool checkpoint_on_stop = false;  // also write one if a signal ends the run
  int keep_checkpoints = 2;     // checkpoint_path, and older ones in checkpoint_path + ".1", ...
  bool resume = false;          // continue from the newest intact checkpoint
  bool auto_resume = false;     // the same if there is one; otherwise start anew
  std::string load_model_path;  // start with the parameters of an exported predictor
  bool finetune = false;        // for other labels: load all parameters but the last layer's
  bool trust_model = false;     // load_model_path may use any operator (train/restrict_model.h)
  int load_epoch = 0;           // start to count epochs here
  std::string csv_path;         // one line per epoch (CsvLog); "": none
  std::string description;      // first line of the CSV: the settings of the run
  int64_t log_every = 1;        // iterations between log lines
  // If set, tests note their predictions (TestReport::predictions), with this many of the worst
  // images. Only the value of shard 0 counts.
  std::optional<int> worst_images;
  // A timeline of iterations trace_first to trace_last of the run, counted from 1 (RunTrace); "":
  // none.
  std::string trace_path;
  int64_t trace_first = 0, trace_last = 0;
  std::string trace_summary_path;  // its sums (train/observe/timeline_summary.h); "": none

  bool WritesCheckpoints() const { return checkpoint_every > 0 || checkpoint_on_stop; }
};

// The default of the shorter side of images before the crop to image_size: 256 for crops of 224 to
// 256 pixels, as in Caffe2, and image_size x 256 / 227 for others.
int DefaultImageScale(int image_size);

struct TrainOptions {
  ShardOptions shards;
  DataOptions data;
  ModelOptions model;
  ScheduleOptions schedule;
  OutputOptions output;
  // Each device holds a replica of the network and gets an equal part of each batch. The host reads
  // and decodes the input.
  std::vector<Device> devices = {Device{}};
  bool cuda_graph = false;  // GPUs: after the third iteration, launch recorded CUDA graphs
  // For programs. A function that prints the reason after `seconds` and ends the process with
  // status 128 + `signal`, unless the process has ended by then. A run that is asked to stop calls
  // it, from any thread, if a read of its input or a write of a save or log hangs (StopWatchdog).
  // Null: such a run does not end.
  std::function<void(double seconds, const std::string& reason, int signal)> end_process;

  // Images in a batch of all shards.
  int64_t BatchOfAllShards() const { return schedule.batch_size * shards.num_shards; }
  // The number of iterations in one epoch; at least 1 after WithEpochSize().
  int64_t EpochIterations() const { return schedule.epoch_size / BatchOfAllShards(); }
  // The number of iterations left in an epoch after `epoch_images` of its images.
  int64_t IterationsLeft(int64_t epoch_images) const {
    return std::max<int64_t>(schedule.epoch_size - epoch_images, 0) / BatchOfAllShards();
  }
  int64_t WarmupIterations() const {
    return static_cast<int64_t>(model.warmup_epochs * static_cast<double>(EpochIterations()));
  }
  // The shorter side of images before the crop to image_size: data.image_scale if that is set, or
  // else DefaultImageScale.
  int ImageScale() const;
};

// Throws UsageError, which names the flag, for settings that contradict each other or cannot work:
// ids out of range, a missing run id, an epoch smaller than a batch of all shards, unknown names.
// Throws
// as RecordKindOf for databases that cannot be used, and IoError for a missing checkpoint and for
// directories that cannot be written.
void Validate(const TrainOptions& options);

// Takes valid options; an epoch_size of 0 becomes the number of records of train_data, without
// those held out for tests. Throws UsageError, which names the flags, if there are fewer records
// than images in a batch of all shards.
TrainOptions WithEpochSize(TrainOptions options);

}  // namespace caffe2
