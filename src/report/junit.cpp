#include "report/junit.h"

#include <map>
#include <sstream>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kMaxEntities = 50;  // per criterion: GitLab refuses files beyond 30 MB

struct Suite {
  pugi::xml_node node;
  int tests = 0, failures = 0, errors = 0, skipped = 0;
};

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(terminal_safe(value).c_str());
}

pugi::xml_node add_case(Suite& suite, const std::string& domain, const std::string& name) {
  ++suite.tests;
  pugi::xml_node node = suite.node.append_child("testcase");
  set(node, "classname", "clusterbench." + domain);
  set(node, "name", name);
  set(node, "time", "0");
  return node;
}

void add_outcome(pugi::xml_node node, const char* kind, const std::string& message) {
  pugi::xml_node child = node.append_child(kind);
  set(child, "message", message);
}

void add_text(pugi::xml_node node, const std::string& text) {
  node.append_child("system-out").text().set(terminal_safe(text).c_str());
}

std::string finding_text(const Finding& f) {
  if (!f.detail.empty()) return say_all(Lang::en, f.detail);
  if (!f.value || !f.limit) return "";
  return fmt::format("{} where {} {} is required", format_value(*f.value, f.unit),
                     f.limit_is_minimum ? "at least" : "at most", format_value(*f.limit, f.unit));
}

// Adds the entities behind a failure, the worst first.
void add_entities(Suite& suite, const CriterionVerdict& v) {
  std::map<std::string, int> seen;
  for (const Finding& f : v.failing) {
    if (seen.size() == kMaxEntities) return;
    if (f.waived) continue;
    const std::string name = entity_name(f.entity);
    if (seen[name]++ > 0) continue;
    pugi::xml_node node = add_case(suite, v.criterion->domain, v.criterion->id + " " + name);
    ++suite.failures;
    add_outcome(node, "failure", finding_text(f));
  }
}

void add_criterion(Suite& suite, const CriterionVerdict& v) {
  pugi::xml_node node = add_case(suite, v.criterion->domain, v.criterion->id);
  switch (v.state) {
    case State::fail:
      ++suite.failures;
      add_outcome(node, "failure", v.reason);
      break;
    case State::incomplete:
      ++suite.errors;
      add_outcome(node, "error", "not measured: " + v.reason);
      break;
    case State::waived:
      ++suite.skipped;
      add_outcome(node, "skipped", v.reason);
      break;
    case State::not_applicable:
      ++suite.skipped;
      add_outcome(node, "skipped", "not applicable: " + v.reason);
      break;
    case State::warn:
      add_text(node, "warning: " + v.reason);
      break;
    case State::pass:
      if (v.value && v.limit)
        add_text(node, fmt::format("{}, required {}", format_value(*v.value, v.unit),
                                   format_value(*v.limit, v.unit)));
      break;
  }
  if (v.state == State::fail) add_entities(suite, v);
}

// Adds the signatures and the problems of what they cover. The caller makes no suite if nobody has
// signed.
void add_signatures(Suite& suite, const SignoffCheck& check) {
  const auto add = [&](const std::string& name) {
    ++suite.tests;
    pugi::xml_node node = suite.node.append_child("testcase");
    set(node, "classname", "clusterbench.signatures");
    set(node, "name", name);
    set(node, "time", "0");
    return node;
  };
  for (const Signoff& s : check.signoffs) {
    const pugi::xml_node node = add(s.file);
    const std::string what =
        fmt::format("{}: {} by {} ({})", signature_state_name(s.state), s.verdict, s.name, s.role);
    if (s.state == SignatureState::invalid) {
      ++suite.failures;
      add_outcome(node, "failure", what);
    } else {
      add_text(node, what);
    }
  }
  for (const std::string& problem : check.problems) {
    ++suite.failures;
    add_outcome(add(problem), "failure", problem);
  }
}

// Adds what is wrong with the evidence as a whole.
void add_doubts(Suite& suite, const Judgement& judgement) {
  for (const Said& doubt : judgement.doubts) {
    ++suite.errors;
    add_outcome(add_case(suite, "evidence", "evidence: " + doubt.text()), "error", doubt.text());
  }
}

// Adds a skipped test, not a passed one: figures that a script made up say nothing of a machine.
void add_test_profile(Suite& suite) {
  ++suite.skipped;
  add_outcome(add_case(suite, "profile", "test profile"), "skipped",
              say(Lang::en, {"verdict.test_profile", {}}));
}

// Adds an error, so that a pipeline that reads only this file does not see a pass.
void add_profile(Suite& suite, const Message& why) {
  ++suite.errors;
  add_outcome(add_case(suite, "host", "profile"), "error", say(Lang::en, why));
}

}  // namespace

std::string render_junit(const Campaign& campaign, const Judgement& judgement,
                         const SignoffCheck& signatures) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("testsuites");
  set(root, "name", "clusterbench");
  std::map<std::string, Suite> suites;
  const auto suite_of = [&](const std::string& name) -> Suite& {
    Suite& suite = suites[name];
    if (suite.node) return suite;
    suite.node = root.append_child("testsuite");
    set(suite.node, "name", "clusterbench." + name);
    set(suite.node, "hostname", campaign.hosts.empty() ? "" : campaign.hosts.front());
    // The format's schema has no time zone here.
    set(suite.node, "timestamp", campaign.started.substr(0, 19));
    set(suite.node, "time", "0");
    return suite;
  };
  if (!judgement.doubts.empty()) add_doubts(suite_of("evidence"), judgement);
  for (const CriterionVerdict& v : judgement.criteria)
    add_criterion(suite_of(v.criterion->domain), v);
  if (!signatures.signoffs.empty() || !signatures.problems.empty())
    add_signatures(suite_of("signatures"), signatures);
  if (const auto few = judgement.too_few_apply()) add_profile(suite_of("host"), *few);
  if (judgement.test_profile) add_test_profile(suite_of("profile"));
  for (auto& [name, suite] : suites) {
    set(suite.node, "tests", std::to_string(suite.tests));
    set(suite.node, "failures", std::to_string(suite.failures));
    set(suite.node, "errors", std::to_string(suite.errors));
    set(suite.node, "skipped", std::to_string(suite.skipped));
  }
  std::ostringstream out;
  document.save(out, " ");
  return out.str();
}

}  // namespace cb
