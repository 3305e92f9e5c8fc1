// Ends a run cleanly on SIGINT and SIGTERM.
#pragma once

namespace caffe2 {

// While it lives, the first SIGINT or SIGTERM is only noted; a second one ends the process as if
// there were no handler. One at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // The number of the signal that came, or 0.
  static int Received();
};

}  // namespace caffe2
