"""Writes the list of components of an artifact in SPDX 2.3 (JSON):
components.py LIST.json --name NAME --version VERSION --purpose LIBRARY|CONTAINER [--status FILE].
FILE has the Debian packages that the artifact contains, as /var/lib/dpkg/status and `dpkg-query --status` describe
them; default: standard input. The same packages give the same bytes; SOURCE_DATE_EPOCH is the time of the list."""

import argparse
import json
import os
import re
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote


def installed(text):
    """The fields of each package that is installed, by its name and architecture."""
    packages = []
    for paragraph in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if re.match(r"[A-Za-z-]+: ", line))
        if fields.get("Status", "").endswith(" installed"):
            packages.append(fields)
    return sorted(packages, key=lambda fields: (fields["Package"], fields["Architecture"]))


def source_of(fields):
    """The source package and its version, which are named only where they differ from those of the package."""
    name, _, version = fields.get("Source", fields["Package"]).partition(" ")
    return name, version.strip("()") or fields["Version"]


def component(fields):
    name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
    locator = f"pkg:deb/debian/{quote(name, safe='')}@{quote(version, safe='~')}?arch={architecture}"
    source, source_version = source_of(fields)
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{name}-{architecture}"),
        "name": name,
        "versionInfo": version,
        "supplier": "NOASSERTION" if name.startswith(("relucent", "librelucent")) else "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "sourceInfo": f"built from the source package {source} {source_version}",
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "licenseComments": f"see the file copyright of the Debian package {name}",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": locator}],
    }


def components_of(name, version, purpose, packages, time):
    whole = {
        "SPDXID": "SPDXRef-Artifact",
        "name": name,
        "versionInfo": version,
        "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "Copyright 2026 The Relucent authors",
        "primaryPackagePurpose": purpose,
    }
    parts = [component(fields) for fields in packages]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": whole["SPDXID"]}]
    relations += [{"spdxElementId": whole["SPDXID"], "relationshipType": "CONTAINS",
                   "relatedSpdxElement": part["SPDXID"]} for part in parts]
    content = json.dumps([whole, parts, time])
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "creationInfo": {"created": datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: relucent-package.sh"]},
        "packages": [whole, *parts],
        "relationships": relations,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("list", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--purpose", required=True, choices=["LIBRARY", "CONTAINER"])
    parser.add_argument("--status", type=Path)
    given = parser.parse_args()
    packages = installed(given.status.read_text(encoding="utf-8") if given.status else sys.stdin.read())
    if not packages:
        sys.exit("components.py: no installed package is listed")
    found = components_of(given.name, given.version, given.purpose, packages,
                          int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    given.list.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
