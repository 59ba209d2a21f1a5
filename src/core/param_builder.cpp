#include "core/param_builder.h"

namespace cb::param {

Builder& Builder::help(std::string text) {
  def_.help = std::move(text);
  return *this;
}

Builder& Builder::by_default(std::string as_a_user_writes_it) {
  def_.default_text = std::move(as_a_user_writes_it);
  return *this;
}

Builder& Builder::list() {
  def_.list = true;
  return *this;
}

Builder& Builder::range(double min, double max) {
  def_.min = min;
  def_.max = max;
  return *this;
}

Builder& Builder::at_least(double min) {
  def_.min = min;
  return *this;
}

Builder& Builder::excludes(std::vector<std::string> others, std::vector<std::string> values) {
  def_.excludes.push_back({std::move(others), std::move(values)});
  return *this;
}

Builder flag(std::string name) {
  return Builder(std::move(name), ParamType::flag).by_default("false");
}
Builder integer(std::string name) { return {std::move(name), ParamType::integer}; }
Builder number(std::string name) { return {std::move(name), ParamType::number}; }
Builder text(std::string name) { return {std::move(name), ParamType::text}; }
Builder size(std::string name) { return {std::move(name), ParamType::size}; }
Builder duration(std::string name) { return {std::move(name), ParamType::duration}; }

Builder choice(std::string name, std::vector<std::string> choices) {
  Builder out(std::move(name), ParamType::choice);
  out.def_.choices = std::move(choices);
  return out;
}

}  // namespace cb::param

namespace cb {

std::vector<ParamDef> joined(std::initializer_list<std::vector<ParamDef>> lists) {
  std::vector<ParamDef> out;
  for (const std::vector<ParamDef>& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

}  // namespace cb
