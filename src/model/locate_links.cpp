#include "model/locate_links.h"

#include <map>
#include <tuple>

namespace cb::locating {
namespace {

// A single sample that is this low is measured again.
constexpr double kMinDip = 0.03;
constexpr double kDipSigmas = 3.5;

using Cell = std::tuple<int, int, int>;  // from, to, rail
using Cells = std::map<Cell, std::vector<float>>;

Cells cells_with_a_dip(const FleetShape& fleet, const Judge& judge,
                       const std::vector<Sample>& samples, const std::vector<bool>& slow) {
  const double dip = std::max(kMinDip, kDipSigmas * judge.noise());
  Cells cells;
  std::vector<bool> sends_some(fleet.nics(), false);
  for (const Sample& s : samples) {
    const size_t from = fleet.nic(s.from, s.rail);
    if (s.x >= 1 - dip || s.explained || slow[from] || slow[fleet.nic(s.to, s.rail)]) continue;
    cells[{s.from, s.to, s.rail}];
    sends_some[from] = true;
  }
  if (cells.empty()) return cells;
  for (const Sample& s : samples) {
    if (!sends_some[fleet.nic(s.from, s.rail)]) continue;
    const auto found = cells.find({s.from, s.to, s.rail});
    if (found != cells.end()) found->second.push_back(s.x);
  }
  return cells;
}

}  // namespace

FoundLinks find_links(const FleetShape& fleet, const Judge& judge,
                      const std::vector<Sample>& samples, const std::vector<bool>& slow) {
  FoundLinks out;
  for (auto& [cell, values] : cells_with_a_dip(fleet, judge, samples, slow)) {
    const auto& [from, to, rail] = cell;
    const Score s = judge.score(values);
    if (s.n < kMinSamples) {
      out.retest.push_back({from, to});
    } else if (judge.is_slow(s) && 2 * s.low > s.n) {
      Suspect link = judge.suspect(SuspectKind::link, s);
      link.host = from;
      link.peer = to;
      link.rail = rail;
      out.suspects.push_back(link);
    }
  }
  std::sort(out.retest.begin(), out.retest.end());
  out.retest.erase(std::unique(out.retest.begin(), out.retest.end()), out.retest.end());
  return out;
}

}  // namespace cb::locating
