#include "plugin/lucene/errors.h"

#include <LuceneException.h>
#include <fmt/core.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <new>
#include <string>

#include "base/file/file_io.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

// A write that fails with less free space than this is reported as a full disk.
constexpr unsigned long long kFull = 4ULL << 20;

bool disk_is_full(std::string_view place) {
  struct statvfs system;
  return statvfs(std::string(place).c_str(), &system) == 0 &&
         static_cast<unsigned long long>(system.f_bavail) * system.f_frsize < kFull;
}

constexpr const char* kDamaged =
    "restore the index from a copy, or rebuild it with the program that wrote it: it is damaged or incomplete";

[[noreturn]] void throw_out_of_memory(std::string_view place, std::string_view operation) {
  throw Error(
      ErrorKind::io, place, fmt::format("{}: out of memory", operation),
      "free some memory, or raise its limit (ulimit -v); if memory is sufficient, check the index with `relucent "
      "verify`");
}

[[noreturn]] void rethrow(const Lucene::LuceneException& exception, std::string_view place,
                          std::string_view operation) {
  using Type = Lucene::LuceneException;
  const std::string text = to_utf8(exception.getError());
  const std::string problem =
      text.empty() ? fmt::format("{} failed", operation) : fmt::format("{}: {}", operation, text);
  switch (exception.getType()) {
    case Type::CorruptIndex:
    case Type::FieldReader:
    case Type::Compression:
    case Type::FileNotFound:
    case Type::IndexOutOfBounds:
    case Type::NumberFormat: throw Error(ErrorKind::invalid_data, place, problem, kDamaged);
    case Type::OutOfMemory: throw_out_of_memory(place, operation);
    case Type::NoSuchDirectory: throw Error(ErrorKind::io, place, problem, "check the directory's path");
    case Type::LockObtainFailed: throw Error(ErrorKind::io, place, problem, "wait for the other writer to finish");
    case Type::IO:
      if (disk_is_full(place)) {
        throw Error(ErrorKind::io, place, fmt::format("{}: the disk is full", operation),
                    "free some space; committed documents are safe");
      }
      // Lucene++ has no exception of its own for a truncated file.
      if (text.find("past EOF") != std::string::npos) {
        throw Error(ErrorKind::invalid_data, place, problem, kDamaged);
      }
      if (const std::string_view remedy = remedy_in(text); !remedy.empty()) {
        throw Error(ErrorKind::io, place, problem, remedy);
      }
      throw Error(ErrorKind::io, place, problem, "check the disk and the directory's permissions");
    case Type::IllegalArgument:
    case Type::Parse:
    case Type::QueryParser:
    case Type::TooManyClauses: throw Error(ErrorKind::usage, place, problem);
    case Type::AlreadyClosed: throw Error(ErrorKind::usage, place, problem, "use an open one");
    case Type::TimeExceeded: throw Error(ErrorKind::deadline, place, problem);
    case Type::UnsupportedOperation: throw Error(ErrorKind::unsupported, place, problem);
    default: throw Error(ErrorKind::internal, place, problem);
  }
}

}  // namespace

void rethrow_as_error(std::string_view place, std::string_view operation) {
  try {
    throw;
  } catch (const Lucene::LuceneException& exception) {
    rethrow(exception, place, operation);
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(place, operation);
  } catch (const std::filesystem::filesystem_error& exception) {
    throw_io_error(exception.path1().empty() ? std::filesystem::path(place) : exception.path1(), operation,
                   exception.code().value());
  } catch (const std::exception& exception) {
    throw Error(ErrorKind::io, place, fmt::format("{}: {}", operation, exception.what()));
  }
}

}  // namespace relucent
