// Times what an image input does with each JPEG file, from its bytes to a normalised crop,
// beside the same by libjpeg-turbo and OpenCV, in turns:
//
//   ours                OpenImage and ImageTransform: what ImageInput runs for each record
//   ours, whole files   the same after decoding the whole file
//   ours, stored pixels the same from pixels in memory, the files' scaled to --image_scale
//   turbo_region        libjpeg-turbo decodes the rows and columns of the crop, OpenCV resizes it
//   opencv              OpenCV decodes the whole image, resizes and crops it
//
// "shorter" scales the shorter side and crops at random, "inception" draws 8 to 100 % of the
// area; the peers get the same rectangles and mirror the same images. Prints the medians of the
// rounds: images/s of all threads together, the same if each thread had a core of its own (from the
// processor time of the threads, which other programs disturb less), and how far ours lies from
// decoding the whole file. --order and --dtype set the output of ours; the peers always write
// floats in NHWC.
#include <gflags/gflags.h>

#include <cstddef>
#include <cstdio>

// jpeglib.h needs the two headers above.
#include <jpeglib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <thread>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/half.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "db/image/image_codec.h"
#include "db/image/image_record.h"
#include "db/image/image_transform.h"

DEFINE_string(images, "", "folder with JPEG files");
DEFINE_int32(threads, 2, "threads, each with a part of the files");
DEFINE_int32(rounds, 5, "turns of each variant");
DEFINE_double(min_seconds, 2, "length of one turn, in seconds: at least one pass over the files");
DEFINE_int32(image_size, 224, "height and width of a crop");
DEFINE_int32(image_scale, 256, "length of the shorter side before the crop");
DEFINE_string(order, "NHWC", "order of ours: NHWC or NCHW");
DEFINE_string(dtype, "float", "type of ours: float, float16 or bfloat16");

