#include "core/messages/mentions.h"

#include <algorithm>

namespace cb {

bool mentions(const Message& message, const std::vector<std::string_view>& ids) {
  return std::ranges::find(ids, message.id) != ids.end() ||
         std::ranges::any_of(message.args, [&](const Arg& arg) {
           return arg.message() != nullptr && mentions(*arg.message(), ids);
         });
}

}  // namespace cb
