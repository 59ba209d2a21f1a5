// A campaign in one file and back: nothing is lost, nothing else is taken for one.
#include "campaign/bundle.h"

#include "campaign/files.h"
#include "campaign/unbundle.h"
#include "small_campaign.h"

using namespace cb;
using namespace cb::test;

namespace {

namespace fs = std::filesystem;

struct BundledCampaign : SmallCampaign {
  BundledCampaign() { create_campaign(setup.paths, setup.campaign); }
  fs::path beside(const std::string& name) const { return root().parent_path() / name; }
};

std::string why_refused(const fs::path& archive) {
  try {
    const UnpackedBundle unpacked(archive);
  } catch (const UsageError& e) {
    return e.problems().list.front().what;
  }
  return "";
}

}  // namespace

TEST_CASE("what is bundled comes out as it went in, with and without compression") {
  const BundledCampaign c;
  fs::create_directories(c.file("logs"));
  write_file_atomically(c.file("logs/empty"), "");
  write_file_atomically(c.file("logs/block"), std::string(512, 'b'));
  write_file_atomically(c.file("logs/more"), std::string(513, 'm'));
  write_file_atomically(c.file("logs/large"), std::string((1 << 20) + 1, 'l'));
  fs::create_directories(c.file(std::string(80, 'd')));
  write_file_atomically(c.file(std::string(80, 'd') + "/" + std::string(99, 'f')), "long");
  for (const char* name : {"a.tar", "a.tar.gz", "a.tgz"}) {
    bundle_campaign(c.root(), c.beside(name));
    const UnpackedBundle back(c.beside(name));
    CHECK(back.campaign().filename() == "campaign-0123456789abcdef");
    const auto files = campaign_files(c.root()).regular;
    CHECK(files.size() == 6);
    CHECK(campaign_files(back.campaign()).regular == files);
    for (const std::string& file : files)
      CHECK_MESSAGE(read_file(back.campaign() / file) == read_file(c.root() / file), file);
  }
  const auto size = fs::file_size(c.beside("a.tar"));
  CHECK(size % 512 == 0);
  CHECK(fs::file_size(c.beside("a.tgz")) < size / 10);
  const std::string first = read_file(c.beside("a.tgz"));
  bundle_campaign(c.root(), c.beside("a.tgz"));
  CHECK(read_file(c.beside("a.tgz")) == first);
}

