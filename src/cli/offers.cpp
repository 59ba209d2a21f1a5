// An inactive validator of CLI11 carries the words: it is not run and not shown by --help.
#include "cli/offers.h"

#include <algorithm>
#include <sstream>

namespace cb {
namespace {

constexpr const char* kName = "offers";

CLI::Validator* carrier(CLI::Option& option) {
  try {
    return option.get_validator(kName);
  } catch (const CLI::OptionNotFound&) {
    return nullptr;
  }
}

}  // namespace

std::vector<std::string> offered(CLI::Option& option) {
  const CLI::Validator* found = carrier(option);
  if (found == nullptr) return {};
  std::istringstream in(found->active(true).get_description());
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words;
}

CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& words) {
  if (words.empty()) return option;
  std::string text;
  for (const std::string& word : offered(*option)) text += word + ' ';
  for (const std::string& word : words) text += word + ' ';
  if (CLI::Validator* found = carrier(*option)) {
    found->description(text);
    return option;
  }
  return option->check(CLI::Validator(text).active(false), kName);
}

CLI::Option* offer_only(CLI::Option* option, const std::vector<std::string>& words) {
  return offer(option, words)->check(CLI::IsMember(words));
}

}  // namespace cb
