#include "bench/cpu/stream_phase.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cb {
namespace {

using nlohmann::json;

constexpr int kReadPasses = 5;

std::string pack(const StreamShare& s) {
  json ops = json::object();
  for (const auto& [op, seconds] : s.seconds)
    ops[stream_op_name(op)] = {{"seconds", seconds}, {"variant", pack_said(s.variant.at(op))}};
  const json whole{
      {"host", s.host},       {"kind", s.kind},          {"id", s.id}, {"elements", s.elements},
      {"threads", s.threads}, {"wrong", s.errors.wrong}, {"ops", ops}, {"read", s.read_seconds}};
  std::string out;
  json::to_cbor(whole, out);
  return out;
}

StreamShare unpack(const std::string& blob) {
  const json whole = json::from_cbor(blob);
  StreamShare out{.host = whole.at("host"), .kind = whole.at("kind"), .id = whole.at("id")};
  out.elements = whole.at("elements");
  out.threads = whole.at("threads");
  out.errors.wrong = whole.at("wrong");
  out.read_seconds = whole.at("read").get<std::vector<double>>();
  for (const auto& [name, op] : whole.at("ops").items()) {
    out.seconds[stream_op(name)] = op.at("seconds").get<std::vector<double>>();
    out.variant[stream_op(name)] = unpack_said(op.at("variant").get<std::string>());
  }
  return out;
}

// The bytes of all shares over the slowest share's time, pass by pass.
template <typename SecondsOf>
std::vector<double> combined(const std::vector<const StreamShare*>& shares,
                             double bytes_per_element, SecondsOf seconds_of) {
  double bytes = 0;
  size_t passes = std::numeric_limits<size_t>::max();
  for (const StreamShare* s : shares) {
    bytes += static_cast<double>(s->elements) * bytes_per_element;
    passes = std::min(passes, seconds_of(*s).size());
  }
  std::vector<double> out;
  for (size_t i = 0; i < passes && !shares.empty(); ++i) {
    double slowest = 0;
    for (const StreamShare* s : shares) slowest = std::max(slowest, seconds_of(*s)[i]);
    out.push_back(bytes / slowest);
  }
  return out;
}

}  // namespace

StreamShare run_stream(Context& context, const StreamPhase& phase, const StreamPlan& plan) {
  StreamShare out{.host = context.place.host, .kind = phase.kind, .id = phase.id};
  std::optional<StreamTeam> team;
  std::map<StreamOp, const StreamVariant*> variants;
  context.comm.barrier();
  if (!phase.cpus.empty()) {
    team.emplace(phase.cpus, phase.elements);
    out.elements = team->elements();
    out.threads = team->threads();
    for (const StreamOp op : plan.ops) {
      variants[op] = &team->fastest(op, plan.stores);
      const bool past_caches = std::string_view(variants[op]->name) == "streaming";
      out.variant[op] =
          said(past_caches ? "memory.streaming" : "memory.regular", variants[op]->isa);
      context.watchdog.progress();
    }
    team->reset();
  }
  SamplePlan samples = plan.samples;
  for (const StreamOp op : plan.ops) samples.spans.push_back(stream_op_name(op));
  const SampleRun run = context.sampler.measure_spans(samples, [&](Spans& spans) {
    double total = 0;
    for (const StreamOp op : plan.ops) {
      context.comm.barrier();
      if (!team) continue;
      const double seconds = team->pass(op, *variants[op]);
      spans.add(stream_op_name(op), seconds);
      total += seconds;
    }
    return total;
  });
  for (const StreamOp op : plan.ops) {
    if (team) out.seconds[op] = run.spans.of(stream_op_name(op));
  }
  for (int i = 0; i < kReadPasses; ++i) {
    context.comm.barrier();
    if (team) out.read_seconds.push_back(team->read_pass());
    context.watchdog.progress();
  }
  if (team && plan.faulty) team->spoil();
  if (team) out.errors = team->verify_all();
  return out;
}

std::vector<StreamShare> gather_shares(Comm& comm, const StreamShare& mine) {
  std::vector<StreamShare> out;
  for (const std::string& blob : comm.gather(pack(mine))) out.push_back(unpack(blob));
  return out;
}

double fastest_bandwidth(const std::vector<const StreamShare*>& shares,
                         const std::vector<StreamOp>& ops) {
  double fastest = 0;
  const auto consider = [&](const std::vector<double>& rates) {
    for (const double rate : rates) fastest = std::max(fastest, rate);
  };
  for (const StreamOp op : ops) consider(combined_bandwidth(shares, op));
  consider(combined(
      shares, 3 * sizeof(double),
      [](const StreamShare& s) -> const auto& { return s.read_seconds; }));
  return fastest;
}

std::vector<double> combined_bandwidth(const std::vector<const StreamShare*>& shares, StreamOp op) {
  return combined(
      shares,
      static_cast<double>(stream_bytes_per_element(op)), [op](const StreamShare& s) -> const auto& {
        return s.seconds.at(op);
      });
}

}  // namespace cb
