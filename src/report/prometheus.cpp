#include "report/prometheus.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/text.h"

namespace cb {
namespace {

constexpr std::array kStates{State::pass,       State::warn,           State::fail,
                             State::incomplete, State::not_applicable, State::waived};

// A metric family: its help and type, then its lines.
class Family {
 public:
  Family(std::string name, std::string_view help) : name_(std::move(name)) {
    text_ = fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name_, help);
  }
  void add(const std::string& labels, double value) {
    text_ += fmt::format("{}{} {}\n", name_, labels.empty() ? "" : "{" + labels + "}", value);
    used_ = true;
  }
  std::string str() const { return used_ ? text_ : ""; }

 private:
  std::string name_, text_;
  bool used_ = false;
};

std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, prometheus_label(value));
}

std::string of_criterion(const CriterionVerdict& v) {
  return label("criterion", v.criterion->id) + "," + label("step", v.criterion->step);
}

}  // namespace

std::string prometheus_label(std::string_view text) {
  std::string out;
  for (const char c : terminal_safe(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string render_prometheus(const Campaign& campaign, const Judgement& judgement,
                              const SignoffCheck& signatures) {
  Family accepted("clusterbench_accepted", "Whether the campaign is accepted by its profile.");
  accepted.add(
      label("profile", judgement.judged_by.empty() ? campaign.profile.name : judgement.judged_by),
      judgement.overall() == State::pass ? 1 : 0);
  Family test("clusterbench_test_profile",
              "1 where figures are scripted: what is accepted then says nothing of a machine.");
  test.add("", judgement.test_profile ? 1 : 0);
  Family doubts("clusterbench_evidence_doubts",
                "What is wrong with the evidence as a whole; above 0 nothing is accepted.");
  doubts.add("", static_cast<double>(judgement.doubts.size()));
  Family counts("clusterbench_criteria", "Criteria by state.");
  for (const State s : kStates)
    counts.add(label("state", state_name(s)), static_cast<double>(judgement.count(s)));
  Family states("clusterbench_criterion_state", "The state of a criterion: 1 for the one it has.");
  Family ratios("clusterbench_criterion_ratio",
                "Value of the worst entity over the required value.");
  Family values("clusterbench_criterion_value", "Value of the worst entity in its unit.");
  Family failing("clusterbench_criterion_failing_entities", "Entities beyond the limit.");
  for (const CriterionVerdict& v : judgement.criteria) {
    const std::string criterion = of_criterion(v);
    states.add(criterion + "," + label("state", state_name(v.state)), 1);
    if (v.ratio) ratios.add(criterion, *v.ratio);
    if (v.value) values.add(criterion + "," + label("unit", v.unit), *v.value);
    failing.add(criterion, static_cast<double>(std::ranges::count_if(
                               v.failing, [](const Finding& f) { return !f.waived; })));
  }
  Family jobs("clusterbench_jobs", "Jobs by state.");
  std::map<std::string, double> by_state;
  for (const Job& job : campaign.jobs) ++by_state[job_state_name(job.state)];
  for (const auto& [state, n] : by_state) jobs.add(label("state", state), n);
  Family hosts("clusterbench_hosts", "Hosts that were asked for.");
  hosts.add("", static_cast<double>(campaign.hosts.size()));
  Family info("clusterbench_campaign_info", "What was judged, by what.");
  info.add(label("campaign", campaign.id) + "," + label("profile", campaign.profile.name) + "," +
               label("version", campaign.tool.version) + "," +
               label("commit", campaign.tool.commit),
           1);
  Family completed("clusterbench_last_completion_timestamp_seconds", "When the campaign ended.");
  if (const auto at = seconds_since_epoch(campaign.ended))
    completed.add("", static_cast<double>(*at));
  Family signed_by("clusterbench_signatures", "Signatures by what verification says of them.");
  std::map<std::string, double> by_signature;
  for (const Signoff& s : signatures.signoffs) ++by_signature[signature_state_name(s.state)];
  for (const auto& [state, n] : by_signature) signed_by.add(label("state", state), n);
  return accepted.str() + test.str() + doubts.str() + counts.str() + states.str() + ratios.str() +
         values.str() + failing.str() + jobs.str() + hosts.str() + info.str() + completed.str() +
         signed_by.str();
}

}  // namespace cb
