// The command-line flags that all trainers share, and their translation to options. This header
// defines flags, so only the .cc file with a program's main includes it.
#pragma once

#include <gflags/gflags.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/watchdog.h"
#include "db/data_set.h"
#include "distributed/launch_environment.h"
#include "distributed/redis_store_handler.h"
#include "distributed/signed_store.h"
#include "examples/async_flags.h"
#include "examples/flag_lists.h"
#include "examples/foreign_flags.h"
#include "examples/image_flags.h"
#include "examples/observe_flags.h"
#include "examples/recipe_flags.h"
#include "train/atomic_file.h"
#include "train/data_check.h"
#include "train/evaluation.h"
#include "train/log.h"
#include "train/odd_values.h"
#include "train/options.h"
#include "train/serve_parameters.h"
#include "train/shard_launch.h"
#include "train/stop_signal.h"
#include "train/trainer.h"

DEFINE_string(
    train_data, "",
    "training images (required): a database, a folder of CIFAR, STL-10 or MNIST files, a "
    "folder with a sub-folder of images for each class, or a tar archive; null for random "
    "images");
DEFINE_string(test_data, "",
              "test images, likewise; of a folder that has both, the test part; empty: no tests");
DEFINE_double(holdout, 0,
              "share of the training images that is kept for tests and never trained on, for "
              "instance 0.1, if there is no --test_data; the same images for any seed and number "
              "of shards; 0: none");
DEFINE_string(db_type, "auto",
              "type of the databases: lmdb, leveldb, minidb, cifar, stl10, idx, images or tar; "
              "auto: what the files look like");
DEFINE_string(gpus, "", "comma-separated ids of the GPUs to use");
DEFINE_int32(
    num_gpus, 1,
    "number of GPUs to use if --gpus is not given; if a launcher starts several shards on a host, "
    "each takes the next GPUs");
DEFINE_bool(cuda_graph, false,
            "GPUs: record the work of an iteration as a CUDA graph, and launch the graph "
            "afterwards. If not given: on with one shard and one GPU, unless --trace is given");
DEFINE_bool(use_gpu_transform, true,
            "GPUs: mirror, normalise and convert images on the GPU instead of the host");
DEFINE_bool(decode_on_gpu, false,
            "GPUs: decode JPEG files on the GPU by nvJPEG, NVIDIA's library, which must be "
            "installed");
DEFINE_bool(resident_data, false,
            "GPUs: decode all images once, when they are first needed, and keep them in the memory "
            "of each GPU; they must be square");
DEFINE_bool(use_cpu, false, "train on the CPU and ignore --gpus and --num_gpus");
DEFINE_int32(num_cpu_replicas, 1,
             "replicas of the model with --use_cpu; each gets an equal part of the batch");
DEFINE_int32(
    num_threads, 0,
    "CPU threads of the operators; 0: OMP_NUM_THREADS, or this shard's share of the machine's "
    "cores");
DEFINE_int32(decode_threads, 1, "threads that decode images");
DEFINE_int64(
    max_bad_records, 0,
    "different training records that may be damaged, counted over all shards and, with --resume, "
    "since the run began (with --param_servers by each worker); each is named, and another record "
    "of its batch is used in its place; records are read ahead, so one counts up to four batches "
    "before it would be used");
DEFINE_bool(
    check_coverage, false,
    "log after each pass over the training images whether all shards together read each image "
    "exactly once");
DEFINE_bool(shuffle, false,
            "visit the training images in a new order in each epoch; needed for folders and "
            "archives that come class after class");
DEFINE_uint64(seed, 1, "seed of the initial parameters, the augmentation and the shuffle");
DEFINE_string(order, "NHWC", "storage order of images and filters: NHWC or NCHW");
DEFINE_string(
    dtype, "float",
    "element type of activations: float, bfloat16, or float16 (GPUs only, with loss scaling)");
