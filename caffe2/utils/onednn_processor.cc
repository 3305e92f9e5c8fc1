#include "caffe2/utils/onednn_processor.h"

#include "caffe2/core/logging.h"
#include "caffe2/utils/onednn_primitive.h"

namespace caffe2::onednn {

bool MultipliesBFloat16() {
  static const bool can = [] {
    const dnnl::memory::desc square({16, 16}, dnnl::memory::data_type::bf16,
                                    dnnl::memory::format_tag::ab);
    try {
#if DNNL_VERSION_MAJOR >= 3
      const dnnl::matmul::primitive_desc product(CpuEngine(), square, square, square);
#else
      const dnnl::matmul::primitive_desc product({square, square, square}, CpuEngine());
#endif
      return true;
    } catch (const dnnl::error&) {
      LOG(WARNING) << "oneDNN has no products of bfloat16 on this processor (it needs AVX-512): "
                      "they are computed with float copies, which is slower than float";
      return false;
    }
  }();
  return can;
}

bool HasAvx512() {
  static const bool has = HasIsa(dnnl::cpu_isa::avx512_core);
  return has;
}

bool HasAmx() {
  static const bool amx = HasIsa(dnnl::cpu_isa::avx512_core_amx);
  return amx;
}

bool HasPairInstruction() {
  static const bool has = HasIsa(dnnl::cpu_isa::avx512_core_bf16);
  return has;
}

bool HasVnniWithoutAmx() {
  static const bool has = HasIsa(dnnl::cpu_isa::avx512_core_vnni) && !HasAmx();
  return has;
}

bool AddsBytesExactly() {
  static const bool exact =
      HasIsa(dnnl::cpu_isa::avx512_core_vnni) || HasIsa(dnnl::cpu_isa::avx2_vnni);
  return exact;
}

}  // namespace caffe2::onednn
