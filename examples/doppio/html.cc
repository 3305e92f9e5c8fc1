#include "examples/doppio/html.h"

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/utils/version.h"
#include "train/atomic_file.h"

namespace caffe2 {
namespace {

constexpr char kDocumentType[] = "<!DOCTYPE html>";

constexpr char kStyle[] = R"css(
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --paper: #ffffff; --card: #f4f6f9;
  --line: #d7dde5; --c0: #1f6fd0; --c1: #d9622b; --c2: #2a9d60; --c3: #a04bc4; --c4: #b8860b;
  --c5: #c2385d; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa6b5; --paper: #12161c;
  --card: #1c222b; --line: #343d49; --c0: #6aa9f5; --c1: #f0935f; --c2: #5fcf95; --c3: #c98be6;
  --c4: #e0b64a; --c5: #f07a97; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 1100px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 32px 0 8px; }
h3 { font-size: 15px; margin: 20px 0 4px; }
.card h3 { margin-top: 0; }
.grid + .scroll { margin-top: 12px; }
.note { color: var(--soft); }
.warning { color: var(--bad); }
table.data { border-collapse: collapse; font-variant-numeric: tabular-nums; }
table.data th, table.data td { padding: 3px 12px 3px 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
table.data th { color: var(--soft); font-weight: 500; }
table.data td.long { overflow-wrap: anywhere; min-width: 8em; }
table.data td.number, table.data th.number { text-align: right; white-space: nowrap; }
.bar { display: inline-block; height: 10px; min-width: 1px; background: var(--c0);
  border-radius: 2px; vertical-align: middle; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr));
  gap: 16px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px;
  min-width: 0; }
.scroll { overflow-x: auto; }
.pictures { display: flex; flex-wrap: wrap; gap: 10px 6px; }
.pictures figure { margin: 0; width: 120px; text-align: center; font-size: 12px; color: var(--soft); }
.pictures figcaption { overflow-wrap: anywhere; }
.pictures img { display: block; width: 72px; height: 72px; object-fit: contain;
  background: var(--card); border-radius: 4px; image-rendering: auto; }
.pictures figure img { margin: 0 auto; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 11px system-ui, "DejaVu Sans", sans-serif; }
.legend { display: flex; flex-wrap: wrap; gap: 0 16px; color: var(--soft); font-size: 12px; }
.legend i { display: inline-block; width: 10px; height: 10px; margin-right: 5px; border-radius: 2px; }
@media (max-width: 600px) { body { padding: 16px; } .card { padding: 10px; }
  .card svg { overflow: visible; } .card svg text { font-size: 15px; } }
code { font: 13px ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
footer { margin-top: 40px; color: var(--soft); font-size: 13px; }
)css";

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

std::string HtmlPage(const std::string& title, const std::string& body) {
  return std::string(kDocumentType) +
         "\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
         "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         EscapeHtml(title) + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n<h1>" +
         EscapeHtml(title) + "</h1>\n" + body + "\n<footer>Written by Doppio " +
         EscapeHtml(VersionAndCommit()) + ".</footer>\n</body>\n</html>\n";
}

void CheckPagePath(const std::string& path) {
  CheckCanWrite(path);
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  if (unknown || size == 0) return;  // a new file, or a device
  std::string start(sizeof(kDocumentType) - 1, '\0');
  std::ifstream(path, std::ios::binary)
      .read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start == kDocumentType) return;
  ThrowIoError(ExitCode::kCannotWrite, "a page would replace ", path,
               ", which is none: name another file");
}

}  // namespace caffe2
