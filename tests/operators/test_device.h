// The device that operators under test run on.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {

// True if it is a CUDA device (environment variable CAFFE2_TEST_DEVICE=cuda): RunOp, CheckGradient
// and ExpectThrows (op_test.h) then copy their inputs there and their outputs back, so that
// workspaces hold host tensors all the same. A test that runs an operator without a CUDA version is
// marked as skipped, and runs that operator on the host; without a device that goes for all of them
// (REQUIRE_GPU=1 makes it a failure).
bool TestsCuda();

// For tests of nets and operators that place what they run themselves: without a device there is
// nothing to test.
#define NEED_CUDA()                                                   \
  if (!TestsCuda()) GTEST_SKIP() << "CAFFE2_TEST_DEVICE is not cuda"; \
  if (NumDevices(CUDA) == 0) GTEST_SKIP() << "no CUDA device: " << DeviceProblem(CUDA)

inline OperatorDef OnCuda(OperatorDef op, int id = 0) {
  op.mutable_device_option()->set_device_type(CUDA);
  op.mutable_device_option()->set_device_id(id);
  return op;
}

// For tests that run the type's version on a device in a net rather than by RunOp: it counts as
// run.
void NoteRan(const std::string& type);

// True if devices are emulated (tests/cuda_emulation), of which device 1 has 1 MB of memory.
inline bool IsEmulated() {
  const char* library = std::getenv("CAFFE2_CUDA_LIBRARY");
  return library != nullptr && std::string(library).find("emulated") != std::string::npos;
}

// The values of a tensor wherever it lies.
template <typename T>
Fetched<T> OnHost(const Workspace& ws, const std::string& name) {
  Tensor copy(CPU);
  copy.CopyFrom(Fetch(ws, name));
  return {std::vector<T>(copy.data<T>(), copy.data<T>() + copy.numel()), ws, name};
}

}  // namespace caffe2::testing
