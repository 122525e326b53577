"""unittest.main that names what it skips, as pytest does with -rs: script/test shows it. The cases of
a file that mostly wait for processes run in several processes at a time."""

import os
import sys
import tempfile
import traceback
import unittest


class Result(unittest.TextTestResult):
    def printErrors(self):
        super().printErrors()
        for test, reason in self.skipped:
            self.stream.writeln(f"SKIPPED [1] {test}: {reason}")


def cases_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases_of(test)
        else:
            yield test


def run(suite):
    return unittest.TextTestRunner(resultclass=Result, stream=sys.stderr).run(suite).wasSuccessful()


def share(work, processes):
    """Runs work(i) for each i below processes in a process of its own. What it prints is shown when it
    has ended. Returns whether each returned True."""
    children = {}
    for i in range(processes):
        output = tempfile.TemporaryFile()
        pid = os.fork()
        if pid == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            is_good = False
            try:
                is_good = work(i)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(0 if is_good else 1)
        children[pid] = output
    is_good = True
    while children:
        pid, status = os.wait()
        if pid in children:
            with children.pop(pid) as output:
                output.seek(0)
                sys.stderr.write(output.read().decode(errors="replace"))
            is_good = is_good and status == 0
    return is_good


def share_functions(functions, processes):
    """Calls the functions, each process every nth of them. A function fails by an exception."""
    def work(i):
        for function in functions[i::processes]:
            function()
        return True
    return share(work, processes)


def main(argv, processes=1):
    """argv: as unittest's, without the program's own arguments. processes: how many share the cases,
    unless argv names some. A case has no state outside of itself, and its class no setUpClass."""
    if processes > 1 and len(argv) == 1:
        cases = list(cases_of(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])))
        is_good = share(lambda i: run(unittest.TestSuite(cases[i::processes])), processes)
        sys.exit(0 if is_good else 1)
    unittest.main(module="__main__", argv=argv, testRunner=unittest.TextTestRunner(resultclass=Result))
