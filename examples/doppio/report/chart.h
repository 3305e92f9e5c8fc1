// Line charts as SVG.
#pragma once

#include <string>
#include <vector>

namespace caffe2::report {

struct Series {
  std::string name;
  std::vector<double> x, y;  // of equal length; values that are not finite are left out
  bool dots = false;         // marks each point, for series of few points
};

// A legend and an <svg> element with axes and ticks, in the colours of HtmlPage(). Series of more
// than a few hundred points are averaged over parts of the x axis. Returns "" if there is no point.
std::string ChartSvg(const std::vector<Series>& series, const std::string& x_title);

}  // namespace caffe2::report
