#include "caffe2/core/workspace.h"

#include <algorithm>
#include <set>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/plan_executor.h"

namespace caffe2 {

Workspace::Workspace(const Workspace* shared,
                     const std::unordered_map<std::string, std::string>& forwarded) {
  CAFFE_ENFORCE(shared != nullptr, "a child workspace needs its parent");
  AddBlobMapping(shared, forwarded);
}

Workspace::~Workspace() = default;

void Workspace::AddBlobMapping(const Workspace* parent,
                               const std::unordered_map<std::string, std::string>& forwarded) {
  if (parent_ == nullptr) parent_ = parent;
  for (const auto& [name, parent_name] : forwarded) {
    CAFFE_ENFORCE(parent->HasBlob(parent_name), "blob ", parent_name,
                  " is not in the parent workspace");
    CAFFE_ENFORCE(blobs_.count(name) == 0, "blob ", name,
                  " exists in the workspace and cannot be forwarded");
    forwarded_[name] = {parent, parent_name};
  }
}

std::vector<std::string> Workspace::LocalBlobs() const {
  std::vector<std::string> names;
  for (const auto& entry : blobs_) names.push_back(entry.first);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Workspace::Blobs() const {
  std::set<std::string> names;
  for (const auto& entry : blobs_) names.insert(entry.first);
  for (const auto& [name, forwarded] : forwarded_) {
    if (forwarded.workspace->HasBlob(forwarded.name)) names.insert(name);
  }
  if (shared_ != nullptr) {
    for (const std::string& name : shared_->Blobs()) names.insert(name);
  }
  return {names.begin(), names.end()};
}

Blob* Workspace::CreateBlob(const std::string& name) {
  Blob* blob = GetBlob(name);
  return blob != nullptr ? blob : CreateLocalBlob(name);
}

Blob* Workspace::CreateLocalBlob(const std::string& name) {
  CAFFE_ENFORCE(!name.empty(), "a blob needs a name");
  auto& slot = blobs_[name];
  if (slot == nullptr) slot = std::make_unique<Blob>();
  return slot.get();
}

bool Workspace::HasBlob(const std::string& name) const { return GetBlob(name) != nullptr; }

const Blob* Workspace::GetBlob(const std::string& name) const {
  if (auto it = blobs_.find(name); it != blobs_.end()) return it->second.get();
  if (auto it = forwarded_.find(name); it != forwarded_.end()) {
    return it->second.workspace->GetBlob(it->second.name);
  }
  return shared_ != nullptr ? shared_->GetBlob(name) : nullptr;
}

Blob* Workspace::GetBlob(const std::string& name) {
  return const_cast<Blob*>(static_cast<const Workspace*>(this)->GetBlob(name));
}

bool Workspace::RemoveBlob(const std::string& name) { return blobs_.erase(name) != 0; }

NetBase* Workspace::CreateNet(const NetDef& net, bool overwrite) {
  return CreateNet(std::make_shared<const NetDef>(net), overwrite);
}

NetBase* Workspace::CreateNet(const std::shared_ptr<const NetDef>& net, bool overwrite) {
  CAFFE_ENFORCE(!net->name().empty(), "a net in a workspace needs a name");
  CAFFE_ENFORCE(overwrite || nets_.count(net->name()) == 0, "net ", net->name(), " already exists");
  // The old net is deleted first: the new one may need the same files or locks.
  nets_.erase(net->name());
  auto created = caffe2::CreateNet(net, this);
  return (nets_[net->name()] = std::move(created)).get();
}

NetBase* Workspace::GetNet(const std::string& name) {
  auto it = nets_.find(name);
  return it == nets_.end() ? nullptr : it->second.get();
}

void Workspace::DeleteNet(const std::string& name) { nets_.erase(name); }

std::vector<std::string> Workspace::Nets() const {
  std::vector<std::string> names;
  for (const auto& entry : nets_) names.push_back(entry.first);
  return names;
}

bool Workspace::RunNet(const std::string& name) {
  NetBase* net = GetNet(name);
  CAFFE_ENFORCE(net != nullptr, "net ", name, " does not exist in this workspace");
  return net->Run();
}

bool Workspace::RunNetOnce(const NetDef& net) {
  return caffe2::CreateNet(std::make_shared<const NetDef>(net), this)->Run();
}

bool Workspace::RunOperatorOnce(const OperatorDef& def) {
  const auto op = CreateOperator(def, this);
  const bool ok = StartOperator(op.get());
  op->Finish();
  return ok;
}

bool Workspace::RunPlan(const PlanDef& plan, const ShouldContinue& should_continue) {
  return RunPlanOnWorkspace(this, plan, should_continue);
}

void Workspace::SetDeadline(std::optional<std::chrono::steady_clock::time_point> deadline) {
  deadline_.store(deadline ? deadline->time_since_epoch().count() : kNever,
                  std::memory_order_relaxed);
}

bool Workspace::DeadlineHasPassed() const {
  return std::chrono::steady_clock::now().time_since_epoch().count() >=
         deadline_.load(std::memory_order_relaxed);
}

}  // namespace caffe2
