#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Ed25519 keys in files of ssh-keygen: the raw 32 bytes of their public or private part. Formats:
// RFC 4253 section 6.6 and RFC 8709 (public), PROTOCOL.key of OpenSSH (private).
namespace cb {

// Reads the key in a line "ssh-ed25519 AAAA… comment"; nothing if the text is not such a line.
std::optional<std::vector<unsigned char>> openssh_public_key(std::string_view text);

bool is_openssh_private_key(std::string_view text);

// Reads the key in a "BEGIN OPENSSH PRIVATE KEY" file. Throws UsageError naming the file if it has
// another kind of key or a passphrase, or is damaged.
std::vector<unsigned char> openssh_private_key(std::string_view text, const std::string& file);

}  // namespace cb
