// A folder of files of many formats: what of each becomes text, and what becomes of files without any.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index_tools/corpora/converted_text.h"
#include "index_tools/corpora/input_files.h"
#include "index_tools/corpora/limited_process.h"
#include "index_tools/indexing/indexer.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/indexing_support.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::pack;
using testing::read_corpus;
using testing::TemporaryFolder;

constexpr const char* kNeedsPdftotext = "PDFs need pdftotext: apt-get install poppler-utils";

/// A PDF with a line of text per page.
std::string pdf_of(const std::vector<std::string>& pages) {
  std::vector<std::string> objects = {"<</Type/Catalog/Pages 2 0 R>>", "",
                                      "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"};
  std::string kids;
  for (const std::string& text : pages) {
    const std::string drawn = "BT /F1 12 Tf 72 700 Td (" + text + ") Tj ET";
    kids += std::to_string(objects.size() + 1) + " 0 R ";
    objects.push_back("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents " +
                      std::to_string(objects.size() + 2) + " 0 R>>");
    objects.push_back("<</Length " + std::to_string(drawn.size()) + ">>stream\n" + drawn + "\nendstream");
  }
  objects[1] = "<</Type/Pages/Kids[" + kids + "]/Count " + std::to_string(pages.size()) + ">>";
  std::string pdf = "%PDF-1.4\n", places;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    std::string place = std::to_string(pdf.size());
    places += std::string(10 - place.size(), '0') + place + " 00000 n \n";
    pdf += std::to_string(i + 1) + " 0 obj\n" + objects[i] + "\nendobj\n";
  }
  const std::string start = std::to_string(pdf.size());
  return pdf + "xref\n0 " + std::to_string(objects.size() + 1) + "\n0000000000 65535 f \n" + places +
         "trailer<</Size " + std::to_string(objects.size() + 1) + "/Root 1 0 R>>\nstartxref\n" + start + "\n%%EOF\n";
}

using Parts = std::vector<std::pair<std::string, std::string>>;

std::string docx_of(const Parts& parts) {
  const TemporaryFolder folder;
  pack(folder / "docx", "zip", "", parts);
  return testing::bytes_of(folder / "docx");
}

constexpr const char* kTransitional = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";

std::string word_xml(const std::string& body, const std::string& before = "", const char* schema = kTransitional) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>" + before + "<w:document xmlns:w=\"" + schema +
         "\" xmlns:mc=\"http://schemas.openxmlformats.org/markup-compatibility/2006\"><w:body>" + body +
         "</w:body></w:document>";
}

std::string paragraph(const std::string& text) { return "<w:p><w:r><w:t>" + text + "</w:t></w:r></w:p>"; }

std::string docx_with(const std::string& body) { return docx_of({{"word/document.xml", word_xml(body)}}); }

/// The texts by id.
std::map<std::string, std::string> texts_of(const testing::ReadResult& read) {
  std::map<std::string, std::string> texts;
  for (const Document& document : read.documents) texts[document.id] = document.text;
  return texts;
}

std::map<std::string, std::int64_t> skipped_by(const testing::ReadResult& read) {
  std::map<std::string, std::int64_t> kinds;
  for (const auto& [kind, entry] : read.report.skipped_kinds()) kinds[kind] = entry.count;
  return kinds;
}

/// $PATH for the time of a test.
class PathScope {
 public:
  explicit PathScope(const std::string& path) : before_(std::getenv("PATH")) { ::setenv("PATH", path.c_str(), 1); }
  ~PathScope() { ::setenv("PATH", before_.c_str(), 1); }
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;

 private:
  std::string before_;
};

