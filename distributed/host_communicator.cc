#include "distributed/host_communicator.h"

namespace caffe2 {

HostCommunicator::HostCommunicator(const CommunicatorOptions& options)
    : Communicator(options.rank, options.size), options_(options) {}

void HostCommunicator::SetTimeout(milliseconds timeout) {
  CAFFE_ENFORCE(timeout.count() > 0, "the timeout of common world ", options_.name,
                " must be positive, found ", timeout.count(), " ms");
  options_.timeout = timeout;
}

void HostCommunicator::Abort(const std::string& reason) {
  std::lock_guard<std::mutex> lock(abort_mutex_);
  if (aborted_.exchange(true)) return;
  abort_reason_ = reason;
  Close();
}

void HostCommunicator::BeginOperation(const std::string& description, bool agreeing) {
  operation_ = description;
  deadline_ = Deadline(options_.timeout);
  BeginTransfers(agreeing);
  ThrowIfAborted();
}

void HostCommunicator::ThrowIfAborted() {
  if (!aborted_) return;
  std::lock_guard<std::mutex> lock(abort_mutex_);
  throw PeerLost(operation_ + ": " + abort_reason_, -1);
}

void HostCommunicator::Fail(int suspect, const std::string& peer, bool late,
                            const std::string& cause) {
  const std::string where = operation_ + ": " + peer;
  const std::string text =
      late ? MakeString(where, " did not answer within ", options_.timeout.count(), " ms")
           : MakeString(where, " is lost: ", cause);
  Abort(text);  // the other shards must not wait for this one
  if (late) throw PeerTimeout(text, suspect);
  throw PeerLost(text, suspect);
}

}  // namespace caffe2
