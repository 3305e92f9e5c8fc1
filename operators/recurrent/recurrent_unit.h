// The base of LSTMUnit and GRUUnit: the element-wise part of one step of a recurrent cell, on a
// batch whose sequences may differ in length.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/operator.h"
#include "caffe2/utils/parallel.h"
#include "operators/recurrent/recurrent_unit_functions.h"

namespace caffe2 {

// Reads the arguments and inputs that LSTMUnit, GRUUnit and their gradients share.
template <class Context>
class RecurrentUnitBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RecurrentUnitBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        drop_states_(this->template GetSingleArgument<bool>("drop_states", false)),
        has_lengths_(this->template GetSingleArgument<bool>("sequence_lengths", true)) {
    const OpSchema& schema = *OpSchemaRegistry::Schema(def.type());
    const int inputs = has_lengths_ ? schema.max_input() : schema.min_input();
    CAFFE_ENFORCE(InputSize() == inputs, "with argument sequence_lengths ", has_lengths_ ? 1 : 0,
                  " there must be ", inputs, " inputs, found ", InputSize());
  }

 protected:
  // Reads the inputs from index `state` on: the state [.., N, D], the gates [.., N, blocks * D],
  // the lengths (int32, N of them; not if sequence_lengths is 0) and the timestep (one int32).
  // Throws EnforceNotMet if shapes do not match. `input` becomes the index of the next input.
  UnitStep ReadStep(int state, int blocks, int* input) const {
    const Tensor &states = Input(state), &gates = Input(state + 1);
    CAFFE_ENFORCE(states.dim() >= 2 && gates.dim() >= 2, "states ", ShapeString(states.sizes()),
                  " and gates ", ShapeString(gates.sizes()), " must be [1, N, D]");
    UnitStep step;
    step.drop_states = drop_states_;
    step.units = states.size(-1);
    step.rows = states.size_to_dim(states.dim() - 1);
    CAFFE_ENFORCE(
        gates.size(-1) == blocks * step.units && gates.size_to_dim(gates.dim() - 1) == step.rows,
        "gates ", ShapeString(gates.sizes()), " do not hold ", blocks, " blocks for states ",
        ShapeString(states.sizes()));
    *input = state + 2;
    if (has_lengths_) {
      const Tensor& lengths = Input((*input)++);
      CAFFE_ENFORCE(lengths.numel() == step.rows,
                    "there must be one sequence length for each of the ", step.rows,
                    " rows of the states, which have shape ", ShapeString(states.sizes()),
                    "; found ", lengths.numel());
      step.lengths = lengths.data<int32_t>();
    }
    Tensor copy(CPU);  // for a timestep on a device
    const Tensor& timestep = OnHost(this->template Input<Tensor>((*input)++), &copy);
    CAFFE_ENFORCE(timestep.numel() == 1, "the timestep must be one int32, found shape ",
                  ShapeString(timestep.sizes()));
    step.timestep = *timestep.data<int32_t>();
    return step;
  }

  // The elements of input i. Throws EnforceNotMet unless it has as many elements as input `like`.
  template <typename T = float>
  const T* DataLike(int i, int like) const {
    CAFFE_ENFORCE(Input(i).numel() == Input(like).numel(), "inputs ", i, " and ", like,
                  " must have the same number of elements: their shapes are ",
                  ShapeString(Input(i).sizes()), " and ", ShapeString(Input(like).sizes()));
    return Input(i).template data<T>();
  }

  // Output i in the shape of input `like`.
  template <typename T = float>
  T* OutputLike(int i, int like) {
    Tensor* output = Output(i);
    output->ResizeLike(Input(like));
    return output->template mutable_data<T>();
  }

  bool drop_states_, has_lengths_;
};

// For a row whose sequence has ended: its state (or gradient) becomes 0 if `drop`, else is copied.
inline void KeepOrDrop(bool drop, int64_t n, const float* from, float* to) {
  if (drop) {
    std::fill_n(to, n, 0.f);
  } else {
    std::copy_n(from, n, to);
  }
}

// Arguments of both units.
inline void DescribeRecurrentUnit(OpSchema& schema) {
  schema
      .Arg<bool>(
          "drop_states",
          "1: states become 0 where the sequence has ended; else they keep their last value.")
      .Arg<bool>("sequence_lengths", "0: there is no input with lengths. Default 1.");
}

}  // namespace caffe2
