// Signatures: what may be signed, and that no byte of what was signed can change unseen.
#include "campaign/signoff.h"

#include <fstream>
#include <random>

#include <doctest/doctest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "campaign/directory.h"
#include "campaign/files.h"
#include "campaign/paperwork.h"
#include "campaign/signoff_file.h"
#include "core/ed25519.h"
#include "core/file.h"
#include "core/json/json_text.h"

using namespace cb;

namespace {

namespace fs = std::filesystem;

const std::string kNow = "2026-11-21T10:00:00Z";

// RFC 8032, section 7.1, test 1, as PKCS #8.
constexpr const char* kTestKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";
constexpr const char* kTestPublic =
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

class CampaignDirectory {
 public:
  CampaignDirectory() {
    std::string name = (fs::temp_directory_path() / "cb-signoff-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root = name;
    for (const char* file :
         {"campaign.json", "journal.jsonl", "MANIFEST.sha256", "report.html", "waivers.json",
          "records/001-a.json", "records/002-b.json", "logs/001-a.out", "logs/001-a.err"})
      write(file, std::string("content of ") + file + "\n");
    write("../" + root.filename().string() + ".pem", kTestKey);
  }
  ~CampaignDirectory() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
    fs::remove(key(), ignored);
  }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file, std::ios::binary) << text;
  }
  fs::path key() const { return root.string() + ".pem"; }

  fs::path root;
};

// A finished campaign with one criterion of this state.
struct Signed {
  explicit Signed(State state = State::pass) {
    campaign.id = "c1";
    campaign.started = "2026-11-20T10:00:00Z";
    campaign.ended = "2026-11-20T11:00:00Z";
    campaign.profile.name = "p";
    campaign.profile.criteria.push_back({.id = "gemm", .step = "s"});
    campaign.manifest = {{"campaign.json", ""}};
    judgement.criteria.push_back({.criterion = &campaign.profile.criteria[0], .state = state});
  }
  SignoffRequest request(const std::string& verdict = "accepted") const {
    SignoffRequest r;
    r.role = "customer";
    r.name = "B. Li";
    r.verdict = verdict;
    r.at = kNow;
    return r;
  }
  Signoff sign(const CampaignDirectory& d, SignoffRequest r) {
    const Signing signing(d.root, campaign, judgement, papers, r);
    signing.write();
    return signing.shown();
  }
  std::string refused(const CampaignDirectory& d, const SignoffRequest& r) const {
    try {
      Signing(d.root, campaign, judgement, papers, r).write();
    } catch (const UsageError& e) {
      return e.what();
    }
    return "signed";
  }

  Campaign campaign;
  Judgement judgement;
  Paperwork papers;
};

bool names(const SignoffCheck& check, const std::string& file) {
  for (const std::string& problem : check.problems) {
    if (problem.find(file) != std::string::npos) return true;
  }
  return false;
}

// Signed by two parties, one of them with a key; issues and checklist were written before.
void sign_twice(const CampaignDirectory& d, Signed& s) {
  write_issues(d.root, {{.id = "I-001", .symptom = "hot"}}, kNow);
  SignoffRequest first = s.request();
  first.key = Ed25519Key(d.key());
  s.sign(d, first);
  SignoffRequest second = s.request();
  second.role = "supplier";
  s.sign(d, second);
}

}  // namespace

TEST_CASE("Ed25519 agrees with RFC 8032") {
  const CampaignDirectory d;
  const Ed25519Signature s = ed25519_sign(d.key(), "");
  CHECK(s.public_key == kTestPublic);
  CHECK(s.value ==
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701c"
        "f9b46bd25bf5f0595bbe24655141438e7a100b");
  CHECK(ed25519_verify(s, ""));
  CHECK_FALSE(ed25519_verify(s, "x"));
  CHECK_FALSE(ed25519_verify({s.public_key, ""}, ""));
  CHECK(ed25519_public_key(d.key()) == kTestPublic);
  CHECK_THROWS_AS(ed25519_sign(d.root / "campaign.json", ""), UsageError);
}

TEST_CASE("an untouched campaign verifies") {
  const CampaignDirectory d;
  Signed s;
  sign_twice(d, s);
  const SignoffCheck check = verify_campaign(d.root, {});
  CHECK(check.problems.empty());
  CHECK(check.later.empty());
  CHECK(check.unauthenticated.empty());
  REQUIRE(check.signoffs.size() == 2);
  CHECK(check.signoffs[0].public_key == kTestPublic);
  CHECK(check.signoffs[0].state == SignatureState::unknown_key);
  CHECK(check.signoffs[1].role == "supplier");
  CHECK_FALSE(check.signoffs[1].public_key);
  CHECK(check.signoffs[1].state == SignatureState::no_key);
}

