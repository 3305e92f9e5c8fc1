// A stack for the signal handlers of a thread.
#pragma once

namespace caffe2 {

// Gives handlers that were installed with SA_ONSTACK a stack of their own in this thread, unless
// the thread already has one that is large enough. Without it, a signal during a matrix product of
// oneDNN was seen to corrupt the heap: its frame was put on the ordinary stack. Call it in the main
// thread, which normally gets the signals of the process; only one thread of a process can have
// this stack.
void UseSignalStack();

}  // namespace caffe2
