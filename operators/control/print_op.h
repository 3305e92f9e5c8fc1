// Operators that print tensors.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"

namespace caffe2 {

// Writes lines about one blob to the log or, with `to_file`, to the file "<root folder of the
// workspace>/<blob><extension>", in which slashes of the blob's name become '#'. Throws IoError if
// the file cannot be written.
class BlobLog {
 public:
  BlobLog(const Workspace& ws, const std::string& blob, const std::string& extension, bool to_file);
  void WriteLine(const std::string& line);

 private:
  std::string path_;
  std::unique_ptr<std::ofstream> file_;
};

template <class Context>
class PrintOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  PrintOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        limit_(this->template GetSingleArgument<int>("limit", 0)),
        every_n_(this->template GetSingleArgument<int>("every_n", 1)),
        log_(*ws, def.input(0), ".log", this->template GetSingleArgument<bool>("to_file", false)) {
    CAFFE_ENFORCE(limit_ >= 0, "argument limit must not be negative, found ", limit_);
    CAFFE_ENFORCE(every_n_ >= 1, "argument every_n must be positive, found ", every_n_);
  }
  bool RunOnDevice() override;

 private:
  int limit_, every_n_;
  int64_t runs_ = 0;
  BlobLog log_;
};

// Output (optional): [min, max, mean, standard deviation] of the input; also logged.
template <class Context>
class SummarizeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SummarizeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        log_(*ws, def.input(0), ".summary",
             this->template GetSingleArgument<bool>("to_file", false)) {}
  bool RunOnDevice() override;

 private:
  BlobLog log_;
};

}  // namespace caffe2
