// Internal to the oneDNN wrapper. Only onednn_*.cc include this file, because it includes dnnl.hpp.
// This file and the files that include it handle the differences between oneDNN 2 and 3.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/type_meta.h"
#include "dnnl.hpp"

namespace caffe2::onednn {

// The process's one CPU engine.
const dnnl::engine& CpuEngine();
// Float and bfloat16. Throws EnforceNotMet for other types.
dnnl::memory::data_type ToDataType(TypeMeta type);
// The attributes of every primitive: the caller provides its scratchpad.
dnnl::primitive_attr UserScratchpad();
// True if oneDNN uses `wanted`: the processor has it and ONEDNN_MAX_CPU_ISA does not exclude it.
bool HasIsa(dnnl::cpu_isa wanted);

// Returns make(). Turns oneDNN's error into an EnforceNotMet that says what was being made.
template <typename Make>
auto Translate(const std::string& what, const Make& make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    CAFFE_THROW("oneDNN cannot make ", what, ": ", error.message);
  }
}

// A primitive with its memory objects, and the reorders before and after it if the caller's layout
// or type is not the primitive's. All primitives of a thread share scratch memory, so that it takes
// the largest need, not the sum. One thread runs it at a time; several threads may take turns.
class BoundPrimitive {
 public:
  BoundPrimitive(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad);

  // Arguments, in the order in which Run takes their addresses. `given` is the caller's layout,
  // `wanted` the primitive's.
  void AddInput(int arg, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted);
  // An input that is reordered in the first run and again only if its address changes. `plain` is
  // another layout of `given`. If oneDNN can reorder only from `plain`, the input is reordered
  // twice.
  void AddConstantInput(int arg, const dnnl::memory::desc& given, const dnnl::memory::desc& plain,
                        const dnnl::memory::desc& wanted);
  void AddOutput(int arg, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted);
  // An output whose old contents the primitive reads.
  void AddInOut(int arg, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted);

  // Runs and waits. Throws EnforceNotMet if oneDNN fails.
  void Run(std::initializer_list<const void*> addresses);

 private:
  struct Slot {
    dnnl::memory given;
    dnnl::memory wanted;          // the same object as `given` if there is no reorder
    dnnl::reorder before, after;  // around the primitive, if it reads and if it writes
    dnnl::memory plain;           // a constant's layout before `before`, if not `given`
    dnnl::reorder to_plain;
    bool reordered = false;
    bool input = false;
    bool output = false;
    bool constant = false;
    size_t scratch_offset = 0;
    std::shared_ptr<void> kept;         // a constant's reordered copy
    const void* kept_source = nullptr;  // its source
  };

  enum class Access { kRead, kReadConstant, kWrite, kReadWrite };
  void Add(int arg, const dnnl::memory::desc& given, const dnnl::memory::desc& plain,
           const dnnl::memory::desc& wanted, Access access);
  static void ReorderInput(Slot& slot);
  size_t ReserveScratch(size_t bytes);  // returns the offset

  dnnl::primitive primitive_;
  dnnl::memory scratchpad_;
  size_t scratch_bytes_ = 0;
  std::vector<Slot> slots_;
  std::vector<dnnl_exec_arg_t> args_;
};

}  // namespace caffe2::onednn
