#include <doctest/doctest.h>

#include <type_traits>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "core/svg.h"
#include "core/text.h"
#include "example_campaign.h"
#include "judge/verdict.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"
#include "tests/unit/timing.h"

using namespace cb;

namespace {

std::string html_of(const example::Case& c, const Judgement& j, Lang lang = Lang::en) {
  return render_html(build_view(c.campaign, j, c.catalogue, Texts(lang)));
}

const Section* section_named(const View& view, std::string_view part) {
  for (const Section& section : view.sections) {
    if (section.heading.find(part) != std::string::npos) return &section;
  }
  return nullptr;
}

template <typename T>
std::vector<const T*> blocks_of(const View& view) {
  std::vector<const T*> out;
  for (const Section& section : view.sections) {
    for (const Block& block : section.blocks) {
      if (const T* found = std::get_if<T>(&block)) out.push_back(found);
    }
  }
  return out;
}

// Puts the text into every string of the campaign, its profile, its records and the judgement.
void poison(example::Case& c, Judgement& j, const std::string& evil) {
  Campaign& k = c.campaign;
  const auto put = [&](auto& s) {
    if constexpr (std::is_same_v<std::decay_t<decltype(s)>, Said>)
      s = Said(s.text() + evil, Message("said.of", {s.text(), evil}));
    else
      s = s + evil;
  };
  put(k.profile.name), put(k.profile.title.en), put(k.profile.title.zh), put(k.profile.sha256);
  put(k.id), put(k.started), put(k.ended), put(k.tool.version), put(k.launcher);
  k.tool.commit = evil + k.tool.commit;
  k.tool.build[evil] = evil;
  for (auto& h : k.hosts) put(h);
  for (auto& w : k.command) put(w);
  for (auto& [file, digest] : k.manifest) put(file), put(digest);
  for (auto& w : k.warnings) put(w);
  for (auto& criterion : k.profile.criteria) {
    put(criterion.domain), put(criterion.title.en), put(criterion.title.zh), put(criterion.why.en);
    put(criterion.source.kind), put(criterion.source.ref.en), put(criterion.source.date);
  }
  for (auto& item : k.profile.checklist) put(item.id), put(item.text.en), put(item.text.zh);
  for (auto& info : c.catalogue) put(info.domain);
  for (auto& inventory : k.inventories) {
    put(inventory.host);
    for (Part& part : inventory.parts) {
      put(part.kind), put(part.id);
      part.attributes[evil] = evil;
      part.unavailable[evil] = evil;
    }
  }
  for (const ProofState state : {ProofState::shown, ProofState::not_shown, ProofState::impossible})
    k.proofs.push_back({"s" + evil, evil, state, evil, evil, false, evil, evil});
  for (Job& job : k.jobs) {
    put(job.host), put(job.reason), put(job.file), put(job.log);
    for (auto& w : job.command) put(w);
    if (!job.document) continue;
    job.document->run.environment[evil] = evil;
    job.document->run.partial = evil;
    for (Record& record : job.document->records) {
      record.params.set(evil, evil);
      for (Entity& e : record.entities) put(e.host), put(e.id);
      for (Metric& m : record.metrics) {
        put(m.name), put(m.unit);
        if (m.ceiling) put(m.ceiling->how);
      }
      for (Check& check : record.checks) put(check.name), put(check.detail), check.passed = false;
      for (Series& s : record.telemetry.series) put(s.name);
      record.facts[evil] = evil;
      record.notes.push_back(evil);
    }
  }
  k.jobs[0].document->records.push_back({.case_name = evil, .outcome = Skipped{evil}});
  k.jobs[0].document->records.push_back({.case_name = evil, .outcome = Errored{evil, evil}});
  for (Waiver& w : c.waivers)
    put(w.id), put(w.scope), put(w.reason), put(w.approver), put(w.ticket), put(w.expires);
  for (CriterionVerdict& v : j.criteria) {
    put(v.reason), put(v.at);
    if (v.worst) put(v.worst->host), put(v.worst->id);
    if (v.ceiling) put(v.ceiling->how);
  }
}

const std::vector<std::string> kHostile{"<script>alert(1)</script>",
                                        "\"><img src=x onerror=alert(1)>",
                                        "' onmouseover='alert(1)",
                                        "{{{title}}}{{#sections}}",
                                        "|\\|`a`|\n| x |",
                                        "</style></svg></title><iframe>",
                                        "\x1b[31m\x07\x9b",
                                        "\xff\xfe\xc3",
                                        "&lt;script&gt;",
                                        "[x](javascript:alert(1))"};

// Every tag in the page must be one of the template's or the charts'; none may have an event
// handler. That needs no list of attacks.
void check_tags(const std::string& html) {
  static const std::set<std::string> known{
      "!doctype", "html", "head", "meta",    "title",  "style",    "body",       "main",
      "header",   "p",    "h1",   "h2",      "h3",     "div",      "strong",     "ul",
      "li",       "b",    "span", "section", "table",  "caption",  "thead",      "tbody",
      "tr",       "th",   "td",   "code",    "pre",    "figure",   "figcaption", "footer",
      "svg",      "desc", "line", "rect",    "circle", "polyline", "polygon",    "text"};
  static const std::set<std::string> attributes{
      "html",       "lang",   "charset", "name", "content", "class",  "role",    "aria-label",
      "scope",      "id",     "x",       "y",    "x1",      "x2",     "y1",      "y2",
      "width",      "height", "cx",      "cy",   "r",       "points", "viewBox", "aria-labelledby",
      "text-anchor"};
  const std::regex tag("<(/?)([^ >/]*)([^>]*)>");
  const std::regex attribute("([^ =\"]+)(=\"[^\"]*\")?");
  for (std::sregex_iterator it(html.begin(), html.end(), tag), end; it != end; ++it) {
    CHECK_MESSAGE(known.contains((*it)[2].str()), "tag ", (*it)[0].str());
    const std::string rest = (*it)[3].str();
    for (std::sregex_iterator a(rest.begin(), rest.end(), attribute); a != end; ++a) {
      if ((*a)[1].str() == "/") continue;
      CHECK_MESSAGE(attributes.contains((*a)[1].str()), "attribute ", (*a)[0].str());
    }
  }
}

}  // namespace

