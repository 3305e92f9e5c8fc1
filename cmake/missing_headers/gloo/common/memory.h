// Stands in for a header of Gloo which the package of Debian 12 leaves out, though its
// gloo/transport/tcp/pair.h and context.h include it. Used only where the real one is missing
// (-idirafter). Only the layout counts: weak references to buffers that their users may free.
#pragma once

#include <memory>

namespace gloo {

template <typename T>
class NonOwningPtr;

template <typename T>
class WeakNonOwningPtr final {
  std::weak_ptr<T> referent_;
};

}  // namespace gloo