TEST_CASE("the header of a bundle's first file, field by field") {
  BundledCampaign c;
  std::string text = read_file(c.setup.paths.campaign());
  const size_t at = text.find("\"started\"");
  REQUIRE(at != std::string::npos);
  text.replace(text.find("20", at), 20, "2026-11-20T14:03:12Z");
  write_file_atomically(c.setup.paths.campaign(), text);
  bundle_campaign(c.root(), c.beside("a.tar"));
  const std::string tar = read_file(c.beside("a.tar"));
  CHECK(tar.starts_with("campaign-0123456789abcdef/campaign.json"));
  CHECK(tar.substr(100, 24) == std::string("0000644\0"
                                           "0000000\0"
                                           "0000000\0",
                                           24));
  CHECK(tar.substr(124, 11) == fmt::format("{:011o}", text.size()));
  CHECK(tar.substr(136, 11) == fmt::format("{:011o}", 1795183392));
  CHECK(tar[156] == '0');
  unsigned sum = 8 * ' ';
  for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? 0U : static_cast<uint8_t>(tar[i]);
  CHECK(tar.substr(148, 8) == fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  CHECK(tar.size() == 512 + (text.size() + 511) / 512 * 512 + 1024);
}

TEST_CASE("what cannot be bundled") {
  const BundledCampaign c;
  CHECK_THROWS_WITH_AS(bundle_campaign(c.root(), c.beside("a.zip")),
                       doctest::Contains("does not end in"), UsageError);
  CHECK_THROWS_WITH_AS(bundle_campaign(c.root(), c.file("a.tar")),
                       doctest::Contains("lies in the campaign itself"), UsageError);
  CHECK_THROWS_AS(bundle_campaign(c.root(), c.beside("nowhere/a.tar")), Error);
  fs::create_symlink("campaign.json", c.file("link"));
  CHECK_THROWS_WITH_AS(bundle_campaign(c.root(), c.beside("a.tar")), doctest::Contains("link"),
                       UsageError);
  fs::remove(c.file("link"));
  write_file_atomically(c.file(std::string(200, 'x')), "");
  CHECK_THROWS_WITH_AS(bundle_campaign(c.root(), c.beside("a.tar")),
                       doctest::Contains("name too long"), Error);
  CHECK_FALSE(fs::exists(c.beside("a.tar")));
  for (const auto& entry : fs::directory_iterator(c.beside("")))
    CHECK_FALSE(entry.path().extension() == ".partial");
}

TEST_CASE("what is no bundle is refused, and why") {
  const BundledCampaign c;
  bundle_campaign(c.root(), c.beside("a.tar"));
  const std::string good = read_file(c.beside("a.tar"));
  const auto refused = [&](const std::string& text) {
    write_file_atomically(c.beside("b.tar"), text);
    return why_refused(c.beside("b.tar"));
  };
  // A header with another byte, and a sum that fits it again.
  const auto with = [&](size_t at, const std::string& bytes) {
    std::string text = good;
    text.replace(at, bytes.size(), bytes);
    unsigned sum = 8 * ' ';
    for (size_t i = 0; i < 512; ++i)
      sum += i >= 148 && i < 156 ? 0U : static_cast<uint8_t>(text[i]);
    text.replace(148, 6, fmt::format("{:06o}", sum));
    return text;
  };
  CHECK(refused(good) == "");
  CHECK(refused(with(0, "campaign-0123456789abcdef/campaign.jsoN")) == "");
  CHECK(refused(good.substr(0, good.size() - 512)) == "is cut short");
  CHECK(refused(good.substr(0, 700)) == "is cut short");
  CHECK(refused(good + std::string(512, '\0')) == "");
  CHECK(refused(good + "x") == "goes on behind its end");
  CHECK(refused(std::string(1024, '\0')) == "is empty");
  CHECK(refused("") == "is cut short");
  std::string changed = good;
  changed[10] ^= 1;
  CHECK(refused(changed) == "is no bundle, or damaged: a header's sum is wrong");
  CHECK(refused(with(124, "9")) == "is no bundle, or damaged: a header's sum is wrong");
  CHECK(refused(with(257, "USTAR")) == "is no bundle, or damaged: a header's sum is wrong");
  CHECK(refused(with(156, "2")).find("no regular file") != std::string::npos);
  for (const char* name :
       {"campaign-0123456789abcdef/../../../x", "campaign-0123456789abcdeF/campaign.json",
        "campaign-0123456789abcde/campaign.json", "Campaign-0123456789abcdef/campaign.json",
        "campaign-0123456789abcdef//", "campaign-0123456789abcdef/.", "/tmp/x"})
    CHECK_MESSAGE(refused(with(0, std::string(name) + std::string(1, '\0')))
                          .find("does not lie in a folder campaign-ID") != std::string::npos,
                  name);
  const std::string file = good.substr(0, good.size() - 1024);
  CHECK(refused(file + good).find("twice") != std::string::npos);
  CHECK(refused(file + with(9, "1")) == "holds more than one campaign");
  std::string torn = good;
  torn.insert(torn.size() - 512, "x");
  CHECK(refused(torn).find("end") != std::string::npos);
}

TEST_CASE("names of archives, of files inside and of papers") {
  for (const char* name : {"a.tar", "a.tar.gz", "a.tgz", ".tar"}) CHECK(is_archive_name(name));
  for (const char* name : {"a", "a.gz", "a.tar.xz", "tar"}) CHECK_FALSE(is_archive_name(name));
  for (const char* name : {"a", "a/b", "..a/b", "a/b..", "..."}) CHECK(is_inside(name));
  for (const char* name : {"", "..", "a/../b", "/a", "a/.."}) CHECK_FALSE(is_inside(name));
  CHECK(is_paper("issues.json"));
  CHECK(is_paper("checklist.json"));
  CHECK_FALSE(is_paper("issues.history.jsonl"));
  CHECK(is_history("issues.history.jsonl"));
  CHECK(is_history("checklist.history.jsonl"));
  CHECK_FALSE(is_history("issues.json"));
}

TEST_CASE("what lies in a campaign: files, links, empty folders") {
  const BundledCampaign c;
  for (const char* folder : {"records", "logs", "signoffs", "more", "other/inner"})
    fs::create_directories(c.file(folder));
  fs::create_symlink("logs", c.file("link"));
  write_file_atomically(c.file("records/b"), "");
  write_file_atomically(c.file("records/a"), "");
  const CampaignFiles files = campaign_files(c.root());
  CHECK(files.regular == std::vector<std::string>{"campaign.json", "records/a", "records/b"});
  CHECK(files.other == std::vector<std::string>{"link"});
  CHECK(files.empty == std::vector<std::string>{"more", "other/inner"});
  CHECK_THROWS_WITH_AS(campaign_files(c.file("nowhere")), doctest::Contains("cannot be read"),
                       UsageError);
}

TEST_CASE("a campaign whose id is not 16 hex digits is not bundled under it") {
  const BundledCampaign c;
  const std::string good = read_file(c.setup.paths.campaign());
  for (const char* id :
       {"0123456789abcde", "0123456789abcdeg", "0123456789abcdef0", "../../../../../x"}) {
    std::string text = good;
    text.replace(text.find("0123456789abcdef"), 16, id);
    write_file_atomically(c.setup.paths.campaign(), text);
    CHECK_THROWS_WITH_AS(bundle_campaign(c.root(), c.beside("a.tar")),
                         doctest::Contains("16 hex digits"), UsageError);
  }
}
