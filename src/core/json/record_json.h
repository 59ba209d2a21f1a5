#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

// Records as JSON: the document's writer and the gather between ranks share this.
namespace cb {

nlohmann::json record_to_json(const Record& record);
Record record_from_json(const nlohmann::json& json);

}  // namespace cb
