#include "caffe2/core/net.h"

#include <algorithm>
#include <exception>
#include <new>
#include <set>
#include <unordered_set>

#include "caffe2/core/closest_word.h"
#include "caffe2/core/device_backend.h"
#include "caffe2/core/inputs_text.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/core/net_observer.h"
#include "caffe2/core/workspace.h"

namespace caffe2 {
namespace {

std::string Describe(const NetDef& net) {
  return "net " + (net.name().empty() ? "(unnamed)" : net.name());
}

// Names an operator of a net in errors; also while the net is being made.
std::string Describe(const NetDef& net, int i) {
  const OperatorDef& op = net.op(i);
  return MakeString(Describe(net), ", operator ", i, ", ", op.type(),
                    op.name().empty() ? "" : " " + op.name());
}

// The first operator from `begin` on that writes the blob, or -1.
int FindWriter(const NetDef& net, const std::string& blob, int begin) {
  for (int i = begin; i < net.op_size(); ++i) {
    for (const std::string& output : net.op(i).output()) {
      if (output == blob) return i;
    }
  }
  return -1;
}

bool IsRead(const NetDef& net, const std::string& blob) {
  return std::any_of(net.op().begin(), net.op().end(), [&blob](const OperatorDef& op) {
    return std::find(op.input().begin(), op.input().end(), blob) != op.input().end();
  });
}

void CheckInputs(const NetDef& net, const Workspace& ws) {
  std::unordered_set<std::string> written;
  for (const std::string& input : net.external_input()) {
    // Init nets exported from ONNX list the blobs that they make. Parts of a net list inputs that
    // they do not read.
    if (ws.HasBlob(input) || FindWriter(net, input, 0) >= 0 || !IsRead(net, input)) continue;
    const std::string meant = ClosestWord(input, ws.Blobs());
    CAFFE_THROW(Describe(net), ": external input ", input, " does not exist",
                meant.empty() ? "" : "; did you mean " + meant + "?");
  }
  auto check = [&](int i, const std::string& blob, const char* kind) {
    if (written.count(blob) || ws.HasBlob(blob)) return;
    const int writer = FindWriter(net, blob, i);
    CAFFE_ENFORCE(writer < 0, Describe(net, i), ": ", kind, " ", blob,
                  " is written only by operator ", writer, ", ", net.op(writer).type(),
                  ": the net has a cycle or its operators are out of order");
    CAFFE_THROW(Describe(net, i), ": ", kind, " ", blob,
                " does not exist: no operator before this one writes it");
  };
  for (int i = 0; i < net.op_size(); ++i) {
    for (const std::string& input : net.op(i).input()) check(i, input, "input");
    for (const std::string& input : net.op(i).control_input()) check(i, input, "control input");
    const Operands operands = OperandsOf(net.op(i));
    written.insert(operands.writes.begin(), operands.writes.end());
  }
}

// Waits for started work: the caller may free or overwrite its memory next.
void FinishFailedRun(const std::vector<std::unique_ptr<OperatorBase>>& operators) {
  try {
    FinishOperators(operators);
  } catch (const std::exception& error) {
    LOG(ERROR) << "after a run that failed: " << error.what();
  }
}

std::atomic<uint64_t> next_net_id{0};

}  // namespace

NetBase::NetBase(const std::shared_ptr<const NetDef>& net_def, Workspace* ws)
    : id_(next_net_id++),
      ws_(ws),
      name_(net_def->name()),
      net_def_(net_def),
      external_input_(net_def->external_input().begin(), net_def->external_input().end()),
      external_output_(net_def->external_output().begin(), net_def->external_output().end()) {
  CheckInputs(*net_def, *ws);
  operators_.reserve(net_def->op_size());
  for (int i = 0; i < net_def->op_size(); ++i) {
    const OperatorDef& op = net_def->op(i);
    try {
      if (!op.has_device_option() && net_def->has_device_option()) {
        OperatorDef placed = op;
        *placed.mutable_device_option() = net_def->device_option();
        operators_.push_back(CreateOperator(placed, ws));
      } else {
        operators_.push_back(CreateOperator(op, ws));
      }
    } catch (Error& error) {
      error.AddContext(Describe(*net_def, i));
      throw;
    }
  }
}

NetBase::~NetBase() = default;

NetObserver* NetBase::AttachObserver(std::shared_ptr<NetObserver> observer) {
  return observers_.emplace_back(std::move(observer)).get();
}

std::shared_ptr<NetObserver> NetBase::DetachObserver(const NetObserver* observer) {
  for (auto it = observers_.begin(); it != observers_.end(); ++it) {
    if (it->get() != observer) continue;
    std::shared_ptr<NetObserver> detached = std::move(*it);
    observers_.erase(it);
    return detached;
  }
  return nullptr;
}

bool NetBase::ObservesOperators() const {
  return std::any_of(observers_.begin(), observers_.end(),
                     [](const auto& observer) { return observer->WatchesOperators(); });
}

NetBase::ObservedRun::ObservedRun(const NetBase* net) : net_(net) {
  for (const auto& observer : net_->observers_) observer->NetStarts();
}

NetBase::ObservedRun::~ObservedRun() {
  for (const auto& observer : net_->observers_) observer->NetStops();
  if (std::uncaught_exceptions() > 0) FinishFailedRun(net_->operators_);
}

bool NetBase::RunObserved(size_t i) {
  for (const auto& observer : observers_) {
    if (observer->WatchesOperators()) observer->OperatorStarts(i);
  }
  const bool ok = StartOperator(operators_[i].get());
  operators_[i]->Finish();  // observers measure the work, not its start
  for (const auto& observer : observers_) {
    if (observer->WatchesOperators()) observer->OperatorStops(i);
  }
  return ok;
}

std::string NetBase::DescribeOperator(size_t i) const {
  return Describe(*net_def_, static_cast<int>(i));
}

void NetBase::RethrowWithContext(size_t i) const {
  try {
    throw;
  } catch (EnforceNotMet& error) {
    error.AddContext(DescribeOperator(i));
    const std::string inputs = InputsText(net_def_->op(static_cast<int>(i)), *ws_);
    if (!inputs.empty()) error.AddContext(inputs);
    throw;
  } catch (Error& error) {
    error.AddContext(DescribeOperator(i));
    throw;
  } catch (const std::bad_alloc& error) {
    throw OutOfMemoryError(
        MakeString("out of memory: ", error.what(), " (", DescribeOperator(i), ")"));
  } catch (const std::exception& error) {
    throw Error(MakeString(error.what(), " (", DescribeOperator(i), ")"));
  }
}

bool NetBase::RunOperator(size_t i) {
  if (ws_->StopRequested()) [[unlikely]]
    throw Error("stopped on request before " + DescribeOperator(i));
  try {
    return ObservesOperators() ? RunObserved(i) : StartOperator(operators_[i].get());
  } catch (...) {
    RethrowWithContext(i);
  }
}

std::vector<uint64_t> NetBase::RandomState() const {
  std::vector<uint64_t> state;
  for (const auto& op : operators_) {
    state.push_back(op->random() ? op->random()->position() : 0);
    const std::vector<uint64_t> nested = op->NestedRandomState();
    state.insert(state.end(), nested.begin(), nested.end());
  }
  return state;
}

void NetBase::SetRandomState(const std::vector<uint64_t>& state) {
  CAFFE_ENFORCE(state.size() == RandomState().size(), "net ", name_, " has a random state of ",
                RandomState().size(), " numbers, found ", state.size());
  auto next = state.begin();
  for (const auto& op : operators_) {
    if (op->random()) op->random()->set_position(*next);
    ++next;
    const auto end = next + static_cast<int64_t>(op->NestedRandomState().size());
    op->SetNestedRandomState({next, end});
    next = end;
  }
}

Registry<std::string, NetBase, const std::shared_ptr<const NetDef>&, Workspace*>& NetRegistry() {
  static auto* registry =
      new Registry<std::string, NetBase, const std::shared_ptr<const NetDef>&, Workspace*>;
  return *registry;
}

std::unique_ptr<NetBase> CreateNet(const std::shared_ptr<const NetDef>& net_def, Workspace* ws) {
  const std::string type = net_def->type().empty() ? "simple" : net_def->type();
  auto net = NetRegistry().Create(type, net_def, ws);
  if (net == nullptr) {
    std::string known;
    for (const std::string& key : NetRegistry().Keys()) known += " " + key;
    CAFFE_THROW("net ", net_def->name(), ": unknown net type ", type, "; known:", known);
  }
  AttachGlobalObservers(net.get());
  return net;
}

}  // namespace caffe2
