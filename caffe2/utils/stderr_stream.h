// The stream `stderr` of a program whose reader may be slow, stopped or gone.
#pragma once

namespace caffe2 {

// Keeps writes to the C stream `stderr` (the log, the progress bar) from blocking the program. If
// the reader of the pipe or terminal takes nothing for a second, later text is dropped until it
// reads again; one line then says how many texts were lost. Errors of writing are ignored. write(2)
// is not affected. A progress bar is a text that begins with \r and ends without a line feed; the
// next text replaces it in its line. Lines of the log have "?" for control characters
// (PrintableText). Call it once, before other threads write.
void KeepStderrFromBlocking();

}  // namespace caffe2
