#include "caffe2/core/workspace.h"

#include <algorithm>
#include <set>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/plan_executor.h"

namespace caffe2 {

Workspace::Workspace(const Workspace* shared)
    : shared_(shared),
      parent_(shared),
      owned_parent_(shared == nullptr ? nullptr : shared->weak_from_this().lock()) {}

Workspace::Workspace(const Workspace* shared,
                     const std::unordered_map<std::string, std::string>& forwarded) {
  CAFFE_ENFORCE(shared != nullptr, "a child workspace needs its parent");
  AddBlobMapping(shared, forwarded);
}

Workspace::~Workspace() = default;

void Workspace::AddBlobMapping(const Workspace* parent,
                               const std::unordered_map<std::string, std::string>& forwarded) {
  if (parent_ == nullptr) {
    parent_ = parent;
    owned_parent_ = parent->weak_from_this().lock();
  }
  for (const auto& entry : forwarded) {
    CAFFE_ENFORCE(parent->HasBlob(entry.second), "blob ", entry.second,
                  " is not in the parent workspace");
  }
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  for (const auto& [name, parent_name] : forwarded) {
    const auto it = blobs_.find(name);
    CAFFE_ENFORCE(it == blobs_.end() || !IsThere(it->second), "blob ", name,
                  " exists in the workspace and cannot be forwarded");
    forwarded_[name] = {parent, parent_name};
  }
}

std::vector<std::string> Workspace::LocalBlobs() const {
  std::vector<std::string> names;
  {
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    for (const auto& [name, local] : blobs_) {
      if (IsThere(local)) names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Workspace::Blobs() const {
  const std::vector<std::string> local = LocalBlobs();
  std::set<std::string> names(local.begin(), local.end());
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
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  LocalBlob& local = blobs_[name];
  if (local.blob == nullptr) local.blob = std::make_shared<Blob>();
  local.removed = false;
  return local.blob.get();
}

bool Workspace::HasBlob(const std::string& name) const { return GetBlob(name) != nullptr; }

const Blob* Workspace::GetBlob(const std::string& name) const {
  {
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    const auto it = blobs_.find(name);
    if (it != blobs_.end() && IsThere(it->second)) return it->second.blob.get();
  }
  if (auto it = forwarded_.find(name); it != forwarded_.end()) {
    return it->second.workspace->GetBlob(it->second.name);
  }
  return shared_ != nullptr ? shared_->GetBlob(name) : nullptr;
}

Blob* Workspace::GetBlob(const std::string& name) {
  return const_cast<Blob*>(static_cast<const Workspace*>(this)->GetBlob(name));
}

bool Workspace::RemoveBlob(const std::string& name) {
  std::shared_ptr<Blob> blob;
  {
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    const auto it = blobs_.find(name);
    if (it == blobs_.end() || !IsThere(it->second)) return false;
    blob = it->second.blob;
    it->second.removed = true;
    if (++removals_ >= 64 + blobs_.size() / 2) ForgetUnusedBlobs();
  }
  blob->Reset();
  return true;
}

// Drops the removed blobs that nobody uses any more, so that they do not add up.
void Workspace::ForgetUnusedBlobs() {
  removals_ = 0;
  std::erase_if(blobs_, [](const auto& entry) {
    const LocalBlob& local = entry.second;
    return local.removed && local.blob.use_count() == 1 && !local.blob->meta();
  });
}

void Workspace::Clear() {
  std::map<std::string, std::unique_ptr<NetBase>> nets;
  std::unordered_map<std::string, LocalBlob> blobs;
  {
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    nets.swap(nets_);
    blobs.swap(blobs_);
  }
  nets.clear();
  for (auto& entry : blobs) entry.second.blob->Reset();
}

NetBase* Workspace::CreateNet(const NetDef& net, bool overwrite) {
  return CreateNet(std::make_shared<const NetDef>(net), overwrite);
}

NetBase* Workspace::CreateNet(const std::shared_ptr<const NetDef>& net, bool overwrite) {
  CAFFE_ENFORCE(!net->name().empty(), "a net in a workspace needs a name");
  CAFFE_ENFORCE(overwrite || GetNet(net->name()) == nullptr, "net ", net->name(),
                " already exists");
  // The old net is deleted first: the new one may need the same files or locks.
  DeleteNet(net->name());
  auto created = caffe2::CreateNet(net, this);
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  auto& slot = nets_[net->name()];
  CAFFE_ENFORCE(slot == nullptr, "another thread has created net ", net->name(), " meanwhile");
  slot = std::move(created);
  return slot.get();
}

NetBase* Workspace::GetNet(const std::string& name) {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  auto it = nets_.find(name);
  return it == nets_.end() ? nullptr : it->second.get();
}

void Workspace::DeleteNet(const std::string& name) {
  std::unique_ptr<NetBase> deleted;  // destroyed when the lock has been released
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
  if (auto it = nets_.find(name); it != nets_.end()) {
    deleted = std::move(it->second);
    nets_.erase(it);
  }
}

std::vector<std::string> Workspace::Nets() const {
  const std::lock_guard<ForkSafeMutex> lock(mutex_);
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
