// Errors that kernels report (KernelReport, runtime.h), kept for each operator so that the
// exception can name it.
#pragma once

#include "caffe2/cuda/runtime.h"

namespace caffe2::cuda {

// Further kinds of reports. Each belongs to a family of operators, which registers the text of its
// error; KernelReport::label says what is wrong.
constexpr auto kRowListReport = static_cast<KernelReport::Kind>(100);
constexpr auto kRegionReport = static_cast<KernelReport::Kind>(101);
// Registers the function that throws EnforceNotMet for reports of this kind. Called during static
// initialisation.
void RegisterReport(KernelReport::Kind kind, void (*throw_report)(const KernelReport& report));

constexpr int kReports = 1024;  // of a device
// The device's kReports reports, in pinned memory. Work outside operators uses the first report,
// and so do operators once all other reports are taken. ReportOf (runtime.h) gives every other
// operator that StartOperator runs a report that it shares only with operators of the same name.
KernelReport* ReportsOf(int device);

// Throws EnforceNotMet if a kernel has reported an error, with the CPU operator's text and the name
// of the operator; logs further errors. Clears all reports of the device. All work that may write
// them must be done.
void ThrowReports(int device);

}  // namespace caffe2::cuda
