// A campaign's directory: what begins one, what stands in its first file, what is swept away.
#include "campaign/directory.h"

#include "small_campaign.h"

using namespace cb;
using namespace cb::test;

namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, const std::string& old, const std::string& now) {
  const size_t at = text.find(old);
  REQUIRE_MESSAGE(at != std::string::npos, old);
  return text.replace(at, old.size(), now);
}

}  // namespace

TEST_CASE("a campaign's first file is read back as it was written") {
  SmallCampaign c;
  CampaignFile& file = c.setup.campaign;
  file.redact = true;
  file.public_key = std::string(64, 'a');
  file.launch.arguments = {"--map-by", "node"};
  file.launch.as_root = file.launch.hydra = true;
  const CampaignFile back = parse_campaign_file(campaign_file_text(file), "campaign.json");
  CHECK(back.id == file.id);
  CHECK(back.started == file.started);
  CHECK(back.profile.sha256 == file.profile.sha256);
  CHECK(back.hosts == file.hosts);
  CHECK(back.launch.launcher == Launcher::mpirun);
  CHECK(back.launch.arguments == file.launch.arguments);
  CHECK(back.launch.as_root);
  CHECK(back.launch.hydra);
  CHECK(back.redact);
  CHECK(back.chained);
  CHECK(back.public_key == file.public_key);
  CHECK(back.command == file.command);
  file.chained = file.redact = file.launch.as_root = file.launch.hydra = false;
  file.public_key.clear();
  const CampaignFile plain = parse_campaign_file(campaign_file_text(file), "campaign.json");
  CHECK_FALSE(plain.chained);
  CHECK_FALSE(plain.redact);
  CHECK_FALSE(plain.launch.as_root);
  CHECK_FALSE(plain.launch.hydra);
  CHECK(plain.public_key.empty());
}

