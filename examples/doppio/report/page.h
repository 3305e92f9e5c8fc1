// The pages of `doppio report` and `doppio compare`.
#pragma once

#include <string>
#include <vector>

#include "examples/doppio/report/run_records.h"

namespace caffe2::report {

// Results, curves, epochs and settings of one run; one self-contained page.
std::string ReportPage(const RunRecords& run);

// Two runs side by side: results, settings that differ, and curves over each other.
std::string ComparePage(const RunRecords& a, const RunRecords& b);
// The same without curves, as lines for a terminal.
std::string CompareText(const RunRecords& a, const RunRecords& b);

}  // namespace caffe2::report
