// A soak's cycles: their names and order, what a resumed run repeats, and how far a campaign is.
#include "campaign/soak_cycles.h"

#include <algorithm>

#include "campaign/run_progress.h"
#include "core/clock.h"
#include "judge/soak.h"
#include "small_campaign.h"

using namespace cb;
using namespace cb::test;

namespace {

constexpr const char* kSoak = R"({
  "schema": "clusterbench.profile/1", "name": "small",
  "soak": {"steps": ["rate", "all"], "for": "3s", "every": "1s"},
  "steps": [{"id": "info", "case": "info"},
            {"id": "rate", "case": "fake", "params": {"size": "1K"}},
            {"id": "all", "case": "fake", "params": {"size": "2K"}, "scope": "cluster"}],
  "criteria": []})";

constexpr const char* kWatched = R"({
  "schema": "clusterbench.profile/1", "name": "small",
  "soak": {"steps": ["events", "rate"], "for": "2s", "every": "1s"},
  "steps": [{"id": "info", "case": "info"}, {"id": "events", "case": "events"},
            {"id": "rate", "case": "fake", "params": {"size": "1K"}}],
  "criteria": []})";

class WatchedCampaign : public SmallCampaign {
 public:
  WatchedCampaign() : SmallCampaign(kWatched) {
    setup.catalogue.push_back(
        {.name = "events", .metrics = {{"bytes_per_second", "bytes_per_second"}}});
    lay_all_ready();
  }
  size_t starts(const std::string& job) const {
    const Journal j = journal();
    return static_cast<size_t>(std::ranges::count(j.jobs.at(job), false, &JobEvent::ended));
  }
};

std::vector<std::string> job_names(const SmallCampaign& c) {
  std::vector<std::string> out;
  for (const JobKey& key : c.keys()) out.push_back(key.name);
  return out;
}

JobEvent ended_as(JobState state, const Said& reason) {
  JobEvent e{.job = "j", .ended = true};
  e.fingerprint = "f";
  e.state = state;
  e.reason = reason;
  return e;
}

}  // namespace

TEST_CASE("rounds of a soak: cycle by cycle, with names of their own") {
  const SmallCampaign c(kSoak);
  CHECK(plan_rounds(c.setup.campaign.profile) ==
        std::vector<StepRound>{{0, 0}, {1, 1}, {2, 1}, {1, 2}, {2, 2}, {1, 3}, {2, 3}});
  CHECK(job_names(c) == std::vector<std::string>{
                            "001-info@n1", "001-info@n2", "002-rate~0001@n1", "002-rate~0001@n2",
                            "003-all~0001", "002-rate~0002@n1", "002-rate~0002@n2", "003-all~0002",
                            "002-rate~0003@n1", "002-rate~0003@n2", "003-all~0003"});
}

TEST_CASE("steps that read run once more after the last cycle, and only these") {
  const SmallCampaign c(kWatched);
  CHECK(plan_rounds(c.setup.campaign.profile) ==
        std::vector<StepRound>{{0, 0}, {1, 1}, {2, 1}, {1, 2}, {2, 2}, {1, 3}});
  CHECK(c.keys().back().name == "002-events~0003@n2");
}

TEST_CASE("the last reading counts as no cycle, and stands once it is done") {
  WatchedCampaign c;
  c.run();
  CHECK(read_progress(c.setup.paths, 0).cycle == 2);
  CHECK(c.starts("002-events~0003@n1") == 1);
  c.run();
  CHECK(c.starts("002-events~0003@n1") == 1);  // it stands
}

TEST_CASE("a last reading that failed is repeated by the next run, and stays an interruption") {
  WatchedCampaign c;
  c.lay_ready("002-events~0003@n2", 1, "", 4, "clusterbench events: no such device");
  c.run();
  CHECK(last_reading(c.load()).open.size() == 1);
  c.lay_ready("002-events~0003@n2", 2, to_json_text(c.document("002-events~0003@n2", 2)));
  c.run();
  const Campaign campaign = c.load();
  CHECK(campaign.warnings.empty());
  CHECK(last_reading(campaign).open.empty());
  CHECK(c.starts("002-events~0003@n2") == 2);
  const auto events = soak_events(campaign);
  REQUIRE(events.size() == 1);
  CHECK(events[0].interrupts);
}

TEST_CASE("a reading before a later load tells nothing of it") {
  Journal j;
  const auto start = [&](const char* job, const char* at) {
    JobEvent e{.job = job};
    e.at = at;
    j.jobs[job].push_back(e);
  };
  const char* reading = "002-events~0003@n1";
  start(reading, "2026-11-24T00:10:00Z");
  start("003-rate~0002@n1", "2026-11-24T00:05:00Z");
  start("002-events~0003@n2", "2026-11-24T00:20:00Z");  // another reading is no load
  start("001-info@n2", "2026-11-24T00:20:00Z");
  CHECK_FALSE(is_outdated_reading(reading, 2, j));
  start("003-rate~0001@s1", "2026-11-24T00:10:01Z");
  CHECK(is_outdated_reading(reading, 2, j));
}

