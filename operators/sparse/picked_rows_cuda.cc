// Turns reports of the kernels of picked rows into the errors of the host versions.
#include "caffe2/core/logging.h"
#include "caffe2/cuda/kernel_reports.h"
#include "operators/sparse/picked_rows_kernels.h"

namespace caffe2 {
namespace {

void ThrowRowList(const cuda::KernelReport& report) {
  const auto value = static_cast<int64_t>(report.value);
  switch (report.label) {
    case kSegmentTooLong:
      CAFFE_ENFORCE(value <= report.classes, "the length of segment ", report.row, " (", value,
                    ") is larger than target_length (", report.classes, ")");
      break;
    case kSequenceLength:
      CAFFE_THROW("the length of sequence ", report.row, " must be from 0 to ", report.classes,
                  ", the steps of the data; found ", value);
    default:
      CAFFE_THROW("row ", report.row, " occurs twice in the permutation");
  }
}
const bool kRegistered = [] {
  cuda::RegisterReport(cuda::kRowListReport, ThrowRowList);
  return true;
}();

}  // namespace
}  // namespace caffe2
