#include <sys/mman.h>

#include <cerrno>
#include <vector>

#include "base/file/file_io.h"
#include "base/file/unique_fd.h"
#include "index_tools/corpora/converted_text.h"
#include "index_tools/corpora/limited_process.h"

namespace relucent::index_tools {
namespace {

constexpr std::size_t kMaxPdf = std::size_t{256} << 20;
constexpr int kForbidden = 3;  // pdftotext's exit code where the PDF's author does not allow it

}  // namespace

ConvertedText text_of_pdf(ByteStream& pdf) {
  const auto program = find_program("pdftotext");
  if (!program) return {{}, "PDFs need pdftotext: apt-get install poppler-utils"};
  // In memory, where the name of the file does not matter and nothing is left behind.
  const UniqueFd copy(::memfd_create("pdf", MFD_CLOEXEC));
  if (!copy) throw_io_error("memory for a PDF", "creating", errno);
  std::vector<char> buffer(kReadBytes);
  std::size_t bytes = 0;
  while (const std::size_t count = pdf.read(buffer.data(), buffer.size())) {
    bytes += count;
    if (bytes > kMaxPdf) return {{}, "a PDF over 256 MiB"};
    write_all(copy.get(), {buffer.data(), count}, "memory for a PDF");
  }
  ProcessResult result =
      run_limited(*program, {"-q", "-enc", "UTF-8", "-eol", "unix", "-nopgbrk", "-", "-"}, copy.get(), {});
  switch (result.end) {
    case ProcessResult::End::exited: break;
    case ProcessResult::End::too_slow: return {{}, "a PDF that takes pdftotext longer than a minute"};
    case ProcessResult::End::too_much: return {{}, "a PDF with over 64 MiB of text"};
    case ProcessResult::End::by_signal: return {{}, "a PDF at which pdftotext fails, perhaps for want of 1 GiB"};
  }
  if (result.code == kForbidden) return {{}, "a PDF that forbids taking its text"};
  if (result.code != 0) return {{}, "a PDF that pdftotext cannot read: damaged, or with a password"};
  return {std::move(result.output), {}};
}

}  // namespace relucent::index_tools