TEST_CASE("what a host did after the others is made up: a spare, and one that came back") {
  SmallCampaign c(kWatched);
  c.setup.campaign.spares = {{"s1", 1}};
  const std::vector<JobKey> keys = c.keys();
  Journal j;
  const auto ran = [&](const char* job, int minute) {
    JobEvent e{.job = job};
    e.at = fmt::format("2026-11-24T00:{:02}:00Z", minute);
    j.jobs[job].push_back(e);
  };
  ran("003-rate~0001@n1", 1);
  ran("003-rate~0001@n2", 1);
  ran("003-rate~0002@n1", 11);
  ran("003-rate~0001@s1", 7);  // s1 steps in at minute 5
  ran("003-rate~0002@s1", 11);
  ran("003-rate~0001@n2", 8);  // n2 goes and comes back at minute 6
  RosterEvent in, back;
  in.out = {.host = "n3", .at = "2026-11-24T00:05:00Z", .by = "s1"};
  back.back = true;
  back.out = {.host = "n2", .at = "2026-11-24T00:06:00Z"};
  j.roster = {in, back};
  std::vector<Job> jobs(keys.size());
  mark_made_up(keys, j, jobs);
  std::vector<std::string> made_up;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (jobs[i].made_up) made_up.push_back(keys[i].name);
  }
  CHECK(made_up == std::vector<std::string>{"003-rate~0001@n2", "003-rate~0001@s1"});
}

TEST_CASE("a spare in a soak that runs makes up for the cycles before it came") {
  WatchedCampaign c;
  c.setup.campaign.spares = {{"s1", 1}};
  c.lay_all_ready();
  c.lay_ready("003-rate~0002@n2", 1, "", 4, "no route to host");
  c.let_die("n2");
  c.run();
  const Campaign campaign = c.load();
  size_t made_up = 0;
  for (const Job& job : campaign.jobs) {
    if (job.made_up) CHECK(job.host == "s1");
    made_up += job.made_up && job.cycle <= 2 ? 1 : 0;  // whether a reading was does not matter
  }
  CHECK(made_up == 4);                             // a reading and a load in both cycles
  CHECK(last_reading(campaign).open.size() == 1);  // of n2, which nobody has agreed to replace
}

TEST_CASE("a cycle that had begun before waits for nothing, and delays no later one") {
  std::vector<double> rests;
  CyclePace pace(
      Soak{{"s"}, 0.9, 0.3}, [] { return 0; }, [&](double s) { rests.push_back(s); });
  const std::vector<JobOutcome> ran(1);
  pace.wait_for(1);
  pace.ran(1, ran);
  pace.wait_for(2);
  pace.ran(2, ran);
  const size_t two = rests.size();
  for (const size_t cycle : {1U, 2U}) {  // a spare has stepped in
    pace.wait_for(cycle);
    pace.ran(cycle, ran);
  }
  CHECK(rests.size() == two);
  pace.wait_for(3);
  pace.ran(3, ran);
  const size_t before = rests.size();
  pace.wait_for(4);  // the last reading
  CHECK(rests.size() == before);
  CyclePace later(
      Soak{{"s"}, 300, 100}, [] { return 0; }, [&](double) { FAIL("it waits"); });
  later.begun_before(3);  // a host came back between two runs
  for (const size_t cycle : {1U, 2U, 3U}) {
    later.wait_for(cycle);
    later.ran(cycle, ran);
  }
}

TEST_CASE("a number of cycles is rounded up") {
  CHECK(Soak{{}, 72 * 3600, 3600}.cycles() == 72);
  CHECK(Soak{{}, 10, 3}.cycles() == 4);
  CHECK(Soak{{}, 0.3, 0.1}.cycles() == 3);
}

TEST_CASE("a cycle that ended badly is over, unless somebody stopped it from outside") {
  const JobEvent failed = ended_as(JobState::failed, said("end.code", 4));
  CHECK(is_over(&failed, "f"));
  CHECK_FALSE(is_over(&failed, "other"));
  const JobEvent late = ended_as(JobState::deadline, said("end.hung"));
  CHECK(is_over(&late, "f"));
  const JobEvent outside = ended_as(JobState::failed, said("end.interrupted_outside"));
  CHECK_FALSE(is_over(&outside, "f"));
  const JobEvent done = ended_as(JobState::done, {});
  CHECK_FALSE(is_over(&done, "f"));  // that is decided by its record
  CHECK_FALSE(is_over(nullptr, "f"));
}

