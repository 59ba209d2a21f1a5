#include "bench/cpu/stream_phase.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cb {
namespace {

using nlohmann::json;

std::string pack(const StreamShare& s) {
  json ops = json::object();
  for (const auto& [op, seconds] : s.seconds)
    ops[stream_op_name(op)] = {{"seconds", seconds}, {"variant", s.variant.at(op)}};
  const json whole{
      {"host", s.host},       {"kind", s.kind},          {"id", s.id}, {"elements", s.elements},
      {"threads", s.threads}, {"wrong", s.errors.wrong}, {"ops", ops}};
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
  for (const auto& [name, op] : whole.at("ops").items()) {
    out.seconds[stream_op(name)] = op.at("seconds").get<std::vector<double>>();
    out.variant[stream_op(name)] = op.at("variant");
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
      out.variant[op] = fmt::format("{} stores, {}", variants[op]->name, variants[op]->isa);
      context.watchdog.progress();
    }
    team->reset();
  }
  const SampleRun run = context.sampler.measure_self_timed(plan.samples, [&] {
    double total = 0;
    for (const StreamOp op : plan.ops) {
      context.comm.barrier();
      if (!team) continue;
      out.seconds[op].push_back(team->pass(op, *variants[op]));
      total += out.seconds[op].back();
    }
    return total;
  });
  for (auto& [op, seconds] : out.seconds)  // what was warm-up goes
    seconds.erase(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(run.warm_up));
  if (team) out.errors = team->verify_all();
  return out;
}

std::vector<StreamShare> gather_shares(Comm& comm, const StreamShare& mine) {
  std::vector<StreamShare> out;
  for (const std::string& blob : comm.gather(pack(mine))) out.push_back(unpack(blob));
  return out;
}

std::vector<double> combined_bandwidth(const std::vector<const StreamShare*>& shares, StreamOp op) {
  double bytes = 0;
  size_t passes = std::numeric_limits<size_t>::max();
  for (const StreamShare* s : shares) {
    bytes += static_cast<double>(s->elements) * static_cast<double>(stream_bytes_per_element(op));
    passes = std::min(passes, s->seconds.at(op).size());
  }
  std::vector<double> out;
  for (size_t i = 0; i < passes && !shares.empty(); ++i) {
    double slowest = 0;
    for (const StreamShare* s : shares) slowest = std::max(slowest, s->seconds.at(op)[i]);
    out.push_back(bytes / slowest);
  }
  return out;
}

}  // namespace cb
