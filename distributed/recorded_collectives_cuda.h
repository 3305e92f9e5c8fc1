// How far a launched CUDA graph has come with its collective operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// The host cannot ask for an event of a graph that runs. So the graph sets marks in page-locked
// memory, and this object reads them. There are 4096 marks: one for each operation, two for each
// join, and as many again if the graph is recorded again. Without a free mark a warning is logged
// once, and the rest is not seen. Used by one thread at a time.
class RecordedCollectives {
 public:
  explicit RecordedCollectives(int device) : device_(device) {}
  ~RecordedCollectives();
  RecordedCollectives(const RecordedCollectives&) = delete;
  RecordedCollectives& operator=(const RecordedCollectives&) = delete;

  // While a graph is recorded: `stream` begins the operation after the work that it holds.
  void MarkOperation(const std::string& operation, cuda::Stream stream);
  // While a graph is recorded: between the two, `stream` waits for operations.
  void MarkJoin(cuda::Stream stream);
  void MarkJoined(cuda::Stream stream);

  // Call it before a launch, after the end of the launch before.
  void Reset();
  // The operations that the device has begun since the last call, in order.
  std::vector<std::string> TakeBegun();
  // True if the device has nothing to do until an operation ends.
  bool IsWaiting() const;

 private:
  enum class Kind { kOperation, kJoin, kJoined };
  struct Mark {
    Kind kind;
    std::string operation;  // of kOperation
    bool taken = false;
  };

  void Add(Kind kind, const std::string& operation, cuda::Stream stream);
  bool IsSet(size_t mark) const;

  const int device_;
  int32_t* places_ = nullptr;  // page-locked; 1 if the mark of this number is set
  std::vector<Mark> marks_;
};

}  // namespace caffe2
