// What happened during a soak: jobs that ended badly, checks that failed, counters that grew, and
// what the kernel said. docs/methods/soak.md has the sources of the classes.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "core/clock.h"
#include "judge/soak.h"
#include "judge/soak_log.h"
#include "judge/verdict_gaps.h"
#include "judge/verdict_hosts.h"

namespace cb {
namespace {

struct CounterKind {
  std::string_view counter;
  const char* kind;
};

// Running totals that a record of every cycle holds: what grew since the cycle before is an event.
constexpr std::array kTotals{
    CounterKind{"ecc_uncorrected_volatile", "gpu_memory_uncorrected"},
    CounterKind{"ecc_corrected_volatile", "gpu_memory_corrected"},
    CounterKind{"rows_remapped_correctable", "gpu_rows_remapped"},
    CounterKind{"rows_remapped_uncorrectable", "gpu_rows_remapped"},
    CounterKind{"pcie_replays", "pcie_error"},
    CounterKind{"nvlink_errors", "nvlink_error"},
    CounterKind{"fabric_faults", "nvlink_error"},
    CounterKind{"fatal_xids", "xid"},
    CounterKind{"link_downs", "link_down"},
    CounterKind{"link_errors", "link_error"},
    CounterKind{"pcie_corrected_errors", "pcie_error"},
    CounterKind{"pcie_fatal_errors", "pcie_fatal"},
    CounterKind{"memory_corrected_errors", "memory_corrected"},
    CounterKind{"memory_uncorrected_errors", "memory_uncorrected"},
    CounterKind{"throttle_events", "throttling"},
    CounterKind{"drive_media_errors", "drive_error"},
};

// States: anything but 0 is an event of the cycle.
constexpr std::array kStates{
    CounterKind{"hw_slowdown", "throttling"},
    CounterKind{"hw_thermal_slowdown", "throttling"},
    CounterKind{"sw_thermal_slowdown", "throttling"},
    CounterKind{"power_brake", "throttling"},
    CounterKind{"row_remap_failed", "gpu_memory_uncorrected"},
};

// Counters before and after a record.
constexpr std::array kDeltas{
    CounterKind{"ecc_uncorrected", "gpu_memory_uncorrected"},
    CounterKind{"ecc_corrected", "gpu_memory_corrected"},
    CounterKind{"pcie_replays", "pcie_error"},
    CounterKind{"thermal_seconds", "throttling"},
    CounterKind{"nvme_media_errors", "drive_error"},
    CounterKind{"nvme_critical_temperature_time", "throttling"},
    CounterKind{"nvme_light_throttle_time", "throttling"},
    CounterKind{"nvme_heavy_throttle_time", "throttling"},
    CounterKind{"link_downed", "link_down"},
    CounterKind{"symbol_error", "link_error"},
    CounterKind{"link_error_recovery", "link_error"},
    CounterKind{"port_rcv_errors", "link_error"},
    CounterKind{"local_link_integrity_errors", "link_error"},
    CounterKind{"rx_crc_errors", "link_error"},
    CounterKind{"tx_carrier_errors", "link_error"},
};

// Events of these kinds explain an interruption of the same host around their time.
constexpr std::array<std::string_view, 16> kCauses{"reboot",
                                                   "kernel_fault",
                                                   "device_error",
                                                   "xid",
                                                   "gpu_memory_uncorrected",
                                                   "memory_uncorrected",
                                                   "machine_check",
                                                   "pcie_fatal",
                                                   "drive_error",
                                                   "drive_reset",
                                                   "link_down",
                                                   "lockup",
                                                   "out_of_memory",
                                                   "file_system_error",
                                                   "program_fault",
                                                   "xid_of_program"};
// As Meta attributes failures of its research clusters (Kokolis et al., HPCA 2025, §III).
constexpr int64_t kSecondsBefore = 600, kSecondsAfter = 300;

// The note of the case `events` with one line of the kernel's log: host, kind, time, place in the
// log, text.
constexpr const char* kKernelNote = "events.kernel";
constexpr const char* kLogRead = "kernel_messages";

template <size_t N>
const EventKind* kind_of(const std::array<CounterKind, N>& table, std::string_view counter) {
  const auto found = std::ranges::find(table, counter, &CounterKind::counter);
  return found == table.end() ? nullptr : find_event_kind(found->kind);
}

bool ended_by_program(const Said& reason) {
  const std::string& id = reason.message().id;
  return id == "end.refused" || id == "end.no_record" || id == "end.not_renamed" ||
         (id == "end.of_log" && reason.text().starts_with(said("end.refused").text()));
}

}  // namespace

bool interrupts(const Interruption& interruption) {
  return interruption.state != JobState::missing && !ended_by_program(interruption.reason);
}

namespace {

class EventCollector {
 public:
  explicit EventCollector(const Campaign& campaign) : campaign_(campaign), names_(campaign) {}

