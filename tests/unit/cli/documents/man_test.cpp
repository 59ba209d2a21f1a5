#include <doctest/doctest.h>

#include "cli/documents/man.h"
#include "cli/offers.h"

namespace cb {

TEST_CASE("text that roff would take for something else is shown as it is") {
  CHECK(roff_text("a-b \\ 'x' `y` ^ ~") == "a\\-b \\e \\(aqx\\(aq \\(gay\\(ga \\(ha \\(ti");
  CHECK(roff_text(".SH no heading") == "\\&.SH no heading");
  CHECK(roff_text("'so no request") == "\\&\\(aqso no request");
  CHECK(roff_text("é 2 – 3 … 𝄞") == "\\[u00E9] 2 \\[u2013] 3 \\[u2026] \\[u1D11E]");
}

TEST_CASE("an option offers each word once and refuses none") {
  CLI::App app;
  std::string value;
  CLI::Option* option = app.add_option("--type", value)->type_name("NAME");
  CHECK(offered(*option).empty());
  offer(offer(option, {"fp64", "fp32"}), {"fp32", "fp4"});
  CHECK(offered(*option) == std::vector<std::string>{"fp64", "fp32", "fp4"});
  CHECK(option->get_type_name() == "NAME");
  app.parse("--type other");
  CHECK(value == "other");
  CLI::App strict;
  offer_only(strict.add_option("--lang", value), {"en", "zh"});
  CHECK_THROWS_AS(strict.parse("--lang de"), CLI::ValidationError);
}

}  // namespace cb