TEST_CASE("with keys every signature is by a listed one, and every listed one has signed") {
  const CampaignDirectory d;
  Signed s;
  SignoffRequest first = s.request();
  first.key = Ed25519Key(d.key());
  s.sign(d, first);
  const TrustedKey listed{kTestPublic, "li.pub"};
  const SignoffCheck good = verify_campaign(d.root, {listed});
  CHECK(good.problems.empty());
  CHECK(good.signoffs.at(0).state == SignatureState::valid);
  CHECK(good.signoffs.at(0).key_name == "li.pub");
  const SignoffCheck other = verify_campaign(d.root, {{std::string(64, '0'), "other.pub"}});
  CHECK(names(other, "001-customer.json by B. Li (customer) is signed with a key that is not"));
  CHECK(names(other, "the key other.pub has not signed"));
  CHECK(other.signoffs.at(0).state == SignatureState::unknown_key);
  SignoffRequest second = s.request();
  second.role = "supplier";
  s.sign(d, second);
  d.write("site.json", "{}");
  const SignoffCheck added = verify_campaign(d.root, {listed});
  CHECK(names(added, "002-supplier.json by B. Li (supplier) is signed without a key"));
  CHECK(names(added, "002-supplier.json was added after signoffs/001-customer.json"));
  CHECK(names(added, "site.json was added after signoffs/001-customer.json"));
}

TEST_CASE("a flipped bit anywhere is found and its file named") {
  const CampaignDirectory d;
  Signed s;
  sign_twice(d, s);
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& file : campaign_files(d.root).regular)
    files.emplace_back(file, read_file(d.root / file));
  REQUIRE(files.size() == 13);
  std::mt19937 random(20261121);
  for (int i = 0; i < 600; ++i) {
    const std::string& file = files[static_cast<size_t>(i) % files.size()].first;
    const std::string& content = files[static_cast<size_t>(i) % files.size()].second;
    std::string changed = content;
    char& byte = changed[random() % changed.size()];
    byte = static_cast<char>(byte ^ (1 << random() % 8));
    d.write(file, changed);
    const SignoffCheck check = verify_campaign(d.root, {});
    d.write(file, content);
    REQUIRE_MESSAGE(names(check, file), file << " flip " << i);
  }
  CHECK(verify_campaign(d.root, {}).problems.empty());
}

