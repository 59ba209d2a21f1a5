#include "cli/note_lines.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/messages/looks.h"
#include "core/text.h"

namespace cb {
namespace {

constexpr size_t kLabelsShown = 4;

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

std::string note_lines(const std::vector<LabelledNote>& notes, size_t measured) {
  std::vector<Said> texts;
  for (const LabelledNote& one : notes) texts.push_back(one.note);
  texts = looks_added_up(std::move(texts));
  std::map<Said, std::map<size_t, std::string>> records_of;
  for (size_t i = 0; i < notes.size(); ++i) records_of[texts[i]][notes[i].record] = notes[i].label;
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
