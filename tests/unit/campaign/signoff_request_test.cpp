// Who may sign like this, rule by rule and from both sides.
#include "campaign/signoff_request.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

SignoffRequest good_request(const std::string& verdict = "accepted") {
  SignoffRequest r;
  r.role = "customer";
  r.name = "B. Li";
  r.verdict = verdict;
  r.at = "2026-11-21T10:00:00Z";
  return r;
}

using Wheres = std::vector<std::string>;

Wheres wheres(const Problems& problems) {
  Wheres out;
  for (const Problem& p : problems.list) out.push_back(p.where);
  return out;
}

Wheres word_problems(const SignoffRequest& r) {
  Problems problems;
  check_words(r, problems);
  return wheres(problems);
}

Wheres verdict_problems(const SignoffRequest& r, const std::vector<OpenItem>& open) {
  Problems problems;
  check_verdict(r, open, problems);
  return wheres(problems);
}

Wheres person_problems(const SignoffRequest& r, const std::vector<Signoff>& earlier) {
  Problems problems;
  check_person(r, earlier, problems);
  return wheres(problems);
}

Signoff signed_before(const std::string& verdict, std::optional<std::string> key = {}) {
  Signoff s;
  s.role = "customer";
  s.name = "B. Li";
  s.verdict = verdict;
  s.public_key = std::move(key);
  return s;
}

}  // namespace

TEST_CASE("each word of a request") {
  CHECK(word_problems(good_request()).empty());
  SignoffRequest r;
  r.at = "2026-11-21T10:00:00Z";
  CHECK(word_problems(r) == Wheres{"--role", "--name", "--verdict"});
  r = good_request("acceptet");
  r.role = "custmer";
  CHECK(word_problems(r) == Wheres{"--role", "--verdict"});
  r = good_request();
  r.title = r.company = r.remark = "Li\xff";
  CHECK(word_problems(r) == Wheres{"--title", "--company", "--remark"});
}

TEST_CASE("a day is one, and today at the earliest") {
  SignoffRequest r = good_request("conditional");
  r.until = "2026-11-21";
  CHECK(word_problems(r).empty());
  r.until = "2026-11-20";
  CHECK(word_problems(r) == Wheres{"--until"});
  r.until = "soon";
  CHECK(word_problems(r) == Wheres{"--until"});
  r.until = "";
  r.items = {{"fan", "2026-11-21"}, {"", "2026-12-01"}, {"disk", "2026-11-01"}};
  CHECK(word_problems(r) == Wheres{"--open-item", "--open-item disk"});
}

TEST_CASE("open items get their days: their own before that of all") {
  SignoffRequest r = good_request("conditional");
  r.until = "2027-01-01";
  r.items = {{"fan", "2026-12-01"}, {"door", "2026-12-24"}};
  const auto items = dated_items({{"issue", "fan", "major", ""}, {"issue", "disk", "", ""}}, r);
  REQUIRE(items.size() == 3);
  CHECK(items[0].due == "2026-12-01");
  CHECK(items[1].due == "2027-01-01");
  CHECK(items[2].kind == "agreed");
  CHECK(items[2].text == "door");
  CHECK(items[2].due == "2026-12-24");
  r.verdict = "rejected";
  CHECK(dated_items({{"issue", "disk", "", "2026-12-01"}}, r)[0].due == "");
}

TEST_CASE("accepted leaves nothing open, conditional leaves something with a day") {
  const OpenItem dated{"issue", "fan", "major", "2026-12-01"}, open{"issue", "disk", "", ""};
  CHECK(verdict_problems(good_request(), {}).empty());
  CHECK(verdict_problems(good_request(), {dated}) == Wheres{"issue fan"});
  CHECK(verdict_problems(good_request("conditional"), {}) == Wheres{"--verdict"});
  CHECK(verdict_problems(good_request("conditional"), {dated}).empty());
  CHECK(verdict_problems(good_request("conditional"), {dated, open}) == Wheres{"issue disk"});
  CHECK(verdict_problems(good_request("rejected"), {open}).empty());
  CHECK(verdict_problems(good_request("rejected"), {}).empty());
}

TEST_CASE("a person signs once, and again only by another word than before") {
  CHECK(person_problems(good_request(), {}).empty());
  CHECK(person_problems(good_request(), {signed_before("conditional")}).empty());
  CHECK(person_problems(good_request(), {signed_before("rejected")}).empty());
  CHECK(person_problems(good_request("rejected"), {signed_before("rejected")}) == Wheres{"--role"});
  CHECK(person_problems(good_request("rejected"), {signed_before("accepted")}) == Wheres{"--role"});
  // The last word counts.
  CHECK(person_problems(good_request("conditional"),
                        {signed_before("conditional"), signed_before("rejected")})
            .empty());
  Signoff another = signed_before("accepted");
  another.name = "C. Wu";
  CHECK(person_problems(good_request(), {another}).empty());
  another = signed_before("accepted");
  another.role = "supplier";
  CHECK(person_problems(good_request(), {another}).empty());
}

TEST_CASE("who signed with a key signs with it again") {
  CHECK(person_problems(good_request(), {signed_before("rejected", "ab")}) == Wheres{"--key"});
}

TEST_CASE("only a finished, unchanged campaign of regular files is signed") {
  Campaign c;
  c.ended = "2026-11-21T10:00:00Z";
  c.manifest = {{"campaign.json", ""}};
  const auto problems_of = [](const Campaign& campaign, const CampaignFiles& files) {
    Problems problems;
    check_campaign(campaign, files, good_request(), problems);
    return wheres(problems);
  };
  CHECK(problems_of(c, {}).empty());
  CHECK(problems_of(c, {.regular = {"a", "日志"}}).empty());
  CHECK(problems_of(c, {.regular = {"\xff"}, .other = {"link"}, .empty = {"folder"}}).size() == 3);
  c.warnings = {"x"};
  CHECK(problems_of(c, {}).size() == 1);
  c.warnings.clear();
  c.ended = "2026-11-21T10:00:01Z";
  CHECK(problems_of(c, {}).size() == 1);
  c.ended = "";
  CHECK(problems_of(c, {}).size() == 1);
  c.ended = "2026-11-21T09:00:00Z";
  c.manifest.clear();
  CHECK(problems_of(c, {}).size() == 1);
}

TEST_CASE("blanks and capitals make no other person") {
  SignoffRequest r = good_request();
  for (const char* name : {"B. Li", " B. Li", "B.  Li ", "b. LI", "B.\tLi"}) {
    r.name = name;
    CHECK(person_problems(r, {signed_before("accepted")}) == Wheres{"--role"});
  }
  for (const char* name : {"B. Lin", "BLi", "B.Li"}) {
    r.name = name;
    CHECK(person_problems(r, {signed_before("accepted")}).empty());
  }
}
