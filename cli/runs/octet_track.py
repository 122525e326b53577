#!/usr/bin/env python3
"""Shows a run of Octet in a tracker: MLflow, Trackio or Weights & Biases. `octet track` starts it.

usage: octet_track.py RUN TRACKER PROJECT NAME PLACE EVERY

RUN is a run folder, TRACKER mlflow, trackio or wandb. PROJECT, NAME and PLACE may be empty: then they are the environment's
ID, the folder's name, and the tracker's own default. The program follows a live run until the run ends, and sends at most one
row of metrics.csv per EVERY seconds of training, with the newest value of each number. It notes in RUN/track-TRACKER.json
what it has sent, so that it can be stopped and started again: a row is never sent twice. It only reads the run and never
affects it, even if the tracker fails.

On SIGINT or SIGTERM it ends when the row that is being sent has arrived; on a second signal, or before it follows the run, it
ends at once, even if the tracker waits.

Exit code 1: one line on standard error has the cause; the same command continues. 130 or 143: a signal ended it at once; the
same command continues.
"""

import csv
import fcntl
import json
import math
import os
import pathlib
import signal
import sys
import time

LOOK_S = 2.0  # at a live run
CONFIG_BYTES_MAX = 1 << 20
COLUMNS = {"time_s", "wall_s", "env_steps", "updates"}  # of every row
PACKAGES = {"mlflow": "mlflow-skinny sqlalchemy alembic", "trackio": "trackio", "wandb": "wandb"}


class TrackError(Exception):
    """An error with a message for the user."""


# ---- the run

def config_of(folder):
    """Reads config.yaml, as octet has printed it: sections, and a key with its value on each line. {"algo.name": "dqn"}"""
    path, found, section = folder / "config.yaml", {}, ""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")[:CONFIG_BYTES_MAX]
    except OSError as error:
        raise TrackError(f"'{folder}' is not a run folder: {error}") from None
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if not colon or line.lstrip().startswith("#"):
            continue
        if not line.startswith(" "):
            section = name
        else:
            found[f"{section}.{name.strip()}"] = value.strip().strip('"')
    return found


