#include "report/html.h"

#include <cctype>

#include <kainjow/mustache.hpp>

#include <fmt/format.h>

#include "core/embedded.h"
#include "core/error.h"
#include "core/svg.h"
#include "core/text.h"

namespace cb {
namespace {

using kainjow::mustache::data;
using kainjow::mustache::mustache;

// mustache looks up an absent name in the surrounding objects. So every object sets all names that
// its part of the template uses, and each part has its own names.

data strings(const std::vector<std::string>& texts) {
  data out(data::type::list);
  for (const std::string& text : texts) out.push_back(text);
  return out;
}

// Chooses the class for line breaks: a name or a date never breaks, a digest or a path breaks
// anywhere.
std::string cell_class(const Table& table, const Row& row, size_t column) {
  constexpr size_t kShort = 14;
  constexpr size_t kNumber = 18;  // "≥ 4335 GFLOP/s" in bytes
  constexpr size_t kLong = 24;
  const std::string& text = row.cells[column];
  if (column == 0 && row.state) return "st";
  if (table.columns[column].numeric) return text.size() <= kNumber ? "n" : "n wrap";
  if (text.find(' ') == std::string::npos && text.size() <= kShort) return "short";
  size_t run = 0;
  for (const char c : text) {
    run = c == ' ' ? 0 : run + 1;
    if (run > kLong) return "long";
  }
  return "";
}

data table_data(const Table& table) {
  data head(data::type::list);
  for (const Column& column : table.columns) {
    data one;
    one.set("heading", column.heading);
    one.set("numeric", data(column.numeric));
    head.push_back(one);
  }
  data rows(data::type::list);
  for (const Row& row : table.rows) {
    data cells(data::type::list);
    for (size_t i = 0; i < row.cells.size(); ++i) {
      data cell;
      cell.set("cell_text", row.cells[i]);
      cell.set("code", data(table.columns[i].code));
      cell.set("css", cell_class(table, row, i));
      cells.push_back(cell);
    }
    data one;
    one.set("state", std::string(row.state ? state_name(*row.state) : "plain"));
    one.set("cells", cells);
    rows.push_back(one);
  }
  data out;
  out.set("caption", table.caption);
  out.set("columns", head);
  out.set("rows", rows);
  constexpr size_t kKeptTogether = 10;  // rows that fit on a page with their heading
  out.set("pairs", data(table.pairs));
  out.set("kept", data(table.rows.size() <= kKeptTogether));
  return out;
}

class HtmlBlock {
 public:
  data operator()(const Paragraph& p) { return data("paragraph", data("body", p.text)); }
  data operator()(const Items& items) { return data("items", data("lines", strings(items.lines))); }
  data operator()(const Listing& listing) {
    data body;
    body.set("caption", listing.caption);
    data lines(data::type::list);
    for (const std::string& line : listing.lines) lines.push_back(data("line", line));
    body.set("lines", lines);
    return data("listing", body);
  }
  data operator()(const Table& table) { return data("table", table_data(table)); }
  data operator()(const Figures& figures) {
    data list_of(data::type::list);
    for (const Figure& figure : figures.list) {
      data one;
      one.set("figure_title", figure.title);
      one.set("figure_caption", figure.caption);
      one.set("svg",
              draw(figure.chart, fmt::format("f{}", ++figures_), figure.title, figure.caption));
      list_of.push_back(one);
    }
    data body;
    body.set("figures", list_of);
    body.set("single", data(figures.list.size() == 1));
    return data("figure_group", body);
  }

 private:
  int figures_ = 0;
};

data head_data(const View& view) {
  data out;
  out.set("language", view.language);
  out.set("document", view.document);
  out.set("title", view.title);
  out.set("facts", strings(view.facts));
  out.set("overall", std::string(state_name(view.overall)));
  out.set("verdict_mark", view.verdict_mark);
  out.set("verdict", view.verdict);
  out.set("verdict_reason", view.verdict_reason);
  out.set("has_counterfactual", data(!view.counterfactual.empty()));
  out.set("counterfactual_heading", view.counterfactual_heading);
  out.set("counterfactual", strings(view.counterfactual));
  out.set("counts_heading", view.counts_heading);
  data counts(data::type::list);
  for (const StateCount& count : view.counts) {
    data one;
    one.set("count_state", std::string(state_name(count.state)));
    one.set("count_mark", count.mark);
    one.set("count_word", count.word);
    one.set("count_number", std::to_string(count.number));
    counts.push_back(one);
  }
  out.set("counts", counts);
  out.set("footer", view.footer);
  return out;
}

// The text as a CSS string; every character with a meaning in CSS is escaped.
std::string css_string(const std::string& text) {
  std::string out;
  for (const char c : terminal_safe(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) != 0 || c == ' ')
      out += c;
    else
      out += fmt::format("\\{:06x}", byte);
  }
  return out;
}

data identity_data(const View& view) {
  data out(data::type::list);
  for (const auto& [name, value] : view.identity) {
    data one;
    one.set("identity_name", name);
    one.set("identity_value", value);
    out.push_back(one);
  }
  return out;
}

void set_signatures(data& out, const View& view) {
  out.set("running_head", css_string(view.running_head));
  out.set("conclusion_heading", view.conclusion_heading);
  out.set("identity_caption", view.identity_caption);
  out.set("identity", identity_data(view));
  out.set("given", view.signatures ? table_data(*view.signatures) : data(false));
  out.set("has_conclusion_items", data(!view.conclusion_items.empty()));
  out.set("conclusion_items", strings(view.conclusion_items));
  data choices(data::type::list);
  for (size_t i = 0; i < view.choices.size(); ++i) {
    data one;
    one.set("choice_text", view.choices[i]);
    one.set("choice_blank", data(i == 1));  // the date of a conditional acceptance
    choices.push_back(one);
  }
  out.set("choices", choices);
  data parties(data::type::list);
  for (const Party& party : view.parties) {
    data one;
    one.set("role", party.role);
    one.set("blanks", strings(party.blanks));
    parties.push_back(one);
  }
  out.set("parties", parties);
}

}  // namespace

std::string render_html(const View& view) {
  const auto text = embedded_file("templates/report.html");
  if (!text) throw Error("this binary carries no templates/report.html");
  mustache page{std::string(*text)};
  if (!page.is_valid()) throw Error("templates/report.html: " + page.error_message());
  page.set_custom_escape([](const std::string& s) { return markup_escape(s); });

  data all = head_data(view);
  data sections(data::type::list);
  HtmlBlock writer;
  for (const Section& section : view.sections) {
    data blocks(data::type::list);
    for (const Block& block : section.blocks) blocks.push_back(std::visit(writer, block));
    data one;
    one.set("section_heading", section.heading);
    one.set("blocks", blocks);
    sections.push_back(one);
  }
  all.set("sections", sections);
  set_signatures(all, view);
  return page.render(all);
}

}  // namespace cb
