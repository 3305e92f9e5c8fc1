// The stream `stderr` of a program whose reader may be slow, stopped or gone.
#pragma once

namespace caffe2 {

// From now on, what this program writes to the C stream `stderr` (the log, the progress bar) never
// blocks it for long: if nobody reads the pipe or terminal behind it for a second, text is dropped
// until there is room again, and one line then says how many texts were lost. Errors of writing are
// ignored. write(2) is not affected. Call it once, before other threads write.
void KeepStderrFromBlocking();

}  // namespace caffe2
