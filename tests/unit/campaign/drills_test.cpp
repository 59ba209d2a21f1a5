// Drills of a campaign: what the journal keeps of them, and what of it is believed.
#include "campaign/drills.h"

#include <algorithm>

#include "judge/measured.h"
#include "judge/verdict.h"
#include "small_campaign.h"

using namespace cb;
using namespace cb::test;

namespace {

constexpr const char* kDrilled = R"({
  "schema": "clusterbench.profile/1", "name": "small",
  "steps": [{"id": "info", "case": "info"}],
  "criteria": [
    {"id": "seen", "step": "drill:cut-link", "check": "detected", "domain": "stability", "why": "t",
     "source": {"kind": "contract", "ref": "t", "date": "2026-11"}},
    {"id": "time", "step": "drill:cut-link", "metric": "time_to_detection_seconds", "max": 30,
     "domain": "stability", "why": "t", "source": {"kind": "contract", "ref": "t", "date": "2026-11"}}]})";

class DrilledCampaign : public SmallCampaign {
 public:
  DrilledCampaign() : SmallCampaign(kDrilled) {
    lay_all_ready();
    run();
  }

  Document drill(double seconds, bool detected = true, const std::string& host = "n2") const {
    Document d{.tool = setup.tool};
    d.run = {.id = "d", .started = utc_now(), .ended = utc_now()};
    d.run.hosts = {"n1", "n2"};
    Record r{.case_name = "drill", .started = d.run.started, .ended = d.run.ended};
    r.params.set("id", std::string("cut-link"));
    const size_t e = r.entity({host, "host", ""});
    r.checks.push_back({.name = "detected", .passed = detected, .entity = e, .finding = true});
    Samples s;
    s.add(seconds);
    r.metrics.push_back({.name = "time_to_detection_seconds",
                         .unit = "seconds",
                         .better = Better::lower,
                         .entity = e,
                         .samples = s});
    d.records = {r};
    return d;
  }

  void make(const Document& document) const {
    DrillJournal journal(setup);
    journal.end(journal.begin("cut-link", "n2"), document);
    journal.close();
  }

  // The states of the two criteria.
  std::vector<State> states() const {
    const Campaign campaign = load();
    const Judgement judgement = judge(campaign, campaign.profile, {}, "2026-11-25");
    return {judgement.criteria.at(0).state, judgement.criteria.at(1).state};
  }
};

using States = std::vector<State>;
const States kOpen{State::incomplete, State::incomplete};

}  // namespace

TEST_CASE("a drill that nobody has made leaves its criteria open; one that was made is judged") {
  const DrilledCampaign c;
  CHECK(c.states() == kOpen);
  c.make(c.drill(30));
  CHECK(c.states() == States{State::pass, State::pass});
  const Campaign loaded = c.load();
  CHECK(loaded.warnings.empty());  // the campaign is closed again, with the drill in its manifest
  CHECK_FALSE(loaded.ended.empty());
  CHECK(loaded.jobs.back().step == "drill:cut-link");
  CHECK(loaded.jobs.back().file == "records/drill-cut-link@n2.json");
}

TEST_CASE("a drill that took too long fails, and one that failed stays failed") {
  const DrilledCampaign late;
  late.make(late.drill(31));
  CHECK(late.states() == States{State::pass, State::fail});
  const DrilledCampaign unseen;
  unseen.make(unseen.drill(5, false));
  CHECK(unseen.states()[0] == State::fail);
  unseen.make(unseen.drill(5));
  CHECK(unseen.states()[0] == State::fail);
  CHECK(unseen.load().warnings.empty());
  late.make(late.drill(5));  // a good figure afterwards, or none, takes the bad one not back
  CHECK(late.states() == States{State::pass, State::fail});
  Document without = late.drill(5);
  without.records[0].metrics.clear();
  late.make(without);
  CHECK(late.states()[1] == State::fail);
}

