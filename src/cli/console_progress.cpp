#include "cli/console_progress.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr int kBarWidth = 24;

std::string bar(double share) {
  const int filled = static_cast<int>(share * kBarWidth);
  std::string out;
  for (int i = 0; i < kBarWidth; ++i) out += i < filled ? "━" : "┄";
  return out;
}

}  // namespace

ConsoleProgress::ConsoleProgress(bool enabled, bool no_color)
    : enabled_(enabled),
      terminal_(::isatty(STDERR_FILENO) == 1),
      color_(terminal_ && !no_color && std::getenv("NO_COLOR") == nullptr),
      start_(monotonic_seconds()),
      last_(start_) {}

void ConsoleProgress::update(double share, const std::string& text) {
  const double now = monotonic_seconds();
  if (!enabled_ || now - last_ < (terminal_ ? 0.1 : 10)) return;
  last_ = now;
  share = std::clamp(share, 0.0, 1.0);
  const double elapsed = now - start_;
  const std::string left =
      share > 0.1 ? fmt::format(", {} left", format_seconds(elapsed * (1 - share) / share)) : "";
  if (terminal_) {
    std::cerr << fmt::format("\r\033[K{}{}{} {:3.0f} % {}{}", color_ ? "\033[36m" : "", bar(share),
                             color_ ? "\033[0m" : "", share * 100, text, left)
              << std::flush;
    drawn_ = true;
  } else {
    std::cerr << fmt::format("{:3.0f} % {}{}\n", share * 100, text, left) << std::flush;
  }
}

void ConsoleProgress::row(const std::string& text) {
  if (!enabled_ || !terminal_) return;
  std::cerr << (drawn_ ? "\r\033[K" : "") << text << '\n' << std::flush;
  drawn_ = false;
}

void ConsoleProgress::done() {
  if (drawn_) std::cerr << "\r\033[K" << std::flush;
  drawn_ = false;
}

}  // namespace cb