TEST_CASE("rendering twice gives the same bytes") {
  const example::Case c = example::mixed();
  const Judgement j = example::judgement_of(c);
  const example::Case again = example::mixed();
  const Judgement j_again = example::judgement_of(again);
  CHECK(html_of(c, j) == html_of(again, j_again));
  CHECK(render_json(c.campaign, j, c.catalogue) ==
        render_json(again.campaign, j_again, again.catalogue));
}

TEST_CASE("text from outside stays text in HTML, whatever it is") {
  for (const std::string& evil : kHostile) {
    CAPTURE(terminal_safe(evil));
    example::Case c = example::mixed();
    Judgement j = example::judgement_of(c);
    poison(c, j, evil);
    for (const Lang lang : {Lang::en, Lang::zh}) {
      const std::string html = html_of(c, j, lang);
      check_tags(html);
      CHECK(html.find('\x1b') == std::string::npos);
      std::string flat = html;
      std::erase(flat, '\n');
      const bool clean = terminal_safe(flat) == flat;  // valid UTF-8, no control character
      CHECK(clean);
    }
  }
}

TEST_CASE("text from outside cannot break a Markdown table or become markup") {
  CHECK(markdown_escape("a|b") == "a\\|b");
  CHECK(markdown_escape("<script>") == "&lt;script&gt;");
  CHECK(markdown_escape("a\nb") == "a b");
  CHECK(markdown_escape("[x](y)") == "\\[x\\](y)");
  CHECK(markdown_escape("`*_~#!") == "\\`\\*\\_\\~\\#!");
  CHECK(markdown_escape("\x1b[2J\xff") == "?\\[2J?");
  for (const std::string& evil : kHostile) {
    CAPTURE(terminal_safe(evil));
    example::Case c = example::mixed();
    Judgement j = example::judgement_of(c);
    poison(c, j, evil);
    // What stands in a fenced block is verbatim by definition; the fence itself must hold.
    const std::string text =
        std::regex_replace(render_markdown(build_view(c.campaign, j, c.catalogue, Texts(Lang::en))),
                           std::regex("\n(```+)\n[^]*?\n\\1\n"), "\n");
    CHECK(text.find("```\n") == std::string::npos);
    CHECK(text.find("<script") == std::string::npos);
    CHECK(text.find("<img") == std::string::npos);
    CHECK(text.find("\n| x |") == std::string::npos);
    // Every row of the first table still has its five cells: unescaped bars are counted.
    const std::regex bar("(^|[^\\\\])\\|");
    std::istringstream lines(text.substr(text.find("| Result | Test | Worst")));
    for (std::string line; std::getline(lines, line) && line.starts_with("|");) {
      // An even number of backslashes before a bar leaves it a bar.
      const std::string seen = std::regex_replace(line, std::regex("\\\\\\\\"), "");
      CHECK_MESSAGE(std::distance(std::sregex_iterator(seen.begin(), seen.end(), bar),
                                  std::sregex_iterator()) == 6,
                    line);
    }
  }
}

