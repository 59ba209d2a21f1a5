// The page that is signed: what it says of itself, of each signature, and on every printed page.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "example_campaign.h"
#include "report/digests.h"
#include "report/html.h"
#include "report/json.h"
#include "report/junit.h"
#include "report/markdown.h"
#include "report/prometheus.h"

using namespace cb;

namespace {

Signoff signature_in_state(SignatureState state) {
  Signoff s;
  s.file = "signoffs/001-customer.json";
  s.role = "customer";
  s.name = "B. Li";
  s.title = "director";
  s.company = "Buyer Ltd";
  s.verdict = "conditional";
  s.at = "2026-11-21T10:00:00Z";
  s.open = {{"criterion", "latency", "fail", "2026-12-31"}};
  s.state = state;
  if (state != SignatureState::no_key) s.public_key = "d75a";
  if (state == SignatureState::valid) s.key_name = "li.pub";
  return s;
}

View view_of(const example::Case& c, const Paperwork& papers, Lang lang = Lang::en) {
  return build_view(c.campaign, example::judgement_of(c), c.catalogue, Texts(lang), papers);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("each state of a signature has its own words, in both languages and all formats") {
  const example::Case c = example::mixed();
  const Judgement j = example::judgement_of(c);
  struct Words {
    const char *en, *zh, *name;
  };
  const std::map<SignatureState, Words> words{
      {SignatureState::valid, {"✓ valid, key li.pub", "✓ 有效，公钥 li.pub", "valid"}},
      {SignatureState::invalid, {"✗ INVALID: changed since", "✗ 无效：签署后", "invalid"}},
      {SignatureState::no_key, {"? without a key", "? 未使用密钥", "no-key"}},
      {SignatureState::unknown_key,
       {"? key not known to this report: d75a", "? 公钥未列入", "unknown-key"}}};
  for (const auto& entry : words) {
    const auto& word = entry.second;
    Paperwork papers;
    papers.signatures.signoffs = {signature_in_state(entry.first)};
    const SignoffCheck& check = papers.signatures;
    const std::string html = render_html(view_of(c, papers));
    CHECK_MESSAGE(has(html, word.en), word.en);
    CHECK(has(html, "B. Li, director, Buyer Ltd"));
    CHECK(has(html, "open item latency, to be closed by 2026-12-31 (signed by B. Li)"));
    CHECK(has(render_html(view_of(c, papers, Lang::zh)), word.zh));
    CHECK(has(render_markdown(view_of(c, papers, Lang::zh)), word.zh));
    CHECK(has(render_json(c.campaign, j, c.catalogue, check),
              std::string("\"state\": \"") + word.name + "\""));
    CHECK(has(render_prometheus(c.campaign, j, check),
              std::string("clusterbench_signatures{state=\"") + word.name + "\"} 1"));
    const std::string junit = render_junit(c.campaign, j, check);
    CHECK(has(junit, std::string(word.name) + ": conditional by B. Li (customer)"));
    CHECK(has(junit, "<failure message=\"invalid:") == (entry.first == SignatureState::invalid));
  }
}

TEST_CASE("what is wrong with signatures is on the page that is signed, and in JUnit") {
  const example::Case c = example::mixed();
  Paperwork papers;
  papers.signatures.problems = {"site.json was added after signoffs/002-customer.json"};
  papers.signatures.unauthenticated = {"issues.history.jsonl line 2 is later"};
  const std::string html = render_html(view_of(c, papers));
  CHECK(has(html, "✗ signatures: site.json was added"));
  CHECK(has(html, "? not authenticated: issues.history.jsonl line 2"));
  CHECK(has(render_junit(c.campaign, example::judgement_of(c), papers.signatures),
            "<failure message=\"site.json was added"));
}

TEST_CASE("the page that is signed says what it is about, wherever it lies") {
  const example::Case c = example::mixed();
  Paperwork papers;
  papers.site = Site{.document = "AC-17",
                     .project = "Phase \"1\"</style><script>",
                     .contract = "EX-1",
                     .supplier = "Maker",
                     .customer = "Buyer",
                     .supervisor = "Overseer"};
  const View view = view_of(c, papers);
  std::map<std::string, std::string> identity(view.identity.begin(), view.identity.end());
  CHECK(identity["Document number"] == "AC-17");
  CHECK(identity["Contract"] == "EX-1");
  CHECK(identity["Supervisor"] == "Overseer");
  CHECK(identity["SHA-256 of the manifest"] == manifest_digest(c.campaign));
  CHECK(identity["SHA-256 of the verdict"] == verdict_digest(c.campaign, example::judgement_of(c)));
  CHECK(identity["Result of the measurements"] == "✗ Not accepted");
  CHECK(view.running_head == "Phase \"1\"</style><script> · No. AC-17");
  const std::string html = render_html(view);
  CHECK(has(html, "content:\"Phase \\0000221\\000022\\00003c\\00002fstyle\\00003e"));
  CHECK_FALSE(has(html, "<script>"));
  CHECK(has(html, "Customer: Buyer"));
  // Before the first section: on page 1 or 2.
  CHECK(html.find("class=\"closing\"") < html.find("<h2>1 "));
  CHECK(view_of(c, {}).identity.front().second == "CB-" + c.campaign.id);
}

TEST_CASE("the digest of the verdict changes with what was judged, not with the language") {
  const example::Case c = example::mixed();
  Judgement j = example::judgement_of(c);
  const std::string before = verdict_digest(c.campaign, j);
  CHECK(before.size() == 64);
  CHECK(verdict_digest(c.campaign, example::judgement_of(c)) == before);
  j.criteria.at(0).state = State::waived;
  CHECK(verdict_digest(c.campaign, j) != before);
}

TEST_CASE("waived and accepted on conditions are two words in Chinese") {
  const Texts zh(Lang::zh);
  CHECK(zh("verdict.waived") == "通过（含让步接收项）");
  CHECK(zh("sign.said.conditional") == "有条件通过");
}
