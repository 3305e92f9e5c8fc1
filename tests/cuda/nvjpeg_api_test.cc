// Compares our declarations of nvJPEG with its own header, where CMake has found one.
#include "caffe2/cuda/nvjpeg_api.h"

#include <gtest/gtest.h>

#if __has_include(<nvjpeg.h>)
#include <nvjpeg.h>

#include <type_traits>

namespace caffe2::cuda {
namespace {

// Whether a call passes two types in the same way: equal types, enums of one size, pointers to
// either, pointers to structs of one size, and pointers to anything where we have void*.
template <typename Ours, typename Theirs>
struct IsPassedAs : std::is_same<Ours, Theirs> {};
template <typename Ours, typename Theirs>
requires(std::is_enum_v<Ours>&& std::is_enum_v<Theirs>) struct IsPassedAs<Ours, Theirs>
    : std::bool_constant<sizeof(Ours) == sizeof(Theirs)> {
};
template <typename Theirs>
struct IsPassedAs<void*, Theirs*> : std::true_type {};
template <typename Theirs>
struct IsPassedAs<nvjpeg::Destination*, Theirs*>
    : std::bool_constant<sizeof(nvjpeg::Destination) == sizeof(Theirs)> {};

template <typename Ours, typename Theirs>
struct IsCalledAs : std::false_type {};
template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) struct IsCalledAs<OurResult(Ours...), TheirResult(Theirs...)>
    : std::bool_constant<IsPassedAs<OurResult, TheirResult>::value &&
                         (IsPassedAs<Ours, Theirs>::value && ...)> {
};

#define CHECK_FUNCTION(ours, theirs) \
  static_assert(IsCalledAs<nvjpeg::ours, decltype(theirs)>::value, #theirs)
CHECK_FUNCTION(CreateEx, nvjpegCreateEx);
CHECK_FUNCTION(Destroy, nvjpegDestroy);
CHECK_FUNCTION(JpegStateCreate, nvjpegJpegStateCreate);
CHECK_FUNCTION(JpegStateDestroy, nvjpegJpegStateDestroy);
CHECK_FUNCTION(DecodeBatchedInitialize, nvjpegDecodeBatchedInitialize);
CHECK_FUNCTION(DecodeBatched, nvjpegDecodeBatched);
CHECK_FUNCTION(JpegStreamCreate, nvjpegJpegStreamCreate);
CHECK_FUNCTION(JpegStreamDestroy, nvjpegJpegStreamDestroy);
CHECK_FUNCTION(JpegStreamParseHeader, nvjpegJpegStreamParseHeader);
CHECK_FUNCTION(DecodeBatchedSupported, nvjpegDecodeBatchedSupported);

#define CHECK_VALUE(ours, theirs) \
  static_assert(static_cast<int>(nvjpeg::ours) == static_cast<int>(theirs), #theirs)
CHECK_VALUE(kSuccess, NVJPEG_STATUS_SUCCESS);
CHECK_VALUE(kNotInitialized, NVJPEG_STATUS_NOT_INITIALIZED);
CHECK_VALUE(kInvalidParameter, NVJPEG_STATUS_INVALID_PARAMETER);
CHECK_VALUE(kBadJpeg, NVJPEG_STATUS_BAD_JPEG);
CHECK_VALUE(kJpegNotSupported, NVJPEG_STATUS_JPEG_NOT_SUPPORTED);
CHECK_VALUE(kAllocatorFailure, NVJPEG_STATUS_ALLOCATOR_FAILURE);
CHECK_VALUE(kExecutionFailed, NVJPEG_STATUS_EXECUTION_FAILED);
CHECK_VALUE(kArchMismatch, NVJPEG_STATUS_ARCH_MISMATCH);
CHECK_VALUE(kInternalError, NVJPEG_STATUS_INTERNAL_ERROR);
CHECK_VALUE(kImplementationNotSupported, NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED);
CHECK_VALUE(kIncompleteBitstream, NVJPEG_STATUS_INCOMPLETE_BITSTREAM);
CHECK_VALUE(kDefaultBackend, NVJPEG_BACKEND_DEFAULT);
CHECK_VALUE(kHardwareBackend, NVJPEG_BACKEND_HARDWARE);
CHECK_VALUE(kOutputY, NVJPEG_OUTPUT_Y);
CHECK_VALUE(kOutputBgrInterleaved, NVJPEG_OUTPUT_BGRI);

static_assert(offsetof(nvjpeg::Destination, channel) == offsetof(nvjpegImage_t, channel));
static_assert(offsetof(nvjpeg::Destination, pitch) == offsetof(nvjpegImage_t, pitch));
static_assert(
    std::is_same_v<decltype(nvjpeg::Destination::channel), decltype(nvjpegImage_t::channel)>);
static_assert(std::is_same_v<decltype(nvjpeg::Destination::pitch), decltype(nvjpegImage_t::pitch)>);
static_assert(std::is_same_v<Stream, cudaStream_t>);

}  // namespace
}  // namespace caffe2::cuda

TEST(NvjpegApiTest, IsThatOfTheHeader) {
  SUCCEED() << "compiled against nvJPEG " << NVJPEG_VER_MAJOR << "." << NVJPEG_VER_MINOR;
}
#else
TEST(NvjpegApiTest, IsThatOfTheHeader) { GTEST_SKIP() << "nvjpeg.h was not found"; }
#endif
