#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "judge/campaign_data.h"

namespace cb {

// The soak with every event and every series that changed; nothing if the campaign has none.
std::optional<nlohmann::json> soak_json(const Campaign& campaign);

}  // namespace cb
