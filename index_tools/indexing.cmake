# Sources of the readers, the indexer and the commands index and verify.
set(readers
  readers/archive_reader.cpp
  readers/argsme_reader.cpp
  readers/byte_stream.cpp
  readers/cord19_reader.cpp
  readers/corpora.cpp
  readers/corpus_reader.cpp
  readers/csv_reader.cpp
  readers/double_encoding.cpp
  readers/gzip_stream.cpp
  readers/input_files.cpp
  readers/input_parts.cpp
  readers/json_elements.cpp
  readers/json_record.cpp
  readers/jsonl_reader.cpp
  readers/line_reader.cpp
  readers/msmarco_document_reader.cpp
  readers/msmarco_v2_reader.cpp
  readers/read_report.cpp
  readers/smart_reader.cpp
  readers/tsv_reader.cpp
  readers/utf8.cpp
  readers/vaswani_reader.cpp
  readers/wapo_reader.cpp
  readers/xml_text.cpp
)
set(indexing
  indexing/checkpoint.cpp
  indexing/checksum.cpp
  indexing/document_feed.cpp
  indexing/id_set.cpp
  indexing/indexer.cpp
  indexing/interrupt.cpp
  indexing/manifest.cpp
  indexing/progress.cpp
  indexing/verify.cpp
)
set(commands
  program/index_command.cpp
  program/verify_command.cpp
)
target_sources(relucent_index_tools PRIVATE ${readers} ${indexing} ${commands} indexing/index_contents.cpp)
# No Lucene++ in these (all but index_contents.cpp): its precompiled header would only cost time.
set_source_files_properties(${readers} ${indexing} ${commands} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