namespace caffe2 {
namespace {

constexpr float kMean = 128, kStd = 128;

using File = std::string;
// Turns file `index` into 3 * --image_size^2 floats (ours: elements of --dtype).
using Variant = std::function<void(const File& file, uint64_t index, float* output)>;

size_t OutputSize() { return size_t{3} * FLAGS_image_size * FLAGS_image_size; }

std::vector<File> ReadFiles(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<File> files;
  for (const auto& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    File bytes{std::istreambuf_iterator<char>(stream), {}};
    if (bytes.substr(0, 3) == "\xff\xd8\xff") files.push_back(std::move(bytes));
  }
  if (files.empty()) ThrowIoError(ExitCode::kNoInput, "no JPEG files in ", folder);
  return files;
}

db::ImageTransformOptions TransformOptions(bool inception) {
  db::ImageTransformOptions options;
  options.crop = FLAGS_image_size;
  options.scale = FLAGS_image_scale;
  options.mirror = true;
  options.mean = {kMean};
  options.std = {kStd};
  if (inception) options.scale_jitter = db::ScaleJitter::kInception;
  return options;
}

void Normalize(const cv::Mat& crop, bool mirror, float* output) {
  for (int y = 0; y < FLAGS_image_size; ++y) {
    const auto* row = crop.ptr<uint8_t>(y);
    for (int x = 0; x < FLAGS_image_size; ++x, output += 3) {
      const auto* pixel = row + 3 * (mirror ? FLAGS_image_size - 1 - x : x);
      for (int c = 0; c < 3; ++c) output[c] = (static_cast<float>(pixel[c]) - kMean) / kStd;
    }
  }
}

// The rectangle of the source that becomes the crop.
cv::Rect RegionOf(const db::ImageTransform::CropPlan& plan) {
  const double row_step = static_cast<double>(plan.part.height) / plan.height,
               column_step = static_cast<double>(plan.part.width) / plan.width;
  const auto round = [](double value) { return static_cast<int>(value + 0.5); };
  const int y = plan.part.ymin + round(plan.y * row_step),
            x = plan.part.xmin + round(plan.x * column_step);
  return {x, y,
          std::min(round(FLAGS_image_size * column_step), plan.part.xmin + plan.part.width - x),
          std::min(round(FLAGS_image_size * row_step), plan.part.ymin + plan.part.height - y)};
}

TypeMeta OutputType() {
  const std::map<std::string, TypeMeta> types = {{"float", TypeMeta::Make<float>()},
                                                 {"float16", TypeMeta::Make<float16>()},
                                                 {"bfloat16", TypeMeta::Make<bfloat16>()}};
  const auto found = types.find(FLAGS_dtype);
  CheckUsage(found != types.end(), "--dtype is \"", FLAGS_dtype,
             "\", must be float, float16 or bfloat16");
  return found->second;
}

Variant Ours(const db::ImageTransformOptions& options) {
  const auto transform = std::make_shared<db::ImageTransform>(options);
  return [transform](const File& file, uint64_t index, float* output) {
    transform->Apply(db::OpenImage(file, true).get(), {}, index, output);
  };
}

Variant OursWhole(const db::ImageTransformOptions& options) {
  const auto transform = std::make_shared<db::ImageTransform>(options);
  return [transform](const File& file, uint64_t index, float* output) {
    db::DecodedImage image(db::DecodeImage(file, true));
    transform->Apply<uint8_t>(&image, {}, index, output);
  };
}

Variant OursStored(const db::ImageTransformOptions& options, const std::vector<File>& files) {
  const auto transform = std::make_shared<db::ImageTransform>(options);
  const auto images = std::make_shared<std::vector<db::Image<uint8_t>>>();
  for (const File& file : files) {
    images->push_back(db::Rescale(db::DecodeImage(file, true), FLAGS_image_scale, /*warp=*/false));
  }
  return [transform, images](const File& /*file*/, uint64_t index, float* output) {
    db::ViewSource<uint8_t> image((*images)[index % images->size()].view);
    transform->Apply(&image, {}, index, output);
  };
}

Variant TurboRegion(const db::ImageTransformOptions& options) {
  const auto transform = std::make_shared<db::ImageTransform>(options);
  return [transform](const File& file, uint64_t index, float* output) {
    jpeg_decompress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_EXT_BGR;
    jpeg_start_decompress(&info);
    const auto plan = transform->SampleCrop(static_cast<int>(info.output_height),
                                            static_cast<int>(info.output_width), {}, index);
    const cv::Rect region = RegionOf(plan);
    auto left = static_cast<JDIMENSION>(region.x), width = static_cast<JDIMENSION>(region.width);
    jpeg_crop_scanline(&info, &left, &width);
    jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(region.y));
    thread_local std::vector<uint8_t> pixels;
    pixels.resize(size_t{width} * 3 * static_cast<size_t>(region.height));
    for (int y = 0; y < region.height; ++y) {
      JSAMPROW row = &pixels[static_cast<size_t>(y) * width * 3];
      jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_abort_decompress(&info);
    jpeg_destroy_decompress(&info);
    const cv::Mat read(region.height, static_cast<int>(width), CV_8UC3, pixels.data());
    cv::Mat crop;
    cv::resize(read(cv::Rect(region.x - static_cast<int>(left), 0, region.width, region.height)),
               crop, {FLAGS_image_size, FLAGS_image_size}, 0, 0, cv::INTER_LINEAR);
    Normalize(crop, plan.augmentation.mirror != 0, output);
  };
}

Variant OpenCv(const db::ImageTransformOptions& options) {
  const auto transform = std::make_shared<db::ImageTransform>(options);
  return [transform](const File& file, uint64_t index, float* output) {
    const cv::Mat bytes(1, static_cast<int>(file.size()), CV_8U, const_cast<char*>(file.data()));
    const cv::Mat image = cv::imdecode(bytes, cv::IMREAD_COLOR);
    const auto plan = transform->SampleCrop(image.rows, image.cols, {}, index);
    cv::Mat crop;
    cv::resize(image(RegionOf(plan)), crop, {FLAGS_image_size, FLAGS_image_size}, 0, 0,
               cv::INTER_LINEAR);
    Normalize(crop, plan.augmentation.mirror != 0, output);
  };
}

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Images/s of all threads: what they were, and what they would be on cores of their own.
struct Rates {
  double wall = 0, processor = 0;
};

Rates Measure(const std::vector<File>& files, const Variant& variant) {
  std::atomic<int64_t> done{0};
  std::atomic<double> processor_seconds{0};
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < FLAGS_threads; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<float> output(OutputSize());
      const double processor_begin = ProcessorSeconds();
      // Whole passes, as files take different times.
      for (uint64_t pass = 0; pass == 0 || seconds() < FLAGS_min_seconds; ++pass) {
        for (size_t i = static_cast<size_t>(thread); i < files.size();
             i += static_cast<size_t>(FLAGS_threads)) {
          variant(files[i], pass * files.size() + i, output.data());
          ++done;
        }
      }
      processor_seconds += ProcessorSeconds() - processor_begin;
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto images = static_cast<double>(done);
  return {images / seconds(), images * FLAGS_threads / processor_seconds};
}

// Ours beside decoding the whole file and shrinking that, in units of a pixel's 256 values: the
// files of which any pixel differs.
void PrintDifference(const std::vector<File>& files, bool inception) {
  const Variant read_part = Ours(TransformOptions(inception)),
                read_whole = OursWhole(TransformOptions(inception));
  std::vector<float> part(OutputSize()), whole(part.size());
  double sum = 0, max = 0;
  size_t above_one = 0, differ = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    read_part(files[i], i, part.data());
    read_whole(files[i], i, whole.data());
    if (part == whole) continue;
    ++differ;
    for (size_t j = 0; j < part.size(); ++j) {
      const double difference = std::abs(part[j] - whole[j]) * kStd;
      sum += difference;
      max = std::max(max, difference);
      above_one += difference > 1.5;
    }
  }
  std::printf("  decoding whole files gives other pixels for %zu of %zu files\n", differ,
              files.size());
  if (differ == 0) return;
  const auto n = static_cast<double>(differ * part.size());
  std::printf("  difference of these: mean %.4f, largest %.0f, %.4f %% above 1\n", sum / n, max,
              100.0 * static_cast<double>(above_one) / n);
}

double Median(const std::vector<Rates>& rates, double Rates::*which) {
  std::vector<double> values;
  for (const Rates& rate : rates) values.push_back(rate.*which);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void PrintRates(const char* name, const std::vector<Rates>& rates) {
  std::printf("  %-20s %8.0f images/s, %8.0f by processor time\n", name,
              Median(rates, &Rates::wall), Median(rates, &Rates::processor));
}

int Run() {
  CheckUsage(!FLAGS_images.empty(), "--images, a folder with JPEG files, is needed");
  CheckUsage(FLAGS_threads > 0 && FLAGS_rounds > 0 && FLAGS_min_seconds > 0,
             "--threads, --rounds and --min_seconds must be positive");
  CheckUsage(FLAGS_order == "NHWC" || FLAGS_order == "NCHW", "--order is \"", FLAGS_order,
             "\", must be NHWC or NCHW");
  CheckUsage(FLAGS_image_size > 0 && FLAGS_image_scale >= FLAGS_image_size, "--image_scale (",
             FLAGS_image_scale, ") must be at least --image_size (", FLAGS_image_size,
             "), which must be positive");
  const TypeMeta output_type = OutputType();
  cv::setNumThreads(0);
  const std::vector<File> files = ReadFiles(FLAGS_images);
  std::printf("%zu JPEG files, %d threads\n", files.size(), FLAGS_threads);
  for (const bool inception : {false, true}) {
    db::ImageTransformOptions options = TransformOptions(inception);
    options.channels_first = FLAGS_order == "NCHW";
    options.output_type = output_type;
    const std::vector<std::pair<const char*, Variant>> variants = {
        {"ours", Ours(options)},
        {"ours, whole files", OursWhole(options)},
        {"ours, stored pixels", OursStored(options, files)},
        {"turbo_region", TurboRegion(options)},
        {"opencv", OpenCv(options)}};
    std::vector<std::vector<Rates>> rates(variants.size());
    for (int round = 0; round < FLAGS_rounds; ++round) {
      for (size_t i = 0; i < variants.size(); ++i) {
        rates[i].push_back(Measure(files, variants[i].second));
      }
    }
    std::printf("%s\n", inception ? "inception" : "shorter");
    for (size_t i = 0; i < variants.size(); ++i) PrintRates(variants[i].first, rates[i]);
    const auto ratio = [&](double Rates::*which) {
      return Median(rates[0], which) / std::max(Median(rates[3], which), Median(rates[4], which));
    };
    std::printf("  ours / best peer: %.2f, %.2f by processor time\n", ratio(&Rates::wall),
                ratio(&Rates::processor));
    PrintDifference(files, inception);
  }
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Times the decoding and cropping of JPEG files.",
                            caffe2::Run);
}
