#include "campaign/journal_chain.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/sha256.h"

using namespace cb;

namespace {

using nlohmann::json;
using Lines = std::vector<std::string>;

const std::string kRoot = sha256_hex("campaign.json");

Lines linked(const std::vector<std::string>& events) {
  Lines out;
  std::string previous = kRoot;
  for (const std::string& event : events) {
    out.push_back(linked_line({{"event", event}}, previous, {}));
    previous = sha256_hex(out.back());
  }
  return out;
}

struct Heard {
  Lines warnings, notes;
};

Lines texts_of(const std::vector<Said>& sentences) {
  Lines out;
  for (const Said& said : sentences) out.push_back(said.text());
  return out;
}

Heard follow(const Lines& lines, ChainRoot root = {kRoot, "", true}) {
  ChainReader reader(root);
  for (size_t i = 0; i < lines.size(); ++i) {
    const json event = json::parse(lines[i], nullptr, false);
    const bool whole = !event.is_discarded();
    const LineFacts facts = facts_of_line(root, lines[i], whole ? &event : nullptr);
    if (whole)
      reader.readable(i + 1, facts, event);
    else
      reader.unreadable(i + 1, facts);
  }
  std::vector<Said> warnings, notes;
  reader.end(warnings, notes);
  return {texts_of(warnings), texts_of(notes)};
}

const Lines kWhole = linked({"session", "start", "end", "finished"});

}  // namespace

TEST_CASE("a whole chain says nothing") {
  CHECK(follow(kWhole).warnings.empty());
  CHECK(follow(kWhole).notes.empty());
  CHECK(follow({}).warnings.empty());
}

TEST_CASE("a line that was changed, taken out, put twice or exchanged breaks the chain") {
  Lines changed = kWhole;
  changed[1].insert(1, "\"attempt\":1,");
  CHECK(follow(changed).warnings ==
        Lines{"line 3 of the journal does not follow from the one before: a line was changed, "
              "added or removed"});
  CHECK(follow({kWhole[0], kWhole[2], kWhole[3]}).warnings.size() == 1);
  CHECK(follow({kWhole[0], kWhole[1], kWhole[1], kWhole[2], kWhole[3]}).warnings.size() == 1);
  CHECK(follow({kWhole[0], kWhole[2], kWhole[1], kWhole[3]}).warnings ==
        Lines{"line 2 of the journal does not follow from the one before: a line was changed, "
              "added or removed (2 more likewise)"});
}

TEST_CASE("the first line follows from campaign.json") {
  CHECK(follow(kWhole, {sha256_hex("another"), "", true}).warnings ==
        Lines{"campaign.json is not what the journal began with"});
}

TEST_CASE("a torn line is harmless only where the run was continued after it") {
  const std::string torn = R"({"event":"sta)";
  Lines lines{kWhole[0], torn};
  lines.push_back(linked_line({{"event", "session"}}, sha256_hex(torn), {}));
  CHECK(follow(lines).warnings.empty());
  CHECK(follow(lines).notes ==
        Lines{"line 2 of the journal was torn by a kill, after which the run was continued"});
  lines.back() = linked_line({{"event", "finished"}}, sha256_hex(torn), {});
  CHECK(follow(lines).warnings ==
        Lines{"line 2 of the journal is torn or foreign and was left out"});
  lines.pop_back();
  CHECK(follow(lines).warnings.size() == 1);
}

TEST_CASE("a journal without links is an older one's, unless the campaign says otherwise") {
  const Lines plain{R"({"event":"session"})", R"({"event":"finished"})"};
  CHECK(follow(plain, {kRoot, "", false}).warnings.empty());
  CHECK(follow(plain, {kRoot, "", false}).notes.size() == 1);
  CHECK(follow(plain).warnings == Lines{"the journal has lost the links between its lines"});
  Lines continued = plain;
  continued.push_back(linked_line({{"event", "session"}}, sha256_hex(plain[1]), {}));
  CHECK(follow(continued, {kRoot, "", false}).warnings.empty());
  continued.push_back(plain[1]);
  CHECK(follow(continued, {kRoot, "", false}).warnings.size() == 1);
}

TEST_CASE("with a key every line must be signed") {
  CHECK(follow(kWhole, {kRoot, std::string(64, 'a'), true}).warnings ==
        Lines{"line 1 of the journal is not signed by the campaign's key (3 more likewise)"});
}

TEST_CASE("the last link is of the last line that has something in it") {
  CHECK(last_link("", kRoot) == kRoot);
  CHECK(last_link("\n", kRoot) == kRoot);
  CHECK(last_link("a\nb\n", kRoot) == sha256_hex("b"));
  CHECK(last_link("a\nb", kRoot) == sha256_hex("b"));
  CHECK(last_link("a\n\n", kRoot) == sha256_hex("a"));
}
