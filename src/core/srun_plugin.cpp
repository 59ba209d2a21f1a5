#include "core/srun_plugin.h"

#include <cstdlib>
#include <sstream>
#include <string_view>

namespace cb {
namespace {

struct SplitWords {
  std::string plugin = {};
  std::vector<std::string> others = {};
};

SplitWords split(const std::vector<std::string>& words) {
  constexpr std::string_view kOption = "--mpi";
  SplitWords out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--mpi="))
      out.plugin = words[i].substr(kOption.size() + 1);
    else if (words[i] != kOption)
      out.others.push_back(words[i]);
    else if (++i < words.size())
      out.plugin = words[i];
  }
  return out;
}

}  // namespace

std::string srun_plugin(const std::vector<std::string>& words) { return split(words).plugin; }

std::string srun_plugin_of_user() {
  const char* given = std::getenv("CLUSTERBENCH_SRUN_ARGS");
  std::istringstream text(given == nullptr ? "" : given);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return srun_plugin(words);
}

std::vector<std::string> without_srun_plugin(const std::vector<std::string>& words) {
  return split(words).others;
}

}  // namespace cb
