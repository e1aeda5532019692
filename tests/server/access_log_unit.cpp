#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/file/unique_fd.h"
#include "relucent/error.h"
#include "server/access_log.h"
#include "server/json.h"
#include "tests/support/temporary_folder.h"

namespace relucent::server {
namespace {

using namespace std::chrono_literals;

void add(AccessLog& log, int number, const std::string& agent = "") {
  HttpRequest request;
  request.path = "/" + std::to_string(number);
  request.headers["user-agent"] = agent;
  request.arrived = std::chrono::steady_clock::now();
  HttpResponse response;
  response.measures = {{"texts", 3}, {"queue_ms", 0.25}};
  log.add(request, response, "client", false);
}

std::vector<Json> lines_of(const std::filesystem::path& file) {
  std::vector<Json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST(AccessLog, KeepsEveryLineOfAllThreadsWhileItsFileIsRenamed) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "log", old = folder.path() / "old";
  {
    AccessLog log(file.string());
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&log, i] {
        for (int number = 0; number < 500; ++number) add(log, 500 * i + number);
      });
    }
    std::filesystem::rename(file, old);
    log.reopen();
    threads.clear();
    EXPECT_EQ(log.dropped(), 0U);
  }
  std::vector<Json> lines = lines_of(old);
  for (const Json& line : lines_of(file)) lines.push_back(line);
  ASSERT_EQ(lines.size(), 2000U);
  EXPECT_TRUE(lines[0]["texts"].is_number_integer());
  EXPECT_TRUE(lines[0]["status"].is_number_integer());
  EXPECT_EQ(lines[0]["queue_ms"], 0.25);
  EXPECT_EQ(lines_of(file).size() + lines_of(old).size(), 2000U);
}

TEST(AccessLog, DoesNotWaitForAReaderAndCountsWhatIsMissing) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "fifo").string();
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  const UniqueFd reader(::open(file.c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(reader);
  AccessLog log(file);
  const auto start = std::chrono::steady_clock::now();
  for (int number = 0; number < 8000; ++number) add(log, number, std::string(200, 'x'));
  EXPECT_GT(log.dropped(), 0U);
  EXPECT_TRUE(log.close(300ms));
  add(log, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST(AccessLog, RefusesAFileThatCannotBeWritten) {
  EXPECT_THROW(AccessLog("/nonexistent-folder/log"), Error);
  AccessLog none("");
  add(none, 1);
  EXPECT_TRUE(none.close(1ms));
}

}  // namespace
}  // namespace relucent::server