TEST_CASE("hostile text in JSON is a JSON string and comes back, invalid UTF-8 replaced") {
  example::Case c = example::mixed();
  Judgement j = example::judgement_of(c);
  poison(c, j, "\"}\xff<script>\x1b");
  const auto json = nlohmann::json::parse(render_json(c.campaign, j, c.catalogue));
  CHECK(json["campaign"]["hosts"][0] == "node01\"}\xEF\xBF\xBD<script>\x1b");
}

TEST_CASE("what planted faults have shown is a short table, jobs that ended alike in one row") {
  example::Case c = example::mixed();
  c.campaign.proofs = {
      {"gemm", "node01", ProofState::shown, said("fault.product"), "product"},
      {"gemm", "node02", ProofState::not_shown, said("fault.product"), "", true},
      {"gemm", "node03", ProofState::shown, said("fault.product"), "product"},
      {"mpi", "", ProofState::not_shown, "", "", false, said("proof.not_made")},
      {"info", "node01", ProofState::impossible, "", "", false, said("fault.inventory")}};
  const Judgement j = example::judgement_of(c);
  const View view = build_view(c.campaign, j, c.catalogue, Texts(Lang::en));
  const Section* section = section_named(view, "Checks shown to fail");
  REQUIRE(section != nullptr);
  const Table& table = std::get<Table>(section->blocks.at(0));
  REQUIRE(table.rows.size() == 4);
  using Cells = std::vector<std::string>;
  CHECK(table.rows[0].cells ==
        Cells{"✓ gemm", "one element of the product is changed", "product", "node01, node03"});
  CHECK(table.rows[1].cells[2] == "nothing: no check failed");
  CHECK(table.rows[1].state == State::incomplete);
  CHECK(table.rows[2].cells[3] == "all together");
  CHECK(table.rows[3].cells[1] == "no fault can be planted");
  const View chinese = build_view(c.campaign, j, c.catalogue, Texts(Lang::zh));
  const Section* same = section_named(chinese, "检查有效性验证");
  REQUIRE(same != nullptr);
  CHECK(std::get<Table>(same->blocks.at(0)).rows[0].cells[1] == "改动乘积中的一个元素");
  const auto json = nlohmann::json::parse(render_json(c.campaign, j, c.catalogue));
  CHECK(json["proofs"].size() == 5);
  CHECK(json["proofs"][1]["state"] == "not-shown");
  CHECK(section_named(build_view(example::mixed().campaign, j, c.catalogue, Texts(Lang::en)),
                      "Checks shown to fail") == nullptr);
}

