// Which hosts the jobs of a step of scope pairs, groups or rails run on. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/profile.h"

namespace cb {

// One job of a step that runs on several hosts. A place is a position in the campaign's list of
// hosts, from 0: a spare that steps in has the place of the host that it replaces.
struct PlaceGroup {
  std::string name;            // "pair-001-002", "group-03" or "rail-0": part of file names
  std::vector<size_t> places;  // empty: all of them
  size_t turn = 0;             // jobs of one turn share no host, so they may run side by side
  std::optional<int> rail = {};
};

// The jobs of a step on that number of places, in the order of turns; none if there are too few
// places, or if the step's scope is host or cluster.
// pairs: the rounds of a tournament (model/schedule.h), each pair once.
// groups: neighbours in the list. If places are left over, the last of all form one more group, in
// a turn of its own, with hosts that have been in another group: each host is measured in a group
// of the full size. rails: all places, one rail a turn.
std::vector<PlaceGroup> place_groups(const Step& step, size_t places);

}  // namespace cb