TEST_CASE("a soak that runs: what failed stays, and the journal tells it as an interruption") {
  SmallCampaign c(kSoak);
  c.lay_all_ready();
  c.lay_ready("002-rate~0002@n2", 1, "", 4, "clusterbench fake: no such device");
  const double begin = monotonic_seconds();
  const auto first = c.run();
  CHECK(monotonic_seconds() - begin >= 2);  // three cycles, one a second
  CHECK(first.at("002-rate~0002@n2").state == JobState::failed);
  CHECK(first.at("003-all~0003").state == JobState::done);
  const auto second = c.run();
  CHECK(second.at("002-rate~0002@n2").kept);
  CHECK(second.at("002-rate~0002@n2").state == JobState::failed);
  const Campaign campaign = c.load();
  CHECK(campaign.warnings.empty());
  size_t interruptions = 0;
  for (const Job& job : campaign.jobs) {
    interruptions += job.interruptions.size();
    if (job.step == "info") CHECK(job.cycle == 0);
    for (const Interruption& i : job.interruptions) {
      CHECK(job.cycle == 2);
      CHECK(job.host == "n2");
      CHECK(i.state == JobState::failed);
      CHECK_FALSE(i.ended.empty());
    }
  }
  CHECK(interruptions == 1);
}

TEST_CASE("how far a campaign is") {
  SmallCampaign c(kSoak);
  c.lay_all_ready();
  c.lay_ready("003-all~0002", 1, "", 4, "clusterbench fake: no such device");
  c.run();
  const auto now = seconds_since_epoch(utc_now()).value() + 100;
  const CampaignProgress p = read_progress(c.setup.paths, now);
  CHECK(p.cycle == 3);
  CHECK(p.cycles == 3);
  CHECK(p.interruptions == 1);
  CHECK_FALSE(p.finished.empty());
  REQUIRE(p.steps.size() == 3);
  CHECK(p.steps[1].jobs == 6);
  CHECK(p.steps[1].done == 6);
  CHECK(p.steps[2].done == 2);
  CHECK(p.steps[2].bad == 1);
  CHECK(p.steps[2].last_problem.find("no such device") != std::string::npos);
  const std::string text = progress_metrics(p, false, now);
  CHECK(text.find("clusterbench_run_jobs{step=\"all\",state=\"failed\"} 1\n") != std::string::npos);
  CHECK(text.find("clusterbench_run_active 0\n") != std::string::npos);
  CHECK(text.find("left_seconds") == std::string::npos);  // it has finished
}

TEST_CASE("what is left is estimated from the rounds that have ended") {
  const SmallCampaign c(kSoak);
  Journal j;
  j.sessions = {{.at = "2026-11-24T00:00:00Z"}};
  const auto add = [&](const std::string& job, int from, int to) {
    JobEvent start{.job = job};
    start.at = fmt::format("2026-11-24T00:{:02}:{:02}Z", from / 60, from % 60);
    j.jobs[job].push_back(start);
    if (to == 0) return;
    JobEvent end{.job = job, .ended = true};
    end.at = fmt::format("2026-11-24T00:{:02}:{:02}Z", to / 60, to % 60);
    end.state = JobState::done;
    j.jobs[job].push_back(end);
  };
  CampaignFile file = c.setup.campaign;
  file.started = "2026-11-24T00:00:00Z";
  add("001-info@n1", 0, 10);
  add("001-info@n2", 0, 10);
  add("002-rate~0001@n1", 10, 70);
  add("002-rate~0001@n2", 10, 40);
  add("003-all~0001", 70, 0);
  const auto now = seconds_since_epoch("2026-11-24T00:01:40Z").value();
  const CampaignProgress p = progress_of(file, j, now);
  CHECK(p.cycle == 1);
  CHECK(p.elapsed_seconds == 100);
  CHECK(p.left_seconds == 120);  // two more rounds of rate, a minute each
  CHECK(p.unknown == 1);         // all has ended no round
  REQUIRE(p.steps[2].running.size() == 1);
  CHECK(p.steps[2].running[0].seconds == 30);
  CHECK(p.steps[2].running[0].host.empty());
}

TEST_CASE("time lines are kept of the first and the last cycle; the figures of all of them") {
  std::string profile = kSoak;
  profile.replace(profile.find("\"3s\", \"every\": \"1s\""), 19, "\"0.3s\", \"every\": \"0.1s\"");
  SmallCampaign c(profile.c_str());
  c.lay_all_ready();
  for (const char* job : {"002-rate~0001@n1", "002-rate~0002@n1", "002-rate~0003@n1"}) {
    Document d = c.document(job);
    d.records[0].telemetry.series = {
        {.name = "watts", .unit = "watts", .entity = 0, .at = {0, 1}, .values = {5, 6}}};
    d.records[0].telemetry.deltas = {{.name = "retries", .unit = "count", .entity = 0, .after = 1}};
    c.lay_ready(job, 1, to_json_text(d));
  }
  c.run();
  const Campaign loaded = c.load();
  std::vector<size_t> lines;
  for (const Job& job : loaded.jobs) {
    if (job.step != "rate" || job.host != "n1") continue;
    REQUIRE(job.document);
    const Record& record = job.document->records.at(0);
    lines.push_back(record.telemetry.series.size());
    CHECK(record.telemetry.deltas.size() == 1);  // events are made of them
    CHECK(record.metrics.size() == 1);
  }
  CHECK(lines == std::vector<size_t>{1, 0, 1});
}
