#include "index_tools/hub/fetch_model.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <thread>
#include <utility>
#include <vector>

#include "base/file/atomic_file.h"
#include "base/file/file_io.h"
#include "base/text.h"
#include "index_tools/hub/http_client.h"
#include "index_tools/hub/late_library.h"
#include "index_tools/hub/listing.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr const char* kOperation = "fetching the model";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw_io_error(folder, "creating the directory", error.value());
}

void wait(seconds time, const StopSignal& stop) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    stop.throw_if_due(kOperation);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// Hashes by OpenSSL.
struct Hashes {
  LateLibrary library{"libcrypto.so.3", "libssl3"};
  decltype(&EVP_MD_CTX_new) context = library.find("EVP_MD_CTX_new");
  decltype(&EVP_MD_CTX_free) free = library.find("EVP_MD_CTX_free");
  decltype(&EVP_DigestInit_ex) begin = library.find("EVP_DigestInit_ex");
  decltype(&EVP_DigestUpdate) update = library.find("EVP_DigestUpdate");
  decltype(&EVP_DigestFinal_ex) end = library.find("EVP_DigestFinal_ex");
  decltype(&EVP_sha1) sha1 = library.find("EVP_sha1");
  decltype(&EVP_sha256) sha256 = library.find("EVP_sha256");
};

