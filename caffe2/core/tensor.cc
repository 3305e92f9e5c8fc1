#include "caffe2/core/tensor.h"

#include <algorithm>
#include <limits>

namespace caffe2 {

std::string ShapeString(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

int64_t CheckedNumel(const int64_t* dims, size_t n) {
  int64_t numel = 1;
  for (size_t i = 0; i < n; ++i) {
    if (dims[i] < 0) {
      CAFFE_THROW("shape ", ShapeString({dims, dims + n}), " has a negative dimension");
    }
    if (__builtin_mul_overflow(numel, dims[i], &numel)) {
      CAFFE_THROW("the number of elements overflows for shape ", ShapeString({dims, dims + n}));
    }
  }
  return numel;
}

int64_t Tensor::size(int i) const { return dims_[canonical_axis_index(i)]; }

int Tensor::dim32(int i) const {
  const int64_t value = size(i);
  CAFFE_ENFORCE(value <= std::numeric_limits<int>::max(), "axis ", i, " of shape ",
                ShapeString(dims_), " does not fit an int");
  return static_cast<int>(value);
}

int Tensor::canonical_axis_index(int axis) const {
  CAFFE_ENFORCE(axis >= -dim() && axis < dim(), "axis ", axis, " is out of range for shape ",
                ShapeString(dims_));
  return axis < 0 ? axis + dim() : axis;
}

int64_t Tensor::size_to_dim(int k) const {
  CAFFE_ENFORCE(k >= 0 && k <= dim(), "axis ", k, " is out of range for shape ",
                ShapeString(dims_));
  int64_t product = 1;
  for (int i = 0; i < k; ++i) product *= dims_[i];
  return product;
}

int64_t Tensor::size_from_dim(int k) const {
  CAFFE_ENFORCE(k >= 0 && k <= dim(), "axis ", k, " is out of range for shape ",
                ShapeString(dims_));
  int64_t product = 1;
  for (int i = k; i < dim(); ++i) product *= dims_[i];
  return product;
}

void Tensor::Resize(const std::vector<int64_t>& dims) { ResizeTo(dims.data(), dims.size()); }

void Tensor::ResizeTo(const int64_t* dims, size_t n) {
  if (n == dims_.size() && std::equal(dims, dims + n, dims_.begin()) && (n > 0 || numel_ == 1)) {
    return;
  }
  const int64_t numel = CheckedNumel(dims, n);
  EnforceNoPins();
  dims_.assign(dims, dims + n);
  numel_ = numel;
  if (data_ != nullptr && nbytes() > capacity_) {
    data_.reset();
    capacity_ = 0;
  }
}

void Tensor::Reshape(const std::vector<int64_t>& dims) {
  CAFFE_ENFORCE(CheckedNumel(dims) == numel_, "cannot reshape ", ShapeString(dims_), " to ",
                ShapeString(dims));
  if (dims == dims_) return;
  EnforceNoPins();
  dims_ = dims;
}

namespace {
// Constructs `count` elements in the storage if their type needs it; they are destroyed with it.
std::shared_ptr<void> ConstructOwned(std::shared_ptr<void> raw, TypeMeta meta, size_t count) {
  if (meta.construct()) meta.construct()(raw.get(), count);
  if (!meta.destroy()) return raw;
  void* data = raw.get();
  return {data, [raw = std::move(raw), meta, count](void* p) { meta.destroy()(p, count); }};
}
}  // namespace

void* Tensor::raw_mutable_data(TypeMeta meta) {
  if (meta_ == meta && (data_ != nullptr || numel_ == 0)) return data_.get();
  EnforceNoPins();
  const bool trivial = meta.construct() == nullptr && meta.destroy() == nullptr;
  const bool was_trivial = !meta_ || (meta_.construct() == nullptr && meta_.destroy() == nullptr);
  size_t bytes = 0;
  CAFFE_ENFORCE(!__builtin_mul_overflow(static_cast<size_t>(numel_), meta.itemsize(), &bytes),
                "the size in bytes overflows for shape ", ShapeString(dims_));
  // Storage of plain bytes can hold any plain type, but no objects.
  if (data_ != nullptr && trivial && was_trivial && bytes <= capacity_) {
    meta_ = meta;
    return data_.get();
  }
  CAFFE_ENFORCE(trivial || device_.type == CPU, "elements of type ", meta.name(),
                " exist in host memory only");
  data_.reset();
  capacity_ = 0;
  meta_ = meta;
  if (numel_ == 0) return nullptr;
  data_ = GetAllocator(device_.type).Allocate(bytes, device_);
  capacity_ = bytes;
  if (!trivial) data_ = ConstructOwned(std::move(data_), meta, numel_);
  return data_.get();
}

void* Tensor::raw_mutable_data() {
  CAFFE_ENFORCE(static_cast<bool>(meta_), "the tensor of shape ", ShapeString(dims_),
                " has no element type yet");
  return raw_mutable_data(meta_);
}

void Tensor::ThrowPinned() const {
  CAFFE_THROW("the tensor of shape ", ShapeString(dims_),
              " must keep its shape, type and memory while another run uses it");
}

void Tensor::ThrowBadAccess(TypeMeta wanted) const {
  if (!(meta_ == wanted) && meta_) {
    CAFFE_THROW("tensor of shape ", ShapeString(dims_), " holds ", meta_.name(), " where ",
                wanted.name(), " is needed");
  }
  CAFFE_THROW("tensor of shape ", ShapeString(dims_), " holds no data: nothing was written to it");
}

void Tensor::CopyFrom(const Tensor& source) {
  if (&source == this) return;
  ResizeLike(source);
  if (!source.meta_) {
    if (meta_) EnforceNoPins();
    meta_ = {};
    return;
  }
  CAFFE_ENFORCE(source.has_data(), "cannot copy a tensor that holds no data, shape ",
                ShapeString(source.dims_));
  void* destination = raw_mutable_data(source.meta_);
  if (source.meta_.copy() != nullptr) {
    source.meta_.copy()(source.raw_data(), destination, numel_);
  } else {
    CAFFE_ENFORCE(source.meta_.construct() == nullptr, "elements of type ", source.meta_.name(),
                  " cannot be copied");
    CopyBytesSync(nbytes(), source.raw_data(), source.device_, destination, device_);
  }
}

void Tensor::ShareData(const Tensor& source) {
  if (data_ != source.data_ || meta_ != source.meta_ || dims_ != source.dims_) EnforceNoPins();
  device_ = source.device_;
  meta_ = source.meta_;
  dims_ = source.dims_;
  numel_ = source.numel_;
  data_ = source.data_;
  capacity_ = source.capacity_;
}

Tensor Tensor::View(int64_t offset, const std::vector<int64_t>& dims) const {
  const int64_t count = CheckedNumel(dims);
  CAFFE_ENFORCE(offset >= 0 && count <= numel_ - offset, "view of ", count, " elements at ", offset,
                " reaches past the ", numel_, " elements of shape ", ShapeString(dims_));
  CAFFE_ENFORCE(has_data(), "cannot view a tensor that holds no data");
  Tensor view(device_);
  view.meta_ = meta_;
  view.dims_ = dims;
  view.numel_ = count;
  view.data_ = std::shared_ptr<void>(data_, static_cast<char*>(data_.get()) + offset * itemsize());
  view.capacity_ = count * itemsize();
  return view;
}

void Tensor::ShareExternalPointer(std::shared_ptr<void> data, TypeMeta meta,
                                  size_t capacity_bytes) {
  CAFFE_ENFORCE_LE(static_cast<size_t>(numel_) * meta.itemsize(), capacity_bytes);
  EnforceNoPins();
  meta_ = meta;
  data_ = std::move(data);
  capacity_ = capacity_bytes;
}

void Tensor::ExtendTo(int64_t outer, int growth_percent) {
  CAFFE_ENFORCE(device_.type == CPU && dim() > 0);
  CAFFE_ENFORCE_GE(outer, dims_[0]);
  if (outer != dims_[0]) EnforceNoPins();
  std::vector<int64_t> dims = dims_;
  dims[0] = outer;
  const size_t bytes = static_cast<size_t>(CheckedNumel(dims)) * itemsize();
  if (bytes > capacity_) {
    Tensor grown(device_);
    std::vector<int64_t> reserved = dims;
    reserved[0] = std::max<int64_t>(outer, dims_[0] + dims_[0] * growth_percent / 100);
    grown.Resize(reserved);
    grown.raw_mutable_data(meta_);
    if (numel_ > 0) {
      if (meta_.copy() != nullptr) {
        meta_.copy()(raw_data(), grown.raw_mutable_data(), numel_);
      } else {
        CopyBytesSync(nbytes(), raw_data(), device_, grown.raw_mutable_data(), device_);
      }
    }
    data_ = std::move(grown.data_);
    capacity_ = grown.capacity_;
  }
  numel_ = CheckedNumel(dims);
  dims_ = std::move(dims);
}

void Tensor::ShrinkTo(int64_t outer) {
  CAFFE_ENFORCE(dim() > 0 && outer >= 0 && outer <= dims_[0], "cannot shrink ", ShapeString(dims_),
                " to ", outer, " rows");
  if (outer != dims_[0]) EnforceNoPins();
  dims_[0] = outer;
  numel_ = CheckedNumel(dims_);
}

void Tensor::FreeMemory() {
  EnforceNoPins();
  data_.reset();
  capacity_ = 0;
}

std::string Tensor::DebugString() const {
  return meta_.name() + " " + ShapeString(dims_) + " on " + device_.ToString();
}

}  // namespace caffe2
