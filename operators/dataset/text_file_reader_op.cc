// CreateTextFileReader, TextFileReaderRead.
#include "operators/dataset/text_file_reader_op.h"

#include <charconv>
#include <cstring>
#include <functional>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/created_object.h"

namespace caffe2 {

TextFileReader::TextFileReader(std::string file, int64_t num_passes,
                               std::vector<TypeMeta> field_types)
    : file_(std::move(file)), num_passes_(num_passes), field_types_(std::move(field_types)) {
  Open();
}

void TextFileReader::Open() {
  stream_ = std::ifstream(file_, std::ios::binary);
  if (!stream_) throw IoError("cannot open " + file_ + ": " + std::strerror(errno));
  line_ = 0;
}

std::vector<std::string> TextFileReader::Read(int64_t max_lines) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> fields;
  for (int64_t i = 0; i < max_lines; ++i) {
    if (num_passes_ != 0 && passes_ == num_passes_) break;
    while (!ReadLine(&fields)) {
      CAFFE_ENFORCE(num_passes_ != 0 || line_ > 0, file_,
                    " is empty and cannot be read without end (num_passes 0)");
      if (++passes_ == num_passes_) return fields;
      Open();
    }
  }
  return fields;
}

// False at the end of the file.
bool TextFileReader::ReadLine(std::vector<std::string>* fields) {
  if (stream_.peek() == std::ifstream::traits_type::eof()) {
    if (stream_.bad()) throw IoError("cannot read " + file_);
    return false;
  }
  const size_t before = fields->size();
  fields->emplace_back();
  for (char c; stream_.get(c) && c != '\n';) {
    if (c == '\t') {
      fields->emplace_back();
      continue;
    }
    if (c == '\\' && !stream_.get(c)) break;
    fields->back() += c;
  }
  if (stream_.bad()) throw IoError("cannot read " + file_);
  ++line_;
  CAFFE_ENFORCE(fields->size() - before == field_types_.size(), "line ", line_, " of ", file_,
                " must have ", field_types_.size(), " fields, found ", fields->size() - before);
  return true;
}

namespace {

using ReaderPtr = std::unique_ptr<TextFileReader>;

class CreateTextFileReaderOp final : public Operator<CPUContext> {
 public:
  CreateTextFileReaderOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        file_(GetSingleArgument<std::string>("filename", "")),
        num_passes_(GetSingleArgument<int64_t>("num_passes", 1)) {
    CAFFE_ENFORCE(!file_.empty(), "the argument filename is missing");
    CAFFE_ENFORCE(num_passes_ >= 0, "argument num_passes must not be negative, found ",
                  num_passes_);
    for (const int type : GetRepeatedArgument<int>("field_types")) {
      CAFFE_ENFORCE(TensorProto::DataType_IsValid(type),
                    "argument field_types must be data types, found ", type);
      field_types_.push_back(DataTypeToTypeMeta(static_cast<TensorProto::DataType>(type)));
    }
    CAFFE_ENFORCE(!field_types_.empty(), "the argument field_types must name at least one field");
  }
  bool RunOnDevice() override {
    *Output<ReaderPtr>(0) = std::make_unique<TextFileReader>(file_, num_passes_, field_types_);
    return true;
  }

 private:
  std::string file_;
  int64_t num_passes_;
  std::vector<TypeMeta> field_types_;
};

class TextFileReaderReadOp final : public Operator<CPUContext> {
 public:
  TextFileReaderReadOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), batch_size_(GetSingleArgument<int64_t>("batch_size", 1)) {
    CAFFE_ENFORCE(batch_size_ > 0, "argument batch_size must be positive, found ", batch_size_);
  }
  bool RunOnDevice() override {
    const auto& reader = CreatedObject<ReaderPtr>(*this, 0, "reader", "CreateTextFileReader");
    const auto num_fields = static_cast<int64_t>(reader->field_types().size());
    CAFFE_ENFORCE(num_fields == OutputSize(), "there must be one output for each of the ",
                  num_fields, " fields of ", reader->file(), ", found ", OutputSize());
    const std::vector<std::string> fields = reader->Read(batch_size_);
    const int64_t lines = static_cast<int64_t>(fields.size()) / num_fields;
    for (int i = 0; i < OutputSize(); ++i) {
      const TypeMeta type = reader->field_types()[i];
      Output(i)->Resize(lines);
      const auto field = [&](int64_t line) -> const std::string& {
        return fields[line * num_fields + i];
      };
      if (type.Match<std::string>()) {
        std::string* y = Output(i)->mutable_data<std::string>();
        for (int64_t line = 0; line < lines; ++line) y[line] = field(line);
      } else {
        column_ = Output(i);
        TensorTypes<float, double, int32_t, int64_t>::Dispatch(this, type);
        for (int64_t line = 0; line < lines; ++line) parse_(field(line), line);
      }
    }
    return true;
  }

  // Prepares the column for numbers of type T.
  template <typename T>
  bool DoRunWithType() {
    T* y = column_->mutable_data<T>();
    parse_ = [y](const std::string& text, int64_t line) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), y[line]);
      CAFFE_ENFORCE(error == std::errc() && end == text.data() + text.size(), "field \"", text,
                    "\" is not a ", TypeName<T>::Get());
    };
    return true;
  }

 private:
  int64_t batch_size_;
  Tensor* column_ = nullptr;
  std::function<void(const std::string&, int64_t)> parse_;
};

}  // namespace

REGISTER_CPU_OPERATOR(CreateTextFileReader, CreateTextFileReaderOp);
REGISTER_CPU_OPERATOR(TextFileReaderRead, TextFileReaderReadOp);
OPERATOR_SCHEMA(CreateTextFileReader)
    .NonTensorOutputs({0})
    .NumInputs(0)
    .NumOutputs(1)
    .SetDoc("Opens a text file of tab separated fields; a backslash escapes tab and newline.")
    .Arg<std::string>("filename", "The file.", true)
    .Arg<int>("num_passes", "(>= 0, default 1) The number of times it is read; 0: without end.")
    .ArgList<int>("field_types",
                  "The type of each field, of TensorProto: STRING, FLOAT, DOUBLE, INT32 or INT64.",
                  true)
    .Output(0, "handler", "The reader, a blob that is not a tensor.")
    .CpuOnly(cpu_only::kFiles);
OPERATOR_SCHEMA(TextFileReaderRead)
    .NonTensorInputs({0})
    .NumInputs(1)
    .NumOutputs(1, OpSchema::kUnlimited)
    .SetDoc("Reads lines. At the end of the file there are fewer, and then none.")
    .Arg<int>("batch_size", "(> 0, default 1) The most lines.")
    .Input(0, "handler", "A reader made by CreateTextFileReader.")
    .Output(0, "field", "The first field of each line; the others follow.")
    .CpuOnly(cpu_only::kFiles);
SHOULD_NOT_DO_GRADIENT(CreateTextFileReader);
SHOULD_NOT_DO_GRADIENT(TextFileReaderRead);

}  // namespace caffe2