DEFINE_string(
    fuse_conv, "auto",
    "GPUs, NHWC: fuse convolutions with the batch normalization around them: none, stats, "
    "prologue or residual (also fuses the ends of residual blocks); auto: residual for float16, "
    "stats for bfloat16");
DEFINE_bool(half_gradients, false,
            "GPUs, float16 or bfloat16: keep filter gradients in 16 bits, also between shards");
DEFINE_double(loss_scale, 0,
              "factor of the loss for float16, a power of two; 0 (default): dynamic");
DEFINE_string(
    optimizer, "sgd",
    "sgd, adam, adamw (weight decay does not enter the moments), adagrad, rmsprop or lars "
    "(sgd with a rate for each layer, for large batches)");
DEFINE_double(
    lars_trust, 0.001,
    "--optimizer lars: the rate of a layer is --lars_trust x norm of its weights / norm of "
    "their gradient, times the learning rate");
DEFINE_double(clip_gradients, 0,
              "largest L2 norm of all gradients of an update together, to which they are scaled "
              "down (PyTorch's clip_grad_norm_); 0: any");
DEFINE_string(
    lr_policy, "step",
    "how the learning rate falls: step (by --lr_factor after --lr_steps, or every "
    "--lr_step_epochs), poly (linearly, to zero at the end of the last epoch), cosine (as "
    "half a cosine, likewise) or fixed (not at all)");
DEFINE_string(lr_steps, "",
              "epochs after which the learning rate falls, for instance 30,60,80; empty: every "
              "--lr_step_epochs");
DEFINE_double(lr_factor, 0.1, "factor by which the learning rate falls (--lr_policy step)");
DEFINE_int64(lr_batch_size, 0,
             "images in a batch of all shards for which the initial learning rate is meant; with "
             "other batches the rate is in proportion (linear scaling); 0: it is as given");
DEFINE_double(warmup_epochs, 0, "epochs in which the learning rate rises to its initial value");
DEFINE_double(warmup_start, 0.1, "share of the learning rate at which --warmup_epochs start");
DEFINE_double(label_smoothing, 0,
              "share of the target probability that is spread evenly over all labels");
DEFINE_string(class_weights, "",
              "weights of the classes in the training loss, for instance 1,1,2.5, or a file with "
              "one number for each; doppio data inspect knows balanced ones; \"\": all alike");
DEFINE_double(mixup, 0,
              "alpha of mixup, for instance 0.2: the training images of a batch are blended with "
              "each other, and their labels in proportion; accuracies in training count the "
              "original labels; 0: off");
DEFINE_double(cutmix, 0,
              "alpha of CutMix, for instance 1: a box of each training image comes from another "
              "one of the batch, and the labels in proportion; with --mixup each batch takes one "
              "of both; 0: off");
DEFINE_double(ema_decay, 0,
              "test and save a moving average of the model, which keeps this share of itself in "
              "each iteration, for instance 0.999; 0: the model itself");
DEFINE_int64(ema_every, 8, "iterations between two updates of the average (--ema_decay)");
DEFINE_string(mean, "",
              "number to subtract from pixels (0 to 255), or blue,green,red; empty: the program's");
DEFINE_string(std, "",
              "number to divide pixels by after that, or blue,green,red; empty: the program's");
DEFINE_int32(image_pad, 0,
             "black pixels on each side of a scaled training image, from which the crop is taken");
DEFINE_bool(random_resized_crop, false,
            "train on random parts of 8 to 100 % of an image, scaled to the crop");
DEFINE_double(
    random_erasing, 0,
    "probability that a random box of a training image, of 2 to 33 % of its area, becomes "
    "0 after the normalisation");

DEFINE_int32(num_shards, 1, "number of processes that train together");
DEFINE_int32(shard_id, 0, "number of this process among them, from 0");
DEFINE_string(run_id, "", "name of the run, the same on all shards; many launchers set it");
DEFINE_string(
    init_method, "",
    "where the shards meet: tcp://host:port (shard 0 runs a store there), "
    "redis://[:password@]host[:port][/db] (rediss:// with TLS), file:///directory, or "
    "env:// (the launcher's variables); empty: the other flags, or the launcher's variables");
