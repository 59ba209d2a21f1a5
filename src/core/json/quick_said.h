#pragma once

#include <map>
#include <string>

#include "core/json/quick_json.h"
#include "core/messages/said.h"

// The quick reader's part of core/json/said_json.h.
namespace cb::quick {

// The sentence that stands beside an English text, and those of several, by name.
Message message(Value v);
std::map<std::string, Message> messages(Value v);

// An English text and the sentence beside it, in whatever order the object has them.
void set_text(Said& said, std::string english);
void set_say(Said& said, Message message);
// Every sentence stands beside a text.
bool has_text_or_nothing(const Said& said);
std::map<std::string, Said> with_says(const std::map<std::string, std::string>& texts,
                                      std::map<std::string, Message> says);

}  // namespace cb::quick