TEST_CASE("the verdict comes first and says what it would take") {
  const example::Case c = example::mixed();
  const Judgement j = example::judgement_of(c);
  const View view = build_view(c.campaign, j, c.catalogue, Texts(Lang::en));
  CHECK(view.verdict_mark + " " + view.verdict == "✗ Not accepted");
  CHECK(
      view.verdict_reason ==
      "The evidence is not as the run left it, which blocks acceptance: records/notes.txt belongs "
      "to no job and was left out. 2 criteria fail. 1 criterion was not measured, which blocks "
      "acceptance. The other 6 "
      "criteria do not stand in the way.");
  CHECK(view.counterfactual ==
        std::vector<std::string>{
            "The evidence is restored as the run left it, or the campaign is run anew",
            "Random read 4K, p99: ≤ 500 µs everywhere; the worst, node03:/data, has 837 µs",
            "Same kernel on all hosts: all hosts are equal; see node03",
            "Checkpoint write: is measured (step checkpoint)"});
  size_t all = 0;
  for (const StateCount& count : view.counts) all += count.number;
  CHECK(all == c.campaign.profile.criteria.size());
  CHECK(all == j.criteria.size());  // no step of it speaks beside its criteria
}

TEST_CASE("the verdict follows the judgement") {
  example::Case c = example::mixed();
  Judgement j = example::judgement_of(c);
  j.doubts.clear();
  const auto verdict = [&](std::initializer_list<State> states) {
    j.criteria.resize(states.size());
    size_t i = 0;
    for (const State s : states) j.criteria[i++].state = s;
    return build_view(c.campaign, j, c.catalogue, Texts(Lang::en)).verdict;
  };
  CHECK(verdict({State::pass, State::warn, State::not_applicable}) == "Accepted");
  CHECK(verdict({State::pass, State::waived}) == "Accepted with waivers");
  CHECK(verdict({State::pass, State::incomplete}) == "Incomplete, not accepted");
  CHECK(verdict({State::fail, State::incomplete}) == "Not accepted");
  CHECK(verdict({State::not_applicable}) == "Incomplete, not accepted");
  j.doubts = {"MANIFEST.sha256 is missing or empty"};
  CHECK(verdict({State::pass}) == "Incomplete, not accepted");
  CHECK(verdict({State::fail}) == "Not accepted");
  j.doubts.clear();
  CHECK(verdict({}) == "Incomplete, not accepted");
}

TEST_CASE(
    "requirements are listed worst first, all of them, with value, limit, ratio and ceiling") {
  const example::Case c = example::mixed();
  const Judgement j = example::judgement_of(c);
  const View view = build_view(c.campaign, j, c.catalogue, Texts(Lang::en));
  const Section* section = section_named(view, "Requirements");
  REQUIRE(section != nullptr);
  const auto& rows = std::get<Table>(section->blocks[0]).rows;
  std::vector<std::string> states;
  for (const Row& row : rows) states.push_back(row.cells[0]);
  CHECK(states == std::vector<std::string>{"✗ fail", "✗ fail", "? not measured", "! warning",
                                           "~ waived", "✓ pass", "✓ pass", "✓ pass",
                                           "– not applicable"});
  CHECK(rows[0].cells[3] == "837 µs");
  CHECK(rows[0].cells[4] == "p99 ≤ 500 µs");
  CHECK(rows[0].cells[5] == "167 %");
  CHECK(rows[0].cells[7] == "node03:/data (of 4)");
  CHECK(rows[0].cells[8] == "contract · §4.3.1, 2026-05-02");
  CHECK(rows[2].cells[3] == "not measured");  // never 0
  CHECK(rows[2].cells[4] == "median ≥ 2.00 GB/s");
  CHECK(rows[3].cells[8] == "measured · fleet of 248 hosts, 2026-03 · warns only");
  CHECK(rows[5].cells[6] == "5100 GFLOP/s");
  CHECK(rows[8].cells[3] == "not applicable");
}

