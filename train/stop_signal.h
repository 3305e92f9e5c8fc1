// Notes SIGINT, SIGTERM and SIGHUP, so that a run can end cleanly.
#pragma once

namespace caffe2 {

// While an object of this class exists, the first SIGINT, SIGTERM and SIGHUP are only noted; the
// same signal again has its default action, unless it comes within kRepeatSeconds: timeout(1) and
// some launchers send a signal to a process and then to its group. A signal that the process
// ignores, like SIGHUP under nohup, stays ignored. There may be only one object at a time. Make it
// in the main thread, which usually receives the signals of a process: there the handlers run on a
// stack of their own.
class StopSignal {
 public:
  static constexpr double kRepeatSeconds = 1;

  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // The number of the last noted signal, or 0.
  static int Received();
};

}  // namespace caffe2