TEST_CASE("a drill that broke off, or whose document is gone, is open") {
  const DrilledCampaign c;
  c.make(c.drill(5));
  {
    DrillJournal journal(c.setup);
    journal.end(journal.begin("cut-link", "n2"), "the agent failed");
    journal.close();
  }
  CHECK(c.states() == kOpen);
  c.make(c.drill(5));
  CHECK(c.states() == States{State::pass, State::pass});
  const std::vector<Said> notes = c.load().notes;
  CHECK(std::ranges::count_if(notes, [](const Said& note) {
          return note.text().find("drill-cut-link@n2") != std::string::npos &&
                 note.text().find("the agent failed") != std::string::npos;
        }) == 1);
  {
    DrillJournal journal(c.setup);
    journal.begin("cut-link", "n2");  // and the process was killed
  }
  CHECK(c.states() == kOpen);
  c.make(c.drill(5));  // who stops a drill that goes badly cannot make it again until it passes
  CHECK(c.states() == kOpen);
  const DrilledCampaign stopped;
  {
    DrillJournal journal(stopped.setup);
    journal.end(journal.begin("cut-link", "n2"), "interrupted", ExitCode::interrupted);
    journal.close();
  }
  stopped.make(stopped.drill(5));
  CHECK(stopped.states() == kOpen);
  const DrilledCampaign lost;
  lost.make(lost.drill(5));
  std::filesystem::remove(lost.file("records/drill-cut-link@n2.json"));
  CHECK(lost.states() == kOpen);
}

TEST_CASE("a drill that failed and that nobody asks for is told") {
  DrilledCampaign c;
  Document d = c.drill(5, false);
  d.records[0].params.set("id", std::string("kill-rank"));
  DrillJournal journal(c.setup);
  journal.end(journal.begin("kill-rank", "n2"), d);
  journal.close();
  const Campaign loaded = c.load();
  CHECK(loaded.warnings.empty());
  CHECK(std::ranges::count_if(loaded.notes, [](const Said& note) {
          return note.text().starts_with("drill:kill-rank on n2: check detected failed");
        }) == 1);
}

TEST_CASE("the figures of drills are for readers of the report, each attempt's") {
  const DrilledCampaign c;
  c.make(c.drill(5));
  c.make(c.drill(7));
  const Campaign campaign = c.load();
  const size_t steps = gather_metrics(campaign, {}).size();  // what compares hosts sees no drill
  const auto groups = gather_metrics_and_drills(campaign, {});
  REQUIRE(groups.size() == steps + 1);
  const MetricGroup& drill = groups.back();
  CHECK(drill.step->id == "drill:cut-link");
  CHECK(drill.domain == "stability");
  REQUIRE(drill.values.size() == 2);
  CHECK(drill.values[drill.worst].summary.median == 7);
}

TEST_CASE("a drill on a host that takes no part any more is told") {
  const DrilledCampaign c;
  {
    DrillJournal journal(c.setup);
    journal.end(journal.begin("cut-link", "n9"), c.drill(5, true, "n9"));
    journal.close();
  }
  const std::vector<Said> notes = c.load().notes;
  CHECK(std::ranges::count_if(notes, [](const Said& note) {
          return note.text().starts_with("drill:cut-link was made on n9, which was taken out");
        }) == 1);
  c.make(c.drill(5));
  CHECK(c.load().notes.size() == notes.size());
}

TEST_CASE("a document of something else is no drill") {
  const auto open_with = [](auto change) {
    const DrilledCampaign c;
    Document d = c.drill(5);
    change(d);
    c.make(d);
    return c.states() == kOpen;
  };
  CHECK(open_with([](Document& d) { d.records[0].params.set("id", std::string("kill-rank")); }));
  CHECK(open_with([](Document& d) { d.records[0].case_name = "fake"; }));
  CHECK(open_with([](Document& d) { d.records[0].entities[0].host = "n1"; }));
  CHECK(open_with([](Document& d) { d.run.hosts.push_back("elsewhere"); }));
  CHECK(open_with([](Document& d) { d.tool.commit = "other"; }));
  CHECK(open_with([](Document& d) { d.records.push_back(d.records[0]); }));
  CHECK_FALSE(open_with([](Document&) {}));
}

TEST_CASE("a resumed run keeps what drills have left") {
  DrilledCampaign c;
  c.make(c.drill(5));
  c.run();
  CHECK(c.states() == States{State::pass, State::pass});
  CHECK(c.load().warnings.empty());
  DrillJournal journal(c.setup);
  CHECK_THROWS_AS(DrillJournal(c.setup), UsageError);  // one at a time
  CHECK(c.load().warnings.empty());                    // and looking writes nothing
}
