#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cb {

// Returns an Ed25519 signature by the agent that SSH_AUTH_SOCK names, which may hold the key in
// memory or ask a token for it: SSH_AGENTC_SIGN_REQUEST of draft-ietf-sshm-ssh-agent. `key` is the
// 32 bytes of the public key; `file` is its file, for messages. The 64 bytes returned are not
// verified yet. A person has a minute to type a PIN or to touch the token. Throws UsageError if
// there is no signature.
std::string ssh_agent_sign(const std::vector<unsigned char>& key, std::string_view message,
                           const std::string& file);

}  // namespace cb
