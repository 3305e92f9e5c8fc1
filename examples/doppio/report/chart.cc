#include "examples/doppio/report/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "examples/doppio/html.h"

namespace caffe2::report {
namespace {

constexpr double kWidth = 560, kHeight = 280;
constexpr double kLeft = 56, kRight = 20, kTop = 28, kBottom = 38;
constexpr double kAbove = 16;  // empty, above the topmost label
constexpr size_t kMaxPoints = 300;
constexpr size_t kColors = 6;  // --c0 to --c5 of HtmlPage

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

std::string Label(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", std::abs(value) < 1e-12 ? 0. : value);
  return text;
}

// Only finite points, at most kMaxPoints: each the mean of neighbours.
Series Thinned(const Series& series) {
  Series finite{series.name, {}, {}, series.dots};
  for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
    if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) continue;
    finite.x.push_back(series.x[i]);
    finite.y.push_back(series.y[i]);
  }
  const size_t n = finite.x.size();
  if (n <= kMaxPoints) return finite;
  Series thin{series.name, {}, {}, series.dots};
  for (size_t part = 0; part < kMaxPoints; ++part) {
    const size_t begin = part * n / kMaxPoints, end = (part + 1) * n / kMaxPoints;
    double x = 0, y = 0;
    for (size_t i = begin; i < end; ++i) {
      x += finite.x[i];
      y += finite.y[i];
    }
    thin.x.push_back(x / static_cast<double>(end - begin));
    thin.y.push_back(y / static_cast<double>(end - begin));
  }
  return thin;
}

// The range of an axis and the distance of its ticks: 1, 2 or 5 times a power of ten.
struct Axis {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double step = 1;

  void Include(const std::vector<double>& values) {
    for (const double value : values) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  void Finish(int ticks) {
    if (low == high) {
      const double margin = low == 0 ? 1 : std::abs(low) * 0.5;
      low -= margin;
      high += margin;
    }
    const double raw = (high - low) / ticks, power = std::pow(10, std::floor(std::log10(raw)));
    step = 10 * power;
    for (const double factor : {5., 2., 1.}) {
      if (factor * power >= raw) step = factor * power;
    }
  }
  // After Finish(): the range begins and ends at a tick, so that both ends have a number.
  void RoundOut() {
    low = std::floor(low / step + 1e-9) * step;
    high = std::ceil(high / step - 1e-9) * step;
  }
  double At(double value, double begin, double end) const {
    return begin + (value - low) / (high - low) * (end - begin);
  }
};

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + Number(x) + "\" y=\"" + Number(y) + "\" text-anchor=\"" + anchor + "\">" +
         EscapeHtml(text) + "</text>";
}

std::string Line(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + Number(x1) + "\" y1=\"" + Number(y1) + "\" x2=\"" + Number(x2) +
         "\" y2=\"" + Number(y2) + "\" stroke=\"var(--line)\"/>";
}

std::string Ticks(const Axis& x, const Axis& y) {
  std::string svg;
  for (double v = y.low; v <= y.high + y.step * 1e-9; v += y.step) {
    const double at = y.At(v, kHeight - kBottom, kTop);
    svg += Line(kLeft, at, kWidth - kRight, at) + Text(kLeft - 6, at + 4, "end", Label(v));
  }
  for (double v = std::ceil(x.low / x.step) * x.step; v <= x.high + x.step * 1e-9; v += x.step) {
    const double at = x.At(v, kLeft, kWidth - kRight);
    svg += Line(at, kHeight - kBottom, at, kHeight - kBottom + 4) +
           Text(at, kHeight - kBottom + 16, "middle", Label(v));
  }
  return svg;
}

std::string Color(size_t index) { return "var(--c" + std::to_string(index % kColors) + ")"; }

std::string Plot(const Series& series, size_t index, const Axis& x, const Axis& y) {
  const std::string color = Color(index);
  std::string points, dots;
  for (size_t i = 0; i < series.x.size(); ++i) {
    const std::string px = Number(x.At(series.x[i], kLeft, kWidth - kRight));
    const std::string py = Number(y.At(series.y[i], kHeight - kBottom, kTop));
    points += (points.empty() ? "" : " ") + px + "," + py;
    if (series.dots || series.x.size() == 1) {
      dots += "<circle cx=\"" + px + "\" cy=\"" + py + "\" r=\"3\" fill=\"" + color + "\"/>";
    }
  }
  return "<polyline fill=\"none\" stroke=\"" + color +
         "\" stroke-width=\"1.6\" stroke-linejoin=\"round\" points=\"" + points + "\"/>" + dots;
}

}  // namespace

std::string ChartSvg(const std::vector<Series>& series, const std::string& x_title) {
  Axis x, y;
  std::vector<Series> thin;
  for (const Series& each : series) {
    thin.push_back(Thinned(each));
    x.Include(thin.back().x);
    y.Include(thin.back().y);
  }
  if (x.low > x.high) return "";
  x.Finish(6);
  y.Finish(5);
  y.RoundOut();
  std::string svg = "<svg viewBox=\"0 " + Number(kAbove) + " " + Number(kWidth) + " " +
                    Number(kHeight - kAbove) + "\" role=\"img\">" + Ticks(x, y);
  std::string legend;
  for (size_t i = 0; i < thin.size(); ++i) {
    if (thin[i].x.empty()) continue;
    svg += Plot(thin[i], i, x, y);
    legend += "<span><i style=\"background:" + Color(i) + "\"></i>" + EscapeHtml(thin[i].name) +
              "</span>";
  }
  return "<div class=\"legend\">" + legend + "</div>" + svg +
         Text((kLeft + kWidth - kRight) / 2, kHeight - 6, "middle", x_title) + "</svg>";
}

}  // namespace caffe2::report
