// Part of each program. The system's loader calls the functions of .preinit_array before the
// constructors of all libraries; only a program can have them, a library cannot.
#include "caffe2/utils/ignored_signals.h"
#include "caffe2/utils/standard_streams.h"

namespace {

void PrepareProcess(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  caffe2::OpenStandardStreams();
  caffe2::NoteIgnoredSignals();
}

[[gnu::section(".preinit_array"),
  gnu::used]] void (*const prepare_process)(int, char**, char**) = PrepareProcess;

}  // namespace
