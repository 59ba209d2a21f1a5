#include "core/messages/looks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cb {
namespace {

// "{0} was at its power limit in {1} of {2} looks": counts of two records are counts of both.
constexpr std::array kCountedNotes{"gpu.at_limit", "gpu.throttled"};
std::optional<uint64_t> whole_number(const Arg& arg) {
  const std::string text = arg.in(Lang::en).value_or("");
  uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(out)
                                                                  : std::nullopt;
}

struct LooksNote {
  uint64_t some, all;
};
std::optional<LooksNote> looks_of(const Said& note) {
  const Message& m = note.message();
  if (std::ranges::find(kCountedNotes, m.id) == kCountedNotes.end() || m.args.size() != 3)
    return std::nullopt;
  const auto some = whole_number(m.args[1]), all = whole_number(m.args[2]);
  return some && all ? std::optional(LooksNote{*some, *all}) : std::nullopt;
}

// What is counted, and of which part.
std::pair<std::string, std::string> about(const Said& note) {
  return {note.message().id, note.message().args[0].in(Lang::en).value_or("")};
}

}  // namespace

std::vector<Said> looks_added_up(std::vector<Said> notes) {
  std::map<std::pair<std::string, std::string>, LooksNote> sums;
  for (const Said& note : notes) {
    const auto looks = looks_of(note);
    if (!looks) continue;
    LooksNote& sum = sums[about(note)];
    sum.some += looks->some;
    sum.all += looks->all;
  }
  for (Said& note : notes) {
    if (!looks_of(note)) continue;
    const auto& [some, all] = sums.at(about(note));
    note = said(note.message().id, note.message().args[0].in(Lang::en).value_or(""), some, all);
  }
  return notes;
}

}  // namespace cb
