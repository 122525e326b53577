"""A process that writes steps with numbers of its own into a replay and says how many are confirmed.

usage: octet_replay_writer.py FOLDER WRITER COUNT EVERY     step i is (WRITER, i); a line for each EVERY that are flushed"""

import sys

import numpy as np
import octet


def main(folder, writer, count, every):
    with octet.Replay.connect(folder) as replay:
        steps = replay.writer()
        for i in range(count):
            seen, behind = (np.array([writer, at], np.int64) for at in (i, i + 1))
            steps.append(seen, [np.float32(i), 0], i, i % 7 == 6, i % 11 == 10, behind)
            if (i + 1) % every == 0:
                steps.flush(None)
                print(i + 1, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *(int(number) for number in sys.argv[2:]))
