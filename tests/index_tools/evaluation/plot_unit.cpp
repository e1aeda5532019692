// The drawing of differences: no two texts overlap and none is cut off, however many queries there are and whatever
// they and the runs are called.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include "index_tools/evaluation/difference_plot.h"

namespace relucent::index_tools {
namespace {

struct Box {
  double left, top, right, bottom;
  std::string text;
};

// What Verdana, one of the widest sans-serif fonts, needs at least; ascenders and descenders as in most fonts.
double width_of(const std::string& text) {
  double ems = 0;
  for (const char c : text) {
    if ((c & 0xC0) == 0x80) continue;
    if (c == 'm' || c == 'w' || c == 'M' || c == 'W') {
      ems += 0.95;
    } else if (c >= 'A' && c <= 'Z') {
      ems += 0.68;
    } else if (c >= '0' && c <= '9') {
      ems += 0.636;
    } else {
      ems += std::string(" .,:;|ijlrtfI()[]-").find(c) != std::string::npos ? 0.36 : 0.6;
    }
  }
  return ems;
}

double attribute(const std::string& tag, const std::string& name, double otherwise) {
  std::smatch found;
  return std::regex_search(tag, found, std::regex(" " + name + "=\"(-?[0-9.]+)\"")) ? std::stod(found[1]) : otherwise;
}

// Every text of the drawing with the room that it takes.
std::vector<Box> texts(const std::string& svg) {
  std::vector<Box> boxes;
  const std::regex element("<text([^>]*)>(.*?)</text>"), tags("<[^>]*>"), entities("&[a-z]+;");
  for (std::sregex_iterator found(svg.begin(), svg.end(), element), end; found != end; ++found) {
    const std::string tag = (*found)[1];
    std::string text = std::regex_replace((*found)[2].str(), tags, "");
    text = std::regex_replace(text, entities, "&");
    const double size = attribute(tag, "font-size", 12), x = attribute(tag, "x", 0), y = attribute(tag, "y", 0);
    const bool bold = (*found).str().find("font-weight=\"bold\"") != std::string::npos;
    const double width = width_of(text) * size * (bold ? 1.1 : 1);
    const double shift = tag.find("\"middle\"") != std::string::npos ? width / 2
                         : tag.find("\"end\"") != std::string::npos  ? width
                                                                     : 0;
    const double ascent = 0.74 * size, descent = 0.2 * size;
    if (tag.find("rotate(-90") != std::string::npos) {  // the text runs upwards from (x, y)
      boxes.push_back({x - ascent, y + shift - width, x + descent, y + shift, text});
    } else {
      boxes.push_back({x - shift, y - ascent, x - shift + width, y + descent, text});
    }
  }
  return boxes;
}

void expect_legible(const std::string& svg, const std::string& where) {
  const double width = attribute(svg, "width", 0), height = attribute(svg, "height", 0);
  const std::vector<Box> boxes = texts(svg);
  ASSERT_GT(boxes.size(), 5U) << where;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box& a = boxes[i];
    EXPECT_TRUE(a.left >= 0 && a.top >= 0 && a.right <= width && a.bottom <= height)
        << where << ": \"" << a.text << "\" is cut off";
    for (std::size_t j = i + 1; j < boxes.size(); ++j) {
      const Box& b = boxes[j];
      const bool apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
      EXPECT_TRUE(apart) << where << ": \"" << a.text << "\" overlaps with \"" << b.text << "\"";
    }
  }
}

Report report_of(std::size_t queries, const std::string& prefix, double scale, std::vector<std::string> runs) {
  Report report;
  report.measures = {parse_measure("nDCG@10")};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    EvaluatedRun run{runs[r], "", {}};
    for (std::size_t q = 0; q < queries; ++q) {
      const double value = scale * std::abs(std::sin(static_cast<double>(q * (r + 2) + r)));
      run.evaluation.queries[prefix + std::to_string(q)] = {value};
    }
    run.evaluation.all = {0};
    report.runs.push_back(std::move(run));
  }
  return report;
}

TEST(DifferencePlot, NoTextOverlapsWithAnotherOrIsCutOff) {
  const std::string folder = "/home/somebody/experiments/passages/second-stage/";
  for (const std::size_t queries : {1, 2, 5, 43, 60, 61, 250}) {
    for (const std::string prefix :
         {"", "10000", "PLAIN-MEDICAL-", "a very long query id of WHATEVER/some-collection/"}) {
      for (const double scale : {1.0, 0.004, 0.00001, 0.0}) {
        const std::string where =
            std::to_string(queries) + " queries \"" + prefix + "\", values to " + std::to_string(scale);
        expect_legible(difference_plot(report_of(queries, prefix, scale, {"a.run", "b.run"}), 0), where);
        expect_legible(
            difference_plot(report_of(queries, prefix, scale,
                                      {folder + "MINILM-WITH-0.3-OF-BM25-AND-1000-HITS.run",
                                       folder + "BM25-K0.9-B0.4-WITH-ALL-1000-HITS-PER-QUERY.run", folder + "c.run"}),
                            0),
            where + ", three runs");
      }
    }
  }
}

TEST(DifferencePlot, NamesUpToSixtyQueriesInFullWhereTheyFit) {
  for (const std::size_t queries : {5, 43, 60}) {
    const std::string svg = difference_plot(report_of(queries, "1043", 1, {"a.run", "b.run"}), 0);
    for (std::size_t q = 0; q < queries; ++q)
      EXPECT_NE(svg.find(">1043" + std::to_string(q) + "</text>"), std::string::npos) << queries << " " << q;
  }
  EXPECT_EQ(difference_plot(report_of(61, "1043", 1, {"a.run", "b.run"}), 0).find(">10430</text>"), std::string::npos);
}

}  // namespace
}  // namespace relucent::index_tools
