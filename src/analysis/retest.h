#pragma once

#include <string>
#include <variant>

#include "analysis/verdict.h"

namespace cb {

// Why a campaign does not show an issue to be gone, with what to do.
struct NoRetest {
  std::string why;
};

// Whether `campaign`, measured after the repair, shows `issue` to be gone. An issue that came from
// a criterion needs that criterion of `profile` (the one that it failed) to pass, any other one
// the campaign's own acceptance; either way the host must be among those measured, later than the
// issue was found. The manifest's sha256 is left to the caller.
std::variant<Retest, NoRetest> judge_retest(const Issue& issue, const Profile& profile,
                                            const Campaign& campaign, const std::string& today);

}  // namespace cb
