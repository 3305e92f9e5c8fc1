#include "tests/operators/op_test.h"
#include "tests/operators/quantized/int8_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(Int8Test, Pools) {
  const std::vector<Argument> window{MakeArgument("order", std::string("NHWC")),
                                     MakeArgument("kernel", 3), MakeArgument("stride", 2),
                                     MakeArgument("pad", 1)};
  ExpectSame(Op("Int8MaxPool", {"X"}, {"Y"}, Kept(window)), Op("MaxPool", {"x"}, {"y"}, window), 0);
  ExpectSame(Op("Int8MaxPoolRelu", {"X"}, {"Y"}, Kept(window)), Op("MaxPool", {"x"}, {"y"}, window),
             0, kInt8Zero);
  ExpectSame(Op("Int8AveragePool", {"X"}, {"Y"}, Kept(window)),
             Op("AveragePool", {"x"}, {"y"}, window), 1);
  ExpectSame(Op("Int8AveragePool", {"X"}, {"Y"}, WithScale(window, 0.1f, 50)),
             Op("AveragePool", {"x"}, {"y"}, window), 1);
  auto whole = window;
  whole.push_back(MakeArgument("count_include_pad", 1));
  ExpectSame(Op("Int8AveragePoolRelu", {"X"}, {"Y"}, Kept(whole)),
             Op("AveragePool", {"x"}, {"y"}, whole), 1, kInt8Zero);
  const std::vector<Argument> global{MakeArgument("order", std::string("NHWC")),
                                     MakeArgument("global_pooling", 1)};
  ExpectSame(Op("Int8AveragePool", {"X"}, {"Y"}, global), Op("AveragePool", {"x"}, {"y"}, global),
             1);
  auto floats = global;
  floats.push_back(MakeArgument("dequantize_output", 1));
  RunOp(&ws_, Op("Int8AveragePool", {"X"}, {"floats"}, floats));
  RunOp(&ws_, Op("AveragePool", {"x"}, {"y"}, global));
  ExpectTensor(ws_, "floats", {2, 1, 1, 4}, FetchValues<float>(ws_, "y"));
  ExpectThrows(&ws_, Op("Int8MaxPool", {"X"}, {"Y"}, {MakeArgument("kernel", 2)}), "NHWC only");
}

}  // namespace
}  // namespace caffe2::testing
