#!/usr/bin/env python3
"""Writes software bills of materials in the form SPDX 2.3 (JSON), of a wheel and of a folder of published files.

usage: sbom.py FOLDER FILE     FOLDER: the output of script/package. FILE: gets the list. SOURCE_DATE_EPOCH is its time.

A wheel contains its own list (graft_wheel.py), in .dist-info/sboms. It names every file, and for every grafted library the Debian
package with version and licence. The list of a folder names its files, and includes the lists of its wheels. All files have
checksums. The same files give the same bytes."""

import hashlib
import json
import os
import pathlib
import re
import sys
import time
import uuid
import zipfile

# By the beginning of a Debian package's name.
LICENCES = {
    "libcairo": "LGPL-2.1-only OR MPL-1.1", "libccd": "BSD-3-Clause", "libjansson": "MIT", "libjs-dygraphs": "MIT",
    "liblodepng": "Zlib", "libmicrohttpd": "LGPL-2.1-or-later", "libmujoco": "Apache-2.0", "libnng": "MIT",
    "libopenblas": "BSD-3-Clause", "libpixman": "MIT", "libpng": "libpng-2.0", "libprotobuf-c": "BSD-2-Clause",
    "libqhull": "Qhull", "libssl": "Apache-2.0", "libtinyxml2": "Zlib", "libuv1": "MIT", "libyaml": "MIT",
    "libzstd": "BSD-3-Clause", "zlib1g": "Zlib",
}
OWN = "Apache-2.0"
NOT_KNOWN = "NOASSERTION"


class LicenceError(Exception):
    """LICENCES does not have a package."""


def licence_of(package):
    for begin, licence in LICENCES.items():
        if package.startswith(begin):
            return licence
    raise LicenceError(f"the licence of {package} is not known: add it to LICENCES of python/wheel/sbom.py")


def spdx_id(kind, name):
    """An id may hold fewer characters than a name: the sum keeps ids of different names apart."""
    return f"SPDXRef-{kind}-{re.sub(r'[^A-Za-z0-9.]+', '-', name)}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def checksums(data):
    """SHA-1 is required by SPDX."""
    return [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}]


def package_entry(name, version, licence, **more):
    return {"SPDXID": spdx_id("Package", f"{name}-{version}"), "name": name, "versionInfo": version, "downloadLocation": NOT_KNOWN,
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": NOT_KNOWN, **more}


def debian_entry(package, version):
    return package_entry(package, version, licence_of(package), supplier="Organization: Debian", externalRefs=[
        {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:deb/debian/{package}@{version}"}])


def file_entry(name, data, licence):
    return {"SPDXID": spdx_id("File", name), "fileName": f"./{name}", "checksums": checksums(data), "licenseConcluded": licence,
            "licenseInfoInFiles": [licence], "copyrightText": NOT_KNOWN}


def with_files(package, files):
    """Returns the entry of a package whose files are listed, with a checksum over all of them."""
    digests = "".join(sorted(one["checksums"][0]["checksumValue"] for one in files))
    return {**package, "filesAnalyzed": True, "licenseInfoFromFiles": sorted({one["licenseConcluded"] for one in files}),
            "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1(digests.encode()).hexdigest()}}


def related(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(name, epoch, packages, files, relationships):
    """packages: the list describes the first one."""
    content = {"packages": packages, "files": files,
               "relationships": [related("SPDXRef-DOCUMENT", "DESCRIBES", packages[0]["SPDXID"]), *relationships]}
    digest = hashlib.sha256(json.dumps([name, content]).encode()).hexdigest()
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
            "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)), "creators": ["Tool: octet-sbom"]}, **content}


def write(target, value):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def write_of_wheel(target, name, version, tree, origins, epoch):
    """tree: the files of the wheel. origins: (file, relation to its origin, Debian package, version of the package)."""
    wheel = package_entry(name, version, OWN)
    sources = {package: debian_entry(package, of) for _, _, package, of in origins}
    licences = {file: licence_of(package) for file, relation, package, _ in origins if relation == "GENERATED_FROM"}
    names = [path.relative_to(tree).as_posix() for path in sorted(tree.rglob("*")) if path.is_file()]
    texts = {one: NOT_KNOWN for one in names if "/licenses/lib" in one}  # of others
    files = [file_entry(one, (tree / one).read_bytes(), {**texts, **licences}.get(one, OWN)) for one in names]
    wheel = with_files(wheel, files)
    relationships = [related(wheel["SPDXID"], "CONTAINS", one["SPDXID"]) for one in files]
    relationships += [related(spdx_id("File", file), relation, sources[package]["SPDXID"]) for file, relation, package, _ in origins]
    write(target, document(target.name, epoch, [wheel, *sources.values()], files, relationships))


def wheel_list(wheel):
    with zipfile.ZipFile(wheel) as archive:
        name = next(one for one in archive.namelist() if one.endswith(".spdx.json"))
        return json.loads(archive.read(name))


def write_of_folder(folder, target, epoch):
    """Writes the list of a folder. The names of files in a wheel begin with the name of the wheel."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and path != target)
    files = [file_entry(path.name, path.read_bytes(), OWN) for path in paths]
    everything = with_files(package_entry("octet", NOT_KNOWN, OWN), files)
    packages = {everything["SPDXID"]: everything}
    relationships = [related(everything["SPDXID"], "CONTAINS", one["SPDXID"]) for one in files]
    for path in (one for one in paths if one.suffix == ".whl"):
        inside = wheel_list(path)
        moved = {one["SPDXID"]: spdx_id("File", f"{path.name}/{one['fileName'][2:]}") for one in inside["files"]}
        files += [{**one, "SPDXID": moved[one["SPDXID"]], "fileName": f"./{path.name}/{one['fileName'][2:]}"} for one in inside["files"]]
        packages.update({one["SPDXID"]: one for one in inside["packages"]})
        relationships.append(related(spdx_id("File", path.name), "GENERATED_FROM", inside["packages"][0]["SPDXID"]))
        relationships += [{key: moved.get(value, value) for key, value in one.items()} for one in inside["relationships"]
                          if one["relationshipType"] != "DESCRIBES"]
    write(target, document(target.name, epoch, list(packages.values()), files, relationships))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_of_folder(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(os.environ["SOURCE_DATE_EPOCH"]))
