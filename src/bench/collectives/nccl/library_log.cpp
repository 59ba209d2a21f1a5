#include "bench/collectives/nccl/library_log.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "model/collective_ceiling.h"

namespace cb::nccl {
namespace {

constexpr size_t kMostPathLines = 64;

// "0-3, 8".
std::string ranges(const std::vector<size_t>& ranks) {
  std::string out;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", ranks[i]);
    if (last > i) out += fmt::format("-{}", ranks[last]);
    i = last + 1;
  }
  return out;
}

// "ranks 0-7: P2P 14, IB 4 …; rank 8: Socket 6", of the texts by rank.
std::string paths_by_rank(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<size_t>> of;
  std::vector<std::string> order;
  for (size_t r = 0; r < texts.size(); ++r) {
    auto& ranks = of[texts[r]];
    if (ranks.empty()) order.push_back(texts[r]);
    ranks.push_back(r);
  }
  std::string out;
  for (size_t i = 0; i < order.size() && i < kMostPathLines; ++i) {
    const std::vector<size_t>& ranks = of[order[i]];
    out += fmt::format("{}rank{} {}: {}", out.empty() ? "" : "; ", ranks.size() > 1 ? "s" : "",
                       ranges(ranks), order[i].empty() ? "?" : order[i]);
  }
  if (order.size() > kMostPathLines)
    out += fmt::format("; and {} more", order.size() - kMostPathLines);
  return out;
}

// Whether the network's switches reduce or multiply. Between hosts NVLS takes them too; with a tree
// between hosts it does not.
bool in_network(const TuningChoice& choice, uint64_t hosts) {
  const CollectiveAlgorithm a = algorithm_of(choice.algorithm);
  return a == CollectiveAlgorithm::in_network || (a == CollectiveAlgorithm::nvls && hosts > 1);
}

// Whether any switches do, those of the network or of NVLink.
bool in_switches(const TuningChoice& choice, uint64_t hosts) {
  const CollectiveAlgorithm a = algorithm_of(choice.algorithm);
  return in_network(choice, hosts) || a == CollectiveAlgorithm::nvls ||
         a == CollectiveAlgorithm::nvls_tree;
}

}  // namespace

// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
Environment LibraryLog::log_environment(const std::string& file, const LogWants& wants) {
  const std::string subsystems = wants.paths && wants.algorithms ? "INIT,TUNING"
                                 : wants.paths                   ? "INIT"
                                                                 : "TUNING";
  return {{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", subsystems}, {"NCCL_DEBUG_FILE", file}};
}

void LibraryLog::read() {
  const std::string text = file_.read_new();
  choices_ = parse_tuning_log(text);
  if (wants_.paths) read_paths(text, paths_);
}

std::vector<MetricDef> log_metrics() {
  return {{"gpu_direct_share", "share", Better::higher,
           "of a rank's network connections with GPUDirect RDMA (--paths)"},
          {"socket_connections", "count", Better::lower,
           "of a rank to others over TCP sockets (--paths)"},
          {"host_memory_connections", "count", Better::lower,
           "of a rank to others through shared host memory (--paths)"},
          {"pxn_connections", "count", Better::higher,
           "of a rank to others through another GPU's NIC (--paths)"},
          {"in_network_connections", "count", Better::higher,
           "of a rank to switches that reduce: CollNet, SHARP (--paths)"},
          {"domain_connections", "count", Better::higher,
           "of a rank to other hosts over NVLink (--paths)"},
          {"nvls_channels", "count", Better::higher,
           "of a rank's communicator through the NVLink switch that reduces (--paths)"},
          {"in_switch_share", "share", Better::higher,
           "of the library's choices that reduce or multiply in switches: nvls, collnet "
           "(--algorithms)"},
          {"in_network_share", "share", Better::higher,
           "of those that do so in the network's switches: SHARP (--algorithms)"},
          {"domain_gpus", "count", Better::higher,
           "of the job in an NVLink domain, as NVML names it (NVL72)"},
          {"registered_share", "share", Better::higher,
           "of a rank's buffers that the library registered (--register)"}};
}

void describe_paths(Record& record, Context& context, const LibraryLog& log, bool measured) {
  const NcclPaths& paths = log.paths();
  const std::vector<std::string> all = context.comm.gather(to_text(paths));
  if (context.comm.is_root()) record.facts["paths"] = paths_by_rank(all);
  if (!paths.told()) record.notes.emplace_back(said("coll.no_paths", context.who()));
  // All ranks or none: figures of some would let a criterion about every rank pass.
  const bool all_told = !context.comm.any(!paths.told());
  const bool channels_told = !context.comm.any(!paths.nvls_channels);
  if (!measured || !all_told) return;
  const size_t self =
      record.entity({context.place.host, "rank", std::to_string(context.comm.rank())});
  const auto add = [&](const char* name, double value) { record.add(name, self, {value}); };
  if (const auto share = paths.gpu_direct_share()) add("gpu_direct_share", *share);
  add("socket_connections", paths.sockets);
  add("host_memory_connections", paths.host);
  add("pxn_connections", paths.pxn);
  add("in_network_connections", paths.in_network);
  add("domain_connections", paths.domain);
  if (paths.nvls_channels && channels_told) add("nvls_channels", *paths.nvls_channels);
}

void describe_choices(Record& record, const std::vector<TuningChoice>& choices,
                      const std::optional<Entity>& group, uint64_t hosts) {
  if (choices.empty()) return;
  std::string text;
  for (const TuningChoice& c : choices) text += (text.empty() ? "" : "; ") + to_text(c);
  record.facts["algorithm"] = text;
  if (!group) return;
  const auto share = [&](bool (*is)(const TuningChoice&, uint64_t)) {
    const auto count = std::ranges::count_if(choices, [&](const auto& c) { return is(c, hosts); });
    return static_cast<double>(count) / static_cast<double>(choices.size());
  };
  record.add("in_switch_share", record.entity(*group), {share(in_switches)});
  record.add("in_network_share", record.entity(*group), {share(in_network)});
}

}  // namespace cb::nccl
