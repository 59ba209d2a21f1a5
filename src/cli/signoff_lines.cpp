#include "cli/signoff_lines.h"

#include <fmt/format.h>

#include "cli/gate_cmd_lines.h"
#include "core/units.h"

namespace cb {
namespace {

const char* mark_of(SignatureState state) {
  switch (state) {
    case SignatureState::valid:
      return "✓";
    case SignatureState::invalid:
      return "✗";
    default:
      return "?";
  }
}

std::string key_text(const Signoff& s) {
  if (!s.public_key) return "no key";
  return "key " + (s.key_name.empty() ? *s.public_key + ", not listed" : s.key_name);
}

// The number of files that the run wrote, then the names of the others: reports, and what people
// added.
std::string signed_files_text(const Signoff& s) {
  std::string more;
  size_t measured = 0;
  for (const auto& [file, digest] : s.files) {
    const bool of_run = file.starts_with("records/") || file.starts_with("proofs/") ||
                        file.starts_with("logs/") || file == "campaign.json" ||
                        file == "journal.jsonl" || file == "MANIFEST.sha256";
    measured += of_run ? 1 : 0;
    if (!of_run) more += ", " + file;
  }
  return fmt::format("{} files: {} of the run{}", s.files.size(), measured, more);
}

// How bad a waived value may be, in the unit of what it waives.
std::string limit_of(const Waiver& waiver, const Judgement& judgement) {
  for (const CriterionVerdict& v : judgement.criteria) {
    if (v.criterion->id == waiver.criterion) return format_value(waiver.limit, v.unit);
  }
  return fmt::format("{:g}", waiver.limit);
}

}  // namespace

std::string person_text(const Signoff& s) {
  return fmt::format("{} ({}){}{}", s.name, s.role, s.title.empty() ? "" : ", " + s.title,
                     s.company.empty() ? "" : ", " + s.company);
}

std::string open_item_line(const OpenItem& item) {
  return fmt::format("  open: {} {}{}{}", item.kind, item.text,
                     item.state.empty() ? "" : ", " + item.state,
                     item.due.empty() ? "" : ", by " + item.due);
}

std::string signature_line(const Signoff& s) {
  return fmt::format(
      "{} {}: {}, {}, {}{}", mark_of(s.state), person_text(s), s.verdict, s.at, key_text(s),
      s.stamped_at.empty()
          ? ""
          : ", time stamp of " + s.stamped_at + " (authority not checked: openssl ts -verify)");
}

std::vector<std::string> signing_lines(const Campaign& campaign, const Judgement& judgement,
                                       const Signoff& s, const std::vector<Signoff>& earlier) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view what, const std::string& text) {
    out.push_back(fmt::format("{:10}{}", what, text));
  };
  add("campaign", fmt::format("{}, profile {}, {} to {}", campaign.id, campaign.profile.name,
                              campaign.started, campaign.ended));
  add("measured", verdict_line(judgement, false));
  for (const Signoff& e : earlier) add("before", signature_line(e));
  add("verdict", s.verdict);
  for (const OpenItem& item : s.open) out.push_back(open_item_line(item));
  for (const Waiver& w : s.waivers)
    out.push_back(fmt::format("  waiver: {} {} {}, up to {}, {}, {}, {}, until {}", w.id,
                              w.criterion, w.scope, limit_of(w, judgement), w.reason, w.ticket,
                              w.approver, w.expires));
  if (s.open.empty()) add("open", "nothing");
  add("signed by", person_text(s));
  add("key", s.public_key.value_or("none: anybody could have written this signature; --key FILE"));
  add("signs", signed_files_text(s));
  add("manifest", s.manifest_sha256);
  add("digest", s.digest);
  return out;
}

}  // namespace cb
