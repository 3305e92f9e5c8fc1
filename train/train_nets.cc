#include "train/train_nets.h"

#include <algorithm>
#include <set>

#include "caffe2/core/logging.h"
#include "caffe2/core/operator.h"
#include "caffe2/graph/data_parallel.h"
#include "caffe2/graph/model_averaging.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/loss_scale.h"
#include "caffe2/model/networks.h"
#include "caffe2/model/optimizer.h"
#include "train/frozen_params.h"

namespace caffe2 {
namespace {

constexpr int kTopK = 5;
constexpr char kReader[] = "reader";

TensorProto::DataType ComputeType(const ModelOptions& model) {
  return model.dtype == "bfloat16"  ? TensorProto::BFLOAT16
         : model.dtype == "float16" ? TensorProto::FLOAT16
                                    : TensorProto::FLOAT;
}

LossScaleOptions ScaleOptions(const ModelOptions& model) {
  if (model.loss_scale == 0) return {};
  return {.scale = model.loss_scale, .dynamic = false};
}

ModelHelper::Options HelperOptions(const TrainOptions& options, bool inference,
                                   const Device& device) {
  return {.order = options.model.order,
          .init_params = !inference,
          .is_test = inference,
          .compute_type = ComputeType(options.model),
          .device = ToDeviceOption(device),
          .is_frozen = inference ? nullptr : FrozenParams(options)};
}

DataParallelOptions ParallelOptions(const TrainOptions& options) {
  DataParallelOptions parallel;
  parallel.devices = options.devices;
  parallel.engine = options.shards.use_nccl ? "NCCL" : "GLOO";
  parallel.num_shards = options.shards.num_shards;
  parallel.shard_id = options.shards.shard_id;
  parallel.store_handler = kStoreHandler;
  parallel.transport = options.shards.transport;
  parallel.interface = options.shards.interface;
  parallel.port_range = options.shards.port_range;
  parallel.timeout_ms = static_cast<int>(options.shards.collective_timeout * 1e3);
  parallel.connect_timeout_ms = static_cast<int>(options.shards.ConnectTimeout() * 1e3);
  return parallel;
}

bool IsLocal(const TrainOptions& options) { return options.schedule.sync_every > 0; }

// Those of the training net. With local SGD and with parameter servers, the shards do not reduce
// gradients among themselves.
DataParallelOptions GradientParallelOptions(const TrainOptions& options) {
  DataParallelOptions parallel = ParallelOptions(options);
  if (IsLocal(options) || options.shards.HasServers()) parallel.num_shards = 1;
  return parallel;
}

ModelUpdate ModelUpdateOf(const ScheduleOptions& schedule) {
  return {.momentum = schedule.block_momentum, .learning_rate = schedule.block_learning_rate};
}

LearningRateOptions RateOptions(const TrainOptions& options) {
  const ModelOptions& model = options.model;
  // If each gradient is an update of its own, servers count the updates of all workers.
  const bool is_async = options.shards.HasServers() && options.shards.max_staleness > 0;
  const int64_t updates = is_async ? options.shards.num_shards : 1;
  const int64_t epoch = options.EpochIterations() * updates;
  LearningRateOptions rate = {.base = model.base_learning_rate,
                              .policy = model.lr_policy,
                              .stepsize = model.lr_step_epochs * epoch,
                              .gamma = model.lr_factor,
                              .max_iter = options.schedule.num_epochs * epoch,
                              .warmup_iterations = options.WarmupIterations() * updates,
                              .warmup_start = model.warmup_start};
  if (model.lr_batch_size > 0) {
    const int64_t images = options.schedule.batch_size * options.shards.num_shards / updates;
    rate.base *= static_cast<float>(images) / static_cast<float>(model.lr_batch_size);
  }
  for (const int last : model.lr_steps) rate.steps.push_back(last * epoch);
  return rate;
}

std::string AddOptimizer(ModelHelper* model, const TrainOptions& options) {
  const ModelOptions& settings = options.model;
  const LearningRateOptions rate = RateOptions(options);
  if (settings.optimizer == "adamw") {
    return BuildAdam(model, {.learning_rate = rate, .weight_decay = settings.weight_decay});
  }
  SgdOptions sgd = {
      .learning_rate = rate, .momentum = settings.momentum, .nesterov = settings.nesterov};
  if (settings.optimizer == "lars") {
    sgd.lars_trust = settings.lars_trust;
    sgd.lars_decay = settings.weight_decay;
    return BuildSgd(model, sgd);
  }
  AddWeightDecay(model, settings.weight_decay);
  if (settings.optimizer == "adam") return BuildAdam(model, {.learning_rate = rate});
  if (settings.optimizer == "adagrad") return BuildAdagrad(model, {.learning_rate = rate});
  if (settings.optimizer == "rmsprop") {
    return BuildRmsProp(model, {.learning_rate = rate, .momentum = settings.momentum});
  }
  CAFFE_ENFORCE_EQ(settings.optimizer, "sgd");
  return BuildSgd(model, sgd);
}

// The blobs of one replica.
struct ReplicaBlobs {
  brew::SoftmaxLoss outputs;
  std::string scaled_loss;  // divided by the number of replicas of the job
};

brew::MixedImages AddMix(ModelHelper* model, const ModelOptions& options,
                         const std::string& images) {
  return brew::MixImages(model, images, model->Scoped("label"), "data_mixed",
                         {.mixup_alpha = options.mixup,
                          .cutmix_alpha = options.cutmix,
                          .num_labels = options.shape.num_labels,
                          .label_smoothing = options.label_smoothing});
}

// `probabilities` of mixed labels, or "".
brew::SoftmaxLoss AddLoss(ModelHelper* model, const ModelOptions& options,
                          const std::string& scores, std::string probabilities) {
  const std::string label = model->Scoped("label");
  std::string weights;
  if (!options.class_weights.empty()) {
    weights = brew::ClassWeights(model, label, "label_weights", options.class_weights);
  }
  if (probabilities.empty() && options.label_smoothing == 0) {
    return brew::SoftmaxWithLoss(model, scores, label, "softmax", "loss", /*label_prob=*/false,
                                 weights);
  }
  if (probabilities.empty()) {
    probabilities = brew::SmoothLabels(model, label, "label_smooth", options.shape.num_labels,
                                       options.label_smoothing);
  }
  return brew::SoftmaxWithLoss(model, scores, probabilities, "softmax", "loss",
                               /*label_prob=*/true, weights);
}

// The forward pass of one replica: input, network, loss. Gradients start from the scaled loss, so
// that their sum over the replicas is the gradient of the mean.
ReplicaBlobs AddForward(ModelHelper* model, const TrainOptions& options, RecordKind kind) {
  const auto devices = static_cast<int>(options.devices.size());
  const int shards = GradientParallelOptions(options).num_shards;
  const int64_t batch = options.schedule.batch_size / devices;
  const std::string data = options.data.train_data == kSyntheticData
                               ? AddSyntheticInput(model, batch, options)
                               : AddImageInput(model, kReader, kind, batch, options);
  brew::MixedImages input = {data, ""};
  if (options.model.MixesImages()) input = AddMix(model, options.model, data);
  const std::string scores =
      AddNetwork(model, options.model.network, input.images, options.model.shape);
  ReplicaBlobs blobs{AddLoss(model, options.model, scores, input.probabilities),
                     model->Scoped("loss_scaled")};
  model->AddOperator("Scale", {blobs.outputs.loss}, {blobs.scaled_loss},
                     {MakeArgument("scale", 1.f / (devices * shards))});
  return blobs;
}

// The name scopes of this shard's replicas: "gpu_0/", "gpu_1/".
std::vector<std::string> ScopesOf(const TrainOptions& options) {
  std::vector<std::string> scopes;
  for (const Device& device : options.devices) {
    scopes.push_back(DeviceScopeName(device, static_cast<int>(scopes.size())));
  }
  return scopes;
}

// Adds the reader, then the replicas: `build` adds one, in the scope of its device.
void BuildReplicas(ModelHelper* model, const TrainOptions& options,
                   const std::function<void()>& build) {
  if (options.data.train_data != kSyntheticData) {
    AddReader(model, kReader, options.data.train_data, options, /*train=*/true);
  }
  const std::vector<std::string> scopes = ScopesOf(options);
  for (size_t d = 0; d < scopes.size(); ++d) {
    const DeviceScope device(model, ToDeviceOption(options.devices[d]));
    const NameScope scope(model, scopes[d].substr(0, scopes[d].size() - 1));
    build();
  }
}

// The backward pass of one replica.
void AddBackward(ModelHelper* model, const TrainOptions& options, const std::string& loss,
                 const TrainingPasses& passes) {
  PrepareForward(passes, {}, model->net());
  const bool half = model->options().compute_type == TensorProto::FLOAT16;
  model->AddGradientOperators(
      {{loss, half ? AddLossScale(model, ScaleOptions(options.model)) : ""}});
}

// The accuracies of one replica. Those of the first speak for the shard.
void AddAccuracies(ModelHelper* model, const TrainOptions& options,
                   const brew::SoftmaxLoss& outputs, TrainNets* nets) {
  const std::string label = model->Scoped("label");
  const std::string accuracy = brew::Accuracy(model, outputs.softmax, label, "accuracy");
  std::string top5;
  if (options.model.shape.num_labels > kTopK) {
    top5 = brew::Accuracy(model, outputs.softmax, label, "accuracy_top5", kTopK);
  }
  if (!nets->loss.empty()) return;
  nets->loss = outputs.loss;
  nets->accuracy = accuracy;
  nets->accuracy_top5 = top5;
}

// The same blob in all replicas, by its stripped name.
ReplicatedBlob Replicated(const std::string& stripped, const std::vector<std::string>& scopes) {
  ReplicatedBlob blob;
  for (const std::string& scope : scopes) blob.push_back(scope + stripped);
  return blob;
}

// A gradient has the shape of its parameter.
std::map<std::string, TensorShape> GradientShapes(const ModelHelper& model) {
  std::map<std::string, TensorShape> shapes;
  for (const Parameter& parameter : model.parameters()) {
    if (model.gradients().count(parameter.name) == 0) continue;
    TensorShape& shape = shapes[model.Gradient(parameter.name)];
    for (const int64_t dim : parameter.shape) shape.add_dims(dim);
    shape.set_data_type(TensorProto::FLOAT);
  }
  return shapes;
}

// The replica's names without its scope.
std::vector<std::string> Strip(const std::vector<std::string>& names, const std::string& scope) {
  std::vector<std::string> stripped;
  for (const std::string& name : names) {
    if (name.compare(0, scope.size(), scope) == 0) stripped.push_back(name.substr(scope.size()));
  }
  return stripped;
}

void AddReduction(ModelHelper* model, const std::vector<std::string>& scopes, const TrainNets& nets,
                  const DataParallelOptions& parallel) {
  std::vector<ReplicatedBlob> gradients;
  for (const std::string& param : nets.trained) {
    ReplicatedBlob blob;
    for (const std::string& scope : scopes) blob.push_back(model->Gradient(scope + param));
    gradients.push_back(blob);
  }
  AddGradientReduction(
      model->net(), PlanGradientBuckets(*model->net(), gradients, GradientShapes(*model), parallel),
      parallel);
}

NetDef BroadcastNet(const std::vector<std::string>& scopes, const TrainNets& nets,
                    const DataParallelOptions& parallel) {
  std::vector<ReplicatedBlob> blobs;
  for (const auto& names : {nets.params, nets.AllStatistics()}) {
    for (const std::string& name : names) blobs.push_back(Replicated(name, scopes));
  }
  for (const std::string& name : nets.ema.params) blobs.push_back({nets.scope + name});
  std::vector<std::string> shared;  // blobs outside the replicas, for instance the iteration
  for (const std::string& name : nets.optimizer_state) {
    if (name.compare(0, scopes[0].size(), scopes[0]) == 0) {
      blobs.push_back(Replicated(name.substr(scopes[0].size()), scopes));
    } else {
      blobs.push_back({name});
    }
  }
  NetDef net;
  net.set_name("broadcast");
  AddParameterBroadcast(&net, blobs, parallel);
  return net;
}

std::vector<ReplicatedBlob> TrainedParams(const TrainNets& nets) {
  std::vector<ReplicatedBlob> params;
  for (const std::string& param : nets.trained) params.push_back(Replicated(param, nets.scopes));
  return params;
}

// Filters in 16 bits that a change of the parameters leaves behind.
void AddFilterCopyUpdates(const PreparedTraining& prepared, NetDef* net) {
  for (const ParameterArena& arena : prepared.arenas) {
    for (size_t i = 0; i < arena.copies.size(); ++i) {
      if (arena.copies[i].empty()) continue;
      OperatorDef* op = net->add_op();
      *op = GradientMakerBase::CreateOperatorDef("Cast", "average", {arena.params[i]},
                                                 {arena.copies[i]},
                                                 {MakeArgument<int>("to", arena.copy_type)});
      *op->mutable_device_option() = ToDeviceOption(arena.device);
    }
  }
}

// Local SGD: the net `average`, and what it needs in the nets that run before it. The block's
// momentum becomes part of the optimizer's state.
void AddLocalSgd(const TrainOptions& options, TrainNets* nets) {
  const DataParallelOptions parallel = ParallelOptions(options);
  const ModelUpdate update = ModelUpdateOf(options.schedule);
  AveragedBlobs blobs{TrainedParams(*nets), {}, {}};
  for (const std::string& state : nets->optimizer_state) {
    if (state.compare(0, nets->scope.size(), nets->scope) != 0) continue;
    blobs.states.push_back(Replicated(state.substr(nets->scope.size()), nets->scopes));
  }
  blobs.shapes = InferBlobShapesAndTypes({}, {&nets->init});
  nets->average.set_name("average");
  AddModelAveraging(&nets->average, blobs, update, parallel);
  AddFilterCopyUpdates(nets->prepared, &nets->average);
  if (update.IsMean()) return;
  AddBlockMomentum(&nets->init, blobs.params, parallel);
  for (const ReplicatedBlob& param : blobs.params) {
    nets->optimizer_state.push_back(BlockMomentumOf(param[0]));
  }
}

// Leaves the optimizer, the operators of `train` from `begin` on, to the servers.
void MoveUpdate(int begin, TrainNets* nets) {
  nets->update = nets->train;
  nets->update.set_name("update");
  nets->update.mutable_op()->DeleteSubrange(0, begin);
  nets->train.mutable_op()->DeleteSubrange(begin, nets->train.op_size() - begin);
}

void LogHalved(int gradients) {
  if (gradients > 0) {
    LOG(INFO) << gradients << " gradients of filters are in 16 bits";
  } else {
    LOG(WARNING) << "--half_gradients has no effect: no gradient of a filter can be in 16 bits";
  }
}

InferenceNets Finish(const ModelHelper& model, const std::string& softmax) {
  InferenceNets nets;
  nets.init = model.param_init_net();
  nets.net = model.net();
  for (const Parameter& parameter : model.parameters()) nets.params.push_back(parameter.name);
  nets.softmax = softmax;
  nets.net.add_external_output(softmax);
  return nets;
}

}  // namespace

std::vector<std::string> TrainNets::AllStatistics() const {
  std::vector<std::string> names = computed_params;
  names.insert(names.end(), ema.computed_params.begin(), ema.computed_params.end());
  return names;
}

TrainingPasses PassesOf(const TrainOptions& options) {
  const ModelOptions& model = options.model;
  TrainingPasses passes =
      ChooseTrainingPasses(options.devices[0].type, model.order, ComputeType(model));
  if (model.fuse_conv != "auto") passes.fuse_conv = ParseConvNormFusion(model.fuse_conv);
  passes.half_gradients = model.half_gradients;
  return passes;
}

TrainNets BuildTrainNets(const TrainOptions& options, RecordKind kind) {
  const DataParallelOptions parallel = GradientParallelOptions(options);
  const TrainingPasses passes = PassesOf(options);
  const std::vector<std::string> scopes = ScopesOf(options);
  TrainNets nets;
  nets.scopes = scopes;
  nets.scope = scopes[0];
  if (options.data.train_data != kSyntheticData) nets.reader = kReader;
  ModelHelper model("train", HelperOptions(options, /*inference=*/false, options.devices[0]));
  BuildReplicas(&model, options, [&] {
    const ReplicaBlobs blobs = AddForward(&model, options, kind);
    AddBackward(&model, options, blobs.scaled_loss, passes);
    AddAccuracies(&model, options, blobs.outputs, &nets);
  });
  CheckFrozenParams(options, model, nets.scope);
  nets.params = Strip(model.params(), nets.scope);
  for (const std::string& param : nets.params) {
    if (model.gradients().count(nets.scope + param)) nets.trained.push_back(param);
  }
  nets.computed_params = Strip(model.computed_params(), nets.scope);
  AddReduction(&model, scopes, nets, parallel);
  AddGradientUnscaling(&model, ScaleOptions(options.model));
  // A worker of parameter servers clips before it sends: a server has only a part of the gradients.
  if (options.model.clip_gradients > 0) {
    AddGradientClipping(&model, options.model.clip_gradients, scopes);
  }
  const bool has_servers = options.shards.HasServers();
  for (const std::string& param : nets.params) {
    if (!has_servers) break;
    const bool frozen = model.IsFrozen(param);
    nets.gradients.push_back(frozen ? "" : model.Gradient(nets.scope + param));
  }
  const int end_of_gradients = model.net()->op_size();
  nets.learning_rate = AddOptimizer(&model, options);
  for (const std::string& name : model.optimizer_state()) {
    const bool of_replica = name.find('/') != std::string::npos;
    if (!of_replica || name.compare(0, nets.scope.size(), nets.scope) == 0) {
      nets.optimizer_state.push_back(name);
    }
  }
  nets.init = *model.param_init_net();
  nets.train = *model.net();
  if (has_servers) MoveUpdate(end_of_gradients, &nets);
  if (options.devices[0].type == CPU) {
    // Gradients are reduced on a thread of their own while the backward pass goes on.
    if (parallel.num_shards > 1) nets.train.set_type("dag");
  } else if (options.cuda_graph) {
    nets.train.set_type("cuda_graph");
  }
  const std::set<std::string> keep(nets.gradients.begin(), nets.gradients.end());
  nets.prepared = PrepareTraining(nets.init, passes, keep, &nets.train);
  if (passes.half_gradients) LogHalved(nets.prepared.half_gradients);
  if (IsLocal(options)) AddLocalSgd(options, &nets);
  if (options.model.ema_decay > 0) {
    nets.ema = BuildMovingAverage(scopes, options.devices, nets.params, nets.computed_params);
  }
  nets.broadcast =
      BroadcastNet(scopes, nets, IsLocal(options) ? ParallelOptions(options) : parallel);
  if (IsLocal(options) && !ModelUpdateOf(options.schedule).IsMean()) {
    AddBlockModel(&nets.broadcast, TrainedParams(nets), parallel);
  }
  // The same parameters for any number of shards; Dropout and its like of its own for each shard.
  const uint64_t seed = options.schedule.seed * 0x10000;
  SetRandomSeeds(&nets.init, seed);
  SetRandomSeeds(&nets.train, seed + 1 + static_cast<uint64_t>(options.shards.shard_id));
  return nets;
}

void PlaceTrainNet(const TrainNets& nets, Workspace* ws) {
  std::set<std::string> keep(nets.gradients.begin(), nets.gradients.end());
  keep.erase("");  // of frozen parameters
  keep.insert(nets.learning_rate);
  for (const std::string& scope : nets.scopes) {
    for (const std::string* name : {&nets.loss, &nets.accuracy, &nets.accuracy_top5}) {
      if (!name->empty()) keep.insert(scope + name->substr(nets.scope.size()));
    }
  }
  for (const auto& [device, plan] : PlaceTraining(nets.train, nets.prepared, keep, ws)) {
    constexpr double kMiB = 1 << 20;
    LOG(INFO) << "Planned memory of " << device.ToString() << ": " << plan.slots.size()
              << " blobs in " << plan.arena_bytes / kMiB << " MiB instead of "
              << plan.unplanned_bytes / kMiB;
  }
}

void ShiftLearningRate(int64_t iterations, NetDef* train) {
  if (iterations == 0) return;
  for (OperatorDef& op : *train->mutable_op()) {
    if (op.type() == "LearningRate") SetArgument(&op, "iter_offset", iterations);
  }
}

InferenceNets BuildTestNets(const TrainOptions& options, RecordKind kind) {
  ModelHelper model("test", HelperOptions(options, /*inference=*/true, options.devices[0]));
  AddReader(&model, kTestReader, options.data.test_data, options, /*train=*/false);
  const std::string data =
      AddImageInput(&model, kTestReader, kind, options.schedule.batch_size, options);
  const std::string scores = AddNetwork(&model, options.model.network, data, options.model.shape);
  InferenceNets nets = Finish(model, brew::Softmax(&model, scores, "softmax"));
  nets.label = "label";
  return nets;
}

InferenceNets BuildPredictorNets(const TrainOptions& options) {
  ModelHelper::Options helper = HelperOptions(options, /*inference=*/true, Device{});
  // Predictors run on any device.
  if (helper.compute_type == TensorProto::FLOAT16) helper.compute_type = TensorProto::FLOAT;
  ModelHelper model(options.model.network, helper);
  model.net()->add_external_input("data");
  const std::string data = brew::CastTo(&model, "data", "data_cast", model.options().compute_type);
  const std::string scores = AddNetwork(&model, options.model.network, data, options.model.shape);
  return Finish(model, brew::Softmax(&model, scores, "softmax"));
}

}  // namespace caffe2