/// A program of the test's own, in sh.
fs::path script(const TemporaryFolder& folder, const std::string& name, const std::string& commands) {
  fs::path file = folder.write(name, "#!/bin/sh\n" + commands);
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

class CorpusOfFiles : public ::testing::Test {
 protected:
  testing::ReadResult read(bool strict = false) const {
    return read_corpus("files", {(folder / "in").string()}, strict);
  }
  TemporaryFolder folder;
};

TEST_F(CorpusOfFiles, ReadsEachFormatByItsName) {
  folder.write("in/a.txt", "plain text");
  folder.write("in/b.md", "# Head\n\nsome *words*");
  folder.write("in/c.HTML", "<html><title>Page</title><body><script>no</script>caf&eacute;</body></html>");
  folder.write("in/d/e.docx", docx_with(paragraph("one") + paragraph("two")));
  folder.write("in/d/unknown.xyz", "nothing");
  const auto found = find_input_files({(folder / "in").string()}, find_corpus("files").names);
  EXPECT_EQ(found.left_out, 1);
  const auto read = this->read(true);
  EXPECT_EQ(texts_of(read), (std::map<std::string, std::string>{{"a.txt", "plain text"},
                                                                {"b.md", "# Head\n\nsome *words*"},
                                                                {"c.HTML", "Page caf\u00e9"},
                                                                {"d/e.docx", "one\ntwo"}}));
}

TEST_F(CorpusOfFiles, TakesThePathAsTheId) {
  folder.write("in/a b/100%.txt", "1");
  folder.write("in/line\nend.txt", "2");
  folder.write("in/caf\u00e9.txt", "3");
  folder.write("in/latin\xE9.txt", "4");
  folder.write("in/latin\xE8.txt", "5");
  folder.write("in/-x$(touch y);'\".txt", "6");
  folder.write("in/del\x7F.txt", "7");
  EXPECT_EQ(texts_of(read()), (std::map<std::string, std::string>{{"a%20b/100%25.txt", "1"},
                                                                  {"line%0Aend.txt", "2"},
                                                                  {"caf\u00e9.txt", "3"},
                                                                  {"latin%E9.txt", "4"},
                                                                  {"latin%E8.txt", "5"},
                                                                  {"-x$(touch%20y);'\".txt", "6"},
                                                                  {"del%7F.txt", "7"}}));
}

TEST_F(CorpusOfFiles, DecodesAsTheOtherReaders) {
  folder.write("in/bom.txt", "\xEF\xBB\xBFmarked");
  folder.write("in/utf16.txt", std::string("\xFF\xFE"
                                           "h\0i\0",
                                           6));
  folder.write("in/bad.md",
               "a\xFF"
               "b");
  folder.write("in/latin.html", "<meta charset=iso-8859-1><p>caf\xE9");
  const auto read = this->read();
  EXPECT_EQ(texts_of(read),
            (std::map<std::string, std::string>{
                {"bom.txt", "marked"}, {"utf16.txt", "hi"}, {"bad.md", "a\uFFFDb"}, {"latin.html", "caf\u00e9"}}));
  EXPECT_EQ(read.report.replaced_sequences(), 1);
}

TEST_F(CorpusOfFiles, OpensArchivesByTheirNamesAlone) {
  const std::string docx = docx_with(paragraph("packed"));
  fs::create_directory(folder / "in");
  pack(folder / "in/a.tar.gz", "ustar", "gzip", {{"x.docx", docx}, {"y.txt", "entry"}, {"z.bin", "no"}});
  pack(folder / "in/b.docx.gz", "raw", "gzip", {{"data", docx}});
  pack(folder / "in/c.txt", "zip", "", {{"inside.txt", "not opened"}});
  folder.write("in/d.md", "\x1F\x8B not gzip");
  auto texts = texts_of(read());
  EXPECT_EQ(texts["a.tar.gz/x.docx"], "packed");
  EXPECT_EQ(texts["a.tar.gz/y.txt"], "entry");
  EXPECT_EQ(texts["b.docx.gz"], "packed");
  EXPECT_TRUE(texts["c.txt"].starts_with("PK")) << "a text is not an archive, whatever it contains";
  EXPECT_EQ(texts["d.md"], "\x1F\uFFFD not gzip");
  EXPECT_EQ(texts.size(), 5U);
}

TEST_F(CorpusOfFiles, EndsWhereLinksLeadBack) {
  folder.write("in/a.txt", "a");
  fs::create_directory_symlink("..", folder / "in/loop");
  fs::create_symlink("self.txt", folder / "in/self.txt");
  fs::create_symlink("nowhere.txt", folder / "in/dangling.txt");
  const auto found = find_input_files({(folder / "in").string()}, find_corpus("files").names);
  EXPECT_EQ(found.files.size(), 1U);
  EXPECT_EQ(found.broken_links.size(), 3U);
}

TEST_F(CorpusOfFiles, WithoutPdftotextNamesItAndReadsTheRest) {
  fs::create_directory(folder / "bin");
  const PathScope path((folder / "bin").string());
  folder.write("in/a.pdf", pdf_of({"hello"}));
  folder.write("in/b.PDF", pdf_of({"hello"}));
  folder.write("in/c.txt", "text");
  const auto read = this->read();
  EXPECT_EQ(texts_of(read), (std::map<std::string, std::string>{{"c.txt", "text"}}));
  EXPECT_EQ(skipped_by(read), (std::map<std::string, std::int64_t>{{kNeedsPdftotext, 2}}));
  EXPECT_EQ(read.report.malformed_records(), 0);
  EXPECT_NE(read.report.skipped_summary().find("2 files skipped: PDFs need pdftotext"), std::string::npos);
  expect_error(ErrorKind::invalid_data, {"a.pdf", "poppler-utils", "--strict"}, [&] { this->read(true); });
}

TEST_F(CorpusOfFiles, ReadsPdfs) {
  if (!find_program("pdftotext")) GTEST_SKIP() << "SKIPPED: needs pdftotext of poppler-utils";
  folder.write("in/two.pdf", pdf_of({"first page", "second page"}));
  folder.write("in/-opw $(touch x).pdf", pdf_of({"hostile name"}));
  const std::string zip = docx_of({{"inside.txt", "inside"}});
  folder.write("in/polyglot.pdf", pdf_of({"still a PDF"}) + zip);
  folder.write("in/broken.pdf", pdf_of({"cut"}).substr(0, 100));
  folder.write("in/noise.pdf", "%PDF-1.4 and nothing else");
  folder.write("in/scan.pdf", pdf_of({""}));
  pack(folder / "in/more.zip", "zip", "", {{"in zip.pdf", pdf_of({"zipped"})}});
  const auto read = this->read();
  const auto texts = texts_of(read);
  ASSERT_EQ(texts.size(), 5U);
  EXPECT_EQ(texts.at("two.pdf"), "first page\n\nsecond page\n\n");
  EXPECT_TRUE(texts.at("-opw%20$(touch%20x).pdf").starts_with("hostile name"));
  EXPECT_TRUE(texts.at("polyglot.pdf").starts_with("still a PDF"));
  EXPECT_TRUE(texts.at("more.zip/in%20zip.pdf").starts_with("zipped"));
  EXPECT_EQ(texts.at("scan.pdf").find_first_not_of('\n'), std::string::npos);
  EXPECT_EQ(
      skipped_by(read),
      (std::map<std::string, std::int64_t>{{"a PDF that pdftotext cannot read: damaged, or with a password", 2}}));
}

TEST_F(CorpusOfFiles, TellsHowAConverterFailed) {
  folder.write("in/a.pdf", "%PDF");
  const PathScope path((folder / "bin").string() + ":/usr/bin:/bin");
  const auto outcome = [&](const std::string& commands) {
    script(folder, "bin/pdftotext", commands);
    const auto read = this->read();
    return read.documents.empty() ? skipped_by(read).begin()->first : read.documents[0].text;
  };
  EXPECT_EQ(outcome("printf 'given: '; cat"), "given: %PDF");
  EXPECT_EQ(outcome("exit 3"), "a PDF that forbids taking its text");
  EXPECT_EQ(outcome("exit 1"), "a PDF that pdftotext cannot read: damaged, or with a password");
  EXPECT_EQ(outcome("kill -SEGV $$"), "a PDF at which pdftotext fails, perhaps for want of 1 GiB");
  EXPECT_EQ(outcome("yes"), "a PDF with over 64 MiB of text");
  EXPECT_EQ(outcome("printf 'a\\377b'"), "a\uFFFDb");
}

TEST_F(CorpusOfFiles, CannotBeResumedWithOtherConverters) {
  for (const char* name : {"a.txt", "c.txt", "d.txt", "e.txt"}) folder.write(std::string("in/") + name, "word");
  folder.write("in/b.pdf", "%PDF");
  const std::string bin = (folder / "bin").string();
  fs::create_directory(bin);
  IndexJob job;
  job.corpus = "files";
  job.inputs = {(folder / "in").string()};
  job.index = folder / "index";
  job.quiet = true;
  int documents = 0;
  {
    const PathScope none(bin);
    job.interrupted = [&] { return ++documents > 3; };
    expect_error(ErrorKind::interrupted, "3 documents are indexed", [&] { run_index(job); });
  }
  job.start = IndexJob::Start::resume;
  job.interrupted = {};
  script(folder, "bin/pdftotext", "echo now");
  {
    const PathScope here(bin + ":/usr/bin:/bin");
    expect_error(ErrorKind::usage, {"1 files were skipped", "now 0", "--overwrite"}, [&] { run_index(job); });
  }
  const PathScope none(bin + "/none");
  const IndexSummary summary = run_index(job);
  EXPECT_EQ(summary.documents, 4);
  EXPECT_EQ(summary.report.skipped_files(), 1);
}

TEST(DocxText, IsThatOfTheParagraphs) {
  const std::string body =
      "<w:p><w:r><w:t>a &amp; b</w:t><w:tab/><w:t xml:space=\"preserve\"> c</w:t><w:br/><w:t>d</w:t></w:r></w:p>"
      "<w:p/><w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins>"
      "<w:r><w:instrText>PAGEREF x</w:instrText></w:r></w:p>"
      "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell 1</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>cell 2</w:t></w:r>"
      "</w:p></w:tc></w:tr></w:tbl>"
      "<w:p><mc:AlternateContent><mc:Choice Requires=\"wps\"><w:t>box</w:t></mc:Choice><mc:Fallback><w:t>box</w:t>"
      "</mc:Fallback></mc:AlternateContent></w:p>";
  EXPECT_EQ(text_of_docx(docx_with(body)).text, "a & b\t c\nd\nnew\ncell 1\ncell 2\nbox");
  const std::string strict = "http://purl.oclc.org/ooxml/wordprocessingml/main";
  EXPECT_EQ(text_of_docx(docx_of({{"word/footnotes.xml", word_xml(paragraph("note"))},
                                  {"word/document.xml", word_xml(paragraph("body"), "", strict.c_str())},
                                  {"word/media/image.png", "PNG"},
                                  {"word/document.xml", word_xml(paragraph("twice"))}}))
                .text,
            "body\nnote");
  EXPECT_EQ(text_of_docx(docx_with("")).text, "");
  EXPECT_EQ(text_of_docx(docx_with("")).problem, "");
}

TEST(DocxText, IsNotTakenFromWhatIsNone) {
  const auto problem = [](const std::string& bytes) { return std::string(text_of_docx(bytes).problem); };
  EXPECT_EQ(problem(""), "a damaged DOCX");
  EXPECT_EQ(problem("no zip"), "a damaged DOCX");
  EXPECT_EQ(problem("PK"), "a DOCX without word/document.xml");
  EXPECT_EQ(problem("\xD0\xCF\x11\xE0 OLE"), "a DOCX with a password, or a DOC");
  EXPECT_EQ(problem(docx_of({{"content.xml", "<x/>"}})), "a DOCX without word/document.xml");
  EXPECT_EQ(problem(docx_of({{"word/document.xml", "<w:document"}})), "a damaged DOCX");
  EXPECT_EQ(problem(docx_of({{"word/document.xml", "not XML"}})), "a damaged DOCX");
  EXPECT_EQ(problem(docx_with("<w:t>&undeclared;</w:t>")), "a damaged DOCX");
  const std::string laughs = "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]>";
  EXPECT_EQ(problem(docx_of({{"word/document.xml", word_xml(paragraph("&b;"), laughs)}})),
            "a DOCX with a document type, which may be an attack");
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "<w:x>";
  EXPECT_EQ(problem(docx_with(deep)), "a damaged DOCX");
  std::string attributes = "<w:p";
  for (int i = 0; i < 257; ++i) attributes += " a" + std::to_string(i) + "=''";
  EXPECT_EQ(problem(docx_with(attributes + "/>")), "a DOCX with too many attributes");
}

TEST(DocxText, MayBeInUtf16) {
  const auto utf16 = [](const std::string& ascii) {
    std::string bytes = "\xFF\xFE";
    for (const char c : ascii) bytes += {c, '\0'};
    return text_of_docx(docx_of({{"word/document.xml", bytes}}));
  };
  EXPECT_EQ(utf16(word_xml(paragraph("some words"))).text, "some words");
  std::string attributes;
  for (int i = 0; i < 257; ++i) attributes += " a" + std::to_string(i) + "=''";
  EXPECT_EQ(utf16(word_xml("<w:p" + attributes + "/>")).problem, "a DOCX with too many attributes");
  EXPECT_EQ(text_of_docx(docx_of({{"word/document.xml", "\xEF\xBB\xBF" + word_xml(paragraph("a"))}})).text, "a");
}

TEST(DocxText, OfABombIsNotUnpacked) {
  const std::string bomb = docx_with(paragraph(std::string(100U << 20, ' ')));
  ASSERT_LT(bomb.size(), 1U << 20);
  EXPECT_EQ(text_of_docx(bomb).problem, "a DOCX over 64 MiB when unpacked");
  const std::string half(40U << 20, ' ');
  EXPECT_EQ(text_of_docx(docx_of({{"word/document.xml", half}, {"word/endnotes.xml", half}})).problem,
            "a DOCX over 64 MiB when unpacked");
}

TEST(DocxText, OfEveryBeginningIsAnAnswer) {
  const std::string whole = docx_with(paragraph("some words") + paragraph("and more of them"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const ConvertedText cut = text_of_docx(std::string_view(whole).substr(0, length));
    EXPECT_TRUE(!cut.problem.empty() || cut.text == "some words\nand more of them") << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5A);
    text_of_docx(damaged);
  }
}

class LimitedProcess : public ::testing::Test {
 protected:
  ProcessResult run(const std::string& commands, const ProcessLimits& limits) const {
    const fs::path program = script(folder, "program", commands);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> input(std::tmpfile(), std::fclose);
    std::fputs("input", input.get());
    std::fflush(input.get());
    return run_limited(program, {"an argument", "$(touch x)"}, ::fileno(input.get()), limits);
  }
  TemporaryFolder folder;
  ProcessLimits tight{std::chrono::seconds(1), std::chrono::seconds(2), std::size_t{64} << 20, 1000};
};

TEST_F(LimitedProcess, GetsItsInputAndArgumentsAndNoVariables) {
  ::setenv("RELUCENT_TEST_SECRET", "secret", 1);
  const ProcessResult result = run("cat; echo \" $1 $2 $RELUCENT_TEST_SECRET.\"; exit 5", tight);
  EXPECT_EQ(result.end, ProcessResult::End::exited);
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.output, "input an argument $(touch x) .\n");
  EXPECT_FALSE(fs::exists("x"));
}

