// Pieces of tables of HtmlPage.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>

#include "examples/doppio/html.h"

namespace caffe2::report {

// Cells of text, aligned to the right if they hold numbers.
inline std::string Cell(const std::string& text, bool number = false) {
  return std::string(number ? "<td class=\"number\">" : "<td>") + EscapeHtml(text) + "</td>";
}
inline std::string Head(const std::string& text, bool number = false) {
  return std::string(number ? "<th class=\"number\">" : "<th>") + EscapeHtml(text) + "</th>";
}
// A cell of text that may be long and have no blanks, such as a path: it may break anywhere.
inline std::string LongCell(const std::string& text) {
  return "<td class=\"long\">" + EscapeHtml(text) + "</td>";
}
inline std::string Row(const std::string& cells) { return "<tr>" + cells + "</tr>"; }
inline std::string Table(const std::string& rows) {
  return "<div class=\"scroll\"><table class=\"data\">" + rows + "</table></div>";
}

// A cell with a bar: `share` of the full width, at most 1.
inline std::string BarCell(double share) {
  constexpr double kFull = 200;  // pixels
  return "<td><span class=\"bar\" style=\"width:" +
         std::to_string(static_cast<int>(kFull * std::clamp(share, 0., 1.))) + "px\"></span></td>";
}

// Formats one number as printf does.
inline std::string Formatted(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

}  // namespace caffe2::report
