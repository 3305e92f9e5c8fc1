// The blobs and nets of one program, by name.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "caffe2/core/blob.h"
#include "caffe2/core/fork_safe_mutex.h"
#include "caffe2/core/net.h"

namespace caffe2 {

// Owns blobs and the nets that run over them. A blob keeps its address as long as an operator uses
// it, so that operators look up their blobs once, when they are made.
//
// A child workspace sees all blobs of its parent, or, with `forwarded`, some of them under other
// names. Blobs that it creates lie in the child and hide the parent's blobs of the same name. The
// parent must outlive it; if a shared_ptr holds the parent, the child sees to that.
//
// Threads may create, look up and remove blobs and nets at the same time. The rest is theirs to
// order: what the blobs hold (nets may run in parallel if none writes a tensor that another one
// uses), the removal of nets and blobs that another thread uses, and AddBlobMapping.
class Workspace : public std::enable_shared_from_this<Workspace> {
 public:
  Workspace() = default;
  explicit Workspace(const Workspace* shared);
  // Child name -> parent name; only these of the parent's blobs are visible.
  Workspace(const Workspace* shared, const std::unordered_map<std::string, std::string>& forwarded);
  explicit Workspace(std::string root_folder) : root_folder_(std::move(root_folder)) {}
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // The parent of a child, else null.
  const Workspace* parent() const { return parent_; }
  // Directory against which Load and Save resolve relative database names.
  const std::string& RootFolder() const { return root_folder_; }

  std::vector<std::string> LocalBlobs() const;  // own blobs only, sorted
  std::vector<std::string> Blobs() const;       // including the parent's and forwarded ones, sorted

  // The blob of this name; made here if neither this workspace nor the parent has it.
  Blob* CreateBlob(const std::string& name);
  // Like CreateBlob, but always in this workspace.
  Blob* CreateLocalBlob(const std::string& name);
  bool HasBlob(const std::string& name) const;
  // Null if there is none.
  const Blob* GetBlob(const std::string& name) const;
  Blob* GetBlob(const std::string& name);
  // Destroys what the blob holds and takes the blob out of the workspace. False if this workspace
  // does not own it. Operators that use the blob keep it, empty. It comes back when one of them
  // writes it or when a blob is made under its name. Must not be called while they run.
  bool RemoveBlob(const std::string& name);
  // Makes blobs of another workspace visible here: child name -> parent name. Throws if the parent
  // lacks a blob or this workspace owns a blob of the child name.
  void AddBlobMapping(const Workspace* parent,
                      const std::unordered_map<std::string, std::string>& forwarded);

  // Creates the net and its operators. Throws if a net of this name exists; with `overwrite`,
  // deletes that net first instead, even if the new one then cannot be created.
  NetBase* CreateNet(const NetDef& net, bool overwrite = false);
  NetBase* CreateNet(const std::shared_ptr<const NetDef>& net, bool overwrite = false);
  NetBase* GetNet(const std::string& name);  // null if there is none
  void DeleteNet(const std::string& name);
  // Deletes all nets and removes all blobs of this workspace.
  void Clear();
  std::vector<std::string> Nets() const;
  // Runs a created net. Throws if the name is unknown. False if an operator returned false.
  bool RunNet(const std::string& name);
  bool RunNetOnce(const NetDef& net);
  bool RunOperatorOnce(const OperatorDef& op);
  bool RunPlan(const PlanDef& plan, const ShouldContinue& should_continue = {});

  // Asks nets and plans that run in this workspace or its children to stop. Nets throw before their
  // next operator, plans return false before their next iteration, and operators that wait for
  // another thread or process give up. A signal handler may call it. The request stays set until
  // ClearStop.
  void RequestStop() { stop_requested_.store(true, std::memory_order_relaxed); }
  void ClearStop() { stop_requested_.store(false, std::memory_order_relaxed); }
  // Requests the same stop at `deadline`; nullopt: never.
  void SetDeadline(std::optional<std::chrono::steady_clock::time_point> deadline);
  // True if a stop of this workspace or of a parent was requested, or if one of their deadlines has
  // passed.
  bool StopRequested() const {
    return stop_requested_.load(std::memory_order_relaxed) ||
           (deadline_.load(std::memory_order_relaxed) != kNever && DeadlineHasPassed()) ||
           (parent_ != nullptr && parent_->StopRequested());
  }

 private:
  static constexpr auto kNever = std::chrono::steady_clock::duration::max().count();

  bool DeadlineHasPassed() const;

  struct Forwarded {
    const Workspace* workspace;
    std::string name;
  };

  struct LocalBlob {
    std::shared_ptr<Blob> blob;
    bool removed = false;  // operators may still use it
  };

  // A removed blob is there again when an operator has written it.
  static bool IsThere(const LocalBlob& local) { return !local.removed || local.blob->meta(); }
  void ForgetUnusedBlobs();

  mutable ForkSafeMutex mutex_;  // guards the maps of blobs and nets
  std::unordered_map<std::string, LocalBlob> blobs_;
  size_t removals_ = 0;  // since ForgetUnusedBlobs
  std::unordered_map<std::string, Forwarded> forwarded_;
  const Workspace* shared_ = nullptr;              // the parent whose blobs are all visible
  const Workspace* parent_ = nullptr;              // shared_, or the workspace of forwarded blobs
  std::shared_ptr<const Workspace> owned_parent_;  // parent_, unless nothing shares it
  std::string root_folder_ = ".";
  // Declared after the blobs, so that nets are destroyed first.
  std::map<std::string, std::unique_ptr<NetBase>> nets_;
  std::atomic<bool> stop_requested_{false};
  std::atomic<std::chrono::steady_clock::rep> deadline_{kNever};  // since the clock's epoch
};

}  // namespace caffe2
