#include "caffe2/core/tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace caffe2 {
namespace {

TEST(TensorTest, NewTensorIsEmptyAndScalarHasOneElement) {
  Tensor tensor;
  EXPECT_EQ(tensor.numel(), 0);
  EXPECT_FALSE(tensor.has_data());
  tensor.Resize();
  EXPECT_EQ(tensor.numel(), 1);
  *tensor.mutable_data<float>() = 3.f;
  EXPECT_EQ(*tensor.data<float>(), 3.f);
}

TEST(TensorTest, StorageIsKeptWhenTheShapeShrinksAndGrowsBack) {
  Tensor tensor({4, 8}, CPU);
  float* data = tensor.mutable_data<float>();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
  tensor.Resize(2, 8);
  EXPECT_EQ(tensor.mutable_data<float>(), data);
  tensor.Resize(4, 8);
  EXPECT_EQ(tensor.mutable_data<float>(), data);
  tensor.Resize(5, 8);
  EXPECT_FALSE(tensor.has_data());
}

TEST(TensorTest, ChangeOfTypeReusesPlainStorage) {
  Tensor tensor({4}, CPU);
  void* data = tensor.mutable_data<float>();
  EXPECT_EQ(tensor.mutable_data<int32_t>(), data);
  EXPECT_TRUE(tensor.IsType<int32_t>());
  tensor.mutable_data<std::string>()[3] = "text";
  EXPECT_EQ(tensor.data<std::string>()[3], "text");
  EXPECT_EQ(tensor.data<std::string>()[0], "");
}

TEST(TensorTest, WrongTypeOrMissingDataThrowsWithBothTypes) {
  Tensor tensor({2}, CPU);
  EXPECT_THROW(tensor.data<float>(), EnforceNotMet);
  tensor.mutable_data<float>();
  try {
    tensor.data<int64_t>();
    FAIL() << "reading float as int64 must throw";
  } catch (const EnforceNotMet& error) {
    EXPECT_NE(std::string(error.what()).find("float"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("int64_t"), std::string::npos) << error.what();
  }
}

TEST(TensorTest, NegativeAndOverflowingShapesThrow) {
  Tensor tensor;
  EXPECT_THROW(tensor.Resize(2, -1), EnforceNotMet);
  const int64_t big = int64_t{1} << 40;
  EXPECT_THROW(tensor.Resize(big, big), EnforceNotMet);
  tensor.Resize(std::numeric_limits<int64_t>::max());
  EXPECT_THROW(tensor.mutable_data<float>(), EnforceNotMet);
  Tensor huge({int64_t{1} << 55}, CPU);
  EXPECT_THROW(huge.mutable_data<float>(), Error);
}

TEST(TensorTest, SharedStorageIsLeftWhenOneGrows) {
  Tensor source({3}, std::vector<float>{1, 2, 3});
  Tensor shared;
  shared.ShareData(source);
  shared.mutable_data<float>()[1] = 20;
  EXPECT_EQ(source.data<float>()[1], 20);
  shared.Resize(10);
  shared.mutable_data<float>()[1] = 7;
  EXPECT_EQ(source.data<float>()[1], 20);
}

TEST(TensorTest, ViewKeepsStorageAliveAndChecksItsRange) {
  Tensor view;
  {
    Tensor source({2, 3}, std::vector<float>{0, 1, 2, 3, 4, 5});
    view = source.View(3, {3});
    EXPECT_THROW(source.View(4, {3}), EnforceNotMet);
    EXPECT_THROW(source.View(-1, {1}), EnforceNotMet);
  }
  EXPECT_EQ(view.data<float>()[0], 3);
  EXPECT_EQ(view.data<float>()[2], 5);
}

TEST(TensorTest, CopyFromIsDeepForPlainAndObjectTypes) {
  Tensor source({2}, std::vector<std::string>{"a", "b"});
  Tensor copy;
  copy.CopyFrom(source);
  source.mutable_data<std::string>()[0] = "changed";
  EXPECT_EQ(copy.data<std::string>()[0], "a");
  EXPECT_FALSE(copy.shares_storage_with(source));
}

TEST(TensorTest, TheCopyOfATensorThatWasNeverResizedIsOneToo) {
  Tensor source, copy, scalar({}, std::vector<float>{1});
  source.mutable_data<float>();  // gives it a type, but no element
  copy.CopyFrom(source);
  scalar.CopyFrom(source);
  for (const Tensor* tensor : {&copy, &scalar}) {
    EXPECT_EQ(tensor->numel(), 0);
    EXPECT_TRUE(tensor->IsType<float>());
  }
  scalar.Resize();
  EXPECT_EQ(scalar.numel(), 1);
}

TEST(TensorTest, ExtendKeepsContents) {
  Tensor tensor({2, 2}, std::vector<int32_t>{1, 2, 3, 4});
  tensor.ExtendTo(50);
  EXPECT_EQ(tensor.sizes(), (std::vector<int64_t>{50, 2}));
  EXPECT_EQ(tensor.data<int32_t>()[3], 4);
  tensor.ShrinkTo(1);
  EXPECT_EQ(tensor.numel(), 2);
  EXPECT_THROW(tensor.ShrinkTo(2), EnforceNotMet);
}

TEST(TensorTest, AxesCountFromEitherEnd) {
  Tensor tensor({2, 3, 4}, CPU);
  EXPECT_EQ(tensor.size(-1), 4);
  EXPECT_EQ(tensor.canonical_axis_index(-3), 0);
  EXPECT_THROW(tensor.canonical_axis_index(3), EnforceNotMet);
  EXPECT_EQ(tensor.size_to_dim(2), 6);
  EXPECT_EQ(tensor.size_from_dim(1), 12);
}

TEST(HalfTest, ConversionRoundsToNearestEvenAndKeepsSpecials) {
  EXPECT_EQ(ToFloat16(1.f).x, 0x3c00);
  EXPECT_EQ(ToFloat16(65504.f).x, 0x7bff);
  EXPECT_EQ(ToFloat16(65520.f).x, 0x7c00);
  EXPECT_EQ(ToFloat16(0x1p-24f).x, 1);
  EXPECT_EQ(ToFloat16(0x1p-25f).x, 0);  // a tie goes to even
  EXPECT_EQ(ToFloat16(-0.f).x, 0x8000);
  EXPECT_EQ(ToFloat16(1.f + 0x1p-11f).x, 0x3c00);
  EXPECT_EQ(ToFloat16(1.f + 3 * 0x1p-11f).x, 0x3c02);
  // Every finite half value survives the way to float and back.
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float16 half{static_cast<uint16_t>(bits)};
    if ((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff)) {
      EXPECT_TRUE(std::isnan(ToFloat(half)));
      continue;
    }
    EXPECT_EQ(ToFloat16(ToFloat(half)).x, bits);
  }
  EXPECT_EQ(ToBFloat16(1.f).x, 0x3f80);
  EXPECT_EQ(ToBFloat16(1.f + 0x1p-8f).x, 0x3f80);
  EXPECT_EQ(ToBFloat16(1.f + 3 * 0x1p-8f).x, 0x3f82);
  EXPECT_TRUE(std::isnan(ToFloat(ToBFloat16(std::numeric_limits<float>::quiet_NaN()))));
}

// The value of a finite half from its fields.
double ValueOfHalf(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 0x1f),
            fraction = static_cast<int>(bits & 0x3ff);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// Rounds in double, to a multiple of the distance of halves there.
uint32_t NearestHalf(float value) {
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  const double magnitude = std::abs(double{value});
  if (magnitude >= 65520) return sign | 0x7c00;
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return sign | (static_cast<uint32_t>(exponent + 14) * 1024 + steps);  // 1024 steps carry over
}

TEST(HalfTest, ConversionsAreTheReferenceOnes) {
  const auto expect_nearest = [](float value) {
    EXPECT_EQ(ToFloat16(value).x, NearestHalf(value)) << value;
  };
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = ToFloat(float16{static_cast<uint16_t>(bits)});
    expect_nearest(std::bit_cast<float>(bits << 16 | bits));  // floats of all magnitudes
    if ((bits & 0x7c00) == 0x7c00) {
      EXPECT_EQ(std::isnan(value), (bits & 0x3ff) != 0);
      EXPECT_EQ(std::signbit(value), bits >= 0x8000);
      continue;
    }
    EXPECT_EQ(value, ValueOfHalf(bits));
    EXPECT_EQ(std::signbit(value), bits >= 0x8000);
    // The middle to the next number, and its neighbors.
    const auto next = (bits & 0x7fff) == 0x7bff ? 65536 : std::abs(ValueOfHalf(bits + 1));
    const auto middle = static_cast<float>(std::copysign((std::abs(value) + next) / 2, value));
    expect_nearest(middle);
    expect_nearest(std::nextafter(middle, 0.f));
    expect_nearest(std::nextafter(middle, std::copysign(INFINITY, value)));
  }
}

