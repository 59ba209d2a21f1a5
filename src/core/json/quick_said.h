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
// The same, where it stands beside a text and says in English what the text says.
Said agreeing(Said said);
std::map<std::string, Said> with_says(const std::map<std::string, std::string>& texts,
                                      std::map<std::string, Message> says);

}  // namespace cb::quick
