#pragma once

#include "judge/verdict.h"
#include "judge/verdict_evidence.h"

namespace cb {

// Hosts that were taken out, and what the contract (Profile::delivery) says about them.
// docs/methods/exclusion.md.

// Notes what the records of each excluded host found. If the profile lets so many hosts be replaced
// and every excluded host has a successor, the spares stand in the places of these hosts, which are
// judged no more: their jobs, proofs and inventories leave the campaign, and what the steps across
// all hosts found about them alone. A soak's jobs that were interrupted on them stay, without what
// they measured. Warns if a spare is the same machine as any host that is out. Else nothing
// changes: an excluded host is not measured. `profile` is the one that judges, by default the
// campaign's own; to apply it again is harmless.
void apply_delivery(Campaign& campaign, const Profile& profile);
void apply_delivery(Campaign& campaign);

// True if the judgement needs a line on the delivery: the profile asks for it, or a host is out.
bool needs_delivery(const Campaign& campaign, const Profile& profile);
Criterion delivery_criterion(const Profile& profile);
// A gap for each excluded host that the profile does not let go, and where the numbers differ.
Evidence delivery_evidence(const Campaign& campaign, const Profile& profile);
// How many hosts were delivered and replaced; then which, by what and why.
std::vector<Message> delivery_messages(const Campaign& campaign);

}  // namespace cb
