#include "caffe2/cuda/side_stream.h"

#include <exception>

namespace caffe2::cuda {

void SideStream::Run(const std::function<void(Stream side)>& body) {
  const Stream compute = GetStream(device_, kComputeStream), side = GetStream(device_, kSideStream);
  forked_.Record(compute);
  forked_.Delay(side);
  std::exception_ptr error;
  try {
    body(side);
  } catch (...) {
    error = std::current_exception();  // memory is given back as it goes on: the join comes first
  }
  joined_.Record(side);
  joined_.Delay(compute);
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace caffe2::cuda