TEST_CASE("a step that is wrong or missing beside its criteria has a line of its own") {
  example::Case c = example::mixed();
  std::erase_if(c.campaign.jobs, [](const Job& job) { return job.step == "info"; });
  for (Job& job : c.campaign.jobs) {
    // No criterion of the profile rests on the burn.
    if (job.step == "burn" && job.host == "node02")
      job.document->records[0].checks[0].passed = false;
  }
  const Judgement j = example::judgement_of(c);
  const View view = build_view(c.campaign, j, c.catalogue, Texts(Lang::en));
  const auto row_of = [&](const std::string& title) {
    const Section* section = section_named(view, "Requirements");
    REQUIRE(section != nullptr);
    const auto& rows = std::get<Table>(section->blocks[0]).rows;
    const auto found =
        std::ranges::find_if(rows, [&](const Row& r) { return r.cells[2] == title; });
    REQUIRE_MESSAGE(found != rows.end(), title);
    return found->cells;
  };
  const std::string source =
      "practice · every step is judged by its data and its completeness, 2026-11";
  const auto burn = row_of("Step burn: data right and complete");
  CHECK(burn == std::vector<std::string>{"✗ fail", "Host", "Step burn: data right and complete",
                                         "data wrong, no figure", "done, every check passes", "–",
                                         "–", "node02", source});
  const auto info = row_of("Step info: data right and complete");
  CHECK(info == std::vector<std::string>{"? not measured", "Host",
                                         "Step info: data right and complete", "not measured",
                                         "done, every check passes", "–", "–", "–", source});
  const auto lacks = [&](const std::string& line) {
    return std::ranges::count(view.counterfactual, line) == 1;
  };
  CHECK(lacks("Step burn: every check passes, also on node02"));
  CHECK(lacks("Step info: every job ends well, and every point of it is measured"));
  CHECK(view.verdict_reason.find("3 criteria fail. 2 criteria were not measured") !=
        std::string::npos);
}

TEST_CASE("what only warns is no failure of its host where another host was not measured") {
  example::Case c = example::mixed();
  c.waivers.clear();
  std::erase_if(c.campaign.jobs,
                [](const Job& job) { return job.step == "triad" && job.host == "node04"; });
  const Judgement j = example::judgement_of(c);
  const View view = build_view(c.campaign, j, c.catalogue, Texts(Lang::en));
  const Section* section = section_named(view, "Open items");
  REQUIRE(section != nullptr);
  std::map<std::string, std::string> of_node03;
  for (const Block& block : section->blocks) {
    const Table* table = std::get_if<Table>(&block);
    if (table == nullptr) continue;
    for (const Row& row : table->rows) {
      if (row.cells[1] == "node03") of_node03[row.cells[3]] = row.cells[0];
    }
  }
  CHECK(of_node03["STREAM triad"] == "✗ fail");
  CHECK(of_node03["STREAM triad, target"] == "! warning");
}

TEST_CASE("a host that has warnings only has nothing to mend") {
  const example::Case c = example::mixed();
  Judgement j = example::judgement_of(c);
  std::erase_if(j.criteria, [](const CriterionVerdict& v) { return v.state != State::warn; });
  const View view = build_view(c.campaign, j, c.catalogue, Texts(Lang::en));
  const Section* section = section_named(view, "Open items");
  REQUIRE(section != nullptr);
  size_t warned = 0;
  for (const Block& block : section->blocks) {
    const Table* table = std::get_if<Table>(&block);
    if (table == nullptr) continue;
    CHECK(table->caption.find("to mend") == std::string::npos);
    warned += table->caption == "1 host of 4 has a warning only, which does not stop acceptance.";
  }
  CHECK(warned == 1);
}

