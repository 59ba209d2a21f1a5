// The file of one signature, written and read back, in both of its schemas.
#include "campaign/signoff_file.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "core/ed25519.h"
#include "core/file.h"
#include "core/json/json_text.h"

using namespace cb;

namespace {

// RFC 8032, section 7.1, test 1, as PKCS #8.
Ed25519Key key_of_rfc_8032() {
  const auto file = std::filesystem::temp_directory_path() /
                    ("cb-signoff-file-" + std::to_string(::getpid()) + ".pem");
  write_file_atomically(file,
                        "-----BEGIN PRIVATE KEY-----\n"
                        "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                        "-----END PRIVATE KEY-----\n");
  const Ed25519Key key(file);
  std::filesystem::remove(file);
  return key;
}

Signoff said_by_customer() {
  Signoff s;
  s.number = 1;
  s.role = "customer";
  s.name = "B. Li";
  s.title = "Head of IT";
  s.company = "甲方";
  s.verdict = "accepted";
  s.remark = "as agreed";
  return s;
}

}  // namespace

TEST_CASE("what a person says is read back from the file") {
  const Ed25519Key key = key_of_rfc_8032();
  const std::string text = signoff_text(said_by_customer(), &key);
  const Signoff back = parse_signoff(text, "f");
  CHECK(back.schema == 2);
  CHECK(back.number == 1);
  CHECK(back.role == "customer");
  CHECK(back.name == "B. Li");
  CHECK(back.title == "Head of IT");
  CHECK(back.company == "甲方");
  CHECK(back.remark == "as agreed");
  CHECK(back.verdict == "accepted");
  CHECK(back.public_key == key.public_key());
  CHECK_FALSE(parse_signoff(signoff_text(said_by_customer(), nullptr), "f").public_key);
}

TEST_CASE("the first schema has neither title nor company, and its key stands in the signature") {
  const Ed25519Key key = key_of_rfc_8032();
  auto old = nlohmann::json::parse(signoff_text(said_by_customer(), &key));
  old["schema"] = "clusterbench.signoff/1";
  for (const char* later : {"title", "company", "public_key"}) old.erase(later);
  const Signoff first = parse_signoff(dump_json(old), "f");
  CHECK(first.schema == 1);
  CHECK(first.title == "");
  CHECK(first.public_key == key.public_key());
  old.erase("signature");
  CHECK_FALSE(parse_signoff(dump_json(old), "f").public_key);
}