TEST(TensorTest, APinnedTensorKeepsItsShapeTypeAndMemory) {
  Tensor tensor({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}), larger({4, 3}, CPU), alias;
  larger.mutable_data<float>();
  alias.ShareData(tensor);
  const void* memory = tensor.raw_data();
  tensor.Pin();
  tensor.Pin();
  for (int pins = 2; pins > 0; --pins) {
    EXPECT_THROW(tensor.Resize(3, 2), EnforceNotMet);
    EXPECT_THROW(tensor.ResizeLike(larger), EnforceNotMet);
    EXPECT_THROW(tensor.Reshape({6}), EnforceNotMet);
    EXPECT_THROW(tensor.mutable_data<int>(), EnforceNotMet);
    EXPECT_THROW(tensor.mutable_data<double>(), EnforceNotMet);
    EXPECT_THROW(tensor.CopyFrom(larger), EnforceNotMet);
    EXPECT_THROW(tensor.CopyFrom(Tensor({2, 3}, std::vector<int>(6))), EnforceNotMet);
    EXPECT_THROW(tensor.ShareData(larger), EnforceNotMet);
    EXPECT_THROW(tensor.ExtendTo(3), EnforceNotMet);
    EXPECT_THROW(tensor.ShrinkTo(1), EnforceNotMet);
    EXPECT_THROW(tensor.FreeMemory(), EnforceNotMet);
    tensor.Resize(2, 3);
    tensor.Reshape({2, 3});
    tensor.ExtendTo(2);
    tensor.ShrinkTo(2);
    tensor.ShareData(alias);
    tensor.CopyFrom(Tensor({2, 3}, std::vector<float>(6, 7)));
    EXPECT_EQ(tensor.sizes(), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(tensor.mutable_data<float>(), memory);
    EXPECT_EQ(tensor.data<float>()[5], 7);
    tensor.Unpin();
  }
  tensor.Resize(10, 10);
  EXPECT_EQ(tensor.sizes(), (std::vector<int64_t>{10, 10}));
}

TEST(TensorTest, APinStaysWithItsObject) {
  Tensor pinned({2}, std::vector<float>{1, 2});
  pinned.Pin();
  Tensor moved(std::move(pinned));
  moved.Resize(3);
  pinned = Tensor({3}, std::vector<float>{1, 2, 3});
  EXPECT_THROW(pinned.Resize(4), EnforceNotMet);
  pinned.Unpin();
  pinned.Resize(4);
}

}  // namespace
}  // namespace caffe2