DEFINE_string(redis_host, "", "host of the Redis server where the shards meet");
DEFINE_int32(redis_port, 6379, "port of the Redis server");
DEFINE_string(redis_user, "", "user name for the Redis server");
DEFINE_string(
    redis_password_file, "",
    "file whose first line is the password of the Redis server or of the tcp:// store; empty: the "
    "file that CAFFE2_REDIS_PASSWORD_FILE names, or REDISCLI_AUTH (environment variables)");
DEFINE_string(
    secret_file, "",
    "file whose first line signs all values in the store, the same for all shards; empty: the file "
    "that CAFFE2_SECRET_FILE names, or values without signatures");
DEFINE_bool(redis_tls, false, "connect to the Redis server with TLS");
DEFINE_string(redis_ca_file, "",
              "PEM file with the authorities that may sign the Redis server's certificate; empty: "
              "those that the system trusts");
DEFINE_string(redis_cert_file, "",
              "PEM file with this shard's certificate, for a Redis server that asks for it");
DEFINE_string(redis_key_file, "", "PEM file with its private key; empty: in --redis_cert_file");
DEFINE_int32(redis_db, 0, "number of the Redis database");
DEFINE_string(distributed_transport, "auto",
              "transport between shards: tcp, shared_memory (all shards on one machine), or auto: "
              "shared_memory if possible, otherwise tcp");
DEFINE_string(distributed_interfaces, "",
              "comma-separated network interfaces for the transport; only the first is used");
DEFINE_string(port_range, "",
              "ports at which shards may listen while they connect, for instance 4000-4010; empty: "
              "any; not for --use_nccl: NCCL has no such setting, the system gives it ports of "
              "net.ipv4.ip_local_port_range (NCCL_SOCKET_IFNAME chooses its interface)");
DEFINE_bool(use_nccl, false,
            "sum gradients between GPUs with NCCL instead of Gloo; each shard needs its own GPU");
DEFINE_double(rendezvous_timeout, 300, "seconds to wait until all shards have joined");
DEFINE_double(collective_timeout, 60, "time limit of one exchange between shards, in seconds");

DEFINE_int64(
    check_parameters_every, 500,
    "iterations between two comparisons of the shards' parameters; a difference ends the run and "
    "names the shard; 0: never");
DEFINE_int64(max_iterations, 0, "end the run after this many iterations; 0: after --num_epochs");
DEFINE_int64(test_epoch_size, 0,
             "images to test after each epoch, over all shards: the first ones; 0: all");
DEFINE_bool(keep_best, false,
            "also keep the model with the best test accuracy, as <model name>_best.mdl "
            "(mnist_trainer: <prefix>-best.mdl)");
DEFINE_int32(patience, 0,
             "end the run after this many epochs without a better test accuracy; 0: never");
DEFINE_int64(checkpoint_every, 0, "iterations between checkpoints; 0: no checkpoints");
DEFINE_string(checkpoint_path, "",
              "the checkpoint file; empty: <model name>.checkpoint; a run that SIGINT, SIGTERM or "
              "SIGHUP ends is saved there, also without --checkpoint_every");
DEFINE_int32(
    keep_checkpoints, 2,
    "checkpoints to keep: --checkpoint_path, and the ones before as <path>.1, <path>.2, ...");
DEFINE_bool(
    resume, false,
    "continue the run from --checkpoint_path, exactly to the bit, or with another number of "
    "shards and the same batch of all shards; if the file is damaged, from "
    "the newest kept checkpoint of the same run that is whole");
DEFINE_string(
    load_model_path, "",
    "saved model (.mdl) to start from, or two nets: init_net.pb,predict_net.pb or a folder "
    "with both");
DEFINE_bool(trust_model, false, "let --load_model_path use any operator, which may write files");
DEFINE_bool(finetune, false,
            "start from --load_model_path for other labels: the last layer starts with fresh "
            "parameters, all others must fit");
