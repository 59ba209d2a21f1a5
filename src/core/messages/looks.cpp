#include "core/messages/looks.h"

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace cb {
namespace {

// "{0} was at its power limit in {1} of {2} looks": counts of two records are counts of both. That
// is normal. Looks at a GPU that was throttled stay apart: one record's would hide in all the
// others'.
constexpr const char* kCounted = "gpu.at_limit";

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
  if (m.id != kCounted || m.args.size() != 3) return std::nullopt;
  const auto some = whole_number(m.args[1]), all = whole_number(m.args[2]);
  return some && all ? std::optional(LooksNote{*some, *all}) : std::nullopt;
}

std::string part_of(const Said& note) { return note.message().args[0].in(Lang::en).value_or(""); }

}  // namespace

std::vector<Said> looks_added_up(std::vector<Said> notes) {
  std::map<std::string, LooksNote> sums;
  for (const Said& note : notes) {
    const auto looks = looks_of(note);
    if (!looks) continue;
    LooksNote& sum = sums[part_of(note)];
    sum.some += looks->some;
    sum.all += looks->all;
  }
  for (Said& note : notes) {
    if (!looks_of(note)) continue;
    const auto& [some, all] = sums.at(part_of(note));
    note = said(kCounted, part_of(note), some, all);
  }
  return notes;
}

}  // namespace cb