TEST_F(LimitedProcess, EndsAtItsLimits) {
  EXPECT_EQ(run("sleep 100", tight).end, ProcessResult::End::too_slow);
  EXPECT_EQ(run("exec >&-; sleep 100", tight).end, ProcessResult::End::too_slow) << "without output to wait for";
  EXPECT_EQ(run("sleep 100 & exit 0", tight).end, ProcessResult::End::too_slow) << "a child holds the output";
  EXPECT_EQ(run("while :; do :; done", tight).end, ProcessResult::End::too_slow);
  EXPECT_EQ(run("yes", tight).end, ProcessResult::End::too_much);
  const ProcessResult file = run("echo x > " + (folder / "file").string() + "; echo no", tight);
  EXPECT_EQ(file.output.find("no") == std::string::npos || fs::file_size(folder / "file") == 0, true);
  const ProcessResult memory = run("a=x; while :; do a=$a$a; done", tight);
  EXPECT_TRUE(memory.end != ProcessResult::End::exited || memory.code != 0);
}

TEST_F(LimitedProcess, LeavesNoProcess) {
  tight.wall = std::chrono::seconds(1);
  const ProcessResult result = run("sleep 100 & echo $!; exec >&-; wait", tight);
  EXPECT_EQ(result.end, ProcessResult::End::too_slow);
  const pid_t child = std::stoi(result.output);
  for (int i = 0; i < 100 && ::access(("/proc/" + std::to_string(child) + "/exe").c_str(), R_OK) == 0; ++i) {
    ::usleep(10000);
  }
  EXPECT_NE(::access(("/proc/" + std::to_string(child) + "/exe").c_str(), R_OK), 0);
}

TEST_F(LimitedProcess, IsFoundInAbsoluteFoldersOfThePath) {
  script(folder, "bin/tool", "exit 0");
  folder.write("other/tool", "not executable");
  const PathScope path(":relative:" + (folder / "other").string() + ":" + (folder / "bin").string());
  EXPECT_EQ(find_program("tool"), folder / "bin/tool");
  EXPECT_EQ(find_program("absent"), std::nullopt);
}

}  // namespace
}  // namespace relucent::index_tools
