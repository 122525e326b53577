"""Files of records: one line of JSON a run, which measurements append and tables read."""

import json
import sys

KEY = ("preset", "env", "setting", "seed")  # by which a run is known again


def key(record):
    return tuple(record[name] for name in KEY)


def parsed(line, where):
    try:
        return json.loads(line)
    except ValueError as error:
        sys.exit(f"{where}: no record: {error}. Remove the line.")


def lines(path):
    """The records of a file; none if there is no such file. The last line of a writer that was killed is left out."""
    if not path.exists():
        return []
    *whole, last = path.read_text(encoding="utf-8").split("\n")
    records = [parsed(line, f"{path}, line {number}") for number, line in enumerate(whole, 1)]
    if last:
        try:
            records.append(json.loads(last))
        except ValueError:
            print(f"{path}, line {len(whole) + 1}: left out, it is unfinished", file=sys.stderr)
    return records


def append(path, record):
    """Adds a line, and before it the newline that an unfinished line lacks."""
    with open(path, "a+b") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        newline = b"" if file.read() in (b"", b"\n") else b"\n"
        file.write(newline + json.dumps(record).encode() + b"\n")


def each_once(records):
    """The records, unless two are of one run: a seed that counts twice makes means and deviations wrong."""
    seen = set()
    for record in records:
        if key(record) in seen:
            preset, env, setting, seed = key(record)
            sys.exit(f"seed {seed} of {preset} ({env}, {setting}) has two lines: each seed may count once. Remove one.")
        seen.add(key(record))
    return records


def longest(records):
    """The longest record of each run, in their order: one that has gone on has a line at each of its lengths."""
    found = {}
    for record in records:
        if key(record) not in found or record["env_steps"] > found[key(record)]["env_steps"]:
            found[key(record)] = record
    return list(found.values())
