// Listeners that begin in the midst of a run.
#pragma once

#include <exception>
#include <functional>
#include <utility>

#include "caffe2/core/logging.h"
#include "train/observe/listeners.h"

namespace caffe2 {

// Hears nothing until this process takes over the files of the run (OnTakeOver). Then `add` adds
// the listeners, for which the run joins and starts there. If that fails, logs a warning: training
// goes on without them.
class LateListeners : public Listeners {
 public:
  explicit LateListeners(std::function<void(Listeners*)> add) : add_(std::move(add)) {}

  void OnJoin(const RunIdentity& /*identity*/) override {}
  void OnStart(const StartReport& /*report*/) override {}
  void OnTakeOver(const StartReport& report) override {
    Listeners begun;
    try {
      add_(&begun);
      begun.OnJoin(report.identity);
      begun.OnStart(report);
    } catch (const std::exception& failure) {
      LOG(WARNING) << "The records of the run end here: " << failure.what();
      return;
    }
    static_cast<Listeners&>(*this) = std::move(begun);
  }

 private:
  const std::function<void(Listeners*)> add_;
};

}  // namespace caffe2