  std::vector<SoakEvent> collect() {
    find_readers();
    for (const Job& job : campaign_.jobs) {
      if (job.cycle == 0) continue;
      add_interruptions(job);
      if (!job.document) continue;
      for (const Record& record : job.document->records) add_record(job, record);
    }
    for (const Reboot& reboot : reboots(campaign_)) add_reboot(reboot);
    std::ranges::stable_sort(events_, {}, &SoakEvent::at);
    attribute();
    return std::move(events_);
  }

 private:
  using Counted = std::pair<Entity, std::string_view>;  // an entity and a kind of event

  // Which counters are read as running totals, and which hosts' logs: what a single record says of
  // them is not counted again.
  void find_readers() {
    for (const Job& job : campaign_.jobs) {
      if (job.cycle == 0 || !job.document) continue;
      if (begin_.empty() || (!job.started.empty() && job.started < begin_)) begin_ = job.started;
      for (const Record& record : job.document->records) {
        for (const Metric& metric : record.metrics) {
          const Entity& entity = record.entities.at(metric.entity);
          if (metric.name == kLogRead) logs_.insert(entity.host);
          if (const EventKind* kind = kind_of(kTotals, metric.name))
            totals_.insert({entity, kind->name});
        }
      }
    }
  }

  SoakEvent event(const Job& job, std::string at, Entity entity, const EventKind* kind,
                  Said what) const {
    return {.at = std::move(at),
            .cycle = job.cycle,
            .step = job.step,
            .entity = std::move(entity),
            .kind = kind,
            .cls = kind->cls,
            .what = std::move(what)};
  }

  void add_interruptions(const Job& job) {
    const Entity place = !job.host.empty()    ? Entity{job.host, "host", ""}
                         : !job.group.empty() ? Entity{"", "group", job_place(job)}
                                              : Entity{"", "cluster", ""};
    for (const Interruption& i : job.interruptions) {
      const bool ours = i.state == JobState::missing;
      const EventKind* kind = find_event_kind(ours ? "campaign_stopped" : "interruption");
      SoakEvent e = event(job, i.ended.empty() ? i.started : i.ended, place, kind, i.reason);
      if (ended_by_program(i.reason)) e.cls = EventClass::tool;
      e.interrupts = interrupts(i);
      events_.push_back(std::move(e));
    }
  }

  void add_record(const Job& job, const Record& record) {
    for (const Check& check : record.checks) {
      if (check.passed) continue;
      const EventKind* kind = find_event_kind(check.finding ? "finding" : "wrong_data");
      events_.push_back(event(job, record.ended, record.entities.at(check.entity), kind,
                              check.detail.empty() ? Said(check.name) : check.detail));
    }
    for (const Metric& metric : record.metrics) add_metric(job, record, metric);
    for (const Delta& delta : record.telemetry.deltas) add_delta(job, record, delta);
    for (const Said& note : record.notes) add_kernel_line(job, note);
  }

  void add_growth(const Job& job, const Record& record, const Entity& entity, const EventKind* kind,
                  const std::string& counter, double growth) {
    SoakEvent e = event(job, record.ended, entity, kind, said("soak.grew", counter, growth));
    e.count = growth;
    events_.push_back(std::move(e));
  }

  void add_metric(const Job& job, const Record& record, const Metric& metric) {
    if (metric.samples.empty()) return;
    const Entity& entity = record.entities.at(metric.entity);
    const double value = metric.samples.summary().max;
    if (const EventKind* state = kind_of(kStates, metric.name); state != nullptr && value > 0)
      add_growth(job, record, entity, state, metric.name, value);
    const EventKind* kind = kind_of(kTotals, metric.name);
    if (kind == nullptr || (kind->of_kernel_log && logs_.contains(entity.host))) return;
    const auto [last, is_first] = last_.try_emplace({job.step, metric.name, entity}, value);
    // A total that is smaller was reset: what it has counted since then is new.
    const double growth = value < last->second ? value : value - last->second;
    if (!is_first && growth > 0) add_growth(job, record, entity, kind, metric.name, growth);
    last->second = value;
  }

  void add_delta(const Job& job, const Record& record, const Delta& delta) {
    const EventKind* kind = kind_of(kDeltas, delta.name);
    const Entity& entity = record.entities.at(delta.entity);
    if (kind == nullptr || delta.after <= delta.before || totals_.contains({entity, kind->name}))
      return;
    add_growth(job, record, entity, kind, delta.name, delta.after - delta.before);
  }

  // A reboot that no job's end tells already is an interruption of its own: the campaign asks for
  // none.
  void add_reboot(const Reboot& reboot) {
    SoakEvent e{.at = reboot.at,
                .cycle = reboot.cycle,
                .step = reboot.step,
                .entity = {reboot.host, "host", ""},
                .kind = find_event_kind("reboot"),
                .cls = EventClass::defect,
                .what = said("soak.rebooted", reboot.since)};
    e.interrupts = std::ranges::none_of(events_, [&](const SoakEvent& other) {
      const bool here = other.entity.host.empty() || asked(other) == asked(e);
      return other.interrupts && here && other.at >= reboot.since && other.cycle <= reboot.cycle;
    });
    events_.push_back(std::move(e));
  }