/// A file's hash as the hub states it.
std::string hash_of(const fs::path& path, const HubFile& file, const StopSignal& stop) {
  static const Hashes hashes;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(hashes.context(), hashes.free);
  if (!context || hashes.begin(context.get(), file.large ? hashes.sha256() : hashes.sha1(), nullptr) != 1) {
    throw std::bad_alloc();
  }
  if (!file.large) {
    std::string head = fmt::format("blob {}", file.size);
    head.push_back('\0');
    hashes.update(context.get(), head.data(), head.size());
  }
  const UniqueFd descriptor = open_regular_file(path);
  std::vector<char> buffer(1 << 20);
  while (const std::size_t count = read_some(descriptor.get(), buffer.data(), buffer.size(), path)) {
    stop.throw_if_due(kOperation);
    hashes.update(context.get(), buffer.data(), count);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  hashes.end(context.get(), digest.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

/// One model's folder in the cache, as huggingface_hub lays it out.
class CachedModel {
 public:
  CachedModel(const fs::path& cache, const HubName& name)
      : locks_(cache / ".locks" / cache_folder_of(name)), folder_(cache / cache_folder_of(name)) {
    for (const char* part : {"blobs", "refs", "snapshots"}) make_folder(folder_ / part);
    make_folder(locks_);
  }

  fs::path blob(const HubFile& file) const { return folder_ / "blobs" / file.hash; }
  fs::path snapshot(const std::string& commit) const { return folder_ / "snapshots" / commit; }

  bool has(const HubFile& file) const {
    std::error_code error;
    return fs::file_size(blob(file), error) == file.size && !error;
  }

  /// Held by whoever fetches a file; nullopt while another process does.
  std::optional<UniqueFd> lock(const HubFile& file) const {
    const fs::path path = locks_ / (file.hash + ".lock");
    UniqueFd descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!descriptor) throw_io_error(path, "opening", errno);
    if (::flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0) return descriptor;
    if (errno != EWOULDBLOCK && errno != EINTR) throw_io_error(path, "locking", errno);
    return std::nullopt;
  }

  /// Links from the snapshot's names to the files, and last from the revision to the snapshot.
  void publish(const HubListing& listing, const std::vector<HubFile>& files, const std::string& revision) const {
    for (const HubFile& file : files) {
      const fs::path link = snapshot(listing.commit) / file.path;
      make_folder(link.parent_path());
      fs::path target = fs::path("../..") / "blobs" / file.hash;
      for (const char c : file.path) target = c == '/' ? ".." / target : target;
      std::error_code error;
      if (fs::is_symlink(link, error) && fs::read_symlink(link, error) == target) continue;
      const fs::path draft = link.string() + fmt::format(".tmp{}", ::getpid());
      fs::remove(draft, error);
      fs::create_symlink(target, draft, error);
      if (!error) fs::rename(draft, link, error);
      if (error) throw_io_error(link, "creating the link", error.value());
    }
    sync_directory(snapshot(listing.commit));
    if (revision == listing.commit) return;
    const fs::path reference = folder_ / "refs" / revision;
    make_folder(reference.parent_path());
    write_file_atomically(reference, listing.commit);
  }

 private:
  fs::path locks_, folder_;
};

/// The hub's refusals as errors; nothing for an answer with a body.
void check_answer(const HttpHead& head, const std::string& name, const std::string& what) {
  if (head.status == 200 || head.status == 206) return;
  const std::string code = head.header("x-error-code");
  const auto refuse = [&](const std::string& problem, const std::string& remedy) {
    throw Error(ErrorKind::io, name, problem, remedy);
  };
  if (code == "GatedRepo" || head.status == 403) {
    refuse("the hub does not give this model to you",
           "accept its conditions on its page, and set HF_TOKEN to a token of that account");
  }
  if (code == "RevisionNotFound") refuse("the hub has no such revision", "check the part after @");
  if (code == "RepoNotFound" || head.status == 404) {
    refuse(fmt::format("the hub has no {}", what), "check the name; for a private model, set HF_TOKEN");
  }
  if (head.status == 401) refuse("the hub asks for a token, or does not accept the one it got", "set HF_TOKEN");
  refuse(fmt::format("the hub answers with status {}", head.status), "try again later");
}

/// How long to wait before another try; nullopt if that would not help.
std::optional<seconds> delay_of(const HttpHead& head, int attempt) {
  const bool busy = head.status == 429 || head.status == 503;
  if (head.status < 500 && !busy) return std::nullopt;
  seconds usual(1 << attempt);
  const std::string stated = head.header("retry-after");
  unsigned value = 0;
  const auto read = std::from_chars(stated.data(), stated.data() + stated.size(), value);
  return busy && !stated.empty() && read.ec == std::errc() ? seconds(value) : usual;
}

constexpr int kAttempts = 6;
constexpr seconds kLongestDelay(300);

class Fetch {
 public:
  Fetch(const HubName& name, const HubSettings& settings, const FetchProgress& progress, const StopSignal& stop)
      : name_(name), endpoint_(settings.endpoint), progress_(progress), stop_(stop), http_(endpoint_, settings.token) {}

  FetchedModel run(const fs::path& cache) {
    const HubListing listing = list();
    const std::vector<HubFile> files = files_of_checkpoint(listing, name_.repository);
    const CachedModel model(cache, name_);
    std::uint64_t missing = 0;
    for (const HubFile& file : files) {
      total_ += file.size;
      if (model.has(file)) {
        done_ += file.size;
      } else {
        missing += file.size;
      }
    }
    std::error_code error;
    const fs::space_info space = fs::space(cache, error);
    if (!error && space.available < missing) {
      throw Error(
          ErrorKind::io, cache.string(),
          fmt::format("has {} MB of free space, but the model needs {} MB", space.available >> 20, missing >> 20),
          "free some, or set HF_HUB_CACHE to another disk");
    }
    for (const HubFile& file : files) {
      if (!model.has(file)) bring(file, listing.commit, model);
    }
    model.publish(listing, files, name_.revision);
    return {model.snapshot(listing.commit), listing.commit, files.size(), total_, missing};
  }

 private:
  /// Tries until the hub answers; as often as needed while each try brings more of a file.
  template <typename Try>
  void insist(const std::string& what, const Try& attempt_once) {
    std::string problem;
    farthest_ = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const std::uint64_t before = farthest_;
      seconds delay(1 << attempt);
      try {
        const HttpHead head = attempt_once();
        const auto stated = delay_of(head, attempt);
        if (!stated) return check_answer(head, name_.repository, what);
        problem = fmt::format("the hub answers with status {}", head.status);
        delay = *stated;
        if (delay > kLongestDelay) {
          throw Error(ErrorKind::io, name_.repository, fmt::format("{} and asks to wait {} s", problem, delay.count()),
                      "try again then; a token in HF_TOKEN has more requests");
        }
      } catch (const CutConnection& cut) {
        problem = cut.problem;
        if (farthest_ > before) attempt = 0, delay = seconds(1);
      }
      if (attempt + 1 < kAttempts) wait(delay, stop_);
    }
    throw Error(ErrorKind::io, name_.repository, "the connection to " + endpoint_ + " fails: " + problem,
                "check the network and run the command again, which resumes");
  }

  HubListing list() {
    const std::string url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", endpoint_, name_.repository,
                                        http_.quoted(name_.revision));
    std::string body;
    insist("such model", [&] {
      body.clear();
      return http_.get(
          url, 0,
          [&](const HttpHead&, std::string_view bytes) {
            constexpr std::size_t kMost = 64 << 20;
            if (body.size() + bytes.size() > kMost) {
              throw Error(ErrorKind::invalid_data, url, "answers with more than 64 MB", "use another model");
            }
            body += bytes;
          },
          stop_);
    });
    return read_listing(body, url);
  }

  void bring(const HubFile& file, const std::string& commit, const CachedModel& model) {
    std::optional<UniqueFd> lock = model.lock(file);
    for (; !lock; lock = model.lock(file)) wait(seconds(1), stop_);  // another process fetches it
    if (model.has(file)) {
      done_ += file.size;
      return;
    }
    const fs::path part = model.blob(file).string() + ".incomplete";
    UniqueFd out(::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!out) throw_io_error(part, "opening", errno);
    std::uint64_t size = 0;
    const auto cut_to = [&](std::uint64_t bytes) {
      if (::ftruncate(out.get(), static_cast<off_t>(bytes)) != 0) throw_io_error(part, "truncating", errno);
      if (::lseek(out.get(), static_cast<off_t>(bytes), SEEK_SET) < 0) throw_io_error(part, "seeking", errno);
      size = bytes;
    };
    struct stat state {};
    if (::fstat(out.get(), &state) != 0) throw_io_error(part, "reading", errno);
    const auto present = static_cast<std::uint64_t>(state.st_size);
    cut_to(present < file.size ? present : 0);

    std::string path;
    for (const auto piece : std::views::split(file.path, '/')) {
      path += "/" + http_.quoted(std::string(piece.begin(), piece.end()));
    }
    const std::string url = fmt::format("{}/{}/resolve/{}{}", endpoint_, name_.repository, commit, path);
    insist("file " + file.path, [&] {
      const std::uint64_t offset = size;
      bool begun = false;
      const HttpHead head = http_.get(
          url, offset,
          [&](const HttpHead& answer, std::string_view bytes) {
            // Without 206 it is the whole file.
            if (!std::exchange(begun, true) && answer.status == 200) cut_to(0);
            if (answer.status == 206 && !answer.header("content-range").starts_with(fmt::format("bytes {}-", offset))) {
              cut_to(0);
              throw CutConnection{"the hub sends other bytes than those asked for"};
            }
            if (size + bytes.size() > file.size) {
              cut_to(0);
              throw Error(ErrorKind::invalid_data, url,
                          fmt::format("sends more than the {} bytes that the hub lists", file.size),
                          "try again; if it persists, use another revision");
            }
            write_all(out.get(), bytes, part);
            size += bytes.size();
            farthest_ = std::max(farthest_, size);
            progress_(done_ + size, total_);
          },
          stop_);
      if (head.status == 416) {
        cut_to(0);
        throw CutConnection{"the hub has no bytes from that place on"};
      }
      if ((head.status == 200 || head.status == 206) && size < file.size) {
        throw CutConnection{fmt::format("{} ended after {} of {} bytes", file.path, size, file.size)};
      }
      return head;
    });
    if (hash_of(part, file, stop_) != file.hash) {
      std::error_code error;
      fs::remove(part, error);
      throw Error(ErrorKind::invalid_data, url, "is not what the hub lists: its hash differs",
                  "try again; if it persists, use another revision");
    }
    sync_descriptor(out.get(), part);
    std::error_code error;
    fs::rename(part, model.blob(file), error);
    if (error) throw_io_error(model.blob(file), "renaming", error.value());
    done_ += file.size;
    progress_(done_, total_);
  }

  const HubName& name_;
  std::string endpoint_;
  const FetchProgress& progress_;
  const StopSignal& stop_;
  HttpClient http_;
  std::uint64_t done_ = 0, total_ = 0;
  std::uint64_t farthest_ = 0;  // how much of the current file any try has brought
};

}  // namespace

