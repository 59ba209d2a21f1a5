#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/messages/said.h"

// The keyed sentence beside an English text: {"id": "io.of_memory", "args": [...]}. An argument is
// a text, {"value": 4096, "unit": "bytes"} or a sentence again.
namespace cb {

// How deep sentences may stand in sentences: what is read is a stranger's.
constexpr int kMaxSaidDepth = 12;

nlohmann::json message_to_json(const Message& message);
// Throws Error for anything else, and beyond that depth.
Message message_from_json(const nlohmann::json& json);

// Adds the sentence to the object under `key` where the text has one.
void add_say(nlohmann::json& object, const Said& said, const char* key = "say");
// The text with the sentence that stands in the object under `key`, if one does. Throws Error where
// that sentence says another thing in English.
Said with_say(std::string text, const nlohmann::json& object, const char* key = "say");

}  // namespace cb
