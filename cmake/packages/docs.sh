# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by package.sh: the documentation as a web site with search, rendered by MkDocs, and Doxygen's reference of the
# C++ library. A link to a page, a file or a heading that is not there is an error.
site=$out/site
site_archive=$out/relucent-$version-docs.tar.gz

# The pages are laid out as in the sources, so that they find each other.
package_docs() {
  local source=$out/docs/source pages=$out/docs/pages python=$out/docs-python folder file
  need doxygen doxygen
  need cmake cmake
  rm -rf "$out/docs" "$site.new"
  mkdir -p "$source" "$pages"
  git archive HEAD | tar -C "$source" -x --exclude=tests --exclude='*.safetensors'
  for file in README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE NOTICE packages.txt config docs \
    index_tools/demo model/relucent-minilm-l6-w4; do
    mkdir -p "$pages/$(dirname "$file")"
    cp -r "$source/$file" "$pages/$(dirname "$file")"
  done
  find "$pages/config" -type f ! -name '*.toml' -delete
  rm "$pages/docs/api.dox"
  for folder in "$pages"/docs/examples/*/; do
    { echo "# $(basename "$folder")"; echo; (cd "$folder" && find . -type f | sort |
      sed 's|^\./\(.*\)$|- [\1](\1)|'); } >"$folder/README.md"
  done
  logged doxygen cmake -DPROJECT_SOURCE_DIR="$source" -DPROJECT_BINARY_DIR="$out/docs" -DPROJECT_VERSION="$version" \
    -DPROJECT_DESCRIPTION="Second-stage rescoring for Lucene++" -P "$source/cmake/RelucentApiReference.cmake"
  logged doxygen doxygen "$out/docs/Doxyfile"
  cp -r "$out/docs/api/html" "$pages/api"
  cp "$source/cmake/packages/site.css" "$pages"

  [ -x "$python/bin/mkdocs" ] || {
    need python3 python3-venv
    python3 -m venv "$python"
    logged docs-pip "$python/bin/pip" install --disable-pip-version-check \
      -r "$source/cmake/packages/requirements-docs.txt"
  }
  NO_MKDOCS_2_WARNING=1 RELUCENT_SITE_SOURCE=$pages RELUCENT_SITE=$site.new logged site \
    "$python/bin/mkdocs" build --strict -f "$source/cmake/packages/mkdocs.yml"
  rm -rf "$site"
  mv "$site.new" "$site"
  tar -C "$out" --sort=name --mtime=@0 --owner=0 --group=0 -c site | gzip -n >"$site_archive"
  made "$site_archive"
}

# The search index and the reference are there, and no page loads anything from another host.
check_docs() {
  python3 - "$site" <<'END' || exit 1
import json, pathlib, sys
site = pathlib.Path(sys.argv[1])
entries = json.loads((site / "search/search_index.json").read_text())["docs"]
indexed = {entry["location"].split("#")[0] for entry in entries}
pages = {str(page.relative_to(site)) for page in site.rglob("*.html") if page.parts[len(site.parts)] != "api"}
missing = pages - indexed - {"404.html", "index.html"}
if missing:
    sys.exit(f"FAILED: the site's search does not know {', '.join(sorted(missing))}")
END
  [ -s "$site/api/index.html" ] || { echo "FAILED: the site has no API reference" >&2; exit 1; }
  if grep -rlE '<(script|link|img|iframe)[^>]* (src|href)="https?://' "$site" --include='*.html'; then
    echo "FAILED: the pages above load something from another host" >&2
    exit 1
  fi
}