TEST_CASE("a cluster and a pair are listed, and not counted as hosts") {
  example::Case c = example::mixed();
  Judgement j = example::judgement_of(c);
  std::erase_if(j.criteria, [](const CriterionVerdict& v) { return v.state != State::warn; });
  REQUIRE(j.criteria.size() == 1);
  const auto caption = [&](const std::vector<Entity>& entities) {
    std::vector<Finding>& failing = j.criteria[0].failing;
    failing.resize(1);
    failing.assign(entities.size(), failing[0]);
    for (size_t i = 0; i < entities.size(); ++i) failing[i].entity = entities[i];
    const View view = build_view(c.campaign, j, c.catalogue, Texts(Lang::en));
    return std::get<Table>(section_named(view, "Open items")->blocks.at(0)).caption;
  };
  const Entity cluster{"", "cluster", ""}, host{"node02", "host", ""};
  CHECK(caption({host, cluster}) ==
        "1 host of 4 has a warning only, which does not stop acceptance. "
        "1 pair or group of hosts is listed too.");
  CHECK(caption({cluster}) == "1 pair or group of hosts is listed too.");
  // A host that was asked for by an address calls itself node02.
  std::ranges::replace(c.campaign.hosts, std::string("node02"), std::string("10.0.0.2"));
  for (Job& job : c.campaign.jobs) job.host = job.host == "node02" ? "10.0.0.2" : job.host;
  CHECK(caption({host}) == "1 host of 4 has a warning only, which does not stop acceptance.");
}

TEST_CASE("each kind of chart appears where its data is, with title and description") {
  const example::Case c = example::mixed();
  const Judgement j = example::judgement_of(c);
  const View view = build_view(c.campaign, j, c.catalogue, Texts(Lang::en));
  std::set<size_t> kinds;
  for (const Figures* figures : blocks_of<Figures>(view)) {
    for (const Figure& figure : figures->list) {
      kinds.insert(figure.chart.index());
      CHECK_FALSE(figure.title.empty());
      const std::string svg = draw(figure.chart, "x1", figure.title, figure.caption);
      CHECK(svg.find("<title id=\"x1t\">" + markup_escape(figure.title)) != std::string::npos);
      CHECK(svg.find("<desc id=\"x1d\">" + markup_escape(figure.caption)) != std::string::npos);
      CHECK(svg.find("nan") == std::string::npos);
      CHECK(svg.find("inf\"") == std::string::npos);
    }
  }
  CHECK(kinds == std::set<size_t>{0, 1, 2, 4});  // curve, distribution, time line, bars
  const example::Case many = example::fleet(16);
  const View fleet =
      build_view(many.campaign, example::judgement_of(many), many.catalogue, Texts(Lang::en));
  std::set<size_t> of_fleet;
  for (const Figures* figures : blocks_of<Figures>(fleet)) {
    for (const Figure& figure : figures->list) of_fleet.insert(figure.chart.index());
  }
  CHECK(of_fleet.contains(3));  // the strip, from eight entities
}

TEST_CASE("without data there is a sentence and no chart") {
  example::Case c = example::mixed();
  Judgement j = example::judgement_of(c);
  c.campaign.jobs.clear();
  c.campaign.inventories.clear();
  c.campaign.manifest.clear();
  for (CriterionVerdict& v : j.criteria) v = {.criterion = v.criterion, .reason = "not run"};
  const View view = build_view(c.campaign, j, c.catalogue, Texts(Lang::en));
  CHECK(blocks_of<Figures>(view).empty());
  const Section* storage = section_named(view, "Storage");
  REQUIRE(storage != nullptr);
  CHECK(std::get<Paragraph>(storage->blocks[0]).text ==
        "There is no figure for this domain: nothing was measured.");
  CHECK_FALSE(render_html(view).empty());
}

TEST_CASE("jobs that are not done name their host, next step and log") {
  const example::Case c = example::mixed();
  const Judgement j = example::judgement_of(c);
  const View view = build_view(c.campaign, j, c.catalogue, Texts(Lang::en));
  const Section* jobs = section_named(view, "Jobs");
  REQUIRE(jobs != nullptr);
  const auto& rows = std::get<Table>(jobs->blocks[1]).rows;
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].cells[0] == "? deadline passed");
  CHECK(rows[1].cells[2] == "node04");
  CHECK(rows[1].cells[3] == "it was killed after its deadline of 600 s");
  CHECK(rows[1].cells[4] == "logs/040-checkpoint-node04.err");
}

