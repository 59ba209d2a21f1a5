#include "cli/gate_cmd_lines.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kWidestId = 40;
constexpr size_t kMaxDoubts = 10;

struct Mark {
  const char* sign;
  const char* color;
};

Mark mark_of(State state) {
  switch (state) {
    case State::pass:
      return {"✓", "\033[32m"};
    case State::warn:
      return {"!", "\033[33m"};
    case State::fail:
      return {"✗", "\033[31m"};
    case State::incomplete:
      return {"?", "\033[33m"};
    case State::not_applicable:
      return {"–", "\033[2m"};
    case State::waived:
      return {"~", "\033[33m"};
  }
  return {" ", ""};
}

std::string paint(const std::string& text, const char* code, bool color) {
  return color ? code + text + "\033[0m" : text;
}

// "462.1 ≥ 430 GB/s": the unit appears once if both have the same.
std::string comparison(const CriterionVerdict& v) {
  const ValueText value = format_value_parts(*v.value, v.unit);
  const ValueText limit = format_value_parts(*v.limit, v.unit);
  const bool holds = v.limit_is_minimum ? *v.value >= *v.limit : *v.value <= *v.limit;
  const char* sign = v.limit_is_minimum ? (holds ? "≥" : "<") : (holds ? "≤" : ">");
  return fmt::format("{}{} {} {} {}", value.number,
                     value.unit == limit.unit ? "" : " " + value.unit, sign, limit.number,
                     limit.unit);
}

std::string source_text(const Source& source) {
  const std::string date = source.date.empty() ? "" : ", " + source.date;
  return terminal_safe(fmt::format("{} ({}){}", source.kind, source.ref.en, date));
}

bool is_metric(const CriterionVerdict& v) {
  return std::holds_alternative<MetricRule>(v.criterion->rule);
}

// "p05 ", or nothing if the median is compared.
std::string statistic_text(const CriterionVerdict& v) {
  const std::string& statistic = std::get<MetricRule>(v.criterion->rule).statistic;
  return statistic == "median" ? "" : statistic + " ";
}

std::string figures(const CriterionVerdict& v) {
  std::string out = pad_right(statistic_text(v) + comparison(v), 28);
  if (v.worst) out += "  " + pad_right("worst " + terminal_safe(entity_name(*v.worst)), 24);
  if (!v.at.empty()) out += "  at " + terminal_safe(v.at);
  if (v.ceiling && v.ceiling->value > 0)
    out +=
        fmt::format("  {:.0f} % of {} ({})", *v.value / v.ceiling->value * 100,
                    format_value(v.ceiling->value, v.unit), terminal_safe(v.ceiling->how.text()));
  return out;
}

// "; 3 parts, by W1, W2", or nothing if the line above has said all.
std::string waived_parts(const CriterionVerdict& v) {
  if (v.failing.size() < 2) return "";
  std::string ids;
  for (const Waiver* w : v.waivers) ids += (ids.empty() ? "" : ", ") + terminal_safe(w->id);
  return fmt::format("; {} parts, by {}", v.failing.size(), ids);
}

std::string body(const CriterionVerdict& v) {
  const std::string source = source_text(v.criterion->source);
  switch (v.state) {
    case State::not_applicable:
      return "not applicable: " + terminal_safe(v.reason);
    case State::incomplete:
      return "not measured: " + terminal_safe(v.reason);
    case State::waived:
      return fmt::format("{}  waived until {} by {}, {}{}",
                         is_metric(v) ? figures(v) : terminal_safe(v.reason),
                         terminal_safe(v.waiver->expires), terminal_safe(v.waiver->approver),
                         terminal_safe(v.waiver->ticket), waived_parts(v));
    default:
      break;
  }
  if (!is_metric(v) || !v.value || !v.limit)
    return fmt::format("{}  {}", pad_right(terminal_safe(v.reason), 54), source);
  std::string out = fmt::format("{}  {}", figures(v), source);
  if (v.state != State::pass || !v.reason.empty()) out += "\n    " + terminal_safe(v.reason);
  return out;
}

// Doubts about the evidence as a whole come before everything that rests on it.
std::string doubt_lines(const Judgement& judgement, bool color) {
  const Mark mark = mark_of(State::incomplete);
  std::string out;
  for (size_t i = 0; i < std::min(judgement.doubts.size(), kMaxDoubts); ++i)
    out +=
        fmt::format("{} evidence  not as it was left by the run: {}\n",
                    paint(mark.sign, mark.color, color), terminal_safe(judgement.doubts[i].text()));
  if (judgement.doubts.size() > kMaxDoubts)
    out += fmt::format("{} evidence  {} more\n", paint(mark.sign, mark.color, color),
                       judgement.doubts.size() - kMaxDoubts);
  return out;
}

}  // namespace

std::string gate_lines(const Judgement& judgement, bool color) {
  size_t width = 0;
  for (const CriterionVerdict& v : judgement.criteria)
    width = std::max(width, display_width(terminal_safe(v.criterion->id)));
  width = std::min(width, kWidestId);
  std::string out = doubt_lines(judgement, color);
  for (const CriterionVerdict& v : judgement.criteria) {
    const Mark mark = mark_of(v.state);
    out += fmt::format("{} {}  {}\n", paint(mark.sign, mark.color, color),
                       pad_right(terminal_safe(v.criterion->id), width), body(v));
  }
  if (!judgement.proofs.empty()) {
    const Mark mark = mark_of(judgement.proven ? State::pass : State::incomplete);
    out +=
        fmt::format("{} {}  {}\n", paint(mark.sign, mark.color, color), pad_right("proofs", width),
                    terminal_safe(say_all(Lang::en, judgement.proofs)));
  }
  if (const auto few = judgement.too_few_apply()) {
    const Mark mark = mark_of(State::incomplete);
    out += fmt::format("{} {}  {}\n", paint(mark.sign, mark.color, color),
                       pad_right("profile", width), say(Lang::en, *few));
  }
  return out;
}

std::string verdict_line(const Judgement& judgement, bool color) {
  const State overall = judgement.overall();
  const char* word = overall == State::pass   ? "ACCEPTED"
                     : overall == State::fail ? "NOT ACCEPTED"
                                              : "INCOMPLETE";
  std::string counts;
  for (const State state : {State::pass, State::fail, State::incomplete, State::warn, State::waived,
                            State::not_applicable}) {
    const size_t n = judgement.count(state);
    if (n == 0 && state != State::pass && state != State::warn) continue;
    const std::string name = state == State::warn             ? (n == 1 ? "warning" : "warnings")
                             : state == State::not_applicable ? "not applicable"
                                                              : state_name(state);
    counts += fmt::format("{}{} {}", counts.empty() ? "" : " · ", n, name);
  }
  if (!judgement.doubts.empty()) counts += " · evidence in doubt";
  if (!judgement.judged_by.empty())
    counts += fmt::format(" · judged by {}, not by the campaign's own profile",
                          terminal_safe(judgement.judged_by));
  if (judgement.test_profile) counts += " · test profile, no machine was measured";
  return fmt::format("{}  {}", paint(word, mark_of(overall).color, color), counts);
}

bool stdout_color(bool no_color) {
  return !no_color && ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

std::string today_utc() { return utc_now().substr(0, 10); }

}  // namespace cb