  // Whether a counter of some part of the host tells events of this kind, so that the log's lines
  // would be the same events again.
  bool is_total(const std::string& host, std::string_view kind) const {
    return std::ranges::any_of(
        totals_, [&](const Counted& c) { return c.first.host == host && c.second == kind; });
  }

  // Every cycle reads the whole log, so a line is seen again and again; lines from before the soak
  // are none of its events.
  void add_kernel_line(const Job& job, const Said& note) {
    const Message& m = note.message();
    if (m.id != kKernelNote || m.args.size() < 5) return;
    std::array<std::string, 5> part;
    for (size_t i = 0; i < part.size(); ++i) part[i] = m.args[i].in(Lang::en).value_or("");
    const auto& [host, name, at, place, text] = part;
    const EventKind* kind = find_event_kind(name);
    const bool counted = kind != nullptr && !kind->of_kernel_log && is_total(host, kind->name);
    if (kind == nullptr || counted || at < begin_ || !lines_.insert(host + " " + place).second)
      return;
    events_.push_back(event(job, at, {host, "host", ""}, kind, text));
  }

  std::string asked(const SoakEvent& e) const {
    return names_.asked(e.entity.host).value_or(e.entity.host);
  }

  // Names what happened on the host of an interruption around its time, and takes over its class.
  void attribute() {
    for (SoakEvent& e : events_) {
      if (!e.interrupts) continue;
      const auto at = seconds_since_epoch(e.at);
      const SoakEvent* best = nullptr;
      int64_t nearest = 0;
      for (const SoakEvent& other : events_) {
        if (&other == &e ||
            std::ranges::find(kCauses, std::string_view(other.kind->name)) == kCauses.end())
          continue;
        const auto then = seconds_since_epoch(other.at);
        if (!at || !then || (!e.entity.host.empty() && asked(e) != asked(other))) continue;
        const int64_t after = *then - *at;
        if (after < -kSecondsBefore || after > kSecondsAfter) continue;
        if (best != nullptr && std::abs(after) >= nearest) continue;
        best = &other;
        nearest = std::abs(after);
      }
      if (best == nullptr) continue;
      e.cause = said("soak.cause", entity_name(best->entity), best->what);
      e.cls = best->cls;
    }
  }

  const Campaign& campaign_;
  const HostNames names_;  // a job has the name that was asked for, a record the host's own
  std::vector<SoakEvent> events_;
  std::string begin_;  // of the soak
  std::set<Counted> totals_;
  std::set<std::string> logs_;   // hosts whose kernel log is read
  std::set<std::string> lines_;  // lines of the log that were seen
  std::map<std::tuple<std::string, std::string, Entity>, double> last_;
};

}  // namespace

bool is_logged_too(const EventKind& kind) {
  constexpr std::array kNames{"memory_uncorrected", "pcie_fatal", "drive_error"};
  return std::ranges::find(kNames, std::string_view(kind.name)) != kNames.end();
}

std::map<std::string, std::set<std::string>> observed_kinds(const Campaign& campaign, Watch when) {
  std::map<std::string, size_t> last;  // the last round of each step
  for (const Job& job : campaign.jobs) last[job.step] = std::max(last[job.step], job.cycle);
  std::map<std::string, std::set<std::string>> out{
      {"", {"interruption", "campaign_stopped", "wrong_data", "finding"}}};
  const auto add = [&](const std::string& host, const EventKind* kind) {
    if (kind != nullptr) out[host].insert(kind->name);
  };
  for (const Job& job : campaign.jobs) {
    if (job.cycle == 0 || !job.document) continue;
    if (when == Watch::last_cycle && job.cycle < last[job.step]) continue;
    for (const Record& record : job.document->records) {
      for (const Said& note : record.notes) {
        const Message& m = note.message();
        if (m.id == "events.boot" && !m.args.empty())
          add(m.args[0].in(Lang::en).value_or(""), find_event_kind("reboot"));
      }
      for (const Metric& metric : record.metrics) {
        const std::string& host = record.entities.at(metric.entity).host;
        add(host, kind_of(kTotals, metric.name));
        add(host, kind_of(kStates, metric.name));
        if (metric.name != kLogRead) continue;
        for (const EventKind& kind : event_kinds()) {
          if (kind.of_kernel_log || is_logged_too(kind)) add(host, &kind);
        }
      }
      for (const Delta& delta : record.telemetry.deltas)
        add(record.entities.at(delta.entity).host, kind_of(kDeltas, delta.name));
    }
  }
  return out;
}

std::vector<SoakEvent> soak_events(const Campaign& campaign) {
  return EventCollector(campaign).collect();
}

}  // namespace cb
