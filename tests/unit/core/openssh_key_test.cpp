// Keys as ssh-keygen writes them; made for this test and used nowhere.
#include "core/openssh_key.h"

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/ed25519.h"
#include "core/error.h"
#include "core/file.h"

using namespace cb;

namespace {

const std::string kSshPrivate =
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"
    "QyNTUxOQAAACCovuhCtcTNqrkxxCuwWZej8o+x7Qb7rkfPDjzlCSnUlgAAAJBd4nIqXeJy\n"
    "KgAAAAtzc2gtZWQyNTUxOQAAACCovuhCtcTNqrkxxCuwWZej8o+x7Qb7rkfPDjzlCSnUlg\n"
    "AAAEDHTgf5vvJpWZvK0qU6C2ejmgT09ldVo3fMQeEYd69LKai+6EK1xM2quTHEK7BZl6Py\n"
    "j7HtBvuuR88OPOUJKdSWAAAADHRlc3RAZXhhbXBsZQE=\n"
    "-----END OPENSSH PRIVATE KEY-----\n";
const std::string kSshPublic =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKi+6EK1xM2quTHEK7BZl6Pyj7HtBvuuR88OPOUJKdSW "
    "test@example\n";
constexpr const char* kSshPublicHex =
    "a8bee842b5c4cdaab931c42bb05997a3f28fb1ed06fbae47cf0e3ce50929d496";

}  // namespace

TEST_CASE("an OpenSSH key signs, and its public part verifies") {
  const auto directory = std::filesystem::temp_directory_path();
  const auto file = directory / ("cb-openssh-" + std::to_string(::getpid()));
  write_file_atomically(file, kSshPrivate);
  const Ed25519Key key(file);
  CHECK(ed25519_public_key(file) == kSshPublicHex);
  write_file_atomically(file, kSshPublic);
  CHECK(ed25519_public_key(file) == kSshPublicHex);
  ::unsetenv("SSH_AUTH_SOCK");
  const Ed25519Key of_the_agent(file);
  CHECK(of_the_agent.held_by_agent());
  CHECK(of_the_agent.public_key() == kSshPublicHex);
  CHECK_THROWS_AS(of_the_agent.sign("message"), UsageError);
  std::filesystem::remove(file);
  CHECK(key.public_key() == kSshPublicHex);
  const Ed25519Signature s = key.sign("message");
  CHECK(ed25519_verify(s, "message"));
  CHECK_FALSE(ed25519_verify(s, "massage"));
}

TEST_CASE("an OpenSSH key that is cut short or damaged is refused") {
  REQUIRE(openssh_private_key(kSshPrivate, "k").size() == 32);
  const size_t first = kSshPrivate.find('\n') + 1;
  const size_t last = kSshPrivate.find("-----END");
  for (size_t at = first; at + 1 < last; at += 4)
    CHECK_THROWS_AS(openssh_private_key(kSshPrivate.substr(0, at) + kSshPrivate.substr(last), "k"),
                    UsageError);
  CHECK_THROWS_AS(openssh_private_key(kSshPrivate.substr(0, last), "k"), UsageError);
  for (size_t n = 0; n < kSshPublic.find(" test"); ++n)
    CHECK_FALSE(openssh_public_key(kSshPublic.substr(0, n)));
  CHECK_FALSE(openssh_public_key("ssh-rsa AAAA x"));
}

TEST_CASE("a public key of which one letter changed is another one, or none") {
  const auto whole = openssh_public_key(kSshPublic);
  REQUIRE(whole);
  const size_t first = kSshPublic.find("AAAA"), end = kSshPublic.find(" test");
  for (size_t at = first; at < end; ++at) {
    std::string changed = kSshPublic;
    changed[at] = changed[at] == 'B' ? 'C' : 'B';
    CHECK_MESSAGE(openssh_public_key(changed) != whole, changed);
  }
  std::string no_comment = kSshPublic.substr(0, end);
  CHECK(openssh_public_key(no_comment) == whole);
  CHECK(openssh_public_key(no_comment + "\r\n") == whole);
  CHECK_FALSE(openssh_public_key(no_comment + "A"));
}

TEST_CASE("what is no base64 is no key") {
  for (const char* text :
       {"ssh-ed25519 ", "ssh-ed25519 AAA", "ssh-ed25519 !!!!", "ssh-ed25519 ===="})
    CHECK_FALSE_MESSAGE(openssh_public_key(text), text);
  std::string changed = kSshPublic;
  changed[changed.find("AAAA") + 8] = '!';
  CHECK_FALSE(openssh_public_key(changed));
}

namespace {

// The private key with another letter in one place of its base64, counted without line ends.
std::string with_letter(size_t place, char letter) {
  std::string out = kSshPrivate;
  char& at = out[out.find('\n') + 1 + place + place / 70];
  at = at == letter ? 'x' : letter;
  return out;
}

std::string refusal_of(const std::string& text) {
  try {
    openssh_private_key(text, "k");
  } catch (const UsageError& e) {
    return e.problems().list.at(0).what;
  }
  return "accepted";
}

}  // namespace

TEST_CASE("one unlocked Ed25519 key is taken, any other is refused with what it is") {
  CHECK(refusal_of(kSshPrivate) == "accepted");
  // The number of keys, which is 1, is letter 51: B. Both figures in it have to fit.
  CHECK(refusal_of(with_letter(51, 'C')).starts_with("is no Ed25519 key: make one"));  // two keys
  CHECK(refusal_of(with_letter(51, 'A')).starts_with("is no Ed25519 key"));            // none
  CHECK(refusal_of(with_letter(72, 'M')).starts_with("is no Ed25519 key"));  // "ssh-ed2U…"
  CHECK(refusal_of(with_letter(28, 'c')).starts_with("is an OpenSSH key with a passphrase"));
}

TEST_CASE("what a private key repeats must be the same in all places") {
  // A letter of the first check number, of its kind, of its public key and of that behind its seed.
  for (const size_t place : {132u, 148u, 168u, 260u})
    CHECK_MESSAGE(refusal_of(with_letter(place, 'M')) == "is a damaged OpenSSH key", place);
  CHECK(refusal_of(with_letter(0, 'c')) == "is a damaged OpenSSH key");  // no "openssh-key-v1"
}

TEST_CASE("a private key of which one letter changed is the same key, or refused") {
  const std::vector<unsigned char> whole = openssh_private_key(kSshPrivate, "k");
  // Letters 192 to 235 are the seed's own: another seed does not make the public half.
  for (const size_t place : {196u, 216u, 230u})
    CHECK(refusal_of(with_letter(place, 'M')) == "is a damaged OpenSSH key");
  for (size_t place = 0; place < 320; ++place) {
    const std::string changed = with_letter(place, 'B');
    if (refusal_of(changed) == "accepted")
      CHECK_MESSAGE(openssh_private_key(changed, "k") == whole, place);
  }
}

TEST_CASE("a private key with line ends of another system is the same key") {
  std::string text;
  for (const char c : kSshPrivate) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(is_openssh_private_key(text));
  CHECK(openssh_private_key(text, "k") == openssh_private_key(kSshPrivate, "k"));
  CHECK_FALSE(is_openssh_private_key(kSshPublic));
}
