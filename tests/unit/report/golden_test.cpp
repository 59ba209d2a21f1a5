// The whole report, byte for byte. CLUSTERBENCH_REGENERATE=1 writes the files anew.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/file.h"
#include "example_campaign.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"

using namespace cb;

namespace {

std::filesystem::path golden(const std::string& name) {
  const char* dir = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  REQUIRE_MESSAGE(dir != nullptr, "set CLUSTERBENCH_SOURCE_DIR to the source tree, as ctest does");
  return std::filesystem::path(dir) / "tests" / "golden" / name;
}

void compare(const std::string& name, const std::string& text) {
  const char* regenerate = std::getenv("CLUSTERBENCH_REGENERATE");
  if (regenerate != nullptr && std::string(regenerate) == "1")
    write_file_atomically(golden(name), text);
  const bool same = read_file(golden(name)) == text;
  CHECK_MESSAGE(same, name, " differs from what is rendered: look at it, then regenerate");
}

}  // namespace

TEST_CASE("the report is byte for byte the golden one, in both languages") {
  const example::Case c = example::mixed();
  const Judgement judgement = example::judgement_of(c);
  for (const auto& [lang, name] : {std::pair{Lang::en, "en"}, std::pair{Lang::zh, "zh"}}) {
    const View view = build_view(c.campaign, judgement, c.catalogue, Texts(lang));
    compare(std::string("report.") + name + ".html", render_html(view));
    compare(std::string("report.") + name + ".md", render_markdown(view));
  }
  compare("report.json", render_json(c.campaign, judgement, c.catalogue));
}
