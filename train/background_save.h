// Writes files in a background thread, one save after another.
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

  // Waits until the previous save has ended, so that the caller may change the data that it wrote.
  // Throws Superseded if another run writes the files now; other errors of that save were only
  // logged.
  void WaitForLast();
  // Runs `save` in the thread. Call WaitForLast() first. If `save` throws, logs `warning` and the
  // error.
  void Start(std::function<void()> save, std::string warning);
  // Waits until the last save has ended. Throws its error.
  void Finish();

 private:
  void Join();  // counts as WaitFor::kSave

  std::thread thread_;
  std::exception_ptr error_;  // of the last save; belongs to the thread while it runs
};

}  // namespace caffe2
