#!/usr/bin/env python3
"""End-to-end test of a run that moves: see e2e.py.

usage: e2e_pack.py OCTET TEST
"""

import json
import re
import sys

from e2e import ENDLESS, column, interrupt, logged, octet, octet_says, printed, replay_log, resume, scratch, summary, train, wait_for_updates
from daemons import run_named, wait_for


def files(run):
    """Content and mode of everything that is packed, by name."""
    return {str(path.relative_to(run)): (path.read_bytes(), path.stat().st_mode) for path in sorted(run.rglob("*"))
            if path.is_file() and path.name not in (".lock", ".unpacked")}


def test_a_packed_run_goes_on_elsewhere():
    with scratch() as folder:
        run, away = folder / "run", folder / "elsewhere/moved"
        process = train(run, "--set", "replay.capacity=1000000", *ENDLESS)
        wait_for_updates(run, 200)
        interrupt(process, run)
        before, packed = summary(run), files(run)
        assert {"config.yaml", "checkpoint.oct", "replay.oct", "token.key", "policy_versions", "metrics.csv"} <= set(packed)
        result = octet("run", "pack", run, "--out", folder / "p")
        assert result.returncode == 0 and f"run run, {len(packed)} files" in result.stdout, result
        result = octet("run", "unpack", folder / "p", "--run-dir", away)
        assert result.returncode == 0 and result.stderr == "", result
        assert (away / ".unpacked").exists() and files(away) == packed
        assert [path.name for path in away.parent.iterdir()] == ["moved"]
        # It goes on where it was: the same run, its steps and all rows of its table.
        process = resume(away)
        wait_for_updates(away, before["updates"] + 100)
        text = interrupt(process, away)
        resumed = re.search(r"resuming from \S+, of (\d+) updates and (\d+) environment steps", text)
        assert (int(resumed[1]), int(resumed[2])) == (before["updates"], before["env_steps"]), text
        after = summary(away)
        assert after["run_id"] == before["run_id"] and after["env_steps"] > before["env_steps"], (before, after)
        stopped, found = replay_log(run, "REPLAY-STOP")[-1], replay_log(away, "REPLAY-FOUND")[-1]
        assert (found["windows"], found["rows"]) == (stopped["size"], stopped["rows"]), (stopped, found)
        assert int(found["rows"]) > 0 and found["rows_cut"] == "0", found


def test_a_live_run_is_packed_at_a_consistent_point():
    """Its last checkpoint with the rows that this knows, while replay takes others; the run continues."""
    with scratch() as folder:
        run, away = folder / "run", folder / "moved"
        process = train(run, "--set", "replay.capacity=1000000", *ENDLESS)
        wait_for_updates(run, 200)
        saved = re.search(r"(\d+) updates, (\d+) environment steps", octet_says("checkpoint", run))
        said = octet_says("run", "pack", run, "--out", folder / "p")
        assert "live: packed as of its last checkpoint" in said and "left out" not in said, said
        assert process.poll() is None and not list(folder.glob("p.*")), list(folder.iterdir())
        octet_says("run", "unpack", folder / "p", "--run-dir", away)
        check = json.loads(octet("run", "check", away, "--json").stdout)
        levels = {item["name"]: item for item in check["items"]}
        assert check["resumable"] and levels["replay"]["state"] == levels["checkpoint"]["state"] == "ok", check
        interrupt(process, run)
        process = resume(away)
        wait_for("its rows and its steps", lambda: logged(away, "REPLAY-FOUND") and "resuming from" in printed(away))
        wait_for_updates(away, column(away, "updates"))
        text = interrupt(process, away)
        assert re.search(r"resuming from \S+, of (\d+) updates and (\d+) environment steps", text).groups() == saved.groups(), text
        found = replay_log(away, "REPLAY-FOUND")[-1]
        assert int(found["rows"]) >= int(saved[2]) and found["rows_cut"] == "0", (found, saved)


if __name__ == "__main__":
    sys.exit(run_named(globals()))
