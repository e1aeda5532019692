#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {

/// A kind of file's forms and their names on a command line.
template <typename Form, std::size_t count>
using FormNames = std::array<std::pair<std::string_view, Form>, count>;

template <typename Form, std::size_t count>
std::string_view name_of_form(const FormNames<Form, count>& names, Form form) noexcept {
  for (const auto& [name, value] : names) {
    if (value == form) return name;
  }
  return {};
}

/// Throws Error `usage` naming the forms for another name.
template <typename Form, std::size_t count>
Form form_named(const FormNames<Form, count>& names, std::string_view name, const char* what) {
  std::string all;
  for (const auto& [known, form] : names) {
    if (known == name) return form;
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  throw Error(ErrorKind::usage, "form " + excerpt(name), std::string("is none that ") + what + " have",
              "choose from " + all);
}

/// A name's ending with its dot, that of a compression before it left aside: ".tsv" of "topics.tsv.gz".
inline std::string ending_of(const std::filesystem::path& file) {
  const std::filesystem::path name = file.filename();
  return (name.extension() == ".gz" ? name.stem() : name).extension().string();
}

}  // namespace relucent::index_tools
