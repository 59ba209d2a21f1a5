#include "cli/drill/runner.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <random>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "cli/drill/agent.h"
#include "cli/drill/jobs.h"
#include "cli/drill/measurement.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/profile_drills.h"

namespace cb {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr double kAgentSeconds = 30;
constexpr double kSettleSeconds = 4;      // until the measurement runs on all hosts
constexpr double kLastWordsSeconds = 5;   // of an agent that failed
constexpr double kDrillLateSeconds = 15;  // by which a measurement without a fault has ended
constexpr double kRefusalSeconds = 0.7;   // in which an agent that cannot cut a link says so
constexpr double kRecoveredShare = 0.8;   // of the rate before

class DrillRun {
 public:
  DrillRun(const Drill& drill, const DrillSetup& setup)
      : drill_(drill), setup_(setup), list_(undo_file(setup.directory)), token_(new_token()) {}

  Record run() {
    record_.case_name = "drill";
    record_.params.set("id", drill_.id);
    record_.started = utc_now();
    host_ = record_.entity({setup_.on, "host", ""});
    const double before = measure_before();
    try {
      during();
    } catch (...) {
      restore();
      throw;
    }
    const double restored_at = monotonic_seconds();
    const bool restored = restore();
    finish(restored, recover(before, restored_at));
    return std::move(record_);
  }

 private:
  // Twice: one lucky measurement would be a rate that the machine never has again.
  double measure_before() {
    Samples rates;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 2; ++i) {
      const EndedMeasurement ended = measure("before", short_job(drill_, setup_.part));
      const auto rate = rate_of(ended);
      const bool blamed = rate && has_blame(ended.log);
      if (!rate || blamed)
        throw Error(
            fmt::format("the measurement before the drill {}: see {}; next: mend that first",
                        blamed ? fmt::format("names {} already", setup_.on) : "failed",
                        (setup_.directory / (drill_.id + "-before.err")).string()));
      rates.add(*rate);
      least = std::min(least, *rate);
    }
    record_.add("rate_before", host_, std::move(rates));
    return least;
  }

  // Measures until the rate is back, or for as long as the deadline allows. A host may need a
  // moment, and one short measurement may be disturbed.
  bool recover(double before, double restored_at) {
    std::optional<double> best;
    bool back = false;
    while (!back && monotonic_seconds() < restored_at + setup_.deadline_seconds && !stopped()) {
      const EndedMeasurement again = measure("after", short_job(drill_, setup_.part));
      const auto rate = rate_of(again);
      if (rate) best = std::max(best.value_or(0), *rate);
      back = rate && *rate >= kRecoveredShare * before;
      if (back) record_.add("time_to_recovery_seconds", host_, {again.at - restored_at});
    }
    if (best) add_rate("rate_after", *best);
    return back;
  }

