#pragma once

#include <span>

#include "judge/verdict_evidence.h"

namespace cb {

// Compares inventories with what was ordered. A part that is not as ordered is a failing finding; a
// host without one gets a passing finding. What could not be read is a gap.
// `module_owners`: as compare_assets().
Evidence expect_evidence(std::span<const HostInventory> hosts, const ExpectRule& rule,
                         std::span<const HostInventory> module_owners = {});

// Does the same for every host that the campaign was asked for: one without inventory is a gap.
Evidence expect_evidence(const Campaign& campaign, const HostNames& names, const ExpectRule& rule);

enum class WantedFit { yes, no, unclear };
// Says whether an attribute is as wanted (Expectation::wanted). unclear: the two are of kinds that
// cannot be compared.
WantedFit fits_wanted(const Attribute& value, std::string_view attribute,
                      const std::string& wanted);

// Compares the pieces of the hosts with a delivery list, and adds to the evidence. Kinds of
// finding: a piece that is missing, surplus, in another host, exchanged for another one, of another
// model, or there twice; two pieces in each other's host or slot are one finding. Of
// `module_owners` (switches, hosts without inventory) only optical modules are known, and compared.
void compare_assets(std::span<const HostInventory> hosts, const std::vector<Asset>& assets,
                    Evidence& evidence, std::span<const HostInventory> module_owners = {});

}  // namespace cb
