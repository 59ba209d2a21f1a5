// Any bytes as what ibnetdiscover printed, and behind a line "----" as a cabling plan: refused in
// words, or a subnet whose links are told of by both ends and whose findings name a part.
#include <cstddef>
#include <cstdint>

#include "core/error.h"
#include "model/fabric/findings.h"
#include "model/fabric/readers.h"
#include "model/fabric/routes.h"
#include "model/fabric/write.h"
#include "tests/fuzz/memory_directory.h"

namespace {

void judge_net(const std::string& dump, const std::string& plan, const std::string& input) {
  const cb::Net one = cb::read_subnet(dump, "net.txt");
  const cb::Net net = cb::join_nets({one, one});
  const cb::NetShape shape = cb::shape_of(net);
  for (const cb::NetLink& link : net.links) {
    if (!(link.a < link.b) || link.b.node >= net.nodes.size())
      fuzz::finding("a link with one end", input);
  }
  for (const cb::LeafRatio& leaf : shape.oversubscription) {
    if (!(leaf.ratio >= 0)) fuzz::finding("a ratio that is no number", input);
  }
  std::vector<cb::NetFinding> findings = cb::irregularities(net, shape);
  const cb::PlanDifference difference = cb::against_plan(net, cb::read_cabling(plan, "plan.csv"));
  for (const auto& more : {cb::state_findings(net, shape), cb::counter_findings(net),
                           cb::follow_routes(net, shape).findings, cb::changes_since(one, net)})
    findings.insert(findings.end(), more.begin(), more.end());
  if (cb::ibnetdiscover_text(net).empty() || cb::dot_text(net, shape, findings).empty())
    fuzz::finding("a subnet without a text", input);
  findings.insert(findings.end(), difference.findings.begin(), difference.findings.end());
  for (const cb::NetFinding& f : findings) {
    if (f.kind.empty() || f.what.text().empty()) fuzz::finding("a finding without words", input);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find("\n----\n");
  try {
    judge_net(text.substr(0, cut), cut == std::string::npos ? "" : text.substr(cut + 6), text);
  } catch (const cb::UsageError&) {  // refused in words
  }
  return 0;
}
