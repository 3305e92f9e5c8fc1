// The descriptors 0, 1 and 2 of the process.
#pragma once

namespace caffe2 {

// Opens /dev/null as standard input, output and error where these are closed, as daemons start
// programs. Otherwise the first file that the program opens gets such a number, and the log is
// written into it. A program calls it before anything opens a file (examples/program_start).
// Async-signal-safe.
void OpenStandardStreams();

}  // namespace caffe2
