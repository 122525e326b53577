"""Throwaway certificates for hosts that meet by tls+tcp: one CA, and for each host a folder as --tls wants it."""

import os
import pathlib
import subprocess

ROLES = {"learner": "learner", "replay": "replay"}  # all other hosts are actors
SERVER = "serverAuth,clientAuth"


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=True)


def key(path):
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)
    path.chmod(0o600)


def issue(folder, host):
    place, role = folder / host, ROLES.get(host, "actor")
    place.mkdir()
    key(place / "node.key")
    extensions = folder / f"{host}.ext"
    usage = SERVER if role in ("learner", "replay") else "clientAuth"
    extensions.write_text(f"basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage={usage}\n"
                          f"subjectAltName=DNS:{host}\n", encoding="utf-8")
    openssl("req", "-new", "-key", place / "node.key", "-subj", f"/O=Octet/OU={role}/CN={host}", "-out",
            folder / f"{host}.csr")
    openssl("x509", "-req", "-in", folder / f"{host}.csr", "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", extensions, "-out", place / "node.crt")
    (place / "ca.crt").write_bytes((folder / "ca.crt").read_bytes())


def make(folder, hosts):
    """folder/HOST has ca.crt, node.crt and node.key."""
    folder = pathlib.Path(folder)
    folder.mkdir(mode=0o700)
    os.chmod(folder, 0o700)
    key(folder / "ca.key")
    openssl("req", "-x509", "-new", "-key", folder / "ca.key", "-subj", "/O=Octet/CN=Octet test CA", "-days", "2",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-out",
            folder / "ca.crt")
    for host in hosts:
        issue(folder, host)
