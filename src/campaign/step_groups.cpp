#include "campaign/step_groups.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "model/schedule.h"

namespace cb {
namespace {

std::vector<PlaceGroup> pairs_of(size_t places) {
  std::vector<PlaceGroup> out;
  size_t turn = 0;
  for (const Round& round : tournament(static_cast<int>(places))) {
    for (const HostPair& pair : round) {
      const auto [first, second] = std::minmax({pair.from, pair.to});
      out.push_back({.name = fmt::format("pair-{:03}-{:03}", first + 1, second + 1),
                     .places = {static_cast<size_t>(first), static_cast<size_t>(second)},
                     .turn = turn});
    }
    ++turn;
  }
  return out;
}

PlaceGroup group_from(size_t number, size_t first, size_t size, size_t turn) {
  PlaceGroup out{.name = fmt::format("group-{:02}", number), .places = {}, .turn = turn};
  out.places.resize(size);
  std::iota(out.places.begin(), out.places.end(), first);
  return out;
}

std::vector<PlaceGroup> groups_of(size_t size, size_t places) {
  std::vector<PlaceGroup> out;
  if (size == 0 || places < size) return out;
  for (size_t first = 0; first + size <= places; first += size)
    out.push_back(group_from(out.size() + 1, first, size, 0));
  if (places % size != 0) out.push_back(group_from(out.size() + 1, places - size, size, 1));
  return out;
}

std::vector<PlaceGroup> rails_of(int rails) {
  std::vector<PlaceGroup> out;
  for (int i = 0; i < rails; ++i)
    out.push_back({.name = fmt::format("rail-{}", i),
                   .places = {},
                   .turn = static_cast<size_t>(i),
                   .rail = i});
  return out;
}

}  // namespace

std::vector<PlaceGroup> place_groups(const Step& step, size_t places) {
  switch (step.scope) {
    case Scope::host:
    case Scope::cluster:
      return {};
    case Scope::pairs:
      return pairs_of(places);
    case Scope::groups:
      return groups_of(static_cast<size_t>(step.group_size), places);
    case Scope::rails:
      return rails_of(step.rails);
  }
  return {};
}

}  // namespace cb
