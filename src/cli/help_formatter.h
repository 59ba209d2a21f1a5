#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace cb {

// The lines of options in --help: columns by what a terminal shows, not by bytes ("…" has three),
// and "--spin,--no-spin" without CLI11's own mark of the negative form.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
};

}  // namespace cb
