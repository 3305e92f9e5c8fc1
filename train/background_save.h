// Writes files in a thread of their own, one after another.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>

namespace caffe2 {

// Not thread-safe: the training thread uses it.
class BackgroundSave {
 public:
  BackgroundSave() = default;
  ~BackgroundSave();  // waits for the save
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;

  // Waits until the save before has ended, so that what it writes may be replaced. Throws
  // Superseded if another run writes the files now; other errors of that save were logged.
  void WaitForLast();
  // Runs `save` in the thread, after WaitForLast(). If it throws, logs `warning` and the error.
  void Start(std::function<void()> save, std::string warning);
  // Waits until the last save has ended. Throws its error.
  void Finish();

 private:
  void Join();  // counts as WaitFor::kSave

  std::thread thread_;
  std::exception_ptr error_;  // of the last save; belongs to the thread while it runs
};

}  // namespace caffe2
