#include "tests/cuda_emulator/reports.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string_view>

namespace relucent::emulator {
namespace {

struct Collected {
  std::mutex mutex;
  std::vector<Report> reports;
};

// Never destroyed: what frees its memory while the program ends may still be reported.
Collected& collected() {
  static Collected& it = *new Collected;
  return it;
}

[[gnu::destructor]] void print_reports() {
  const std::vector<Report> left = reports();
  if (!left.empty()) {
    std::fprintf(stderr, "CUDA emulator: %zu reports\n", left.size());
  }
  for (const Report& report : left) {
    std::fprintf(stderr, "  %s\n", to_string(report).c_str());
  }
}

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::out_of_bounds: return "out of bounds";
    case Fault::host_memory: return "host memory";
    case Fault::device_memory: return "device memory";
    case Fault::misaligned: return "misaligned";
    case Fault::uninitialised: return "uninitialised";
    case Fault::race: return "race";
    case Fault::divergence: return "divergence";
    case Fault::staging: return "staging";
  }
  return "";
}

// Kernels are seldom exported, so dladdr alone does not know them.
std::string symbol_in_file(const char* path, std::uintptr_t offset) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto at = [&]<typename T>(std::size_t position, T& to) {
    if (position > bytes.size() || sizeof(T) > bytes.size() - position) {
      return false;
    }
    std::memcpy(&to, bytes.data() + position, sizeof(T));
    return true;
  };
  Elf64_Ehdr header;
  if (!at(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return {};
  }
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section, names;
    if (!at(header.e_shoff + i * sizeof(Elf64_Shdr), section) || section.sh_type != SHT_SYMTAB ||
        !at(header.e_shoff + section.sh_link * sizeof(Elf64_Shdr), names)) {
      continue;
    }
    for (std::size_t position = 0; position < section.sh_size; position += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (at(section.sh_offset + position, symbol) && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
          symbol.st_value == offset && names.sh_offset + symbol.st_name < bytes.size()) {
        return bytes.data() + names.sh_offset + symbol.st_name;
      }
    }
  }
  return {};
}

std::string find_name(const void* function) {
  Dl_info info{};
  std::string mangled;
  if (dladdr(function, &info) != 0) {
    if (info.dli_sname != nullptr && info.dli_saddr == function) {
      mangled = info.dli_sname;
    } else if (info.dli_fname != nullptr) {
      const auto address = reinterpret_cast<std::uintptr_t>(function);
      const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
      mangled = symbol_in_file(info.dli_fname, address - base);
      if (mangled.empty()) {
        mangled = symbol_in_file(info.dli_fname, address);  // a program linked to a fixed address
      }
    }
  }
  if (mangled.empty()) {
    std::ostringstream out;
    out << "kernel at " << function;
    return out.str();
  }
  int status = 0;
  char* const plain = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? plain : mangled;
  std::free(plain);
  return name;
}

}  // namespace

std::string to_string(const Report& report) {
  std::ostringstream out;
  out << name_of(report.fault) << ": " << report.kernel << ", block (" << report.block[0] << ", " << report.block[1]
      << ", " << report.block[2] << "), thread (" << report.thread[0] << ", " << report.thread[1] << ", "
      << report.thread[2] << "): " << report.message;
  return out.str();
}

std::vector<Report> reports() {
  const std::lock_guard lock(collected().mutex);
  return collected().reports;
}

void clear_reports() {
  const std::lock_guard lock(collected().mutex);
  collected().reports.clear();
}

void add_report(Report report) {
  const std::lock_guard lock(collected().mutex);
  if (collected().reports.size() < 1000) {
    collected().reports.push_back(std::move(report));
  }
}

std::string short_name(std::string name) {
  for (const std::string_view space : {"(anonymous namespace)::", "relucent::cuda::", "void "}) {
    for (std::size_t at; (at = name.find(space)) != std::string::npos;) {
      name.erase(at, space.size());
    }
  }
  return name.substr(0, name.find('('));
}

std::string function_name(const void* function) {
  static std::mutex mutex;
  static std::map<const void*, std::string> known;
  const std::lock_guard lock(mutex);
  std::string& name = known[function];
  if (name.empty()) {
    name = find_name(function);
  }
  return name;
}

}  // namespace relucent::emulator
