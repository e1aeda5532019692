// Pages in which attributes have other names: libxml2 must see the same elements and texts.
#include <gtest/gtest.h>
#include <libxml/HTMLparser.h>

#include <random>
#include <string>

#include "index_tools/corpora/html_text.h"
#include "index_tools/corpora/markup_attributes.h"

namespace relucent::index_tools {
namespace {

/// What libxml2 reports of a page, without attributes.
std::string events_of(const std::string& page) {
  std::string events;
  htmlSAXHandler handler{};
  handler.initialized = 1;
  handler.startElement = [](void* self, const xmlChar* tag, const xmlChar**) {
    *static_cast<std::string*>(self) += '<' + std::string(reinterpret_cast<const char*>(tag)) + '>';
  };
  handler.endElement = [](void* self, const xmlChar* tag) {
    *static_cast<std::string*>(self) += "</" + std::string(reinterpret_cast<const char*>(tag)) + '>';
  };
  handler.characters = handler.cdataBlock = [](void* self, const xmlChar* text, int size) {
    static_cast<std::string*>(self)->append(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  };
  const auto parser = ::htmlCreatePushParserCtxt(&handler, &events, page.data(), static_cast<int>(page.size()), nullptr,
                                                 XML_CHAR_ENCODING_UTF8);
  ::htmlParseChunk(parser, nullptr, 0, 1);
  ::htmlFreeParserCtxt(parser);
  return events;
}

TEST(AttributeNames, OfFewAttributesStay) {
  std::string tag = "<p";
  for (int i = 0; i < 64; ++i) tag += " name" + std::to_string(i) + "=1";
  EXPECT_EQ(with_few_attribute_names(tag + ">a</p>" + tag + "/>"), std::nullopt);
  EXPECT_EQ(with_few_attribute_names(tag + " last-one='name=2' :x y/>a"), tag + " aaaaaaaa='name=2' aa a/>a");
}

TEST(AttributeNames, InScriptsAndCommentsStay) {
  std::string words;
  for (int i = 0; i < 100; ++i) words += " w" + std::to_string(i);
  for (const std::string& page : {"<script>if (a<b" + words + ")</script>", "<STYLE>a<b" + words + "</sTyle>",
                                  "<!-- <p" + words + "-->", "a < b" + words, "</p" + words + ">"}) {
    EXPECT_EQ(with_few_attribute_names(page), std::nullopt) << page;
  }
}

TEST(AttributeNames, AreOnlyWhatChangesForTheParser) {
  std::minstd_rand random(1);
  constexpr std::string_view characters = "abz09-_:.  \n==\"'/<>!\xC3\xA9";
  int changed = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string page = random() % 2 == 0 ? "<html><body><p" : "text<div a=b";
    for (unsigned j = 0, count = random() % 90; j < count; ++j) page += " x" + std::to_string(random() % 200) + "=1";
    for (unsigned j = 0, count = random() % 300; j < count; ++j) page += characters[random() % characters.size()];
    page += random() % 2 == 0 ? ">words</p>" : "'\"> words <b>and</b>";
    const auto other = with_few_attribute_names(page);
    if (!other) continue;
    ++changed;
    ASSERT_EQ(other->size(), page.size());
    ASSERT_EQ(events_of(*other), events_of(page)) << page;
  }
  EXPECT_GT(changed, 500);
}

}  // namespace
}  // namespace relucent::index_tools