def summary_of(folder):
    try:
        return json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def is_live(folder):
    """Returns whether octet train or octet-learner is running there: each locks a file of its own. Only the owner of the run
    can test these locks; for other users the run counts as live until it has a summary."""
    for name in (".lock", "learner.lock"):
        try:
            with open(folder / name, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except PermissionError:
            return not has_summary(folder)
        except OSError:
            pass
    return False


def has_summary(folder):
    """Returns whether summary.json belongs to the run that config.yaml describes."""
    try:
        return (folder / "summary.json").stat().st_mtime >= (folder / "config.yaml").stat().st_mtime
    except OSError:
        return False


class Rows:
    """The rows of metrics.csv that were not sent, as they are written: {column: number}, without empty cells."""

    def __init__(self, folder):
        self.path, self.inode, self.offset, self.header = folder / "metrics.csv", None, 0, []

    def read(self, sent):
        """sent: time_s and wall_s of the last row sent; [] before the first."""
        try:
            file = open(self.path, "rb")
        except OSError:
            return
        with file:
            status = os.fstat(file.fileno())
            if status.st_ino != self.inode or status.st_size < self.offset:  # the learner wrote it anew
                self.inode, self.offset = status.st_ino, 0
                self.offset = self.behind(file, sent)
            yield from self.rest(file)

    def behind(self, file, sent):
        """Finds the first row that was not sent: the row after the last one sent. It looks for the position of the row and
        not for its time, because the clock of a resumed run may be that of another host. If the row was merged with others,
        only its time is left."""
        place = nearest = 0
        for row in self.rest(file):
            if time_of(row) == sent:
                place = self.offset
            if time_of(row) <= sent:
                nearest = self.offset
        return place or nearest

    def rest(self, file):
        file.seek(self.offset)
        for line in file:
            if not line.endswith(b"\n"):
                return
            is_header = self.offset == 0
            self.offset += len(line)
            cells = next(csv.reader([line.decode("utf-8", errors="replace").rstrip("\n")]), [])
            if is_header:
                self.header = cells
            elif len(cells) == len(self.header):
                row = self.numbers(cells)
                if COLUMNS <= set(row):
                    yield row

    def numbers(self, cells):
        found = {}
        for name, cell in zip(self.header, cells):
            try:
                value = float(cell)
            except ValueError:
                continue
            if math.isfinite(value):
                found[name] = value
        return found


def step_of(config):
    """Returns the column for a row's step: a run that learns from a data set alone counts no environment steps."""
    is_offline = config.get("replay.data", "none") != "none" and float(config.get("replay.data_share", 1)) == 1
    return "updates" if is_offline else "env_steps"


# ---- trackers. again: the name of a run that was begun before; "": a new one. end: with what the run came to; leave: without.

class MLflow:
    repeats = True  # the same number of the same time and step is one

    def __init__(self, project, name, place, config, again):
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param

        place = place or os.environ.get("MLFLOW_TRACKING_URI", "") or "sqlite:///mlflow.db"
        if place.startswith("file:") or "://" not in place:
            raise TrackError(f"--place is '{place}': MLflow stores runs in a database or on a server: "
                             "sqlite:///FILE.db, http://…")
        self.step = step_of(config)
        self.client, self.Metric = MlflowClient(tracking_uri=place), Metric
        if again:
            self.run = again
            return
        found = self.client.get_experiment_by_name(project)
        number = found.experiment_id if found else self.client.create_experiment(project)
        self.run = self.client.create_run(number, run_name=name).info.run_id
        params = [Param(key, value) for key, value in config.items()]
        for i in range(0, len(params), 100):  # MLflow's limit
            self.client.log_batch(self.run, params=params[i:i + 100])

    def send(self, row):
        step, time_ms = int(row[self.step]), int(row["time_s"] * 1000)
        self.client.log_batch(self.run, metrics=[self.Metric(key, value, time_ms, step) for key, value in row.items()])

    def end(self, numbers, failed, time_s):
        self.client.log_batch(self.run, metrics=[self.Metric(key, value, int(time_s * 1000), 0)
                                                 for key, value in numbers.items()])
        self.client.set_terminated(self.run, "FAILED" if failed else "FINISHED")

    def leave(self):
        pass


class Trackio:
    repeats = False

    def __init__(self, project, name, place, config, again):
        import trackio

        self.trackio, self.run, self.step = trackio, name, step_of(config)
        where = {"server_url" if "://" in place else "space_id": place} if place else {}
        trackio.init(project=project, name=name, config=config, resume="must" if again else "never", embed=False,
                     auto_log_gpu=False, auto_log_cpu=False, **where)

    def send(self, row):
        self.trackio.log(row, step=int(row[self.step]))

    def end(self, numbers, failed, time_s):
        self.trackio.log({**numbers, "final.failed": float(failed)})
        self.leave()

    def leave(self):
        self.trackio.finish()


class WandB:
    repeats = False

    def __init__(self, project, name, place, config, again):
        import wandb

        if place:
            os.environ["WANDB_BASE_URL"] = place
        self.wandb = wandb.init(project=project, name=name, config=config, id=again or None,
                                resume="must" if again and os.environ.get("WANDB_MODE") != "offline" else "allow")
        self.run = self.wandb.id
        step = step_of(config)
        self.wandb.define_metric(step)
        self.wandb.define_metric("*", step_metric=step)  # its own step must not fall, that of a resumed run may

    def send(self, row):
        self.wandb.log(row)

    def end(self, numbers, failed, time_s):
        self.wandb.summary.update(numbers)
        self.wandb.finish(exit_code=1 if failed else 0)

    def leave(self):
        self.wandb.finish()


TRACKERS = {"mlflow": MLflow, "trackio": Trackio, "wandb": WandB}


# ---- what was sent

class Note:
    """RUN/track-TRACKER.json: {"run": the tracker's name of the run, "sent": [time_s, wall_s] of the last row, "ended":
    bool}."""

    def __init__(self, folder, tracker):
        self.path, self.content = folder / f"track-{tracker}.json", {}
        if self.path.exists():
            try:
                self.content = json.loads(self.path.read_text(encoding="utf-8"))
                self.content["sent"] = [float(value) for value in self.content["sent"]]
                str(self.content["run"])
            except (ValueError, KeyError, TypeError) as error:
                raise TrackError(f"'{self.path}' is damaged ({error!r}); remove it to send the run from its beginning") \
                    from None

    def write(self):
        draft = self.path.with_name(self.path.name + f".tmp.{os.getpid()}")
        draft.write_text(json.dumps(self.content) + "\n", encoding="utf-8")
        os.replace(draft, self.path)


def time_of(row):
    return [row["time_s"], row["wall_s"]]


def is_due(row, sent, every):
    """Returns whether a resumed run continues at an earlier wall_s."""
    return not sent or abs(row["wall_s"] - sent[1]) >= every


class Sender:
    def __init__(self, tracker, note, every):
        self.tracker, self.note, self.every, self.newest = tracker, note, every, {}
        self.count = 0

    def end(self, summary):
        """Sends the result of the run."""
        time_s = self.note.content["sent"][0] if self.note.content["sent"] else 0
        failed = (summary.get("supervisor") or {}).get("exit_reason") == "failed"
        if self.tracker.repeats:
            self.tracker.end(finals(summary), failed, time_s)
        self.note.content["ended"] = True
        self.note.write()
        if not self.tracker.repeats:
            self.tracker.end(finals(summary), failed, time_s)

    def take(self, row):
        """Sends a row, with the numbers skipped since the last, if it is time."""
        self.newest.update(row)
        if is_due(row, self.note.content["sent"], self.every):
            self.send()

    def send(self):
        """Sends the newest numbers, unless there are none since the last row."""
        row, self.newest = self.newest, {}
        if not row:
            return
        if self.tracker.repeats:
            self.tracker.send(row)
        self.note.content["sent"] = time_of(row)
        self.note.write()
        if not self.tracker.repeats:  # killed in between, it is lost, not doubled
            self.tracker.send(row)
        self.count += 1


def finals(summary):
    found = {}
    for key in ["return", "last_return"]:
        mean = (summary.get(key) or {}).get("mean")
        if isinstance(mean, (int, float)):
            found[f"final.{key}"] = float(mean)
    for key in ["env_steps", "updates", "learner_wall_s", "learner_cpu_s"]:
        if isinstance(summary.get(key), (int, float)):
            found[f"final.{key}"] = float(summary[key])
    return found


class Stop:
    """Handles SIGINT and SIGTERM. The first signal while a run is followed is noted. Any other raises KeyboardInterrupt,
    which also ends waits in a tracker's package; later signals have their default effect."""

    NUMBERS = [signal.SIGINT, signal.SIGTERM]

    def __init__(self):
        self.number, self.is_followed = 0, False
        for number in self.NUMBERS:
            signal.signal(number, self.take)

    def take(self, number, _frame):
        is_first, self.number = self.number == 0, number
        if self.is_followed and is_first:
            return
        for each in self.NUMBERS:
            signal.signal(each, signal.SIG_DFL)
        raise KeyboardInterrupt


def follow(folder, sender, stop):
    """Follows the run until it ends or this program is stopped. Returns True if the run has ended."""
    rows, stop.is_followed = Rows(folder), True
    while True:
        live = is_live(folder)  # looked at first: rows that come behind it are read below
        for row in rows.read(sender.note.content["sent"]):
            sender.take(row)
            if stop.number:
                return False
        if not live:
            sender.send()
            return True
        if stop.number:
            return False
        time.sleep(LOOK_S)


def track(folder, kind, project, name, place, every, stop):
    os.environ["PYTHONSAFEPATH"] = "1"  # what a tracker starts imports nothing from the current folder either
    config = config_of(folder)
    note = Note(folder, kind)
    if note.content.get("ended") and not is_live(folder):
        if not any(Rows(folder).read(note.content["sent"])):
            print(f"octet track: {folder} is already complete in {kind}")
            return
    tracker = TRACKERS[kind](project or config.get("env.id", "octet"), name or folder.resolve().name, place, config,
                             note.content.get("run"))
    note.content.setdefault("sent", [])
    note.content.update(run=tracker.run, ended=False)
    note.write()
    sender = Sender(tracker, note, every)
    if follow(folder, sender, stop):
        sender.end(summary_of(folder))
    else:
        tracker.leave()
    print(f"octet track: {sender.count} row{'' if sender.count == 1 else 's'} of {folder} sent to {kind}")


def main(arguments):
    if len(arguments) != 6 or arguments[1] not in TRACKERS:
        print(__doc__, file=sys.stderr)
        return 2
    folder, kind, project, name, place, every = arguments
    stop = Stop()
    try:
        track(pathlib.Path(folder), kind, project, name, place, float(every), stop)
    except KeyboardInterrupt:
        print(f"octet track: stopped before everything was sent to {kind}; the same command continues from there", file=sys.stderr)
        return 128 + stop.number
    except ImportError as error:
        print(f"octet track: error: {error}: the Python at {sys.executable} needs '{PACKAGES[kind]}' (pip install), or name "
              "another with OCTET_PYTHON", file=sys.stderr)
        return 1
    except TrackError as error:
        print(f"octet track: error: {error}", file=sys.stderr)
        return 1
    except Exception as error:  # whatever a tracker raises; the run goes on
        print(f"octet track: error: {kind}: {type(error).__name__}: {error}; the same command continues from there",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
