#pragma once

#include "judge/verdict.h"
#include "judge/verdict_evidence.h"

namespace cb {

// Hosts that were taken out, and what the contract (Profile::delivery) says about them.
// docs/methods/exclusion.md.

// Notes what the records of each excluded host found. If the profile lets so many hosts be replaced
// and every excluded host has a successor, the spares stand in the places of these hosts, which are
// judged no more: their jobs, proofs and inventories leave the campaign, and what the steps across
// all hosts found about them alone. Else nothing changes: an excluded host is not measured.
void apply_delivery(Campaign& campaign);

// True if the judgement needs a line on the delivery: the profile asks for it, or a host is out.
bool needs_delivery(const Campaign& campaign, const Profile& profile);
Criterion delivery_criterion(const Profile& profile);
// A gap for each excluded host that the profile does not let go, and where the numbers differ.
Evidence delivery_evidence(const Campaign& campaign, const Profile& profile);
// "128 hosts delivered, 2 of them spares"
Message delivery_message(const Campaign& campaign);

}  // namespace cb
