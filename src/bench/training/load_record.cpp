#include "bench/training/load_record.h"

#include <algorithm>
#include <string>

#include "core/quantity.h"
#include "core/stats.h"

namespace cb::training {
namespace {

// Of many requests a histogram: the documents of all replicas must stay one that can be read.
Samples bounded(const std::vector<double>& values) {
  Samples out;
  for (const double value : values) out.add(value);
  return out;
}

double p90_of(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile_of_sorted(values, 0.9);
}

void add_latencies(Record& record, size_t self, const RequestTimes& times) {
  record.add("queueing_seconds", self, bounded(times.queueing));
  record.add("request_first_token_p90_seconds", self, {p90_of(times.first_token)});
  record.add("request_first_token_seconds", self, bounded(times.first_token));
  record.add("request_seconds", self, bounded(times.whole));
}

void add_served(Record& record, size_t self, const InferOptions& o, double capacity,
                const Loaded& m) {
  const auto tokens = static_cast<double>(o.generation.new_tokens);
  const ServedLoad load = served_load(m.arrivals, m.servings);
  std::vector<double> together;
  for (const Serving& one : m.servings) together.push_back(static_cast<double>(one.count));
  record.add("offered_requests_per_second", self, {load.offered_per_second});
  record.add("offered_tokens_per_second", self, {load.offered_per_second * tokens});
  record.add("requests_per_second", self, {load.achieved_per_second});
  record.add("generated_tokens_per_second", self, {load.achieved_per_second * tokens});
  record.add("capacity_requests_per_second", self, {capacity});
  record.add("busy_share", self, {load.busy_share});
  record.add("requests_of_generation", self, bounded(together));
}

// The note of a replica that keeps up names none: all of these say the same once.
Said why_no_latency(const std::string& replica, double rate, double capacity) {
  if (rate < capacity) return said("infer.other_queue_grows");
  return said("infer.queue_grows", Quantity{rate, "count per second"},
              Quantity{capacity, "count per second"}, replica);
}

}  // namespace

std::vector<MetricDef> load_metrics() {
  return {{"offered_requests_per_second", "count per second", Better::higher,
           "under load: requests of a replica over the planned moment of the last one"},
          {"offered_tokens_per_second", "count per second", Better::higher,
           "under load: new tokens that these ask for"},
          {"requests_per_second", "count per second", Better::higher,
           "under load: requests of a replica over the moment of the last answer"},
          {"generated_tokens_per_second", "count per second", Better::higher,
           "under load: new tokens of these"},
          {"capacity_requests_per_second", "count per second", Better::higher,
           "--batch over the mean time of a generation of that size"},
          {"busy_share", "share", Better::lower, "under load: of the time, in generations"},
          {"requests_of_generation", "count", Better::higher,
           "under load: that a free replica took together"},
          {"queueing_seconds", "seconds", Better::lower,
           "under load: from the planned arrival until the generation begins"},
          {"request_first_token_seconds", "seconds", Better::lower,
           "under load: from the planned arrival to the first new token"},
          {"request_first_token_p90_seconds", "seconds", Better::lower, "90 % of the same"},
          {"request_seconds", "seconds", Better::lower,
           "under load: from the planned arrival to the last new token"},
          {"request_token_seconds", "seconds", Better::lower,
           "under load: from the first to the last new token, over the tokens behind the first"}};
}

void add_load_figures(Comm& comm, Record& record, size_t self, const InferOptions& o, double rate,
                      const Loaded& m) {
  const double capacity =
      service_capacity(m.full_seconds, static_cast<size_t>(o.generation.sequences));
  const bool serves = !m.servings.empty();
  const bool grows = comm.any(serves && rate >= capacity);
  if (!serves) return;
  add_served(record, self, o, capacity, m);
  const RequestTimes times = request_times(m.arrivals, m.servings, o.generation.new_tokens);
  record.add("request_token_seconds", self, bounded(times.each_token));
  if (grows)
    record.notes.push_back(why_no_latency(entity_name(record.entities[self]), rate, capacity));
  else
    add_latencies(record, self, times);
}

}  // namespace cb::training
