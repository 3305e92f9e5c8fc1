// The end of a process that is asked to stop while it waits for the others of its run.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "caffe2/core/logging.h"
#include "train/options.h"

namespace caffe2 {

// A signal came before all processes had joined and connected.
class StoppedEarly : public Error {
 public:
  explicit StoppedEarly(int signal)
      : StoppedEarly(signal, MakeString("stopped by signal ", signal, " while shards join")) {}
  StoppedEarly(int signal, const std::string& text) : Error(text), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

// Checks the options, sets their epoch size, and lets `stop` end the run while it waits for other
// processes: that wait throws StoppedEarly. The databases are fingerprinted once. Throws like
// Validate and WithEpochSize.
inline TrainOptions Prepare(TrainOptions options, const std::function<int()>& stop) {
  Validate(options);
  if (stop) {
    options.shards.while_waiting = [stop] {
      if (const int signal = stop()) throw StoppedEarly(signal);
    };
    options.shards.stop_signal = stop;
  }
  options.data.fingerprints = std::make_shared<std::map<std::string, std::string>>();
  return WithEpochSize(std::move(options));
}

}  // namespace caffe2