TEST_CASE("what stands in a campaign's first file and must not is refused") {
  SmallCampaign c;
  c.setup.campaign.public_key = std::string(64, 'a');
  const std::string good = campaign_file_text(c.setup.campaign);
  const auto why = [&](const std::string& old, const std::string& now) {
    try {
      parse_campaign_file(replaced(good, old, now), "campaign.json");
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto says = [&](const std::string& old, const std::string& now, const char* part) {
    CHECK_MESSAGE(why(old, now).find(part) != std::string::npos, now);
  };
  CHECK(why("0123456789abcdef", "fedcba9876543210").empty());
  says("0123456789abcdef", "0123456789abcde", "16 hex digits");
  says("0123456789abcdef", "0123456789abcdeg", "16 hex digits");
  says(std::string(64, 'a'), std::string(63, 'a'), "64 hex digits");
  says(std::string(64, 'a'), std::string(63, 'a') + "G", "64 hex digits");
  says("\"n2\"", "\"n1\"", "stands twice");
  says("\"n2\"", "\"-n2\"", "is not a host name");
  says("\"slots\": 1", "\"slots\": 0", "has 0 slots");
  says("\"slots\": 1", "\"slots\": 4097", "has 4097 slots");
  CHECK(why("\"slots\": 1", "\"slots\": 4096").empty());
  says("\"slots\": 1", "\"slots\": 1.9", "hosts[0]: slots is not a whole number");
  says("\"slots\": 1", "\"slots\": true", "hosts[0]: slots is not a whole number");
  says("\"slots\": 1", "\"slots\": 4294967297", "hosts[0]: slots is beyond 32 bits");
  says("\"mpirun\"", "\"sh\"", "launcher sh is not known");
  says("\"1K\"", "\"2K\"", "its sha256 differs");
  says("\"started\"", "\"begun\"", "is not a usable campaign");
}

TEST_CASE("a campaign begins in a directory of nothing, or of what a killed start left") {
  const SmallCampaign c;
  fs::create_directories(c.root());
  write_file_atomically(c.file("campaign.json.7.partial"), "{");
  CHECK_NOTHROW(refuse_used_directory(c.setup.paths));
  write_file_atomically(c.file("campaign.json.bak"), "{");
  CHECK_THROWS_WITH_AS(refuse_used_directory(c.setup.paths), doctest::Contains("is not empty"),
                       UsageError);
  fs::remove(c.file("campaign.json.bak"));
  write_file_atomically(c.file("x.partial"), "{");
  CHECK_THROWS_AS(refuse_used_directory(c.setup.paths), UsageError);
  fs::remove(c.file("x.partial"));
  create_campaign(c.setup.paths, c.setup.campaign);
  CHECK(read_file(c.file("campaign.json")) == campaign_file_text(c.setup.campaign));
  CHECK_THROWS_AS(create_campaign(c.setup.paths, c.setup.campaign), UsageError);
  const CampaignPaths file{c.file("campaign.json")};
  CHECK_THROWS_WITH_AS(refuse_used_directory(file), doctest::Contains("is not a directory"),
                       UsageError);
  CHECK_NOTHROW(refuse_used_directory({c.file("nowhere")}));
}

TEST_CASE("one run at a time") {
  const SmallCampaign c;
  create_campaign(c.setup.paths, c.setup.campaign);
  {
    const CampaignLock lock(c.setup.paths);
    CHECK_THROWS_WITH_AS(CampaignLock(c.setup.paths), doctest::Contains("another run"), UsageError);
  }
  CHECK_NOTHROW(CampaignLock(c.setup.paths));
  CHECK_THROWS_AS(CampaignLock({c.file("nowhere")}), Error);
}

TEST_CASE("only what jobs left half-written is swept away, and an empty scratch folder") {
  const SmallCampaign c;
  for (const char* folder : {"records", "proofs", "logs", "scratch", "records/a.partial"})
    fs::create_directories(c.file(folder));
  for (const char* name : {"x.partial", "records/b.partial", "proofs/c.partial", "logs/d.partial",
                           "records/e.json", "records/partial"})
    write_file_atomically(c.file(name), "");
  remove_leftovers(c.setup.paths);
  for (const char* gone : {"x.partial", "records/b.partial", "proofs/c.partial", "scratch"})
    CHECK_FALSE_MESSAGE(fs::exists(c.file(gone)), gone);
  for (const char* kept :
       {"logs/d.partial", "records/e.json", "records/partial", "records/a.partial"})
    CHECK_MESSAGE(fs::exists(c.file(kept)), kept);
  fs::create_directories(c.file("scratch"));
  write_file_atomically(c.file("scratch/x"), "");
  remove_leftovers(c.setup.paths);
  CHECK(fs::exists(c.file("scratch/x")));
}

TEST_CASE("the manifest lists what counts as evidence, and is read back") {
  const SmallCampaign c;
  create_campaign(c.setup.paths, c.setup.campaign);
  for (const char* folder : {"records", "proofs", "logs", "other"})
    fs::create_directories(c.file(folder));
  for (const char* name : {"journal.jsonl", "records/a.json", "proofs/p.json", "logs/l.out",
                           "records/x.partial", "other/o", "report.html"})
    write_file_atomically(c.file(name), name);
  fs::create_symlink("a.json", c.file("records/link.json"));
  write_manifest(c.setup.paths);
  std::vector<std::string> files;
  for (const auto& entry : read_manifest(c.setup.paths)) {
    files.push_back(entry.first);
    CHECK(entry.second == sha256_hex(read_file(c.file(entry.first))));
  }
  CHECK(files == std::vector<std::string>{"campaign.json", "journal.jsonl", "logs/l.out",
                                          "proofs/p.json", "records/a.json"});
  // The digest of the evidence is that of all files but the journal, which goes on.
  const std::string digest = evidence_digest(c.setup.paths);
  CHECK(digest == evidence_digest(read_manifest(c.setup.paths)));
  c.append("journal.jsonl", "more");
  CHECK(evidence_digest(c.setup.paths) == digest);
  c.append("logs/l.out", "more");
  CHECK(evidence_digest(c.setup.paths) != digest);
}

TEST_CASE("a campaign of a newer build, of another format or of no host is refused") {
  const SmallCampaign c;
  const std::string good = campaign_file_text(c.setup.campaign);
  const auto refused = [&](const std::string& old, const std::string& now, const char* why) {
    CHECK_THROWS_WITH_AS(parse_campaign_file(replaced(good, old, now), "c/campaign.json"),
                         doctest::Contains(why), UsageError);
  };
  refused(
      "clusterbench.campaign/1", "clusterbench.campaign/2",
      "schema  is clusterbench.campaign/2: written by a newer clusterbench than this one (knows "
      "clusterbench.campaign/1); update it");
  refused("clusterbench.campaign/1", "clusterbench.campaign/0", "which never existed");
  refused("clusterbench.campaign/1", "clusterbench.result/1", "expected clusterbench.campaign/1");
  refused("\"schema\": \"clusterbench.campaign", "\"scheme\": \"clusterbench.campaign",
          "this is not a clusterbench.campaign file");
  CampaignFile none = c.setup.campaign;
  none.hosts.clear();
  CHECK_THROWS_WITH_AS(parse_campaign_file(campaign_file_text(none), "c/campaign.json"),
                       doctest::Contains("is not a usable campaign: it has no hosts"), UsageError);
}
