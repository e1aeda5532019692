#include "index_tools/benchmarks/measurement.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>

namespace relucent::benchmarks {

Measurement summarize(std::string name, std::vector<double> samples_ms) {
  std::sort(samples_ms.begin(), samples_ms.end());
  const std::size_t n = samples_ms.size();
  Measurement result;
  result.name = std::move(name);
  result.runs = static_cast<int>(n);
  result.min_ms = samples_ms.front();
  result.max_ms = samples_ms.back();
  result.median_ms = n % 2 == 1 ? samples_ms[n / 2] : (samples_ms[n / 2 - 1] + samples_ms[n / 2]) / 2;
  return result;
}

double time_ms(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void report(std::ostream& out, const std::vector<Measurement>& measurements, bool json) {
  if (json) {
    auto rows = nlohmann::ordered_json::array();
    for (const Measurement& m : measurements) {
      nlohmann::ordered_json row = {{"name", m.name},
                                    {"median_ms", m.median_ms},
                                    {"min_ms", m.min_ms},
                                    {"max_ms", m.max_ms},
                                    {"runs", m.runs}};
      for (const auto& [name, value] : m.figures) row[name] = value;
      rows.push_back(std::move(row));
    }
    out << rows.dump(2) << '\n';
    return;
  }
  std::size_t width = 4;
  for (const Measurement& m : measurements) width = std::max(width, m.name.size());
  const auto number = [&out](double value) { out << std::right << std::setw(11) << value; };
  out << std::fixed << std::setprecision(3) << std::left << std::setw(static_cast<int>(width)) << "name"
      << "  median ms     min ms     max ms   runs\n";
  for (const Measurement& m : measurements) {
    out << std::left << std::setw(static_cast<int>(width)) << m.name;
    number(m.median_ms);
    number(m.min_ms);
    number(m.max_ms);
    out << std::setw(7) << m.runs;
    for (const auto& [name, value] : m.figures) {
      out << "  " << name << ' ' << std::setprecision(value >= 100 ? 0 : 2) << value << std::setprecision(3);
    }
    out << '\n';
  }
  out << std::defaultfloat << std::setprecision(6);
}

}  // namespace relucent::benchmarks
