#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Ed25519 keys as ssh-keygen writes them: the raw 32 bytes of their public or private part. The
// formats: RFC 4253 section 6.6 and RFC 8709 (public), PROTOCOL.key of OpenSSH (private).
namespace cb {

// Of a line "ssh-ed25519 AAAA… comment"; nothing if the text is none.
std::optional<std::vector<unsigned char>> openssh_public_key(std::string_view text);

bool is_openssh_private_key(std::string_view text);

// Of a "BEGIN OPENSSH PRIVATE KEY" file. Throws UsageError naming the file: another kind of key,
// one with a passphrase, or a damaged one.
std::vector<unsigned char> openssh_private_key(std::string_view text, const std::string& file);

}  // namespace cb