DEFINE_string(freeze, "",
              "comma-separated prefixes of the names of parameters that keep their values, for "
              "instance conv1,res2 (doppio inspect shows the names), or all_but_last: train only "
              "the last layer; their normalizations keep their statistics");
DEFINE_bool(evaluate, false,
            "do not train: test --load_model_path, or the checkpoint of --resume, on --test_data");
DEFINE_bool(
    auto_resume, false,
    "as --resume if the checkpoint exists, else start anew: for launchers that restart runs; "
    "`--resume auto` is the same");

namespace caffe2 {

// Turns `--resume auto` and `--resume=auto` into `--auto_resume`. Call it before RunProgram.
inline void SpellOutResume(int* argc, char** argv) {
  static char auto_resume[] = "--auto_resume";
  for (int i = 1; i < *argc && std::string(argv[i]) != "--"; ++i) {
    const std::string word = argv[i];
    const bool bare = word == "--resume" || word == "-resume";
    const bool two_words = bare && i + 1 < *argc && std::string(argv[i + 1]) == "auto";
    if (!two_words && word != "--resume=auto" && word != "-resume=auto") continue;
    argv[i] = auto_resume;
    if (!two_words) continue;
    std::copy(argv + i + 2, argv + *argc + 1, argv + i + 1);  // with the null after the last
    --*argc;
  }
}

inline bool IsGiven(const char* flag) {
  return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default;
}

// This process's place in the launch, from the flags and the launcher's variables.
// `names_directory`: a flag of the program names the directory where the shards meet.
inline Launch LaunchFromFlags(bool names_directory) {
  // Checked first, because it is the flag that users forget most often.
  if (FLAGS_train_data.empty() && !FLAGS_evaluate) {
    ThrowUsage("--train_data is needed: a database of training images, or null for random images");
  }
  LaunchFlags flags;
  if (IsGiven("num_shards")) flags.num_shards = FLAGS_num_shards;
  if (IsGiven("shard_id")) flags.shard_id = FLAGS_shard_id;
  flags.run_id = FLAGS_run_id;
  flags.init_method = FLAGS_init_method;
  flags.param_servers = FLAGS_param_servers;
  flags.names_store = !FLAGS_redis_host.empty() || names_directory;
  Launch launch = ResolveLaunch(flags, ProcessEnvironment());
  if (!launch.dialect.empty()) LOG(INFO) << launch.Describe();
  return launch;
}

inline ShardOptions ShardOptionsFromFlags(const Launch& launch,
                                          const std::string& file_store_path) {
  ShardOptions shards;
  shards.redis_host = FLAGS_redis_host;
  shards.redis_port = FLAGS_redis_port;
  shards.redis_user = FLAGS_redis_user;
  shards.redis_db = FLAGS_redis_db;
  shards.redis_tls = FLAGS_redis_tls;
  shards.redis_ca_file = FLAGS_redis_ca_file;
  shards.redis_cert_file = FLAGS_redis_cert_file;
  shards.redis_key_file = FLAGS_redis_key_file;
  shards.store_password = FindRedisPassword(FLAGS_redis_password_file);
  shards.store_secret = FindStoreSecret(FLAGS_secret_file);
  shards.file_store_path = file_store_path;
  shards.transport = FLAGS_distributed_transport;
  shards.use_nccl = FLAGS_use_nccl;
  shards.interface = FLAGS_distributed_interfaces.substr(0, FLAGS_distributed_interfaces.find(','));
  shards.port_range = FLAGS_port_range;
  shards.rendezvous_timeout = FLAGS_rendezvous_timeout;
  shards.collective_timeout = FLAGS_collective_timeout;
  shards.num_threads = FLAGS_num_threads;
  shards.max_staleness = FLAGS_max_staleness;
  CheckUsage(launch.num_servers > 0 || !IsGiven("max_staleness"),
             "--max_staleness is for training with --param_servers");
  ApplyLaunch(launch, &shards);
  return shards;
}

// Refuses a beginning of names of files that names a folder instead. `file` is a name that would
// come of it.
inline void CheckNamesFile(const char* flag, const std::string& start, const std::string& file) {
  CheckUsage(start.empty() || start.back() != '/', flag, " is ", start,
             ", a folder: models would have names such as ", file, "; add a name, such as ", start,
             "model");
}

// The devices that --use_cpu, --num_cpu_replicas, --gpus and --num_gpus select.
inline std::vector<Device> DevicesFromFlags(const ShardOptions& shards) {
  if (FLAGS_num_cpu_replicas < 1) {
    ThrowUsage("--num_cpu_replicas is ", FLAGS_num_cpu_replicas, ", must be at least 1");
  }
  if (FLAGS_use_cpu) return std::vector<Device>(static_cast<size_t>(FLAGS_num_cpu_replicas));
  if (FLAGS_num_cpu_replicas > 1) {
    ThrowUsage("--num_cpu_replicas ", FLAGS_num_cpu_replicas, " needs --use_cpu");
  }
  if (NumDevices(CUDA) == 0) {
    ThrowIoError(ExitCode::kSystem,
                 "no GPU is available to this program; add --use_cpu to train on the CPU (",
                 DeviceProblem(CUDA), ")");
  }
  std::vector<Device> devices;
  if (FLAGS_gpus.empty()) {
    CheckUsage(FLAGS_num_gpus > 0, "--num_gpus is ", FLAGS_num_gpus, ", must be positive");
    const int first = FirstGpu(shards, FLAGS_num_gpus, NumDevices(CUDA));
    for (int id = 0; id < FLAGS_num_gpus; ++id) devices.push_back({CUDA, first + id});
  }
  std::stringstream list(FLAGS_gpus);
  for (std::string item; std::getline(list, item, ',');) {
    const bool number = !item.empty() && item.size() < 6 &&
                        item.find_first_not_of("0123456789") == std::string::npos;
    CheckUsage(number, "--gpus is ", FLAGS_gpus, ": \"", item, "\" is not the number of a GPU");
    devices.push_back({CUDA, std::stoi(item)});
  }
  for (const Device& device : devices) CheckDevice(device);
  return devices;
}

// The training or test part of a data set; `source` itself if it is none.
inline std::string PartOf(const std::string& source, const char* flag,
                          std::string db::DataSet::*part) {
  const db::DataSet set = db::FindDataSet(source, FLAGS_db_type);
  if (set.type.empty()) return source;
  CheckUsage(!(set.*part).empty(), flag, " is ", source, ", a data set (", set.type,
             ") without a part for that");
  return set.*part;
}

// --test_data, or the part of --train_data that --holdout keeps for tests.
inline void SetTestData(DataOptions* data) {
  data->holdout = static_cast<float>(FLAGS_holdout);
  CheckUsage(FLAGS_holdout == 0 || FLAGS_test_data.empty(), "--holdout ", FLAGS_holdout,
             " and --test_data ", FLAGS_test_data,
             " cannot be used together: tests take the images that are held out of --train_data");
  data->test_data = FLAGS_holdout == 0 ? PartOf(FLAGS_test_data, "--test_data", &db::DataSet::test)
                                       : data->train_data;
}

// True if --cuda_graph is not given and a recorded graph is likely faster. This was measured only
// on one GPU. A timeline (--trace) cannot show the operators of a graph.
inline bool RecordsByDefault(const TrainOptions& options) {
  return !IsGiven("cuda_graph") && options.devices.size() == 1 && options.devices[0].type == CUDA &&
         options.shards.num_shards == 1 && !options.shards.HasServers() && FLAGS_trace.empty();
}

// The options that the shared flags set; the program sets the rest. Pixels become
// (pixel - mean) / std, if the flags do not say otherwise.
inline TrainOptions OptionsFromFlags(const ShardOptions& shards, float mean, float std) {
  SetImageLimitsFromFlags();
  TrainOptions options;
  options.data.mean = FLAGS_mean.empty() ? std::vector{mean} : NumberList("--mean", FLAGS_mean);
  options.data.std = FLAGS_std.empty() ? std::vector{std} : NumberList("--std", FLAGS_std);
  options.data.image_pad = FLAGS_image_pad;
  options.data.random_resized_crop = FLAGS_random_resized_crop;
  options.data.random_erasing = static_cast<float>(FLAGS_random_erasing);
  options.shards = shards;
  options.devices = DevicesFromFlags(shards);
  options.cuda_graph = FLAGS_cuda_graph || RecordsByDefault(options);
  options.data.train_data = PartOf(FLAGS_train_data, "--train_data", &db::DataSet::train);
  SetTestData(&options.data);
  options.data.db_type = FLAGS_db_type;
  options.data.shuffle = FLAGS_shuffle;
  options.data.decode_threads = FLAGS_decode_threads;
  options.data.max_bad_records = FLAGS_max_bad_records;
  options.data.check_coverage = FLAGS_check_coverage;
  options.data.use_gpu_transform = FLAGS_use_gpu_transform;
  options.data.decode_on_gpu = FLAGS_decode_on_gpu;
  options.data.resident_data = FLAGS_resident_data;
  options.model.order = FLAGS_order;
  options.model.dtype = FLAGS_dtype;
  options.model.loss_scale = static_cast<float>(FLAGS_loss_scale);
  options.model.fuse_conv = FLAGS_fuse_conv;
  options.model.half_gradients = FLAGS_half_gradients;
  options.model.optimizer = FLAGS_optimizer;
  options.model.freeze = WordList(FLAGS_freeze);
  options.model.lars_trust = static_cast<float>(FLAGS_lars_trust);
  options.model.clip_gradients = static_cast<float>(FLAGS_clip_gradients);
  options.model.lr_policy = FLAGS_lr_policy;
  options.model.lr_steps = IntegerList("--lr_steps", FLAGS_lr_steps);
  options.model.lr_factor = static_cast<float>(FLAGS_lr_factor);
  options.model.lr_batch_size = FLAGS_lr_batch_size;
  options.model.warmup_epochs = FLAGS_warmup_epochs;
  options.model.warmup_start = static_cast<float>(FLAGS_warmup_start);
  options.model.label_smoothing = static_cast<float>(FLAGS_label_smoothing);
  options.model.class_weights = NumberListOrFile("--class_weights", FLAGS_class_weights);
  options.model.mixup = static_cast<float>(FLAGS_mixup);
  options.model.cutmix = static_cast<float>(FLAGS_cutmix);
  options.model.ema_decay = FLAGS_ema_decay;
  options.model.ema_every = FLAGS_ema_every;
  options.schedule.max_iterations = FLAGS_max_iterations;
  options.schedule.test_epoch_size = FLAGS_test_epoch_size;
  options.schedule.seed = FLAGS_seed;
  SetAsyncOptions(&options);
  options.schedule.check_parameters_every = FLAGS_check_parameters_every;
  options.schedule.patience = FLAGS_patience;
  options.output.keep_best = FLAGS_keep_best;
  options.schedule.evaluate = FLAGS_evaluate;
  options.output.load_model_path = FLAGS_load_model_path;
  options.output.trust_model = FLAGS_trust_model;
  options.output.finetune = FLAGS_finetune;
  options.output.checkpoint_every = FLAGS_checkpoint_every;
  options.output.checkpoint_path = FollowLinks(FLAGS_checkpoint_path);
  options.output.checkpoint_on_stop = !FLAGS_checkpoint_path.empty();
  options.output.keep_checkpoints = FLAGS_keep_checkpoints;
  options.output.resume = FLAGS_resume;
  options.output.auto_resume = FLAGS_auto_resume;
  return options;
}

// Makes the folder --file_store_path if only its last part is missing, and calls main(). What else
// is wrong with the folder is an error later. Takes it away again if main() throws before anything
// is in it.
template <typename Body>
int WithFileStorePath(const std::string& path, const Body& main) {
  std::error_code error;
  const bool made = std::filesystem::create_directory(path, error);
  try {
    return main();
  } catch (...) {
    if (made) rmdir(path.c_str());  // only an empty folder
    throw;
  }
}

// Logs what is probably not meant.
inline void NoteOddSettings(const TrainOptions& options) {
  for (const std::string& doubt : OddValues(options)) LOG(WARNING) << doubt;
  const bool alone = options.shards.NumProcesses() == 1;
  for (const char* flag : {"init_method", "redis_host"}) {
    if (!alone || !IsGiven(flag)) continue;
    LOG(WARNING) << "--" << flag << " has no effect: one shard alone uses no store, so doppio top "
                 << "and doppio runs do not show it";
  }
  for (const char* flag : {"gpus", "num_gpus"}) {
    if (!FLAGS_use_cpu || !IsGiven(flag)) continue;
    LOG(WARNING) << "--" << flag << " has no effect: --use_cpu trains on the CPU";
  }
  const OutputOptions& output = options.output;
  if (options.schedule.evaluate || output.model_path || output.WritesCheckpoints()) return;
  gflags::CommandLineFlagInfo info;
  const bool has_prefix = gflags::GetCommandLineFlagInfo("model_prefix", &info);
  LOG(WARNING) << "No model is saved: --" << (has_prefix ? "model_prefix" : "save_model_name")
               << " NAME saves one after each epoch";
}

// A process that has lost its run unwinds within this time, unless a thread hangs.
constexpr double kUnwindSeconds = 20;

// Trains. Returns the exit status: 0, or 128 + the number of the signal that ended the run.
inline int Train(TrainOptions options, std::unique_ptr<TrainListener> log) {
  const int num_epochs = options.schedule.num_epochs;
  CheckUsage(options.schedule.evaluate || num_epochs > 0, "--num_epochs is ", num_epochs,
             ", must be positive (--evaluate tests a model without training it)");
  if (options.schedule.evaluate) options = ForEvaluation(std::move(options));
  SetPredictions(&options);
  SetTrace(&options);
  Validate(options);
  options.data.sources = FindSources(options.data);
  options.data.class_names = TrainingClassNames(options.data);
  if (options.shards.shard_id == 0) {
    for (const std::string& warning : DataWarnings(options, IsGiven("num_labels"))) {
      LOG(WARNING) << warning;
    }
  }
  options.shards.on_peer_lost = [](const std::string& line) {
    // Others may end first although all were asked to stop.
    const int signal = StopSignal::Received();
    EndProcessAfter(kUnwindSeconds, line,
                    signal != 0 ? 128 + signal : static_cast<int>(ExitCode::kPeerLost));
  };
  options.end_process = [](double seconds, const std::string& reason, int signal) {
    EndProcessAfter(seconds, reason, 128 + signal);
  };
  const StopSignal signals;
  if (FLAGS_dry_run) {
    PrintDryRun(options, StopSignal::Received);
    const int signal = StopSignal::Received();
    return signal == 0 ? 0 : 128 + signal;
  }
  if (options.shards.IsServer()) {
    const int signal = ServeParameters(options, StopSignal::Received);
    return signal == 0 ? 0 : 128 + signal;
  }
  if (options.shards.shard_id == 0) NoteOddSettings(options);
  auto listeners = std::make_shared<Listeners>();
  // Each worker of parameter servers has losses of its own; other shards all have the same.
  if (options.shards.shard_id == 0 || options.shards.HasServers() || FLAGS_log_all_shards) {
    listeners->Add(ForTerminal(std::move(log)));
  }
  AddObservers(options, listeners.get());
  Trainer trainer(options, listeners, StopSignal::Received);
  const int signal = trainer.Run();
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace caffe2
