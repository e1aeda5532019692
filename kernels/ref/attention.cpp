#include "kernels/ref/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "kernels/relative_positions.h"

namespace relucent::ref {
namespace {

bool sees(const Token& from, const Token& to, const Views& views) {
  if (from.group >= views.size() || views[from.group].empty()) return false;
  const View& view = views[from.group][to.group];
  const bool together = from.candidate == to.candidate;
  switch (view.kind) {
    case View::Kind::none: return false;
    case View::Kind::all: return together;
    case View::Kind::window: return together && std::abs(from.position - to.position) <= view.window;
    case View::Kind::before: return together && to.position <= from.position;
    case View::Kind::across: return true;
    case View::Kind::linked:
      return from.group == to.group && std::binary_search(from.linked.begin(), from.linked.end(), to.number);
  }
  return false;
}

}  // namespace

void rotate(Matrix& x, const std::vector<Token>& tokens, const Attention& form) {
  const auto size = static_cast<std::size_t>(form.head_size), half = size / 2;
  for (std::size_t row = 0; row < x.rows; ++row) {
    for (std::size_t first = 0; first < x.columns; first += size) {
      for (std::size_t i = 0; i < half; ++i) {
        const double angle = tokens[row].position * turn_of(form.positions, i, size);
        float &a = x[row][first + i], &b = x[row][first + half + i];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = static_cast<float>(b * std::cos(angle) + a * std::sin(angle));
        a = static_cast<float>(turned);
      }
    }
  }
}

Matrix attend(const Matrix& query, const std::vector<Token>& queries, const Matrix& key, const Matrix& value,
              const std::vector<Token>& keys, const Attention& form, const AttentionParts* parts) {
  const auto head_size = static_cast<std::size_t>(form.head_size), heads = static_cast<std::size_t>(form.heads);
  const auto sharing = static_cast<std::size_t>(form.sharing());
  Matrix context(query.rows, query.columns);
  std::vector<std::size_t> seen;
  std::vector<double> weight, sum(head_size);
  for (std::size_t row = 0; row < query.rows; ++row) {
    seen.clear();
    for (std::size_t other = 0; other < key.rows; ++other) {
      if (sees(queries[row], keys[other], form.views)) seen.push_back(other);
    }
    for (std::size_t head = 0; !seen.empty() && head < heads; ++head) {
      const std::size_t first = head * head_size, of_keys = head / sharing * head_size;
      weight.clear();
      double highest = -std::numeric_limits<double>::infinity();
      for (const std::size_t other : seen) {
        double product = 0;
        for (std::size_t i = 0; i < head_size; ++i) {
          product += static_cast<double>(query[row][first + i]) * key[other][of_keys + i];
        }
        const std::int32_t distance = queries[row].position - keys[other].position;
        const auto add_relative = [&](bool present, const Matrix& of, const Matrix& positions, std::size_t of_row) {
          if (!present) return;
          const float* const position = positions[relative_row(distance, form.positions)];
          for (std::size_t i = first; i < first + head_size; ++i) {
            product += static_cast<double>(of[of_row][i]) * position[i];
          }
        };
        if (form.positions.kind == PositionScheme::Kind::disentangled) {
          add_relative(form.positions.content_to_position, query, parts->relative_keys, row);
          add_relative(form.positions.position_to_content, key, parts->relative_queries, other);
        }
        product *= form.scale;
        if (form.positions.kind == PositionScheme::Kind::relative_buckets) {
          product += parts->relative_bias[bucket_of(-distance, form.positions) * heads + head];
        }
        weight.push_back(product);
        highest = std::max(highest, product);
      }
      double total = 0;
      std::fill(sum.begin(), sum.end(), 0);
      for (std::size_t k = 0; k < seen.size(); ++k) {
        const double share = std::exp(weight[k] - highest);
        total += share;
        for (std::size_t i = 0; i < head_size; ++i) sum[i] += share * value[seen[k]][of_keys + i];
      }
      for (std::size_t i = 0; i < head_size; ++i) context[row][first + i] = static_cast<float>(sum[i] / total);
    }
  }
  return context;
}

}  // namespace relucent::ref
