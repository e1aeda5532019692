// Writes the index of another program: Lucene++'s own IndexWriter and Similarity, words between blanks, two segments.
// Usage: foreign DOCUMENTS.tsv FOLDER
#include <LuceneHeaders.h>
#include <SerialMergeScheduler.h>

#include <fstream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  using namespace Lucene;
  const auto writer = newLucene<IndexWriter>(FSDirectory::open(StringUtils::toUnicode(argv[2])),
                                             newLucene<WhitespaceAnalyzer>(), true,
                                             IndexWriter::MaxFieldLengthUNLIMITED);
  writer->setMergeScheduler(newLucene<SerialMergeScheduler>());
  std::ifstream in(argv[1]);
  int count = 0;
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    const auto document = newLucene<Document>();
    const auto add = [&](const wchar_t* name, const std::string& value, AbstractField::Store store,
                         AbstractField::Index index) {
      document->add(newLucene<Field>(name, StringUtils::toUnicode(value), store, index));
    };
    add(L"id", line.substr(0, tab), AbstractField::STORE_YES, AbstractField::INDEX_NOT_ANALYZED_NO_NORMS);
    add(L"text", line.substr(tab + 1), AbstractField::STORE_YES, AbstractField::INDEX_NO);
    add(L"contents", line.substr(tab + 1), AbstractField::STORE_NO, AbstractField::INDEX_ANALYZED);
    writer->addDocument(document);
    if (++count == 7) writer->commit();
  }
  writer->close();
  return 0;
}
