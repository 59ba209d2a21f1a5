// What the report says: strings with units applied, and charts as numbers, without markup. The
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
  std::optional<State> state;  // colours the first cell, which also carries mark and word
  std::vector<std::string> cells;
};

struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<Row> rows;
  bool pairs = false;  // names and their values: such tables share one width of names
};

struct Figure {
  Chart chart;
  std::string title;
  std::string caption;  // what the chart shows, in words; screen readers read it too
};

// Figures that appear together.
struct Figures {
  std::vector<Figure> list;
};

using Block = std::variant<Paragraph, Items, Listing, Table, Figures>;

struct Section {
  std::string heading;
  std::vector<Block> blocks;
};

// The number of criteria in one state.
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
  std::string document;  // the kind of document
  std::string title;
  std::vector<std::string> facts;  // campaign, profile, tool: one line each
  State overall = State::incomplete;
  std::string verdict_mark;
  std::string verdict;
  std::string verdict_reason;
  std::string counterfactual_heading;       // empty if there is nothing to mend
  std::vector<std::string> counterfactual;  // what each failing or incomplete criterion lacks
  std::string counts_heading;
  std::vector<StateCount> counts;
  std::vector<Section> sections;
  std::string conclusion_heading;
  std::string running_head;  // on every printed page: project and document number
  std::string identity_caption;
  std::vector<std::pair<std::string, std::string>> identity;  // what is signed: name, value
  std::optional<Table> signatures;                            // the signatures given, if any
  std::vector<std::string> conclusion_items;  // problems of the signatures, open items, waivers
  std::vector<std::string> choices;
  std::vector<Party> parties;
  std::string footer;
};

// The report of a judged campaign. The catalogue gives a case's domain and its parameters. Pure:
// the same input gives the same view, no matter when and where.
View build_view(const Campaign& campaign, const Judgement& judgement, const Catalogue& catalogue,
                const Texts& texts, const Paperwork& papers = {});

}  // namespace cb