  static std::string new_token() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
  }

  std::vector<HostSlots> measured_hosts() const {
    if (!is_storage(drill_) && !is_gpu(drill_)) return setup_.hosts;
    std::vector<HostSlots> out;
    std::ranges::copy_if(setup_.hosts, std::back_inserter(out),
                         [&](const HostSlots& h) { return h.name == setup_.on; });
    return out;
  }

  // Later than the measurement's own time, so that an end at the deadline is no detection. While a
  // person is asked the measurement goes on, and must not end at it.
  double deadline_of(const std::string& name) const {
    const bool waits = drill_.action == DrillAction::manual && name == "during";
    return setup_.deadline_seconds * (waits ? 2 : 1) + (waits ? kAgentSeconds : 0) +
           kDrillLateSeconds;
  }

  Command command(Words words, const std::vector<HostSlots>& hosts, const fs::path& record,
                  double deadline) const {
    words.insert(words.begin(), setup_.binary);
    for (const std::string& word : Words{"--deadline", fmt::format("{}s", deadline), "--no-color",
                                         "--quiet", "--json", record.string()})
      words.push_back(word);
    if (setup_.redact) words.emplace_back("--redact");
    return launch_command(setup_.launch, hosts, 1, {{kDrillVariable, token_}}, words);
  }

  Measurement start(const std::string& name, const Words& words) const {
    const fs::path stem = setup_.directory / (drill_.id + "-" + name);
    const fs::path record = stem.string() + ".json";
    std::error_code ignored;
    fs::remove(record, ignored);
    return {command(words, measured_hosts(), record, deadline_of(name)), stem, record};
  }

  bool stopped() const { return setup_.stop_signals() > answered_stops_; }

  EndedMeasurement wait(Measurement& m, double seconds) const {
    const double until = monotonic_seconds() + seconds;
    double seen_at = 0;
    const auto result = [&](std::optional<int> code) {
      EndedMeasurement out = m.result(code);
      out.seen_at = seen_at > 0 ? seen_at : out.at;
      return out;
    };
    while (monotonic_seconds() < until && !stopped()) {
      if (seen_at == 0 && has_blame(m.log())) seen_at = monotonic_seconds();
      if (const auto code = m.poll()) return result(code);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    m.end();
    if (stopped()) throw Error("interrupted", ExitCode::interrupted);
    return result(std::nullopt);
  }

  bool has_blame(const std::string& log) const {
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
      if (blames(line, setup_.on, setup_.hosts)) return true;
    }
    return false;
  }

  EndedMeasurement measure(const std::string& name, const Words& words) const {
    setup_.say(fmt::format("{}: {}", drill_.id, name));
    Measurement m = start(name, words);
    return wait(m, deadline_of(name) + kDrillLateSeconds);
  }

  void add_rate(const char* name, double rate) { record_.add(name, host_, {rate}); }

  Measurement start_agent(const Words& more, const std::string& host) const {
    Words words{setup_.binary, "drill", "agent", "--list", list_.file().string()};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<HostSlots> on;
    std::ranges::copy_if(setup_.hosts, std::back_inserter(on),
                         [&](const HostSlots& h) { return h.name == host; });
    const fs::path stem = setup_.directory / (drill_.id + "-agent");
    return {launch_command(setup_.launch, on, 1, {}, words), stem, ""};
  }

  // Runs the agent on the host, to its end.
  void order(const Words& more, const std::string& host) const {
    Measurement agent = start_agent(more, host);
    const EndedMeasurement end = wait(agent, kAgentSeconds);
    if (end.code != 0)
      throw Error(fmt::format("{}: the drill's agent failed: {}", host, last_line(end.log)));
  }

  void during() {
    std::optional<Measurement> running;
    double started = monotonic_seconds();
    if (!is_storage(drill_) && drill_.action != DrillAction::slow) {
      running.emplace(start("during", long_job(drill_, setup_.part, setup_.deadline_seconds)));
      settle(*running);
    }
    // A person acts after the answer, so the time counts from there.
    if (drill_.action == DrillAction::manual) ask_for_fault(*running);
    record_.facts["injected_at"] = utc_now();
    const double begin = monotonic_seconds();
    if (!running) started = begin;
    make_fault();
    setup_.say(fmt::format("{}: the fault is made on {}", drill_.id, setup_.on));
    EndedMeasurement seen = running ? wait(*running, deadline_of("during") + kDrillLateSeconds)
                                    : measure("during", short_job(drill_, setup_.part));
    if (const auto rate = rate_of(seen)) add_rate("rate_during", *rate);
    if (must_survive(drill_.id)) {
      add_check("survived", seen.code == 0, said("drill.not_survived", seen.code.value_or(124)));
      return;
    }
    // An end at the deadline that it has anyway, by the command line, has seen nothing.
    const bool by_itself = seen.at - started >= deadline_of("during");
    bool detected = seen.code != 0 && !by_itself;
    if (drill_.action == DrillAction::slow) {
      seen = measure("locate", locate_job());
      detected = has_suspect(seen);
    }
    if (detected) record_.add("time_to_detection_seconds", host_, {seen.seen_at - begin});
    add_check("detected", detected, said("drill.not_detected", drill_.expected));
    add_check("named", detected && names_host(seen),
              detected ? said("drill.not_named", setup_.on) : said("drill.nobody_named"));
  }

  // The measurement must run on every host before the fault, or the fault proves nothing.
  void settle(Measurement& running) const {
    const double until = monotonic_seconds() + kSettleSeconds;
    while (monotonic_seconds() < until && !stopped()) {
      if (running.poll()) throw Error("the measurement during the drill ended before the fault");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  void ask_for_fault(Measurement& running) {
    const std::string prompt = fmt::format("{} ({}) on {}: press Enter and do it at once",
                                           drill_.id, setup_.part, setup_.on);
    if (!setup_.ask || !setup_.ask(prompt, setup_.deadline_seconds))
      throw Error("nobody answered: a drill by hand needs a person at a terminal");
    if (running.poll())
      throw Error(
          "the measurement ended before the fault; next: answer sooner, or a longer "
          "--deadline");
    by_hand_ = true;
  }

  void make_fault() {
    if (drill_.action == DrillAction::manual) return;
    Words words{"--do", drill_.id, "--token", token_};
    if (!setup_.part.empty()) words.insert(words.end(), {"--part", setup_.part});
    words.insert(words.end(),
                 {"--rate", setup_.rate, "--hold", fmt::format("{}", setup_.hold_seconds)});
    if (drill_.action != DrillAction::cut) return order(words, setup_.on);
    // Its answer is lost with the link, so nobody waits for it; what it changes is on the list.
    cutter_.emplace(start_agent(words, setup_.on));
    const double until = monotonic_seconds() + kAgentSeconds;
    while (list_.open().empty()) {
      if ((cutter_->poll() && list_.open().empty()) || monotonic_seconds() > until || stopped())
        throw_failed_cut();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    // An agent that cannot cut takes its entry back before the cut could have been undone.
    const double refused = monotonic_seconds() + kRefusalSeconds;
    while (monotonic_seconds() < refused) {
      if (list_.open().empty()) throw_failed_cut();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  [[noreturn]] void throw_failed_cut() {
    const double until = monotonic_seconds() + kLastWordsSeconds;  // for its last words
    while (!cutter_->poll() && monotonic_seconds() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    throw Error(fmt::format("{}: the drill's agent failed: {}", setup_.on,
                            last_line(cutter_->result(std::nullopt).log)));
  }

  bool names_host(const EndedMeasurement& ended) const {
    if (has_blame(ended.log)) return true;
    if (!ended.document) return false;
    if (ended.document->run.partial &&
        blames(ended.document->run.partial->text(), setup_.on, setup_.hosts))
      return true;
    return std::ranges::any_of(ended.document->records, [&](const Record& r) {
      if (const auto* e = std::get_if<Errored>(&r.outcome);
          e != nullptr && blames(e->where + " " + e->what.text(), setup_.on, setup_.hosts))
        return true;
      return std::ranges::any_of(r.checks, [&](const Check& c) {
        return !c.passed && r.entities.at(c.entity).host == setup_.on;
      });
    });
  }

  void add_check(const char* name, bool passed, const Said& detail) {
    record_.checks.push_back({.name = name,
                              .passed = passed,
                              .entity = host_,
                              .detail = passed ? Said() : detail,
                              .finding = true});
  }

  // Undoes the fault; true if nothing is left on the list.
  bool restore() {
    // Whatever ended the drill, its fault is undone: only one more signal ends that.
    answered_stops_ = setup_.stop_signals();
    // What a person did only a person undoes; without an answer it counts as not undone.
    if (by_hand_ && setup_.ask(fmt::format("{} ({}) on {}: put it back, then press Enter",
                                           drill_.id, setup_.part, setup_.on),
                               setup_.deadline_seconds))
      by_hand_ = false;
    // A host that is cut off undoes it by itself.
    const double until =
        monotonic_seconds() + (drill_.action == DrillAction::cut ? setup_.hold_seconds + 10 : 0);
    while (!list_.open().empty() && monotonic_seconds() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (!list_.open().empty()) {
      try {
        order({"--undo"}, setup_.on);
      } catch (const Error& e) {
        setup_.say(e.what());
      }
    }
    if (cutter_) cutter_->end();
    for (const Undo& u : list_.open())
      setup_.say(fmt::format("{}: not undone: {} {}; next: clusterbench drill restore {} --hosts …",
                             u.host, u.action, u.part, setup_.directory.string()));
    record_.facts["restored_at"] = utc_now();
    return list_.open().empty() && !by_hand_;
  }

  void finish(bool restored, bool recovered) {
    add_check("restored", restored, said("drill.not_restored", list_.file().string()));
    add_check("recovered", recovered, said("drill.not_recovered"));
    record_.facts["drill"] = drill_.what;
    record_.facts["expected"] = drill_.expected;
    if (!setup_.part.empty()) record_.facts["part"] = setup_.part;
    record_.ended = utc_now();
  }

  const Drill& drill_;
  const DrillSetup& setup_;
  const UndoList list_;
  const std::string token_;
  Record record_;
  std::optional<Measurement> cutter_;  // the agent that has cut its own way back
  size_t host_ = 0;
  int answered_stops_ = 0;  // number of stop signals that have ended the drill
  bool by_hand_ = false;    // a person has made the fault and not said that it is undone
};

}  // namespace

std::filesystem::path undo_file(const fs::path& directory) { return directory / "undo.jsonl"; }

Record run_drill(const Drill& drill, const DrillSetup& setup) {
  return DrillRun(drill, setup).run();
}

}  // namespace cb
