#include "report/csv.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "example_campaign.h"

using namespace cb;

namespace {

// The cells of a line as a spreadsheet reads them (RFC 4180).
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> out{""};
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      out.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find("\r\n", at);
    REQUIRE(end != std::string::npos);
    out.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  return out;
}

// The same text in every field that somebody else wrote.
void poison(example::Case& c, const std::string& evil) {
  for (Step& step : c.campaign.profile.steps) step.id = evil + step.id;
  for (Criterion& criterion : c.campaign.profile.criteria) criterion.domain = evil;
  for (Job& job : c.campaign.jobs) {
    job.step = evil + job.step;
    if (!job.document) continue;
    for (Record& r : job.document->records) {
      r.case_name = evil + r.case_name;
      r.params.set(evil, evil);
      for (Entity& e : r.entities) e = {evil + e.host, evil + e.kind, evil + e.id, evil};
      for (Metric& m : r.metrics) {
        m.name = evil + m.name;
        m.unit = evil;
      }
    }
  }
}

}  // namespace

TEST_CASE("no text of any field becomes a formula, and every line keeps its cells") {
  for (const std::string evil :
       {"=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=\"x\",\"y\"",
        "\xEF\xBC\x9D"
        "1+1",
        "\xEF\xBC\x8B"
        "1",
        "\xEF\xBC\x8D"
        "1",
        "\xEF\xBC\xA0"
        "A1"}) {
    CAPTURE(evil);
    example::Case c = example::mixed();
    poison(c, evil);
    const std::vector<std::string> lines =
        lines_of(render_csv(c.campaign, example::judgement_of(c), c.catalogue));
    REQUIRE(lines.size() > 5);
    const size_t width = cells_of(lines[0]).size();
    for (const std::string& line : lines) {
      const std::vector<std::string> cells = cells_of(line);
      REQUIRE(cells.size() == width);
      for (const std::string& cell : cells) {
        const bool formula =
            !cell.empty() && std::string("=+-@\t\r\n").find(cell[0]) != std::string::npos;
        const bool wide = cell.starts_with("\xEF\xBC\x9D") || cell.starts_with("\xEF\xBC\x8B") ||
                          cell.starts_with("\xEF\xBC\x8D") || cell.starts_with("\xEF\xBC\xA0");
        CHECK_FALSE(formula);
        CHECK_FALSE(wide);
      }
    }
  }
}

TEST_CASE("quotes and commas are data") {
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("a\"b") == "\"a\"\"b\"");
  CHECK(csv_cell("plain") == "plain");
  CHECK(csv_cell("=1,2") == "\"'=1,2\"");
}
