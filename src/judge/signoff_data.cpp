#include "judge/signoff_data.h"

#include <utility>

namespace cb {

const char* signature_state_name(SignatureState state) {
  switch (state) {
    case SignatureState::valid:
      return "valid";
    case SignatureState::invalid:
      return "invalid";
    case SignatureState::no_key:
      return "no-key";
    case SignatureState::unknown_key:
      return "unknown-key";
  }
  return "invalid";
}

std::vector<const Signoff*> rejections(const std::vector<Signoff>& signoffs) {
  std::map<std::pair<std::string, std::string>, const Signoff*> last;
  for (const Signoff& s : signoffs) last[{s.role, s.name}] = &s;
  std::vector<const Signoff*> out;
  for (const auto& [person, s] : last) {
    if (s->verdict == "rejected") out.push_back(s);
  }
  return out;
}

}  // namespace cb
