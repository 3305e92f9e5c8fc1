// Self-contained HTML pages: the file includes style, pictures and drawings.
#pragma once

#include <string>
#include <string_view>

namespace caffe2 {

// The text with &, <, >, " and ' as entities. Browsers show bytes that are not UTF-8
// as U+FFFD.
std::string EscapeHtml(std::string_view text);
std::string Base64(std::string_view bytes);

// A whole page: `body` is HTML, `title` is text. It is light or dark like the reader's system, and
// uses no network. Classes for `body`: table.data, td.number, .bar (a span with a width),
// .pictures, .note, .warning.
std::string HtmlPage(const std::string& title, const std::string& body);

// Throws IoError (kCannotWrite) if a page cannot be written to `path`, or would replace a file that
// is not empty and no HTML page.
void CheckPagePath(const std::string& path);

}  // namespace caffe2