HubSettings hub_settings_from_environment() {
  HubSettings settings;
  settings.cache = hub_cache();
  if (const std::string endpoint = variable("HF_ENDPOINT"); !endpoint.empty()) settings.endpoint = endpoint;
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  require_safe_url(settings.endpoint, "HF_ENDPOINT");
  const std::string offline = variable("HF_HUB_OFFLINE");
  settings.offline = !offline.empty() && offline != "0" && offline != "false" && offline != "False";
  settings.token = trim(variable("HF_TOKEN"));
  std::error_code error;
  const std::string path = variable("HF_TOKEN_PATH");
  const fs::path stored = path.empty() ? hub_home() / "token" : fs::path(path);
  if (settings.token.empty() && fs::is_regular_file(stored, error)) {
    constexpr std::size_t kMostBytes = 4096;
    settings.token = trim(read_file(stored, kMostBytes));
  }
  const bool printable = std::ranges::all_of(settings.token, [](char c) { return c > ' ' && c < 0x7F; });
  if (!printable) throw Error(ErrorKind::usage, "HF_TOKEN", "is not a token", "copy it again from the hub");
  return settings;
}

FetchedModel fetch_model(const HubName& name, const HubSettings& settings, const FetchProgress& progress,
                         const StopSignal& stop) {
  if (settings.offline) {
    throw Error(ErrorKind::usage, "HF_HUB_OFFLINE", "forbids connections", "unset it to fetch a model");
  }
  return Fetch(name, settings, progress, stop).run(settings.cache);
}

}  // namespace relucent::index_tools