TEST_CASE("a signature that was forged with a digest that fits is found") {
  const CampaignDirectory d;
  Signed s;
  SignoffRequest request = s.request();
  request.key = Ed25519Key(d.key());
  s.sign(d, request);
  const std::string file = "signoffs/001-customer.json", good = read_file(d.root / file);
  const Signoff signoff = parse_signoff(good, file);
  const auto state_with = [&](const std::string& text) {
    d.write(file, text);
    const SignoffCheck check = verify_campaign(d.root, {});
    d.write(file, good);
    return check.signoffs.at(0).state;
  };
  const nlohmann::json original = nlohmann::json::parse(good);
  CHECK(state_with(good) != SignatureState::invalid);
  // Another name and its digest, below the signature of the old one, and below none.
  Signoff renamed = signoff;
  renamed.name = "C. Wu";
  nlohmann::json forged = nlohmann::json::parse(signoff_text(renamed, nullptr));
  CHECK(state_with(dump_json(forged)) == SignatureState::invalid);
  forged["signature"] = original["signature"];
  CHECK(state_with(dump_json(forged)) == SignatureState::invalid);
  // By another key, in the name of the first.
  d.write("../other.pem",
          "-----BEGIN PRIVATE KEY-----\n"
          "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
          "-----END PRIVATE KEY-----\n");
  const Ed25519Key other(d.root.parent_path() / "other.pem");
  fs::remove(d.root.parent_path() / "other.pem");
  CHECK(other.public_key() == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  nlohmann::json stolen = nlohmann::json::parse(signoff_text(signoff, &other));
  stolen["public_key"] = kTestPublic;
  CHECK(state_with(dump_json(stolen)) == SignatureState::invalid);
}

TEST_CASE("missing, added, truncated, renamed and linked files are found") {
  const CampaignDirectory d;
  Signed s;
  sign_twice(d, s);
  const auto found = [&](const std::string& file) {
    return names(verify_campaign(d.root, {}), file);
  };
  for (const char* file : {"records/001-a.json", "logs/001-a.err", "signoffs/001-customer.json"}) {
    fs::rename(d.root / file, d.key().string() + ".away");
    CHECK_MESSAGE(found(file), file);
    fs::rename(d.key().string() + ".away", d.root / file);
  }
  const std::string content = read_file(d.root / "report.html");
  d.write("report.html", content.substr(0, content.size() - 1));
  CHECK(found("report.html"));
  d.write("report.html", content + "\n");
  CHECK(found("report.html"));
  d.write("report.html", content);
  d.write("records/003-c.json", "");
  CHECK(found("records/003-c.json"));
  fs::remove(d.root / "records/003-c.json");
  fs::create_symlink("/etc/hostname", d.root / "logs/link");
  CHECK(found("logs/link"));
  fs::remove(d.root / "logs/link");
  fs::rename(d.root / "report.html", d.key().string() + ".away");
  fs::create_symlink(d.key().string() + ".away", d.root / "report.html");
  CHECK(found("report.html"));
  fs::remove(d.root / "report.html");
  fs::rename(d.key().string() + ".away", d.root / "report.html");
  d.write("signoffs/003-witness.json", read_file(d.root / "signoffs/002-supplier.json"));
  CHECK(found("signoffs/003-witness.json"));
  fs::remove(d.root / "signoffs/003-witness.json");
  CHECK(verify_campaign(d.root, {}).problems.empty());
}

TEST_CASE("issues may go on after the signature, but not change") {
  const CampaignDirectory d;
  Signed s;
  sign_twice(d, s);
  write_issues(d.root, {{.id = "I-001", .symptom = "hot", .owner = "A. Wang"}}, kNow);
  const SignoffCheck check = verify_campaign(d.root, {});
  CHECK(check.problems.empty());
  REQUIRE(check.unauthenticated.size() == 1);
  CHECK(check.unauthenticated[0].starts_with("issues.history.jsonl line 2"));
  const std::string issues = read_file(d.root / "issues.json");
  const std::string history = read_file(d.root / "issues.history.jsonl");
  for (const auto& entry :
       {std::pair("issues.json", issues), std::pair("issues.history.jsonl", history)}) {
    const std::string file = entry.first;
    const std::string& text = entry.second;
    for (size_t at = 0; at < text.size(); at += 7) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      d.write(file, changed);
      REQUIRE_MESSAGE(names(verify_campaign(d.root, {}), "issues."), file << " byte " << at);
    }
    d.write(file, text);
  }
  CHECK(verify_campaign(d.root, {}).problems.empty());
  d.write("report-signed.html", "as signed");
  CHECK(verify_campaign(d.root, {}).problems.empty());
  d.write("checklist.json", "{}");
  CHECK(names(verify_campaign(d.root, {}), "checklist.json"));
}

TEST_CASE("what fails or was not measured is not plainly accepted") {
  const CampaignDirectory d;
  for (const State state : {State::fail, State::incomplete}) {
    Signed s(state);
    CHECK(s.refused(d, s.request()).find("gemm") != std::string::npos);
    CHECK(s.refused(d, s.request("conditional")).find("has no day") != std::string::npos);
    SignoffRequest r = s.request("conditional");
    r.until = "2026-11-20";
    CHECK(s.refused(d, r).find("is past") != std::string::npos);
    r.until = "2026-02-30";
    CHECK(s.refused(d, r).find("is not a day") != std::string::npos);
    r.until = "2026-11-21";
    r.items = {{"gemm", "2026-12-01"}, {"spare parts", "2026-12-02"}};
    const Signoff done = s.sign(d, r);
    REQUIRE(done.open.size() == 2);
    CHECK(done.open[0].text == "gemm");
    CHECK(done.open[0].due == "2026-12-01");
    CHECK(done.open[0].state == state_name(state));
    CHECK(done.open[1].kind == "agreed");
    fs::remove_all(d.root / "signoffs");
  }
  for (const State state : {State::pass, State::warn, State::waived, State::not_applicable}) {
    Signed s(state);
    CHECK(s.sign(d, s.request()).open.empty());
    fs::remove_all(d.root / "signoffs");
  }
  Signed rejected(State::fail);
  CHECK(rejected.sign(d, rejected.request("rejected")).open[0].due.empty());
}

