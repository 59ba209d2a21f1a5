// The Chinese of what records, jobs and loading say. A sentence is found by its fixed words.
#include "report/phrases.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/args.h>
#include <fmt/format.h>

#include "report/phrase_tables.h"

namespace cb {
namespace {

// What stands at the placeholders where the text is this sentence; each takes as little as it can.
std::optional<std::vector<std::string>> match(std::string_view sentence, std::string_view text) {
  std::vector<std::string> out;
  for (;;) {
    const size_t open = sentence.find('{');
    const std::string_view fixed = sentence.substr(0, open);
    if (!text.starts_with(fixed)) return std::nullopt;
    text.remove_prefix(fixed.size());
    if (open == std::string_view::npos) return text.empty() ? std::optional(out) : std::nullopt;
    sentence.remove_prefix(open + 3);  // "{0}"
    const std::string_view next = sentence.substr(0, sentence.find('{'));
    const size_t end = next.empty() ? (sentence.empty() ? text.size() : std::string_view::npos)
                       : next.size() == sentence.size() ? text.rfind(next)
                                                        : text.find(next);
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::optional<std::string> find_translation(std::string_view text);

// Sentences are put together of a name, clauses and the next step: each is translated by itself.
// Nothing where none of them is known.
std::optional<std::string> find_in_parts(std::string_view text) {
  struct Joint {
    std::string_view en, zh;
    bool name_first;  // what stands before is a name, which has no translation
  };
  for (const Joint& j : {Joint{"; next: ", "；下一步：", false}, Joint{"; ", "；", false},
                         Joint{": ", "：", true}}) {
    const size_t at = text.find(j.en);
    if (at == std::string_view::npos || at == 0) continue;
    const std::string_view first = text.substr(0, at), rest = text.substr(at + j.en.size());
    const auto before = j.name_first ? std::nullopt : find_translation(first);
    const auto after = find_translation(rest);
    if (!before && !after) continue;
    return before.value_or(std::string(first)) + std::string(j.zh) +
           after.value_or(std::string(rest));
  }
  return std::nullopt;
}

std::optional<std::string> find_translation(std::string_view text) {
  for (const Phrase& phrase : all_phrases()) {
    const auto found = match(phrase.en, text);
    if (!found) continue;
    fmt::dynamic_format_arg_store<fmt::format_context> args;
    for (const std::string& arg : *found) args.push_back(translated(Lang::zh, arg));
    return fmt::vformat(phrase.zh, args);
  }
  return find_in_parts(text);
}

}  // namespace

std::span<const Phrase> all_phrases() {
  static const std::vector<Phrase> all = [] {
    std::vector<Phrase> out;
    for (const auto table : {campaign_phrases(), host_phrases(), gpu_phrases(), xid_phrases(),
                             storage_phrases(), network_phrases(), suspect_phrases()})
      out.insert(out.end(), table.begin(), table.end());
    return out;
  }();
  return all;
}

std::string translated(Lang lang, std::string_view text) {
  if (lang == Lang::en || text.empty()) return std::string(text);
  return find_translation(text).value_or(std::string(text));
}

std::string explained(Lang lang, const std::vector<Message>& messages) {
  std::vector<Message> local = messages;
  for (Message& m : local) {
    for (std::string& arg : m.args) {
      // A reason comes with its own colon in front.
      const bool colon = arg.starts_with(": ");
      arg = (colon ? ": " : "") + translated(lang, std::string_view(arg).substr(colon ? 2 : 0));
    }
  }
  return say_all(lang, local);
}

}  // namespace cb
