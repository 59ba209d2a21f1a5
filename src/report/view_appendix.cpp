// The part that lets another engineer check and repeat the campaign: jobs that did not finish,
// commands, environment, raw data.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/units.h"
#include "report/digests.h"
#include "report/view_parts.h"

namespace cb {
namespace {

constexpr size_t kMaxJobs = 200;
constexpr size_t kMaxFiles = 100;

const char* job_state_id(JobState state) {
  switch (state) {
    case JobState::done:
      return "job.done";
    case JobState::failed:
      return "job.failed";
    case JobState::deadline:
      return "job.deadline";
    case JobState::not_applicable:
      return "job.not_applicable";
    case JobState::missing:
      return "job.missing";
  }
  return "job.missing";
}

State state_of(JobState state) {
  return state == JobState::not_applicable ? State::not_applicable : State::incomplete;
}

std::string host_text(const Job& job, const Texts& t) {
  return job.label().empty() ? t("job.all_hosts") : job.label();
}

Table unfinished_table(const Campaign& campaign, const Texts& t, size_t& left_out) {
  Table table{.caption = t("jobs.caption"),
              .columns = {{t("col.result")},
                          {t("col.step")},
                          {t("col.host")},
                          {t("col.what")},
                          {t("col.log"), false, true}}};
  for (const Job& job : campaign.jobs) {
    if (job.state == JobState::done) continue;
    if (table.rows.size() == kMaxJobs) {
      ++left_out;
      continue;
    }
    const State state = state_of(job.state);
    table.rows.push_back(
        {state,
         {std::string(state_mark(state)) + " " + t(job_state_id(job.state)), job.step,
          host_text(job, t), job.reason.empty() ? "–" : job.reason.in(t.lang()),
          job.log.empty() ? "–" : job.log}});
  }
  return table;
}

// Records of jobs that hold no number, and documents that ended early.
Items records_without_number(const Campaign& campaign, const Texts& t) {
  Items out;
  for (const Job& job : campaign.jobs) {
    if (!job.document) continue;
    const std::string where = host_text(job, t);
    if (job.document->run.partial)
      out.lines.push_back(
          t("jobs.partial", job.step, where, job.document->run.partial->in(t.lang())));
    for (const Record& record : job.document->records) {
      if (const auto* skipped = std::get_if<Skipped>(&record.outcome))
        out.lines.push_back(t("jobs.skipped", job.step, where, skipped->reason.in(t.lang())));
      if (const auto* errored = std::get_if<Errored>(&record.outcome))
        out.lines.push_back(
            t("jobs.errored", job.step, where, errored->where, errored->what.in(t.lang())));
    }
  }
  if (out.lines.size() > kMaxJobs) {
    const size_t more = out.lines.size() - kMaxJobs;
    out.lines.resize(kMaxJobs);
    out.lines.push_back(t("list.more", more));
  }
  return out;
}

// Jobs that left more than one document, with the file of each attempt.
Items repeated_jobs(const Campaign& campaign, const Texts& t) {
  Items out;
  for (const Job& job : campaign.jobs) {
    if (job.attempts.size() < 2) continue;
    std::vector<std::string> files;
    for (const JobAttempt& a : job.attempts)
      files.push_back(fmt::format("{} {}", a.number, a.file));
    out.lines.push_back(t("jobs.attempts", job.step, host_text(job, t), name_list(files, 8, t)));
  }
  if (out.lines.size() > kMaxJobs) {
    const size_t more = out.lines.size() - kMaxJobs;
    out.lines.resize(kMaxJobs);
    out.lines.push_back(t("list.more", more));
  }
  return out;
}

// The command of each step's first job; those of the other jobs differ only in the host.
Listing commands_listing(const Campaign& campaign, const Texts& t) {
  Listing out{.caption = t("repeat.steps")};
  for (const Step& step : campaign.profile.steps) {
    std::vector<const Job*> jobs;
    for (const Job& job : campaign.jobs) {
      if (job.step == step.id && !job.command.empty()) jobs.push_back(&job);
    }
    if (jobs.empty()) continue;
    std::string heading = "# " + step.id;
    if (!jobs.front()->label().empty()) heading += " · " + jobs.front()->label();
    if (jobs.size() > 1) heading += " " + t.count("repeat.more_jobs", jobs.size() - 1);
    out.lines.push_back(heading);
    out.lines.push_back(shell_line(jobs.front()->command));
  }
  return out;
}

// NAME=value of every job, with the hosts of each value if values differ.
Listing environment_listing(const Campaign& campaign, const Texts& t) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> names;
  for (const Job& job : campaign.jobs) {
    if (!job.document) continue;
    for (const auto& [name, value] : job.document->run.environment)
      names[name][value].push_back(job.host.empty() ? job.step : job.host);
  }
  Listing out{.caption = t("repeat.environment")};
  for (auto& [name, values] : names) {
    for (auto& [value, where] : values) {
      std::ranges::sort(where);
      where.erase(std::unique(where.begin(), where.end()), where.end());
      std::string line = shell_line({name + "=" + value});
      if (values.size() > 1) line += "  # " + name_list(where, 6, t);
      out.lines.push_back(line);
    }
  }
  return out;
}

Items build_items(const ToolInfo& tool, const Texts& t) {
  Items out;
  std::string build;
  for (const auto& [name, value] : tool.build)
    build += (build.empty() ? "" : " · ") + name + " " + value;
  out.lines.push_back(t("repeat.tool", tool.version, tool.commit));
  if (!build.empty()) out.lines.push_back(t("repeat.build", build));
  return out;
}

}  // namespace