TEST_CASE("open issues and unchecked items stand in the way of a plain acceptance") {
  const CampaignDirectory d;
  Signed s;
  s.campaign.profile.checklist.push_back({.id = "labels", .domain = "host", .text = {"l", "l"}});
  CHECK(s.refused(d, s.request()).find("checklist labels") != std::string::npos);
  s.papers.checklist = {{"labels", "fail", "Li", "2026-11-21", ""}};
  CHECK(s.refused(d, s.request()).find("checklist labels") != std::string::npos);
  s.papers.checklist[0].result = "pass";
  s.papers.issues.push_back({.id = "I-001", .symptom = "hot"});
  CHECK(s.refused(d, s.request()).find("issue I-001") != std::string::npos);
  s.papers.issues[0].closed = kNow;
  CHECK(s.sign(d, s.request()).open.empty());
}

TEST_CASE("bad requests and campaigns are refused with every problem") {
  const CampaignDirectory d;
  Signed s;
  SignoffRequest r = s.request("maybe");
  r.role = "friend";
  r.name = "";
  const std::string all = s.refused(d, r);
  for (const char* problem : {"--role", "--name", "--verdict"})
    CHECK_MESSAGE(all.find(problem) != std::string::npos, problem);
  CHECK(s.refused(d, s.request("conditional")).find("needs an open item") != std::string::npos);
  r = s.request();
  d.write("key.pem", kTestKey);
  r.key_file = d.root / "key.pem";
  CHECK(s.refused(d, r).find("lies in the campaign") != std::string::npos);
  fs::remove(d.root / "key.pem");
  r = s.request();
  r.at = "2026-11-20T10:59:59Z";
  CHECK(s.refused(d, r).find("clock") != std::string::npos);
  r.at = s.campaign.ended;
  CHECK(s.refused(d, r) == "signed");
  fs::remove_all(d.root / "signoffs");
  fs::create_symlink("/etc/hostname", d.root / "link");
  CHECK(s.refused(d, s.request()).find("link") != std::string::npos);
  fs::remove(d.root / "link");
  s.campaign.warnings.push_back("torn journal");
  CHECK(s.refused(d, s.request()).find("torn journal") != std::string::npos);
  s.campaign.warnings.clear();
  s.campaign.ended.clear();
  CHECK(s.refused(d, s.request()).find("not finished") != std::string::npos);
}

TEST_CASE("nobody signs over what was changed after the first signature") {
  const CampaignDirectory d;
  Signed s;
  s.sign(d, s.request());
  d.write("records/001-a.json", "better figures\n");
  SignoffRequest other = s.request();
  other.role = "supplier";
  CHECK(s.refused(d, other).find("records/001-a.json was changed") != std::string::npos);
  CHECK_THROWS_AS(refuse_signed(d.root, ""), UsageError);
  CHECK_THROWS_AS(refuse_writing_over_evidence(d.root, {(d.root / "report.html").string()}),
                  UsageError);
  refuse_writing_over_evidence(d.root, {"", d.root.string() + ".html"});
}

TEST_CASE("a time stamp is at most a mebibyte, and one that is none is refused") {
  const CampaignDirectory d;
  Signed s;
  s.sign(d, s.request());
  const fs::path response = d.root.string() + ".tsr";
  for (const size_t size : {size_t{1} << 20, (size_t{1} << 20) + 1}) {
    std::ofstream(response, std::ios::binary) << std::string(size, 'x');
    std::string why;
    try {
      add_time_stamp(d.root, response);
    } catch (const UsageError& e) {
      why = e.what();
    }
    CHECK_FALSE(why.empty());
    CHECK((why.find("is larger than") != std::string::npos) == (size > size_t{1} << 20));
  }
  fs::remove(response);
}

TEST_CASE("issues and checklist may begin after the signature, a file beside them may not") {
  const CampaignDirectory d;
  Signed s;
  s.sign(d, s.request());
  write_issues(d.root, {{.id = "I-001", .symptom = "hot"}}, kNow);
  SignoffCheck check = verify_campaign(d.root, {});
  CHECK(check.problems.empty());
  CHECK(check.unauthenticated.size() == 1);
  d.write("other.history.jsonl", "");
  check = verify_campaign(d.root, {});
  CHECK(check.problems.size() == 1);
  CHECK(names(check, "other.history.jsonl was added"));
}
