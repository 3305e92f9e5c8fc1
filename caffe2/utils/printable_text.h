// Text from models, records, files and stores, for a terminal.
#pragma once

#include <cctype>
#include <string>

namespace caffe2 {

// `text` with "?" for each control character but tabs and line feeds, so that a name in it cannot
// control a terminal. These are the codes 0 to 31 and 127 and, in UTF-8, U+0080 to U+009F.
inline std::string PrintableText(std::string text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_space = c == '\t' || c == '\n';
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (std::iscntrl(c) != 0 && !is_space) text[i] = '?';
    if (c == 0xc2 && next >= 0x80 && next < 0xa0) text.replace(i, 2, "?");
  }
  return text;
}

}  // namespace caffe2
