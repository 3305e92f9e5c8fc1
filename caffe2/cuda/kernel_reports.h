// Reports of kernels (KernelReport, runtime.h) by operator, so that errors name the one they are
// of.
#pragma once

#include "caffe2/cuda/runtime.h"

namespace caffe2::cuda {

// Kinds of reports besides those of KernelReport, each of a family of operators that knows its
// text; the label says what is wrong.
constexpr auto kRowListReport = static_cast<KernelReport::Kind>(100);
constexpr auto kRegionReport = static_cast<KernelReport::Kind>(101);
// `throw_report` throws EnforceNotMet. Called during static initialisation.
void RegisterReport(KernelReport::Kind kind, void (*throw_report)(const KernelReport& report));

constexpr int kReports = 1024;  // of a device
// The device's reports, in pinned memory. The first is nobody's: for work outside of operators, and
// for operators that find all others taken. ReportOf (runtime.h) gives an operator that
// StartOperator runs one that it shares only with operators of its name.
KernelReport* ReportsOf(int device);

// Clears the reports of the device, which must be done with all that may write them. Throws
// EnforceNotMet if there was one, by the text the CPU operator uses, with the operator named.
void ThrowReports(int device);

}  // namespace caffe2::cuda
