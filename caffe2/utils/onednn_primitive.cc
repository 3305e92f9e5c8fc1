#include "caffe2/utils/onednn_primitive.h"

#include "caffe2/core/allocator.h"
#include "caffe2/utils/library_versions.h"
#include "caffe2/utils/thread_scratch.h"

namespace caffe2::onednn {
namespace {

const RegisterLibraryVersion version("oneDNN",
                                     MakeString(dnnl::version()->major, ".", dnnl::version()->minor,
                                                ".", dnnl::version()->patch));

dnnl::stream& ThreadStream() {
  thread_local dnnl::stream stream(CpuEngine());
  return stream;
}

dnnl::memory MakeMemory(const dnnl::memory::desc& desc) {
  return dnnl::memory(desc, CpuEngine(), DNNL_MEMORY_NONE);
}

void SetAddress(dnnl::memory* memory, const void* address) {
  // oneDNN clears the padding of blocked layouts when an address is set: avoid that in every run.
  if (memory->get_data_handle() != address) memory->set_data_handle(const_cast<void*>(address));
}

void Execute(const dnnl::primitive& primitive, const dnnl_exec_arg_t* args, size_t n) {
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), ThreadStream().get(), static_cast<int>(n), args);
  CAFFE_ENFORCE_EQ(static_cast<int>(status), static_cast<int>(dnnl_success),
                   "a oneDNN primitive failed");
}

void Reorder(const dnnl::reorder& reorder, const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
  Execute(reorder, args, 2);
}

}  // namespace

const dnnl::engine& CpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::data_type ToDataType(TypeMeta type) {
  if (type.Match<float>()) return dnnl::memory::data_type::f32;
  if (type.Match<bfloat16>()) return dnnl::memory::data_type::bf16;
  CAFFE_THROW("element type ", type.name(), " is not supported here; supported: float bfloat16");
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

bool HasIsa(dnnl::cpu_isa wanted) {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

BoundPrimitive::BoundPrimitive(const dnnl::primitive& primitive,
                               const dnnl::memory::desc& scratchpad)
    : primitive_(primitive), scratchpad_(MakeMemory(scratchpad)) {
  ReserveScratch(scratchpad.get_size());
  args_.push_back({DNNL_ARG_SCRATCHPAD, scratchpad_.get()});
}

size_t BoundPrimitive::ReserveScratch(size_t bytes) {
  constexpr size_t kAlignment = 64;
  const size_t offset = scratch_bytes_;
  scratch_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return offset;
}

void BoundPrimitive::AddInput(int arg, const dnnl::memory::desc& given,
                              const dnnl::memory::desc& wanted) {
  Add(arg, given, given, wanted, Access::kRead);
}

void BoundPrimitive::AddConstantInput(int arg, const dnnl::memory::desc& given,
                                      const dnnl::memory::desc& plain,
                                      const dnnl::memory::desc& wanted) {
  Add(arg, given, plain, wanted, Access::kReadConstant);
}

void BoundPrimitive::AddOutput(int arg, const dnnl::memory::desc& given,
                               const dnnl::memory::desc& wanted) {
  Add(arg, given, given, wanted, Access::kWrite);
}

void BoundPrimitive::AddInOut(int arg, const dnnl::memory::desc& given,
                              const dnnl::memory::desc& wanted) {
  Add(arg, given, given, wanted, Access::kReadWrite);
}

void BoundPrimitive::Add(int arg, const dnnl::memory::desc& given, const dnnl::memory::desc& plain,
                         const dnnl::memory::desc& wanted, Access access) {
  Slot slot;
  slot.input = access != Access::kWrite;
  slot.output = access == Access::kWrite || access == Access::kReadWrite;
  slot.constant = access == Access::kReadConstant;
  slot.given = MakeMemory(given);
  slot.reordered = given != wanted;
  if (slot.reordered) {
    slot.wanted = MakeMemory(wanted);
    Translate("a reorder", [&] {
      if (plain != given) {
        slot.plain = MakeMemory(plain);
        slot.to_plain = dnnl::reorder(slot.given, slot.plain);
      }
      if (slot.input) {
        slot.before = dnnl::reorder(plain == given ? slot.given : slot.plain, slot.wanted);
      }
      if (slot.output) slot.after = dnnl::reorder(slot.wanted, slot.given);
    });
    if (slot.constant) {
      slot.kept = GetAllocator(CPU).Allocate(wanted.get_size(), Device{});
    } else {
      slot.scratch_offset = ReserveScratch(wanted.get_size());
    }
  } else {
    slot.wanted = slot.given;
  }
  args_.push_back({arg, slot.wanted.get()});
  slots_.push_back(std::move(slot));
}

void BoundPrimitive::ReorderInput(Slot& slot) {
  if (!slot.plain) return Reorder(slot.before, slot.given, slot.wanted);
  const auto copy = GetAllocator(CPU).Allocate(slot.plain.get_desc().get_size(), Device{});
  SetAddress(&slot.plain, copy.get());
  Reorder(slot.to_plain, slot.given, slot.plain);
  Reorder(slot.before, slot.plain, slot.wanted);
}

void BoundPrimitive::Run(std::initializer_list<const void*> addresses) {
  CAFFE_ENFORCE_EQ(addresses.size(), slots_.size());
  char* scratch = ThreadScratch(scratch_bytes_);
  SetAddress(&scratchpad_, scratch);
  const void* const* address = addresses.begin();
  for (Slot& slot : slots_) {
    SetAddress(&slot.given, *address);
    if (slot.reordered) {
      SetAddress(&slot.wanted, slot.constant ? slot.kept.get() : scratch + slot.scratch_offset);
      if (slot.input && !(slot.constant && slot.kept_source == *address)) {
        ReorderInput(slot);
        slot.kept_source = *address;
      }
    }
    ++address;
  }
  Execute(primitive_, args_.data(), args_.size());
  for (Slot& slot : slots_) {
    if (slot.reordered && slot.output) Reorder(slot.after, slot.wanted, slot.given);
  }
}

}  // namespace caffe2::onednn
