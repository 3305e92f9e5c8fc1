// Turns the reports of kernels that read regions into the errors of the host.
#include "caffe2/cuda/kernel_reports.h"
#include "operators/detection/roi_align_op.h"

namespace caffe2 {
namespace {

void ThrowRegionReport(const cuda::KernelReport& report) {
  ThrowRegion(report.label, report.row, report.value, report.classes);
}
const bool kRegistered = [] {
  cuda::RegisterReport(cuda::kRegionReport, ThrowRegionReport);
  return true;
}();

}  // namespace
}  // namespace caffe2
