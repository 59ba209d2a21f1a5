// What the report says, as strings with units applied and charts as numbers; no markup. The
// renderers turn the same view into HTML and Markdown.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/messages/texts.h"
#include "judge/handover.h"
#include "judge/verdict.h"
#include "report/chart.h"

namespace cb {

struct Paragraph {
  std::string text;
};

struct Items {
  std::vector<std::string> lines;
};

// Verbatim lines: commands, environment.
struct Listing {
  std::string caption;
  std::vector<std::string> lines;
};

struct Column {
  std::string heading;
  bool numeric = false;
  bool code = false;
};

struct Row {
  std::optional<State> state;  // colours the first cell, which carries mark and word as well
  std::vector<std::string> cells;
};

struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<Row> rows;
  bool pairs = false;  // names and their values: all such tables have names of one width
};

struct Figure {
  Chart chart;
  std::string title;
  std::string caption;  // what is seen, in words; also the description for screen readers
};

// Figures that stand together.
struct Figures {
  std::vector<Figure> list;
};

using Block = std::variant<Paragraph, Items, Listing, Table, Figures>;

struct Section {
  std::string heading;
  std::vector<Block> blocks;
};

// How many criteria have a state.
struct StateCount {
  State state = State::pass;
  std::string mark;
  std::string word;
  size_t number = 0;
};

struct Party {
  std::string role;
  std::vector<std::string> blanks;
};

struct View {
  std::string language;  // BCP 47: "en", "zh-CN"
  std::string document;  // what kind of document this is
  std::string title;
  std::vector<std::string> facts;  // campaign, profile, tool, each a line
  State overall = State::incomplete;
  std::string verdict_mark;
  std::string verdict;
  std::string verdict_reason;
  std::string counterfactual_heading;       // empty when there is nothing to mend
  std::vector<std::string> counterfactual;  // what each failing or incomplete criterion lacks
  std::string counts_heading;
  std::vector<StateCount> counts;
  std::vector<Section> sections;
  std::string conclusion_heading;
  std::string running_head;  // on every printed page: project and document number
  std::string identity_caption;
  std::vector<std::pair<std::string, std::string>> identity;  // what is signed: name, value
  std::optional<Table> signatures;                            // those given
  std::vector<std::string> conclusion_items;  // what is wrong with them, open items, waivers
  std::vector<std::string> choices;
  std::vector<Party> parties;
  std::string footer;
};

// The report of a judged campaign. The catalogue says to which domain a case belongs and what its
// parameters are. Pure: the same input gives the same view, whenever and wherever it is built.
View build_view(const Campaign& campaign, const Judgement& judgement, const Catalogue& catalogue,
                const Texts& texts, const Paperwork& papers = {});

}  // namespace cb
