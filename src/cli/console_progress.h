#pragma once

#include "bench/harness/progress.h"

namespace cb {

// On a terminal, draws a bar at most ten times a second; elsewhere prints a line at most every ten
// seconds. Shows the remaining time once a tenth is done.
class ConsoleProgress final : public Progress {
 public:
  ConsoleProgress(bool enabled, bool no_color);
  void update(double share, const std::string& text) override;
  void row(const std::string& text) override;
  void done() override;

 private:
  bool enabled_;
  bool terminal_;
  bool color_;
  bool drawn_ = false;
  double start_ = 0;
  double last_ = 0;
};

}  // namespace cb
