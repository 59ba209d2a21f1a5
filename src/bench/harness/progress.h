#pragma once

#include <functional>
#include <string>

namespace cb {

// Takes a line that a user must see at once.
using Log = std::function<void(const std::string&)>;

// Tells the user how far a long measurement is, on stderr of rank 0: a bar on a terminal, else a
// line every ten seconds.
class Progress {
 public:
  virtual ~Progress() = default;
  // `share` in [0, 1] of the whole of the current record; text such as "fp64 4096".
  virtual void update(double share, const std::string& text) = 0;
  // A row of a table that grows while the case runs: for people who look on, so only a terminal has
  // it.
  virtual void row(const std::string& text) { static_cast<void>(text); }
  virtual void done() = 0;
};

}  // namespace cb
