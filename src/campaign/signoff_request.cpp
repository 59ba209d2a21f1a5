#include "campaign/signoff_request.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/suggest.h"
#include "core/text.h"
#include "judge/waivers_match.h"

namespace cb {
namespace {

bool is_word(std::span<const std::string_view> words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

void check_word(const char* option, std::span<const std::string_view> words,
                const std::string& word, Problems& problems) {
  if (word.empty())
    problems.add(option, fmt::format("is missing: {}", fmt::join(words, ", ")));
  else if (!is_word(words, word))
    problems.add(option, unknown_name(word, {words.begin(), words.end()}));
}

void check_day(const std::string& option, const std::string& day, const std::string& today,
               Problems& problems) {
  if (!is_date(day))
    problems.add(option, fmt::format("{} is not a day YYYY-MM-DD", day));
  else if (day < today)
    problems.add(option, fmt::format("{} is past", day));
}

void check_utf8(const std::string& option, const std::string& text, Problems& problems) {
  if (!is_utf8(text)) problems.add(option, "is not UTF-8: no document can hold it");
}

// A reader must see all of who signed, in one line.
void check_name(const std::string& option, const std::string& text, Problems& problems) {
  constexpr size_t kMax = 200;
  if (text.empty()) return;
  if (is_blank(text)) problems.add(option, "is blank");
  if (display_width(text) > kMax)
    problems.add(option, fmt::format("is longer than {} columns", kMax));
  if (is_utf8(text) && terminal_safe(text) != text)
    problems.add(option, "holds line ends or characters that nobody sees");
}

// The name without what a reader does not notice: blanks beside others or at an end, and the case
// of Latin letters.
std::string plain_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool blank = c == ' ' || c == '\t';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string person(const Signoff& s) { return fmt::format("{} ({})", s.name, s.role); }

}  // namespace

void check_words(const SignoffRequest& r, Problems& problems) {
  check_word("--role", kSignoffRoles, r.role, problems);
  if (r.name.empty()) problems.add("--name", "is missing: who signs?");
  check_word("--verdict", kSignoffVerdicts, r.verdict, problems);
  check_utf8("--name", r.name, problems);
  check_utf8("--title", r.title, problems);
  check_utf8("--company", r.company, problems);
  check_utf8("--remark", r.remark, problems);
  check_name("--name", r.name, problems);
  check_name("--title", r.title, problems);
  check_name("--company", r.company, problems);
  const std::string today = r.at.substr(0, 10);
  if (!r.until.empty()) check_day("--until", r.until, today, problems);
  for (const auto& [text, day] : r.items) {
    if (text.empty()) problems.add("--open-item", "has no text");
    check_utf8("--open-item", text, problems);
    check_day("--open-item " + text, day, today, problems);
  }
}

std::vector<OpenItem> dated_items(std::vector<OpenItem> open, const SignoffRequest& r) {
  for (OpenItem& item : open) item.due = r.verdict == "conditional" ? r.until : "";
  for (const auto& [text, day] : r.items) {
    bool known = false;
    for (OpenItem& item : open) {
      if (item.text != text) continue;
      item.due = day;
      known = true;
    }
    if (!known) open.push_back({"agreed", text, "", day});
  }
  return open;
}

void check_verdict(const SignoffRequest& r, const std::vector<OpenItem>& open, Problems& problems) {
  if (r.verdict == "conditional" && open.empty())
    problems.add("--verdict",
                 "conditional needs an open item: --open-item 'TEXT;YYYY-MM-DD', or accept");
  for (const OpenItem& item : open) {
    const std::string where = fmt::format("{} {}", item.kind, item.text);
    if (r.verdict == "accepted")
      problems.add(where, fmt::format("is {}: sign with --verdict conditional and a day, or reject",
                                      item.state.empty() ? "open" : item.state));
    else if (r.verdict == "conditional" && item.due.empty())
      problems.add(where, fmt::format("has no day by which it is closed: --until YYYY-MM-DD, or "
                                      "--open-item '{};YYYY-MM-DD'",
                                      item.text));
  }
}

void check_person(const SignoffRequest& r, const std::vector<Signoff>& earlier,
                  Problems& problems) {
  const std::optional<std::string> key =
      r.key ? std::optional<std::string>(r.key->public_key()) : std::nullopt;
  const Signoff* last = nullptr;
  for (const Signoff& s : earlier) {
    const bool same_person = s.role == r.role && plain_name(s.name) == plain_name(r.name);
    if (key && s.public_key == key && !same_person)
      problems.add("--key", fmt::format("is that of {}: a key stands for one person", person(s)));
    if (same_person && s.public_key != key)
      problems.add("--key",
                   fmt::format("{} signed {}: sign with the same key, or name the other "
                               "person as it is called",
                               person(s), s.public_key ? "with another one" : "without one"));
    if (same_person) last = &s;
  }
  if (last == nullptr) return;
  if (last->verdict == "accepted" || last->verdict == r.verdict)
    problems.add("--role", fmt::format("{} has signed already: {}, {}", person(*last), last->file,
                                       last->verdict));
}

void check_campaign(const Campaign& campaign, const CampaignFiles& files, const SignoffRequest& r,
                    Problems& problems) {
  if (campaign.ended.empty() || campaign.manifest.empty())
    problems.add("", "is not finished: complete it with clusterbench run --resume");
  else if (r.at < campaign.ended)
    problems.add("", fmt::format("ended at {}, later than this machine's clock ({}): set the clock",
                                 campaign.ended, r.at));
  for (const Said& warning : campaign.warnings) problems.add("", warning.text());
  for (const std::string& file : files.other)
    problems.add(file, "is no regular file: take it out, a link cannot be signed");
  for (const std::string& folder : files.empty)
    problems.add(folder, "is an empty directory: take it out, it cannot be signed");
  for (const std::string& file : files.regular) {
    if (!is_utf8(file))
      problems.add(terminal_safe(file), "has a name that is not UTF-8: rename it or take it out");
  }
}

}  // namespace cb
