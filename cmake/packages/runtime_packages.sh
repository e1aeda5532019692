#!/usr/bin/env bash
# runtime_packages.sh FOLDER: prints the Debian packages with the shared libraries that the program and the libraries
# installed in a folder need: what an image without compilers installs.
set -euo pipefail
find "$1" -type f \( -path '*/bin/relucent' -o -name 'librelucent*.so*' \) -exec readelf -d {} + |
  sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u | while read -r library; do
  package=$(dpkg-query -S "*/$(g++ -print-multiarch)/$library" 2>/dev/null | head -1 | cut -d: -f1 || true)
  case $package in "" | libc6* | libgcc-s1 | libstdc++6) ;; *) echo "$package" ;; esac
done | sort -u
