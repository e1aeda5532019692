#include "plugin/lucene/index/folder_name.h"

#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {

Lucene::String to_lucene_folder(const std::filesystem::path& folder) {
  const Lucene::String name = to_lucene(folder.string());
  if (to_utf8(name) == folder.string()) return name;
  throw Error(ErrorKind::io, to_utf8(name), "the directory's name is not UTF-8, which Lucene++ requires",
              "rename it, or use a symbolic link with a UTF-8 name");
}

}  // namespace relucent
