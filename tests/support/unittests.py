"""unittest.main that names what it skips, as pytest does with -rs: script/test shows it."""

import unittest


class Result(unittest.TextTestResult):
    def printErrors(self):
        super().printErrors()
        for test, reason in self.skipped:
            self.stream.writeln(f"SKIPPED [1] {test}: {reason}")


def main(argv):
    """argv: as unittest's, without the program's own arguments."""
    unittest.main(module="__main__", argv=argv, testRunner=unittest.TextTestRunner(resultclass=Result))
