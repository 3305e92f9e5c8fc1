// Part of each program. The system's loader calls the functions of .preinit_array before the
// constructors of all libraries; only a program can have them, a library cannot.
#include "caffe2/utils/ignored_signals.h"

namespace {

void NoteSignals(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  caffe2::NoteIgnoredSignals();
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const note_signals)(int, char**,
                                                                         char**) = NoteSignals;

}  // namespace
