// Working memory that kernels share.
#pragma once

#include <cstddef>

namespace caffe2 {

// At least `bytes` of this thread's working memory, aligned to 64 bytes, with no defined contents.
// It lives until this thread's next call, which may hand out the same bytes: a kernel asks once for
// all it needs and calls nobody meanwhile who asks too. It grows to the largest need and not to
// their sum, and is given back when the thread ends.
char* ThreadScratch(size_t bytes);

}  // namespace caffe2
