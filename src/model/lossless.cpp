#include "model/lossless.h"

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace cb {
namespace {

using Deltas = std::map<std::string, double>;

std::optional<double> sum_if(const Deltas& deltas, std::initializer_list<std::string_view> names,
                             std::initializer_list<std::string_view> parts) {
  std::optional<double> sum;
  for (const auto& [name, delta] : deltas) {
    bool wanted = false;
    for (const std::string_view n : names) wanted |= name == n;
    for (const std::string_view p : parts)
      wanted |= name.starts_with("eth_") && name.find(p) != std::string::npos;
    if (wanted) sum = sum.value_or(0) + delta;
  }
  return sum;
}

}  // namespace

Lossless judge_lossless(const Deltas& deltas) {
  const auto drops = sum_if(deltas, {"port_xmit_discards", "receive_discards", "out_of_buffer"},
                            {"discard", "drop"});
  const auto order = sum_if(deltas, {"out_of_sequence", "sequence_naks_received"}, {});
  const auto resent = sum_if(deltas, {"ack_timeouts", "retransmissions", "roce_adp_retrans"}, {});
  const auto pauses = sum_if(deltas, {}, {"_pause", "pfc"});
  const auto marks = sum_if(deltas, {"ecn_marked"}, {"marked", "ecn"});
  const auto notices = sum_if(deltas, {"cnp_sent", "cnp_handled"}, {});
  Lossless out;
  out.known = drops || order || resent;
  out.lost = drops.value_or(0) + order.value_or(0) + resent.value_or(0);
  out.passed = out.known && out.lost == 0;
  out.pause_before_mark = pauses.value_or(0) > 0 && marks && *marks == 0;
  std::vector<Said> counts;
  const auto add = [&counts](const char* id, std::optional<double> value) {
    if (value) counts.push_back(said(id, fmt::format("{:.0f}", *value)));
  };
  add("lossless.drops", drops);
  add("lossless.out_of_sequence", order);
  add("lossless.resent", resent);
  add("lossless.pauses", pauses);
  add("lossless.marks", marks);
  add("lossless.notices", notices);
  out.summary = said_names(counts);
  if (out.pause_before_mark) out.summary = said_list({out.summary, said("lossless.pause_first")});
  return out;
}

}  // namespace cb
