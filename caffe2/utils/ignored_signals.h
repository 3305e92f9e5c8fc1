// Signals that the process was told to ignore, as nohup does with SIGHUP.
#pragma once

namespace caffe2 {

// Notes which of SIGHUP, SIGINT and SIGTERM are ignored now. A program calls it before the
// constructors of its libraries run (examples/program_start), because some catch signals: Debian
// 13's Gloo loads UCX, which catches SIGHUP. Async-signal-safe.
void NoteIgnoredSignals();

// Ignores the noted signals again, whatever has caught them since. Does nothing for a process that
// noted none.
void RestoreIgnoredSignals();

}  // namespace caffe2
