#include "cli/note_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.h"

namespace cb {
namespace {

// "{0} was at its power limit in {1} of {2} looks": counts of two records are counts of both.
constexpr std::array kCountedNotes{"gpu.at_limit", "gpu.throttled"};
constexpr size_t kLabelsShown = 4;

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

// Each such note with the counts of all that are about the same part.
void add_looks_up(std::vector<LabelledNote>& notes) {
  std::map<std::pair<std::string, std::string>, LooksNote> sums;
  const auto key = [](const Said& note) {
    return std::pair(note.message().id, note.message().args[0].in(Lang::en).value_or(""));
  };
  for (const LabelledNote& one : notes) {
    const auto looks = looks_of(one.note);
    if (!looks) continue;
    LooksNote& sum = sums[key(one.note)];
    sum.some += looks->some;
    sum.all += looks->all;
  }
  for (LabelledNote& one : notes) {
    if (!looks_of(one.note)) continue;
    const auto& [some, all] = sums.at(key(one.note));
    one.note = said(one.note.message().id, key(one.note).second, some, all);
  }
}

// The labels of the records that have a note.
std::string labels_text(const std::map<size_t, std::string>& records, size_t measured) {
  std::vector<std::string> labels;
  for (const auto& [record, label] : records)
    if (!label.empty() && std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
  if (labels.empty() || records.size() >= measured) return "";
  const size_t more = labels.size() > kLabelsShown ? labels.size() - (kLabelsShown - 1) : 0;
  labels.resize(labels.size() - more);
  const std::string others = more > 0 ? fmt::format(" and {} more", more) : "";
  return fmt::format("{}{}: ", fmt::join(labels, ", "), others);
}

}  // namespace

std::string note_lines(std::vector<LabelledNote> notes, size_t measured) {
  add_looks_up(notes);
  std::map<Said, std::map<size_t, std::string>> records_of;
  for (const LabelledNote& one : notes) records_of[one.note][one.record] = one.label;
  std::string out;
  for (const auto& [note, records] : records_of)
    out += fmt::format("  {}{}\n", labels_text(records, measured), terminal_safe(note.text()));
  return out;
}

std::vector<std::string> each_once(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto same = [&](const std::string& other) { return other == texts[i]; };
    if (std::any_of(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
    const auto times = std::count_if(texts.begin(), texts.end(), same);
    out.push_back(times == 1 ? texts[i] : fmt::format("{} ({} records)", texts[i], times));
  }
  return out;
}

}  // namespace cb
