#include "train/parameter_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "caffe2/model/optimizer.h"
#include "distributed/gloo_communicator.h"

namespace caffe2 {
namespace {

constexpr std::chrono::hours kNoLimit{24 * 365};
constexpr std::chrono::milliseconds kLookForStop{100};

}  // namespace

std::shared_ptr<Communicator> ConnectPair(const ShardOptions& shards, int worker, int server,
                                          RunMembership* membership) {
  const std::unique_ptr<StoreHandler> store = membership->MakeStore();
  CommunicatorOptions gloo;
  gloo.rank = shards.IsServer() ? 1 : 0;
  gloo.size = 2;
  gloo.name = MakeString("parameters_", server, "_", worker, "_cw_op");
  gloo.transport = "tcp";  // a death must close the connection of its pair alone
  gloo.interface = shards.interface;
  gloo.ports = ParsePortRange("--port_range", shards.port_range);
  gloo.timeout = Milliseconds(shards.ConnectTimeout());
  // Errors must name the shard of the run, not the rank in the pair.
  const int peer = shards.IsServer() ? worker : shards.num_shards + server;
  try {
    std::shared_ptr<Communicator> world = ConnectGloo(store.get(), gloo);
    world->SetTimeout(kNoLimit);
    return world;
  } catch (const PeerTimeout& error) {
    throw PeerTimeout(error.what(), peer);
  } catch (const PeerLost& error) {
    throw PeerLost(error.what(), error.rank() < 0 ? -1 : peer);
  }
}

FirstParametersWatch::FirstParametersWatch(RunMembership* membership,
                                           std::vector<std::shared_ptr<Communicator>> worlds)
    : store_(membership->MakeStore()), worlds_(std::move(worlds)), thread_([this] { Watch(); }) {}

FirstParametersWatch::~FirstParametersWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void FirstParametersWatch::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kLookForStop, [this] { return over_; })) {
    try {
      store_->CheckWait(kFirstParameters);
    } catch (const PeerLost& error) {
      for (const auto& world : worlds_) world->Abort(error.what());
      return;
    }
  }
}

ParameterWorker::ParameterWorker(const TrainOptions& options, const TrainNets& nets, Workspace* ws,
                                 ShardRun* run)
    : options_(options),
      nets_(nets),
      ws_(ws),
      run_(run),
      parts_(DivideParameters(nets, options.shards.num_servers)) {
  std::vector<std::shared_ptr<Communicator>> worlds;
  std::vector<int64_t> sizes;
  for (const ServerPart& part : parts_) {
    const auto server = static_cast<int>(worlds.size());
    worlds.push_back(
        ConnectPair(options.shards, options.shards.shard_id, server, run->membership()));
    sizes.push_back(part.size);
  }
  const FirstParametersWatch watch(run->membership(), worlds);
  client_ = std::make_unique<ParameterClient>(std::move(worlds), std::move(sizes));
  // Servers count updates: with max_staleness 0 one in each iteration, otherwise one of each
  // worker.
  const int64_t iteration = ws->GetBlob(kOptimizerIteration)->Get<Tensor>().data<int64_t>()[0];
  const int64_t updates = options.shards.max_staleness > 0 ? options.shards.num_shards : 1;
  CopyParameters(/*to_servers=*/true);
  const bool gives = options.shards.shard_id == 0;
  Exchange([&] { return client_->Start(gives, iteration * updates); });
}

template <typename Call>
ParameterReply ParameterWorker::Exchange(const Call& call) {
  ParameterReply reply;
  try {
    reply = call();
  } catch (const PeerLost& error) {
    const int server = error.rank();
    throw PeerLost(error.what(), server < 0 ? -1 : options_.shards.num_shards + server);
  }
  CopyParameters(/*to_servers=*/false);
  Tensor* rate = BlobGetMutableTensor(ws_->CreateBlob(nets_.learning_rate), Device{});
  rate->Resize(1);
  *rate->mutable_data<float>() = reply.learning_rate;
  run_->SetWriter(reply.is_chief != 0);
  staleness_ = reply.staleness;
  return reply;
}

void ParameterWorker::CopyGradients() {
  for (size_t s = 0; s < parts_.size(); ++s) {
    float* out = client_->gradients(static_cast<int>(s));
    for (const size_t param : parts_[s].params) {
      if (nets_.gradients[param].empty()) {  // frozen; its place in the message stays
        const std::string blob = nets_.scope + nets_.params[param];
        out = std::fill_n(out, ws_->GetBlob(blob)->Get<Tensor>().numel(), 0.f);
        continue;
      }
      const Tensor& tensor = ws_->GetBlob(nets_.gradients[param])->Get<Tensor>();
      out = std::copy(tensor.data<float>(), tensor.data<float>() + tensor.numel(), out);
    }
  }
}

void ParameterWorker::CopyParameters(bool to_servers) {
  for (const std::string& scope : nets_.scopes) {
    for (size_t s = 0; s < parts_.size(); ++s) {
      float* values = client_->values(static_cast<int>(s));
      for (const size_t param : parts_[s].params) {
        Tensor* tensor = ws_->GetBlob(scope + nets_.params[param])->GetMutable<Tensor>();
        float* data = tensor->mutable_data<float>();
        const int64_t n = tensor->numel();
        to_servers ? std::copy(data, data + n, values) : std::copy(values, values + n, data);
        values += n;
      }
    }
  }
}

int ParameterWorker::Step(int signal) {
  CopyGradients();
  return Exchange([&] { return client_->Step(signal); }).signal;
}

void ParameterWorker::Finish() {
  if (finished_) return;
  finished_ = true;
  const int64_t staleness = staleness_;
  Exchange([&] { return client_->Finish(); });
  staleness_ = staleness;
}

}  // namespace caffe2
