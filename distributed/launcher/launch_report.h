// The report and the exit status of a launcher after an attempt.
#pragma once

#include <string>

#include "distributed/launcher/run_attempt.h"

namespace caffe2 {

// Whole lines that begin with "doppio: ": which shard failed first and why, how the others ended,
// and the last lines that the first one printed, unless it only refused its flags. One line if all
// is well, the run was stopped, or only mpirun or srun failed.
std::string ReportOf(const LaunchPlan& plan, const AttemptResult& result,
                     const std::string& log_dir);

// The status of the launcher after its last attempt: 0, 128 + the user's signal, or the status of
// the shard that failed first.
int LauncherExitStatus(const AttemptResult& result);

}  // namespace caffe2