TEST_CASE("the report of 128 hosts is small and quick") {
  const example::Case c = example::fleet(128);
  const Judgement j = example::judgement_of(c);
  std::string html;
  const double seconds = test::least_busy_seconds(1, [&] { html = html_of(c, j); });
  MESSAGE("128 hosts: ", seconds, " s, ", html.size(), " bytes");
  CHECK(html.size() < 2'000'000);
  CHECK(seconds < 1.0);
  CHECK(html.find("node128") != std::string::npos);
}

TEST_CASE("the JSON report holds verdicts and figures in SI units and no absent number") {
  const example::Case c = example::mixed();
  const Judgement j = example::judgement_of(c);
  const auto json = nlohmann::json::parse(render_json(c.campaign, j, c.catalogue));
  CHECK(json["schema"] == "clusterbench.report/1");
  CHECK(json["verdict"] == "not-accepted");
  CHECK(json["criteria"][5]["max"] == 500e-6);
  CHECK(json["criteria"][5]["worst"]["name"] == "node03:/data");
  CHECK_FALSE(json["criteria"][6].contains("value"));
  CHECK(json["criteria"][2]["waiver"]["ticket"] == "OPS-77");
  CHECK(json["counts"]["fail"] == 2);
  CHECK(json["figures"][0]["worst"]["entity"]["host"] == "node02");
}

TEST_CASE(
    "every waiver of a criterion is listed, with its worst value and the number of its parts") {
  Criterion criterion{.id = "c", .step = "s", .domain = "host"};
  criterion.rule = MetricRule{.metric = "bytes_per_second", .min = 100};
  example::Case c;
  Campaign& k = c.campaign;
  k.profile.steps.push_back({.id = "s", .case_name = "fake"});
  k.profile.criteria = {criterion};
  for (const auto& [host, value] :
       {std::pair("n1", 90.0), std::pair("n2", 80.0), std::pair("n3", 95.0)}) {
    Record r{.case_name = "fake"};
    Metric m{.name = "bytes_per_second",
             .unit = "bytes_per_second",
             .entity = r.entity({host, "rank", "0"})};
    m.samples.add(value);
    r.metrics.push_back(m);
    Job job{.step = "s", .host = host, .state = JobState::done};
    job.document.emplace().run.hosts = {host};
    job.document->records = {r};
    k.jobs.push_back(job);
    k.hosts.emplace_back(host);
    k.inventories.push_back({.host = host});
  }
  const std::vector<Waiver> waivers{
      {"w1", "c", "n2:*", "fan", "A. Buyer", "OPS-1", 75, "2026-12-31"},
      {"w2", "c", "n*", "dust", "A. Buyer", "OPS-2", 85, "2026-12-31"}};
  const Judgement j = judge(k, k.profile, waivers, "2026-11-20");
  REQUIRE(j.overall() == State::pass);
  const View view = build_view(k, j, c.catalogue, Texts(Lang::en));
  const Section* section = section_named(view, "Waivers");
  REQUIRE(section != nullptr);
  const auto& rows = std::get<Table>(section->blocks.at(0)).rows;
  REQUIRE(rows.size() == 2);
  const auto cells = [&](size_t row) {
    const auto& all = rows[row].cells;
    return std::vector<std::string>{all[0], all[2], all[3], all[5], all[8]};
  };
  CHECK(cells(1) == std::vector<std::string>{"w1", "n2:*", "80.0 B/s", "75.0 B/s", "OPS-1"});
  CHECK(cells(0) == std::vector<std::string>{"w2", "n*: 2 parts", "90.0 B/s", "85.0 B/s", "OPS-2"});
  const auto json = nlohmann::json::parse(render_json(k, j, c.catalogue));
  CHECK(json["criteria"][0]["waivers"].size() == 2);
  CHECK(json["criteria"][0]["failing"][0]["waiver"] == "w1");
  CHECK(json["criteria"][0]["failing"][1]["waiver"] == "w2");
}
