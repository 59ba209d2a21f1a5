#include "report/markdown.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"

namespace cb {
namespace {

// Between backticks only a backtick is markup, but a bar would still end a table cell. Angle
// brackets are also escaped, for renderers that are not strict.
std::string code(std::string_view text) {
  std::string out = terminal_safe(text);
  if (out.empty()) return "";
  if (out.find_first_of("`|<") != std::string::npos) return markdown_escape(out);
  return "`" + out + "`";
}

std::string cells_line(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += " " + (cell.empty() ? " " : cell) + " |";
  return out + "\n";
}

// A fence that is longer than any run of backticks in the lines.
std::string fence_for(const std::vector<std::string>& lines) {
  size_t longest = 2;
  for (const std::string& line : lines) {
    size_t run = 0;
    for (const char c : line) {
      run = c == '`' ? run + 1 : 0;
      longest = std::max(longest, run);
    }
  }
  return std::string(longest + 1, '`');
}

struct MarkdownBlock {
  std::string operator()(const Paragraph& p) const { return markdown_escape(p.text) + "\n"; }

  std::string operator()(const Items& items) const {
    std::string out;
    for (const std::string& line : items.lines) out += "- " + markdown_escape(line) + "\n";
    return out;
  }

  std::string operator()(const Listing& listing) const {
    std::vector<std::string> lines;
    for (const std::string& line : listing.lines) lines.push_back(terminal_safe(line));
    const std::string fence = fence_for(lines);
    std::string out = markdown_escape(listing.caption) + "\n\n" + fence + "\n";
    for (const std::string& line : lines) out += line + "\n";
    return out + fence + "\n";
  }

  std::string operator()(const Table& table) const {
    std::vector<std::string> head;
    std::string rule = "|";
    for (const Column& column : table.columns) {
      head.push_back(markdown_escape(column.heading));
      rule += column.numeric ? " ---: |" : " --- |";
    }
    std::string out = markdown_escape(table.caption) + "\n\n" + cells_line(head) + rule + "\n";
    for (const Row& row : table.rows) {
      std::vector<std::string> cells;
      for (size_t i = 0; i < row.cells.size(); ++i)
        cells.push_back(table.columns[i].code ? code(row.cells[i]) : markdown_escape(row.cells[i]));
      out += cells_line(cells);
    }
    return out;
  }

  std::string operator()(const Figures& figures) const {
    std::string out;
    for (const Figure& figure : figures.list)
      out += fmt::format("- **{}**: {}\n", markdown_escape(figure.title),
                         markdown_escape(figure.caption));
    return out;
  }
};

void write_head(std::string& out, const View& view) {
  out += fmt::format("# {}: {}\n\n", markdown_escape(view.document), markdown_escape(view.title));
  out += fmt::format("**{} {}** · {}\n\n", view.verdict_mark, markdown_escape(view.verdict),
                     markdown_escape(view.verdict_reason));
  if (!view.counterfactual.empty()) {
    out += markdown_escape(view.counterfactual_heading) + "\n\n";
    for (const std::string& line : view.counterfactual) out += "- " + markdown_escape(line) + "\n";
    out += "\n";
  }
  for (const StateCount& count : view.counts)
    out += fmt::format("{}{} {} {}", &count == view.counts.data() ? "" : " · ", count.mark,
                       count.number, markdown_escape(count.word));
  out += "\n\n";
  for (const std::string& fact : view.facts) out += "- " + markdown_escape(fact) + "\n";
}

void write_signatures(std::string& out, const View& view) {
  out += fmt::format("\n## {}\n\n", markdown_escape(view.conclusion_heading));
  out += markdown_escape(view.identity_caption) + "\n\n" + cells_line({"", ""}) + "| --- | --- |\n";
  for (const auto& [name, value] : view.identity)
    out += cells_line({markdown_escape(name), markdown_escape(value)});
  out += "\n";
  if (view.signatures) out += MarkdownBlock{}(*view.signatures) + "\n";
  for (const std::string& line : view.conclusion_items) out += "- " + markdown_escape(line) + "\n";
  if (!view.conclusion_items.empty()) out += "\n";
  for (size_t i = 0; i < view.choices.size(); ++i)
    out += fmt::format("- ☐ {}{}\n", markdown_escape(view.choices[i]),
                       i == 1 ? " \\_\\_\\_\\_\\_\\_\\_\\_" : "");
  std::vector<std::string> head{""};
  std::vector<std::vector<std::string>> rows;
  for (const Party& party : view.parties) {
    head.push_back(markdown_escape(party.role));
    rows.resize(party.blanks.size());
    for (size_t i = 0; i < party.blanks.size(); ++i) {
      if (rows[i].empty()) rows[i].push_back(markdown_escape(party.blanks[i]));
      rows[i].emplace_back();
    }
  }
  out += "\n" + cells_line(head) + "|";
  for (size_t i = 0; i < head.size(); ++i) out += " --- |";
  out += "\n";
  for (const auto& row : rows) out += cells_line(row);
}

}  // namespace

std::string markdown_escape(std::string_view text) {
  std::string out;
  for (const char c : terminal_safe(text)) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      if (std::string_view("\\`*_[]|~#").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string render_markdown(const View& view) {
  std::string out;
  write_head(out, view);
  write_signatures(out, view);
  for (const Section& section : view.sections) {
    out += fmt::format("\n## {}\n", markdown_escape(section.heading));
    for (const Block& block : section.blocks) out += "\n" + std::visit(MarkdownBlock{}, block);
  }
  out += "\n" + markdown_escape(view.footer) + "\n";
  return out;
}

}  // namespace cb
