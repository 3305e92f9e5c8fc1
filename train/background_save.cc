#include "train/background_save.h"

#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/utils/trace.h"
#include "caffe2/utils/waiting_time.h"
#include "train/run_lock.h"

namespace caffe2 {

BackgroundSave::~BackgroundSave() { Join(); }

void BackgroundSave::Join() {
  if (!thread_.joinable()) return;
  const TimedWait wait(WaitFor::kSave);
  thread_.join();
}

void BackgroundSave::WaitForLast() {
  Join();
  const std::exception_ptr error = std::exchange(error_, nullptr);
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const Superseded&) {
    throw;
  } catch (const std::exception&) {  // the next save may work
  }
}

void BackgroundSave::Start(std::function<void()> save, std::string warning) {
  thread_ = std::thread([this, save = std::move(save), warning = std::move(warning)] {
    try {
      const TracedSpan span("save", "write in the background");
      save();
    } catch (const std::exception& error) {
      error_ = std::current_exception();
      LOG(WARNING) << warning << error.what();
    }
  });
}

void BackgroundSave::Finish() {
  Join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace caffe2