Section jobs_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("jobs.heading"), {}};
  const auto done =
      static_cast<size_t>(std::ranges::count(in.campaign.jobs, JobState::done, &Job::state));
  out.blocks.emplace_back(Paragraph{t("jobs.done", done, in.campaign.jobs.size())});
  size_t left_out = 0;
  Table table = unfinished_table(in.campaign, t, left_out);
  if (!table.rows.empty()) out.blocks.emplace_back(std::move(table));
  if (left_out > 0) out.blocks.emplace_back(Paragraph{t("jobs.left_out", left_out)});
  Items records = records_without_number(in.campaign, t);
  if (!records.lines.empty()) {
    out.blocks.emplace_back(Paragraph{t("jobs.no_number")});
    out.blocks.emplace_back(std::move(records));
  }
  Items repeated = repeated_jobs(in.campaign, t);
  if (!repeated.lines.empty()) {
    out.blocks.emplace_back(Paragraph{t("jobs.repeated")});
    out.blocks.emplace_back(std::move(repeated));
  }
  Items about;
  for (const auto* list : {&in.campaign.warnings, &in.campaign.notes}) {
    for (const Said& w : *list) about.lines.push_back(w.in(t.lang()));
  }
  const bool older = std::ranges::any_of(
      in.campaign.jobs, [](const Job& job) { return job.document && job.document->version == 1; });
  if (older && t.lang() != Lang::en) about.lines.push_back(t("jobs.older_documents"));
  if (!about.lines.empty()) {
    out.blocks.emplace_back(Paragraph{t("jobs.warnings")});
    out.blocks.emplace_back(std::move(about));
  }
  return out;
}

Section repeat_section(const ReportInput& in) {
  const Texts& t = in.t;
  const Campaign& c = in.campaign;
  Section out{t("repeat.heading"), {}};
  out.blocks.emplace_back(Paragraph{t("repeat.text")});
  Listing whole{.caption = t("repeat.whole")};
  if (!c.command.empty()) whole.lines.push_back(shell_line(c.command));
  whole.lines.push_back(t.lang() == Lang::zh ? "clusterbench report DIR --lang zh"
                                             : "clusterbench report DIR");
  whole.lines.emplace_back("clusterbench gate DIR");
  out.blocks.emplace_back(std::move(whole));
  Listing commands = commands_listing(c, t);
  if (!commands.lines.empty()) out.blocks.emplace_back(std::move(commands));
  Listing environment = environment_listing(c, t);
  if (environment.lines.empty()) {
    out.blocks.emplace_back(Paragraph{t("repeat.no_environment")});
  } else {
    out.blocks.emplace_back(std::move(environment));
  }
  out.blocks.emplace_back(build_items(c.tool, t));
  return out;
}

Section manifest_section(const ReportInput& in) {
  const Texts& t = in.t;
  const auto& manifest = in.campaign.manifest;
  Section out{t("manifest.heading"), {}};
  if (manifest.empty()) {
    out.blocks.emplace_back(Paragraph{t("manifest.none")});
    return out;
  }
  out.blocks.emplace_back(
      Paragraph{t("manifest.text", manifest.size(), manifest_digest(in.campaign))});
  Table table{.caption = t("manifest.caption"),
              .columns = {{t("col.file"), false, true}, {"SHA-256", false, true}}};
  for (size_t i = 0; i < std::min(manifest.size(), kMaxFiles); ++i)
    table.rows.push_back({{}, {manifest[i].first, manifest[i].second}});
  out.blocks.emplace_back(std::move(table));
  if (manifest.size() > kMaxFiles)
    out.blocks.emplace_back(Paragraph{t("manifest.more", manifest.size() - kMaxFiles)});
  return out;
}

}  // namespace cb
