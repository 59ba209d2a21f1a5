#include "judge/verdict_gaps.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/profile_drills.h"

namespace cb {
namespace {

constexpr size_t kNamedMembers = 4;  // of a group; its record names the others

}  // namespace

std::string job_place(const Job& job) {
  if (!job.host.empty()) return job.host;
  if (job.group.empty()) return "cluster";
  if (job.members.empty() || job.members.size() > kNamedMembers) return job.group;
  return fmt::format("{} ({})", job.group, fmt::join(job.members, ", "));
}

const std::vector<std::string>& job_hosts(const Job& job, const HostNames& names) {
  return job.members.empty() ? names.expected() : job.members;
}

bool is_open(const Job& job) {
  return job.state != JobState::done || (job.document && job.document->run.partial);
}

std::vector<std::string> hosts_left_open(const Job& job) {
  return job.members.empty() ? std::vector<std::string>{job.host} : job.members;
}

std::string job_log(const Job& job) { return job.log.empty() ? "logs/" : job.log; }

namespace {

// True if a rank of the job was killed: "it ended with code 137: …", with or without what is known.
bool tells_of_killed_rank(const Said& reason) {
  const Message* outer = &reason.message();
  if (outer->id == "end.of_log" && !outer->args.empty()) outer = outer->args[0].message();
  return outer != nullptr && outer->id == "end.rank_killed";
}

// Returns the record that says what made the job fail, or null. Of a job of which a rank was killed
// it is what had failed before, and is a gap of its own (record_gap).
const Record* errored_record(const Job& job) {
  if (job.state != JobState::failed || !job.document) return nullptr;
  if (tells_of_killed_rank(job.reason)) return nullptr;
  const auto& records = job.document->records;
  const auto found = std::ranges::find_if(
      records, [](const Record& r) { return std::holds_alternative<Errored>(r.outcome); });
  return found == records.end() ? nullptr : &*found;
}

}  // namespace

Message job_gap(const Job& job) {
  if (is_drill_step(job.step) && job.curable)
    return {"gap.drill_failed", {job.step, job_place(job), job.reason}};
  if (const Record* record = errored_record(job)) return record_gap(job, *record);
  const Arg because = job.reason.empty() ? Arg("") : Arg(Message("gap.because", {job.reason}));
  if (!job.curable) return {"gap.final", {job.step, job_place(job), because}};
  Message out{std::string("gap.") + job_state_name(job.state), {job.step, job_place(job), because}};
  if (job.log.empty()) return out;
  out.id += "_log";
  out.args.push_back(job.log);
  return out;
}

Message record_gap(const Job& job, const Record& record) {
  if (const auto* e = std::get_if<Errored>(&record.outcome))
    return {"gap.errored", {job.step, e->where, e->what, job_log(job)}};
  const auto* s = std::get_if<Skipped>(&record.outcome);
  return {"gap.skipped", {job.step, job_place(job), s != nullptr ? s->reason : Said()}};
}

Message failed_check_message(const Entity& entity, const Check& check) {
  const std::string name = entity_name(entity);
  return check.detail.empty() ? Message{"why.wrong", {name, check.name}}
                              : Message{"why.wrong_detail", {name, check.name, check.detail}};
}

}  // namespace cb
