// The line that shows people the progress of a run on a terminal.
//
// A shard of `doppio run` has no terminal: its standard error is a pipe. So it writes the parts of
// the line to the pipe, as one line of text, and the launcher, which has the terminal, chooses the
// parts that fit. An environment variable from the launcher asks shard 0 to do so. It names the
// pipe, so that a shard whose standard error goes elsewhere (to a file, or through `tee`) writes
// plain lines only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caffe2 {

struct StatusBar {
  // A part of the line. No text has control characters.
  struct Field {
    std::string text, brief;  // in full, and for narrow terminals
    int rank = 0;             // fields with greater ranks are left out first
  };
  int64_t done = 0, total = 0;  // fill the bar
  std::vector<Field> fields;    // as they are shown, with the bar after the first; empty: no line
  bool in_log = true;           // false: a launcher shows the line, and does not log it

  // "epoch 3/90 [####      ] 2.4 %, ETA 1:02:03, loss 2.1034": at most `width` characters. First
  // the bar gets shorter, then all fields become brief, then the bar and whole fields are left out.
  std::string Fit(size_t width) const;
  // All fields in full, without a bar.
  std::string Text() const;

  // A line for the launcher, without its end.
  std::string Encode() const;
  // Nullopt for any other line.
  static std::optional<StatusBar> Decode(std::string_view line);
};

// "[#####     ]": a bar with `width` characters between brackets, filled to the fraction
// done / total; full if `total` is 0.
std::string BarText(int64_t done, int64_t total, int width);

// The variable with the StreamIdentity of the pipe to which a shard writes lines of Encode().
inline constexpr char kBarStreamVariable[] = "DOPPIO_BAR_STREAM";
// Tells open files apart; "" if the descriptor is closed.
std::string StreamIdentity(int fd);
// True if a launcher shows the StatusBar lines that this process writes to its standard error.
bool LauncherShowsBar();

// Characters in a row of the terminal; 80 if the terminal does not report it.
size_t TerminalWidth(int fd);

}  // namespace caffe2
