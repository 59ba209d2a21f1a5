// A campaign read back from its directory, and what stands in it that does not belong there.
#include "campaign/load.h"

#include <algorithm>
#include <functional>

#include "campaign/check_records.h"
#include "small_campaign.h"

using namespace cb;
using namespace cb::test;

namespace {

namespace fs = std::filesystem;
using Sentences = std::vector<Said>;

struct FinishedCampaign : SmallCampaign {
  FinishedCampaign() {
    lay_all_ready();
    run();
  }
};

bool one_says(const Sentences& list, const std::string& part) {
  return std::ranges::any_of(
      list, [&](const Said& said) { return said.text().find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("a finished campaign as it is") {
  const FinishedCampaign c;
  const Campaign loaded = c.load();
  CHECK(loaded.warnings.empty());
  CHECK(loaded.notes.empty());
  CHECK(loaded.id == "0123456789abcdef");
  CHECK(loaded.hosts == std::vector<std::string>{"n1", "n2"});
  CHECK(loaded.launcher == "mpirun");
  CHECK(loaded.tool.commit == "abc");
  CHECK(loaded.ended >= loaded.started);
  CHECK(loaded.inventories.size() == 2);
  CHECK(loaded.manifest.size() == 17);
  REQUIRE(loaded.jobs.size() == 5);
  for (const Job& job : loaded.jobs) {
    CHECK_MESSAGE(job.state == JobState::done, job.file << ": " << job.reason);
    CHECK(job.document.has_value());
    CHECK(job.attempts.size() == 1);
    CHECK_FALSE(job.command.empty());
    CHECK(job.ended >= job.started);
    CHECK(job.log.starts_with("logs/"));
  }
  CHECK(loaded.jobs[3].step == "rate");
  CHECK(loaded.jobs[3].host == "n2");
  CHECK(loaded.jobs[4].host.empty());
}

TEST_CASE("a host's inventory is that of its last attempt: it may have been repaired") {
  SmallCampaign c;
  const std::string job = c.keys().front().name;
  const auto with_bios = [&](int attempt, const std::string& bios) {
    Document d = c.document(job, attempt);
    d.hosts.at(0).parts.at(0).attributes["bios_version"] = bios;
    return to_json_text(d);
  };
  c.lay_all_ready();
  c.lay_ready(job, 1, with_bios(1, "1.0"), 3);  // something was skipped: repeated
  c.run();
  c.lay_all_ready(2);
  c.lay_ready(job, 2, with_bios(2, "2.0"));
  c.run();
  const Campaign loaded = c.load();
  REQUIRE(loaded.jobs.front().attempts.size() == 2);
  REQUIRE(loaded.inventories.size() == 2);
  CHECK(loaded.inventories.at(0).host == "n1");
  CHECK(loaded.inventories.at(0).parts.at(0).attributes.at("bios_version") ==
        Attribute(std::string("2.0")));
}

TEST_CASE("what is no campaign is refused") {
  const SmallCampaign c;
  CHECK_THROWS_WITH_AS(c.load(), doctest::Contains("it does not exist"), UsageError);
  fs::create_directory(c.root());
  CHECK_THROWS_WITH_AS(c.load(), doctest::Contains("no campaign.json"), UsageError);
}

TEST_CASE("a changed record costs its job, also where the manifest was made anew") {
  const FinishedCampaign c;
  c.append("records/002-rate@n2.json", " ");
  Campaign loaded = c.load();
  CHECK(loaded.jobs[3].state == JobState::failed);
  CHECK(loaded.jobs[3].reason ==
        "its record file records/002-rate@n2.json was changed after the run: restore it or repeat "
        "the job");
  CHECK_FALSE(loaded.jobs[3].document);
  CHECK(loaded.jobs[2].state == JobState::done);
  CHECK(one_says(loaded.warnings, "records/002-rate@n2.json is not what the manifest says"));
  CHECK(loaded.notes.empty());  // no later attempt stands for it
  write_manifest(c.setup.paths);
  loaded = c.load();
  CHECK(loaded.warnings.empty());
  CHECK(loaded.jobs[3].state == JobState::failed);
}

TEST_CASE("a record that is gone or torn costs its job") {
  const FinishedCampaign c;
  fs::remove(c.file("records/003-all.json"));
  write_file_atomically(c.file("records/002-rate@n1.json"), "{");
  const Campaign loaded = c.load();
  CHECK(loaded.jobs[4].state == JobState::failed);
  CHECK(loaded.jobs[4].reason.text().starts_with("its record file records/003-all.json "));
  CHECK(loaded.jobs[2].state == JobState::failed);
  CHECK(loaded.jobs[2].reason.text().find("was changed after the run") != std::string::npos);
  CHECK(one_says(loaded.warnings, "records/003-all.json of the manifest is not there"));
}

TEST_CASE("a job that did not end well stays what the journal says") {
  SmallCampaign c;
  c.lay_all_ready();
  c.lay_ready("002-rate@n1", 1, to_json_text(c.document("002-rate@n1")), 4, "clusterbench: oops");
  c.lay_ready("002-rate@n2", 1, "", 124);
  c.run();
  const Campaign loaded = c.load();
  CHECK(loaded.jobs[2].state == JobState::failed);
  CHECK(loaded.jobs[2].reason == "it ended with code 4: clusterbench: oops");
  CHECK(loaded.jobs[2].document.has_value());
  CHECK(loaded.jobs[3].state == JobState::deadline);
  CHECK(loaded.jobs[3].reason == "it hung or ran too long");
  CHECK_FALSE(loaded.jobs[3].document);
}

TEST_CASE("a job that began and did not end was interrupted") {
  const FinishedCampaign c;
  JobEvent start = *c.journal().last_start("003-all");
  start.attempt = 2;
  JournalWriter(c.setup.paths.journal(), "").job(start);
  const Campaign loaded = c.load();
  CHECK(loaded.jobs[4].state == JobState::missing);
  CHECK(loaded.jobs[4].reason == "it was interrupted");
}

TEST_CASE("the manifest: absent, incomplete, with more than there is") {
  const FinishedCampaign c;
  const std::string text = read_file(c.setup.paths.manifest());
  fs::remove(c.setup.paths.manifest());
  CHECK(c.load().warnings == Sentences{"MANIFEST.sha256 is missing or empty"});
  const std::string cut = text.substr(0, text.rfind('\n', text.size() - 2) + 1);
  write_file_atomically(c.setup.paths.manifest(), cut);
  CHECK(c.load().warnings == Sentences{"records/003-all.json is not in the manifest"});
  const std::string digest(64, '0');
  write_file_atomically(c.setup.paths.manifest(), text + digest + "  ../mpirun\n");
  CHECK(c.load().warnings == Sentences{"../mpirun of the manifest is not there"});
  write_file_atomically(c.setup.paths.manifest(), text + digest + "  logs\n");
  CHECK(c.load().warnings == Sentences{"logs of the manifest is not there"});
  for (const std::string& line :
       {digest + " logs\n", digest.substr(1) + "  logs\n", digest + "  \n", std::string("x\n")}) {
    write_file_atomically(c.setup.paths.manifest(), text + line);
    CHECK_MESSAGE(one_says(c.load().warnings, "MANIFEST.sha256 cannot be used: it "), line);
  }
}

TEST_CASE("a file among the records that no job wrote is named") {
  const FinishedCampaign c;
  write_file_atomically(c.file("records/004-x.json"), "{}");
  write_file_atomically(c.file("records/002-rate@n1.json.7.partial"), "{}");
  const Campaign loaded = c.load();
  CHECK(one_says(loaded.warnings, "records/004-x.json belongs to no job and was left out"));
  CHECK(one_says(loaded.warnings,
                 "records/002-rate@n1.json.7.partial was written by a job that outlived its run"));
}

TEST_CASE(
    "a later attempt stands for one that is gone, unless that one spoke against the machine") {
  SmallCampaign c;
  c.lay_all_ready();
  Document bad = c.document("002-rate@n1");
  bad.records[0].checks[0].passed = false;
  c.lay_ready("002-rate@n1", 1, to_json_text(bad), 4);
  c.lay_ready("002-rate@n2", 1, to_json_text(c.document("002-rate@n2")), 4);
  c.run();
  c.lay_all_ready(2);
  c.run();
  CHECK(c.load().warnings.empty());
  REQUIRE(c.load().jobs[2].attempts.size() == 2);
  fs::remove(c.file("records/002-rate@n1+1.json"));
  fs::remove(c.file("records/002-rate@n2+1.json"));
  write_manifest(c.setup.paths);
  const Campaign loaded = c.load();
  CHECK(loaded.jobs[2].state == JobState::failed);
  CHECK(loaded.jobs[2].reason.text().ends_with("measuring again does not stand for it"));
  CHECK(one_says(loaded.warnings,
                 "records/002-rate@n1+1.json cannot be used, and by the journal it held 1 failed "
                 "checks, 0 errored and 0 skipped records"));
  CHECK(loaded.jobs[3].state == JobState::done);
  CHECK(loaded.notes ==
        Sentences{"records/002-rate@n2+1.json of an earlier attempt cannot be used; a "
                  "later attempt stands for it"});
}

TEST_CASE("a record of something else is not this job's") {
  SmallCampaign c;
  c.lay_all_ready();
  c.lay_ready("002-rate@n2", 1, to_json_text(c.document("002-rate@n1")));
  Document other = c.document("003-all");
  other.records[0].case_name = "info";
  c.lay_ready("003-all", 1, to_json_text(other));
  c.run();
  const Campaign loaded = c.load();
  CHECK(loaded.jobs[2].state == JobState::done);
  CHECK(loaded.jobs[4].state == JobState::failed);
  CHECK(loaded.jobs[4].reason ==
        "its record file records/003-all.json is not of this job: it is of the case info, the "
        "step's case is fake");
  CHECK_FALSE(loaded.jobs[4].document);
  CHECK(
      one_says(loaded.warnings,
               "records/002-rate@n2.json names the machine n1, and records/001-info@n2.json of the "
               "same host n2"));
}

TEST_CASE("a record of another time belongs to another campaign") {
  const auto with_times = [](const char* first, const char* last) {
    Campaign campaign;
    campaign.jobs.push_back({.step = "s",
                             .host = "n1",
                             .file = "records/001-s.json",
                             .started = "2026-11-21T10:00:00Z",
                             .ended = "2026-11-21T10:10:00Z"});
    Document d;
    d.run.started = first;
    d.run.ended = last;
    d.run.hosts = {"n1"};
    const RecordOrigin one = origin_of(campaign.jobs[0], campaign.jobs[0].file, d.run);
    check_records({one, one}, campaign);
    return campaign.warnings;
  };
  CHECK(with_times("2026-11-21T09:58:00Z", "2026-11-21T10:12:00Z").empty());
  CHECK(
      one_says(with_times("2026-11-21T09:57:59Z", "2026-11-21T10:05:00Z"),
               "records/001-s.json was taken at 2026-11-21T09:57:59Z, 121 s outside of the time in "
               "which its job ran (1 more likewise)"));
  CHECK(one_says(with_times("2026-11-21T10:05:00Z", "2026-11-21T10:12:01Z"), "121 s outside"));
  CHECK(with_times("", "2026-11-21T10:12:01Z").empty());
}

TEST_CASE("an attempt that left no record is noted where another one left one, and only there") {
  SmallCampaign c;
  c.lay_all_ready();
  c.lay_ready("002-rate@n1", 1, "", 4);
  c.lay_ready("002-rate@n2", 1, "", 124);
  c.run();
  CHECK(c.load().notes.empty());  // the jobs themselves say so
  c.lay_ready("002-rate@n1", 2, to_json_text(c.document("002-rate@n1", 2)));
  c.lay_ready("002-rate@n2", 2, "", 124);
  c.run();
  const Campaign loaded = c.load();
  CHECK(loaded.jobs[2].state == JobState::done);
  CHECK(loaded.jobs[2].attempts.size() == 1);
  CHECK(loaded.jobs[3].state == JobState::deadline);
  CHECK(loaded.jobs[3].attempts.empty());
  CHECK(loaded.notes == Sentences{"attempt 1 of 002-rate@n1 left no record: it ended with code 4"});
}

TEST_CASE(
    "a record that is gone is curable by measuring again, unless it spoke against something") {
  SmallCampaign c;
  c.lay_all_ready();
  Document bad = c.document("002-rate@n1");
  bad.records[0].checks[0].passed = false;
  c.lay_ready("002-rate@n1", 1, to_json_text(bad), 4);
  c.run();
  const std::vector<Job> whole = c.load().jobs;
  CHECK(whole[2].curable);
  REQUIRE(fs::remove(c.file(whole[2].file)));
  REQUIRE(fs::remove(c.file(whole[3].file)));
  const Campaign loaded = c.load();
  CHECK(loaded.jobs[2].state == JobState::failed);
  CHECK_FALSE(loaded.jobs[2].curable);
  CHECK(loaded.jobs[3].state == JobState::failed);
  CHECK(loaded.jobs[3].curable);
}

TEST_CASE("an earlier attempt's record is of its own time and machine too") {
  const auto with_first = [](const std::function<void(Document&)>& change) {
    SmallCampaign c;
    c.lay_all_ready();
    Document first = c.document("002-rate@n1");
    change(first);
    c.lay_ready("002-rate@n1", 1, to_json_text(first), 3);  // something was skipped: repeated
    c.run();
    c.lay_all_ready(2);
    c.run();
    return c.load();
  };
  const Campaign whole = with_first([](Document&) {});
  REQUIRE(whole.jobs[2].attempts.size() == 2);
  CHECK(whole.warnings.empty());
  CHECK(one_says(with_first([](Document& d) { d.run.started = "2026-01-01T00:00:00Z"; }).warnings,
                 "records/002-rate@n1.json was taken at 2026-01-01T00:00:00Z"));
  CHECK(one_says(with_first([](Document& d) {
                   d.run.hosts = {"elsewhere"};
                   d.records[0].entities[0].host = "elsewhere";
                 }).warnings,
                 "records/002-rate@n1.json names the machine elsewhere"));
}

TEST_CASE("a host with another version of the program has measured something else") {
  const auto with_tool = [](const std::function<void(ToolInfo&)>& change) {
    SmallCampaign c;
    c.lay_all_ready();
    Document other = c.document("002-rate@n2");
    change(other.tool);
    c.lay_ready("002-rate@n2", 1, to_json_text(other));
    c.run();
    return c.load().jobs[3];
  };
  CHECK(with_tool([](ToolInfo& t) { t.build = {{"compiler", "other"}}; }).state == JobState::done);
  for (const auto& change : {std::function<void(ToolInfo&)>([](ToolInfo& t) { t.version = "0.9"; }),
                             std::function<void(ToolInfo&)>([](ToolInfo& t) { t.commit = "abd"; }),
                             std::function<void(ToolInfo&)>([](ToolInfo& t) { t.dirty = true; })}) {
    const Job job = with_tool(change);
    CHECK(job.state == JobState::failed);
    CHECK(job.reason.text().find("and the run was by 1 abc") != std::string::npos);
  }
}
