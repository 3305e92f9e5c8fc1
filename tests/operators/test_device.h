// The device that operators under test run on.
#pragma once

namespace caffe2::testing {

// True if it is a CUDA device (environment variable CAFFE2_TEST_DEVICE=cuda): RunOp, CheckGradient
// and ExpectThrows (op_test.h) then copy their inputs there and their outputs back, so that
// workspaces hold host tensors all the same. A test that runs an operator without a CUDA version is
// marked as skipped, and runs that operator on the host; without a device that goes for all of them
// (REQUIRE_GPU=1 makes it a failure).
bool TestsCuda();

}  // namespace caffe2::testing
