#include "report/json_soak.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "judge/measured.h"
#include "judge/soak.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr double kJsonConfidence = 0.95;

json entity_of_soak(const Entity& e) {
  json out = {{"kind", e.kind}, {"id", e.id}};
  if (!e.host.empty()) out["host"] = e.host;
  if (e.peer) out["peer"] = *e.peer;
  return out;
}

json mean_time_json(uint64_t interruptions, double seconds) {
  const MeanTime m = mean_time(interruptions, seconds, kJsonConfidence);
  json out = {{"seconds", m.seconds}, {"interruptions", m.interruptions}, {"at_least", m.lower}};
  if (m.estimate) out["estimate"] = *m.estimate;
  if (m.upper) out["at_most"] = *m.upper;
  return out;
}

json last_reading_json(const LastReading& last) {
  json out = {{"loads_ended", last.loads_ended}, {"open", json::array()}};
  if (!last.at.empty()) out["at"] = last.at;
  for (const Job* job : last.open)
    out["open"].push_back({{"step", job->step}, {"host", job->host}});
  return out;
}

json event_json(const SoakEvent& e) {
  json out = {{"at", e.at},
              {"cycle", e.cycle},
              {"step", e.step},
              {"entity", entity_of_soak(e.entity)},
              {"kind", e.kind->name},
              {"class", event_class_name(e.cls)},
              {"what", e.what.text()},
              {"count", e.count},
              {"interrupts", e.interrupts}};
  if (!e.cause.empty()) out["cause"] = e.cause.text();
  return out;
}

json decay_json(const SoakSeries& s, const Decay& d) {
  json out = {
      {"step", s.step},     {"params", params_key(s.params)},     {"metric", s.metric},
      {"unit", s.unit},     {"entity", entity_of_soak(s.entity)}, {"cycles", s.values.size()},
      {"median", d.median}, {"loss_per_day", d.loss_per_day},     {"loss", d.loss}};
  if (d.interval) out["interval"] = *d.interval;
  if (d.variation) out["variation"] = *d.variation;
  if (d.last_to_first) out["last_to_first"] = *d.last_to_first;
  return out;
}

}  // namespace

std::optional<json> soak_json(const Campaign& campaign) {
  const SoakTime time = soak_time(campaign);
  if (time.jobs == 0) return std::nullopt;
  const std::vector<SoakEvent> events = soak_events(campaign);
  const auto n = static_cast<uint64_t>(std::ranges::count(events, true, &SoakEvent::interrupts));
  json out = {{"jobs", time.jobs},
              {"missing", time.missing},
              {"made_up", time.made_up},
              {"confidence", kJsonConfidence},
              {"cluster", mean_time_json(n, time.cluster_seconds)},
              {"hosts", mean_time_json(n, time.host_seconds)},
              {"cycles", json::array()},
              {"events", json::array()},
              {"series", json::array()}};
  for (const SoakCycle& c : time.cycles)
    out["cycles"].push_back({{"number", c.number},
                             {"started", c.started},
                             {"ended", c.ended},
                             {"done", c.done},
                             {"bad", c.bad},
                             {"missing", c.missing},
                             {"made_up", c.made_up},
                             {"seconds", c.seconds}});
  if (const LastReading last = last_reading(campaign); last.planned)
    out["last_reading"] = last_reading_json(last);
  for (const SoakEvent& e : events) out["events"].push_back(event_json(e));
  for (const SoakSeries& s : soak_series(campaign)) {
    if (const auto decay = decay_of(s, kJsonConfidence))
      out["series"].push_back(decay_json(s, *decay));
  }
  return out;
}

}  // namespace cb
