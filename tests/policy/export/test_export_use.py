#!/usr/bin/env python3
"""The three ways out of Octet as a user meets them: octet export, octet act, and the installed
library. Usage: test_export_use.py OCTET LIBRARY CASES ROOT

CASES is the folder that export_cases wrote. Compilers: cc."""

import itertools
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import unittests  # noqa: E402

OCTET = LIBRARY = CASES = ROOT = None
LIMIT_S = 30


def octet(*arguments, code=0, text=None, **more):
    done = subprocess.run([OCTET, *map(str, arguments)], input=text, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False, **more)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="octet-use-")
        self.home = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()


class Export(Case):
    def test_a_header_gives_the_action_of_octet_act(self):
        done = octet("export", CASES / "balance.oct", "--c99", self.home / "b.h", "--name", "Bal_1")
        said = re.search(r"flash +(\d+) bytes.*\n +RAM +(\d+) bytes, one Bal_1_work", done.stdout)
        self.assertTrue(said, done.stdout)
        (self.home / "b.c").write_text(
            '#include <stdio.h>\n#include "b.h"\nint main(void) { Bal_1_work work; int32_t a;\n'
            "float o[4] = {0.1f, 0.2f, -0.3f, 0.05f}; return Bal_1_act(&work, o, &a) ? 9 :\n"
            f"printf(\"%d\\n\", a) < 0 || sizeof(work) != {said[2]} || BAL_1_FLASH_BYTES != {said[1]}; }}\n")
        subprocess.run(["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "b.c", "-o",
                        "b", "-lm"], cwd=self.home, check=True, timeout=LIMIT_S)
        ran = subprocess.run([self.home / "b"], capture_output=True, text=True, check=True,
                             timeout=LIMIT_S)
        acted = octet("act", "--policy", CASES / "balance.oct", text="0.1 0.2 -0.3 0.05\n")
        self.assertEqual(ran.stdout, acted.stdout)
        self.assertEqual(ran.stdout, "0\n")

    def test_both_forms_are_written_and_described(self):
        done = octet("export", CASES / "brain16.oct", "--c99", self.home / "a.h", "--onnx",
                     self.home / "a.onnx")
        self.assertIn("a.h: bf16 policy policy for Test-v0\n", done.stdout)
        size = (self.home / "a.onnx").stat().st_size
        self.assertIn(f"a.onnx: bf16 policy for Test-v0, {size} bytes\n"
                      "  in   observation float32 [batch][5]\n"
                      "  out  action float32 [batch][3], outputs float32 [batch][3]\n", done.stdout)
        self.assertEqual((self.home / "a.onnx").read_bytes(), (CASES / "brain16.onnx").read_bytes())

    def test_an_imported_policy_has_neither_environment_nor_run(self):
        done = octet("export", CASES / "imported.oct", "--c99", self.home / "a.h", "--onnx", self.home / "a.onnx")
        self.assertIn("a.h: int8 policy policy for an unknown environment\n", done.stdout)
        self.assertIn("a.onnx: int8 policy for an unknown environment, ", done.stdout)
        self.assertEqual((self.home / "a.h").read_text().splitlines()[0],
                         "// Policy policy for an unknown environment, int8, not from a run of Octet.")

    def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(self):
        out = self.home / "p.h"
        out.write_text("old")
        octet("export", CASES / "balance.oct", "--c99", out)
        self.assertTrue(out.read_text().endswith("#endif // policy_POLICY_SUM\n"))
        self.assertEqual(os.listdir(self.home), ["p.h"])

    def test_what_cannot_be_written_is_said(self):
        policy = self.home / "p.oct"
        policy.write_bytes((CASES / "balance.oct").read_bytes())
        for option in ["--c99", "--onnx"]:
            for out, why in [(self.home, "is a folder"), (policy, "is the policy itself"),
                             (self.home / "none" / "p.h", "No such file or directory")]:
                done = octet("export", policy, option, out, code=1)
                self.assertIn(why, done.stderr)
                self.assertIn(str(out), done.stderr)
        self.assertEqual(policy.read_bytes(), (CASES / "balance.oct").read_bytes())

    def test_wrong_use_is_told_apart_from_failure(self):
        policy = CASES / "balance.oct"
        self.assertIn("no POLICY", octet("export", "--c99", "x.h", code=2).stderr)
        self.assertIn("--c99", octet("export", policy, code=2).stderr)
        for name in ["1a", "a-b", "", "_a", "ä", "a" * 41]:
            done = octet("export", policy, "--c99", self.home / "x.h", "--name", name, code=2)
            self.assertIn("--name", done.stderr)
        done = octet("export", policy, "--onnx", self.home / "x.onnx", "--name", "foo", code=2)
        self.assertIn("--name is for a header; name --c99 OUT.h", done.stderr)
        self.assertFalse((self.home / "x.onnx").exists())
        octet("export", policy, "--c99", self.home / "x.h", "--name", "a" * 40)
        self.assertIn("No such file", octet("export", "none.oct", "--c99", "x.h", code=1).stderr)
        broken = self.home / "broken.oct"
        broken.write_bytes(policy.read_bytes()[:-1])
        self.assertIn("its header says", octet("export", broken, "--c99", "x.h", code=1).stderr)

    def test_two_forms_need_two_files(self):
        (self.home / "link").symlink_to("a")
        for other in ["a", "./a", self.home / "a", "link"]:
            done = octet("export", CASES / "balance.oct", "--c99", "a", "--onnx", other, code=2, cwd=self.home)
            self.assertIn(f"--c99 'a' and --onnx '{other}' are the same file", done.stderr)
            self.assertEqual(os.listdir(self.home), ["link"])

    def test_one_that_cannot_be_written_keeps_the_other_from_it(self):
        octet("export", CASES / "balance.oct", "--c99", self.home / "a.h", "--onnx", self.home, code=1)
        self.assertEqual(os.listdir(self.home), [])

    def test_links_stay_and_the_output_is_written_into(self):
        link, out = self.home / "link", self.home / "x.onnx"
        link.symlink_to("x.onnx")
        octet("export", CASES / "balance.oct", "--onnx", link)
        model = out.read_bytes()
        self.assertEqual(os.readlink(link), "x.onnx")
        link.unlink()
        link.symlink_to("/proc/self/fd/1")
        with open(out, "wb", buffering=0) as output:
            output.write(b"<")
            done = subprocess.run([OCTET, "export", CASES / "balance.oct", "--c99", self.home / "a.h", "--onnx", link],
                                  stdout=output, stderr=subprocess.PIPE, text=True, check=True, timeout=LIMIT_S)
        self.assertEqual(out.read_bytes(), b"<" + model)
        self.assertEqual(os.readlink(link), "/proc/self/fd/1")
        for words in ["a.h: ", "link: ", "action repeat unknown"]:
            self.assertIn(words, done.stderr)

    def test_sampling_needs_a_header_and_a_distribution(self):
        out = self.home / "sample.h"
        done = octet("export", CASES / "gauss8.oct", "--sampling", "--onnx", self.home / "a.onnx",
                     code=2)
        self.assertIn("--sampling is for a header; name --c99 OUT.h", done.stderr)
        done = octet("export", CASES / "balance.oct", "--sampling", "--c99", out, code=1)
        self.assertIn("has no distribution to sample actions from; leave out --sampling", done.stderr)
        self.assertFalse(out.exists())
        octet("export", CASES / "gauss8.oct", "--name", "gauss8", "--sampling", "--c99", out)
        self.assertEqual(out.read_bytes(), (CASES / "gauss8.h").read_bytes())
        octet("export", CASES / "gauss8.oct", "--name", "gauss8", "--c99", out)
        self.assertNotIn("sample", out.read_text())

    def test_a_webassembly_module_gives_the_action_of_octet_act(self):
        tools = ["clang", "wasm-ld", "node"]
        if not all(shutil.which(tool) for tool in tools):
            self.skipTest(f"needs {', '.join(tools)}")
        include = self.home / "include"
        include.mkdir()
        (include / "string.h").write_text("#include <stddef.h>\nvoid *memcpy(void *to, const void *from, size_t bytes);\n")
        (include / "math.h").write_text("float sqrtf(float x);\n")
        (self.home / "run.js").write_text(
            "const bytes = require('fs').readFileSync(process.argv[2]);\n"
            "const {memory, observation, self_test, act} = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;\n"
            "if (self_test() !== 0) process.exit(1);\n"
            "const numbers = process.argv.slice(3).map(Number);\n"
            "new Float32Array(memory.buffer, observation(), numbers.length).set(numbers);\n"
            "console.log(act());\n")
        for name, count in [("balance", 4), ("wide8", 300), ("published4", 14)]:
            octet("export", CASES / f"{name}.oct", "--c99", self.home / "p.h", "--name", "p")
            (self.home / "p.c").write_text(
                '#include "p.h"\nstatic p_work work;\nstatic float numbers[P_OBSERVATION_COUNT];\n'
                '__attribute__((export_name("observation"))) float *observation(void) { return numbers; }\n'
                '__attribute__((export_name("self_test"))) int self_test(void) { return p_self_test(&work, numbers); }\n'
                '__attribute__((export_name("act"))) int32_t act(void)\n'
                "{\n    int32_t action;\n    return p_act(&work, numbers, &action) == 0 ? action : -1;\n}\n"
                "static float values[P_OUTPUT_COUNT];\n"
                '__attribute__((export_name("outputs"))) float *outputs(void)\n'
                "{\n    return p_outputs(&work, numbers, values) == 0 ? values : NULL;\n}\n")
            subprocess.run(["clang", "--target=wasm32", "-nostdlib", "-O2", "-mbulk-memory", "-Iinclude",
                            "-Wl,--no-entry", "-Wall", "-Wextra", "-Werror", "p.c", "-o", "p.wasm"], cwd=self.home,
                           check=True, timeout=LIMIT_S)
            numbers = [str((7 * i % 11 - 5) / 8) for i in range(count)]
            ran = subprocess.run(["node", "run.js", "p.wasm", *numbers], cwd=self.home, capture_output=True, text=True,
                                 check=True, timeout=LIMIT_S)
            acted = octet("act", "--policy", CASES / f"{name}.oct", text=" ".join(numbers) + "\n")
            self.assertEqual(ran.stdout, acted.stdout, name)

    def test_macros_are_none_of_the_c_library(self):
        octet("export", CASES / "squash8.oct", "--name", "M", "--sampling", "--c99", self.home / "m.h")
        (self.home / "m.c").write_text('#include <math.h>\n#include "m.h"\n')
        subprocess.run(["cc", "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-c", "m.c"], cwd=self.home, check=True,
                       timeout=LIMIT_S)

    def test_texts_of_the_policy_cannot_leave_their_comment(self):
        octet("export", CASES / "odd.oct", "--c99", self.home / "odd.h")
        head = (self.home / "odd.h").read_text().splitlines()[0]
        self.assertNotIn("\\", head)
        self.assertNotIn("?", head)
        (self.home / "odd.c").write_text('#include "odd.h"\n')
        subprocess.run(["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-c",
                        "odd.c"], cwd=self.home, check=True, timeout=LIMIT_S)


    def test_what_would_change_bits_stops_the_build(self):
        source = self.home / "a.c"
        source.write_text(f'#include "{CASES}/pole4.h"\n')
        cases = [("-O2", False), ("-ffast-math", True), ("-ffinite-math-only", True),
                 ("-funsafe-math-optimizations", True), ("-freciprocal-math", True), ("-fno-signed-zeros", True)]
        if platform.machine() == "x86_64":
            # _Float16 in its own type is no reason (FLT_EVAL_METHOD is 16); the 387's registers are.
            cases += [("-mavx512fp16", False), ("-mfpmath=387", True)]
        for option, stops in cases:
            done = subprocess.run(["gcc", "-std=gnu11", option, "-fsyntax-only", source], check=False,
                                  capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual("floats must be computed as written" in done.stderr, stops, option)
            self.assertEqual(done.returncode != 0, stops, option)

    def test_a_header_fuses_nothing_and_leaves_the_rest_of_a_program_to_its_compiler(self):
        if platform.machine() != "x86_64":
            self.skipTest("-mfma is an option of x86-64")
        (self.home / "a.c").write_text(
            f'#include "{CASES}/walker8.h"\nstatic walker8_work work;\n'
            "int policy(const float *o, float *a) { return walker8_act(&work, o, a); }\n"
            "float own(float a, float b, float c) { return a * b + c; }\n")
        for compiler in filter(shutil.which, ["gcc", "clang"]):
            subprocess.run([compiler, "-std=gnu11", "-O2", "-mfma", "-S", "a.c"], cwd=self.home, check=True, timeout=LIMIT_S)
            text = (self.home / "a.s").read_text()
            own = re.search(r"^own:.*?^\s*\.size\s+own", text, re.DOTALL | re.MULTILINE)[0]
            fused = re.compile(r"vfn?m(?:add|sub)")
            self.assertEqual(len(fused.findall(own)), 1, compiler)
            self.assertEqual(len(fused.findall(text)), 1, compiler)

    def test_action_repeat_of_the_run_is_in_both_forms(self):
        run = self.home / "run"
        run.mkdir()
        (run / "policy.oct").write_bytes((CASES / "balance.oct").read_bytes())
        header, model = self.home / "p.h", self.home / "p.onnx"
        held = re.compile(r"#define POLICY_ACTION_REPEAT +(\d+)\n")
        for config, repeat, said in [
                (None, None, "action repeat unknown"), ("env: [", None, "action repeat unknown"),
                ("env: {id: CartPole-v1}\n", 1, None),
                ('env: {id: CartPole-v1, options: "a=1,action_repeat=4"}\n', 4, "action repeat 4: run the policy once every 4")]:
            if config is not None:
                (run / "config.yaml").write_text(config)
            for policy in [run, run / "policy.oct"]:
                done = octet("export", policy, "--c99", header, "--onnx", model)
                self.assertEqual("action repeat" in done.stdout, said is not None)
                self.assertIn(said or "", done.stdout)
                found = held.search(header.read_text())
                self.assertEqual(found and int(found[1]), repeat)
                self.assertEqual("(action_repeat) is unknown" in header.read_text(), repeat is None)
                self.assertEqual("once every 4 control steps" in header.read_text(), repeat == 4)
                note = re.search(rb"\x0a\x0daction_repeat\x12\x01(\d)", model.read_bytes())
                self.assertEqual(note and int(note[1]), repeat)
        done = octet("export", "policy.oct", "--c99", header, cwd=run)
        self.assertIn("once every 4", done.stdout)

    def test_names_that_differ_in_case_only_cannot_meet(self):
        for name in ["pole", "Pole", "POLE"]:
            octet("export", CASES / "balance.oct", "--c99", self.home / f"of_{name}.h", "--name", name)
        for names, why in [(["pole", "pole"], None), (["POLE", "POLE"], None), (["pole", "Pole"], "Pole: a policy"),
                           (["POLE", "pole"], "pole: a policy"), (["Pole", "POLE"], "POLE: a policy")]:
            (self.home / "a.c").write_text("".join(f'#include "of_{name}.h"\n' for name in names))
            done = subprocess.run(["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "a.c"],
                                  cwd=self.home, check=False, capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual(done.returncode != 0, why is not None, done.stderr)
            self.assertIn(f"{why} of this name, or of a name that differs only in case, is already included" if why else "", done.stderr)

    def test_two_policies_of_one_name_cannot_meet(self):
        for policy in ["balance", "squash8"]:
            octet("export", CASES / f"{policy}.oct", "--c99", self.home / f"{policy}.h")
        shutil.copy(self.home / "balance.h", self.home / "copy.h")
        octet("export", CASES / "squash8.oct", "--c99", self.home / "sampling.h", "--sampling")
        compilers = [["cc", "-std=c99", "-pedantic", "-x", "c"]]
        compilers += [["c++", "-std=c++17", "-x", "c++"]] if shutil.which("c++") else []
        for headers, stops in [(["balance", "balance"], False), (["balance", "copy"], False), (["balance", "squash8"], True),
                               (["squash8", "balance"], True), (["squash8", "sampling"], True)]:
            (self.home / "a.c").write_text("".join(f'#include "{header}.h"\n' for header in headers))
            for compiler in compilers:
                done = subprocess.run([*compiler, "-Wall", "-Wextra", "-Wundef", "-Werror", "-fsyntax-only", "a.c"],
                                      cwd=self.home, check=False, capture_output=True, text=True, timeout=LIMIT_S)
                self.assertEqual(done.returncode != 0, stops, (headers, done.stderr))
                self.assertIn("another header with the name policy is already included; export one of the two with another --name"
                              if stops else "", done.stderr)

    def test_a_header_of_an_earlier_octet_cannot_meet_one_of_its_name(self):
        """Its guard was NAME_POLICY_H, without a value."""
        for policy in ["balance", "squash8"]:
            octet("export", CASES / f"{policy}.oct", "--c99", self.home / f"{policy}.h")
        head, _, body = (self.home / "balance.h").read_text().partition("#ifndef policy_POLICY_SUM\n")
        body = body.partition("\n")[2].partition("#elif")[0]
        (self.home / "earlier.h").write_text(f"{head}#ifndef policy_POLICY_H\n#define policy_POLICY_H\n{body}#endif\n")
        for headers in [["earlier", "squash8"], ["squash8", "earlier"], ["earlier"]]:
            (self.home / "a.c").write_text("".join(f'#include "{header}.h"\n' for header in headers))
            done = subprocess.run(["cc", "-std=c99", "-fsyntax-only", "a.c"], cwd=self.home, check=False, capture_output=True,
                                  text=True, timeout=LIMIT_S)
            self.assertEqual(done.returncode != 0, len(headers) == 2, (headers, done.stderr))
            self.assertIn("policy: a policy of this name" if len(headers) == 2 else "", done.stderr)

    def test_names_that_begin_like_another_can_meet(self):
        """What is behind a name here is what identifiers inside begin with."""
        names = ["pole", "pole_row", "pole_draw", "pole_x", "pole_x_row"]
        for name in names:
            octet("export", CASES / "squash8.oct", "--c99", self.home / f"{name}.h", "--name", name, "--sampling")
        (self.home / "a.c").write_text("".join(f'#include "{name}.h"\n' for name in names))
        subprocess.run(["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "a.c"], cwd=self.home,
                       check=True, timeout=LIMIT_S)

    def test_cxx17_and_gnu_cxx_take_every_header_as_it_is(self):
        source = self.home / "a.cpp"
        source.write_text(f'#include "{CASES}/robot_cases.h"\nint main() {{}}\n')
        compilers = [name for name in ["g++", "clang++"] if shutil.which(name)]
        if not compilers:
            self.skipTest("no C++ compiler is installed")
        for compiler, standard in itertools.product(compilers, [["-std=c++17", "-Wpedantic"], ["-std=gnu++11"]]):
            subprocess.run([compiler, *standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source],
                           check=True, timeout=LIMIT_S)


class Act(Case):
    def act(self, text, *options, policy="balance.oct", code=0):
        return octet("act", "--policy", CASES / policy, *options, text=text, code=code)

    def test_numbers_are_apart_by_blanks_tabs_or_commas(self):
        done = self.act("0 0 0.1 0\n0\t0\t-0.1\t0\n0,0,1e-1,0\r\n  0, 0 ,-.1 0")
        self.assertEqual(done.stdout, "1\n0\n1\n0\n")
        self.assertEqual(done.stderr, "")

    def test_no_line_is_no_action(self):
        self.assertEqual(self.act("").stdout, "")

    def test_outputs_follow_the_action(self):
        action, *outputs = self.act("0 0 0.1 0\n", "--outputs").stdout.split()
        self.assertEqual(len(outputs), 2)
        self.assertEqual(action, "1")
        self.assertGreater(float(outputs[1]), float(outputs[0]))

    def test_box_actions_are_printed_exactly(self):
        done = self.act("1 2 3 4 5\n", "--outputs", policy="brain16.oct")
        self.assertEqual(len(done.stdout.split()), 3 + 3)
        for word in done.stdout.split():
            self.assertRegex(word, r"^-?\d[\d.e+-]*$")

    def test_bad_lines_are_named_and_end_it(self):
        for line, why in [("1 2 3", "line 2: 3 numbers; an observation of 'Test-v0' has 4"),
                          ("1 2 3 4 5", "line 2: 5 numbers"), ("", "line 2: 0 numbers"),
                          ("1 2 x 4", "line 2: number 3 is 'x', which is not a number"),
                          ("1 2 3 4x", "number 4 is '4x'"), ("1 nan 3 4", "number 2 is 'nan'"),
                          ("1 2 3 inf", "not a finite float"), ("1e39 2 3 4", "number 1 is '1e39'"),
                          ("1 2 \x1b[2J 4", "number 3 is '?[2J'"),
                          ("1 2 \0 3", "line 2: a zero byte")]:
            done = self.act(f"0 0 1 0\n{line}\n0 0 1 0\n", code=1)
            self.assertIn(why, done.stderr)
            self.assertEqual(done.stdout, "1\n", line)

    def test_a_line_without_end_is_refused(self):
        done = self.act("0 0 1 0\n" + " 0" * 100000, code=1)
        self.assertEqual(done.stdout, "1\n")
        self.assertIn("line 2: more than 1279 characters", done.stderr)

    def test_bytes_are_whole_numbers_from_0_to_255(self):
        good = " ".join(["0", "255"] * 25)
        self.assertRegex(self.act(good, policy="bytes8.oct").stdout, r"^\d\n$")
        for bad in ["256", "-1", "1.5"]:
            done = self.act(good.replace("255", bad, 1), policy="bytes8.oct", code=1)
            self.assertIn(f"line 1: number 2 is '{bad}'; allowed is a whole number from 0 to 255",
                          done.stderr)

    def test_each_line_is_answered_before_the_next_is_asked(self):
        with subprocess.Popen([OCTET, "act", "--policy", CASES / "balance.oct"], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            for theta in [0.1, -0.1, 0.2]:
                child.stdin.write(f"0 0 {theta} 0\n")
                child.stdin.flush()
                self.assertEqual(child.stdout.readline(), "1\n" if theta > 0 else "0\n")
            child.stdin.close()
            self.assertEqual(child.wait(timeout=LIMIT_S), 0)

    def test_a_reader_that_leaves_ends_it_quietly(self):
        with subprocess.Popen([OCTET, "act", "--policy", CASES / "balance.oct"], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            child.stdout.close()
            child.stdin.write("0 0 0 0\n")
            child.stdin.close()
            self.assertEqual(child.wait(timeout=LIMIT_S), 1)
            self.assertEqual(child.stderr.read(), "")

    def test_a_policy_that_cannot_be_loaded_is_said(self):
        self.assertIn("No such file", octet("act", "--policy", "none.oct", code=1).stderr)
        self.assertIn("name one", octet("act", code=2).stderr)


class Library(Case):
    """liboctet_policy.a needs libc, libm and threads, and no other library in any of its parts."""

    def test_the_example_balances_a_pole(self):
        subprocess.run(["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
                        f"-I{ROOT / 'include'}", ROOT / "examples/robot/act.c",
                        "-Wl,--whole-archive", LIBRARY, "-Wl,--no-whole-archive", "-lm", "-pthread",
                        "-o", self.home / "act"], check=True, timeout=LIMIT_S)
        done = subprocess.run([self.home / "act", CASES / "balance.oct"], capture_output=True,
                              text=True, check=True, timeout=LIMIT_S)
        self.assertIn("500 steps\n", done.stdout)
        done = subprocess.run([self.home / "act", CASES / "imported.oct"], capture_output=True,
                              text=True, check=True, timeout=LIMIT_S)
        self.assertRegex(done.stdout, "^an unknown environment, version 0, .*\n500 steps\n$")
        other = subprocess.run([self.home / "act", CASES / "bytes8.oct"], capture_output=True,
                               text=True, check=False, timeout=LIMIT_S)
        self.assertEqual(other.returncode, 1)
        self.assertIn("not for a pole", other.stderr)

    def test_its_global_symbols_are_the_functions_of_its_header(self):
        header = (ROOT / "include/octet/policy.h").read_text()
        declared = set(re.findall(r"^(?!typedef)[^\s*/].*?\b(octet_policy_\w+)\(", header, re.M))
        listed = subprocess.run(["nm", "-g", "--defined-only", LIBRARY], check=True, capture_output=True, text=True,
                                timeout=LIMIT_S).stdout
        self.assertEqual(set(re.findall(r"^[0-9a-f]+ \w (\w+)$", listed, re.M)), declared)

    def test_a_program_may_have_functions_of_the_same_names_as_those_inside(self):
        (self.home / "robot.c").write_text(
            "#include <stdio.h>\n#include <octet/policy.h>\n"
            "int policy_act(const float *o);\nint policy_act(const float *o) { (void)o; return 1; }\n"
            "int oct_crc32c(void);\nint oct_crc32c(void) { return 7; }\n"
            "int main(int argc, char **argv)\n{\n    char error[256];\n    octet_policy *policy;\n"
            "    float observation[4] = {0.0f, 0.0f, 0.1f, 0.0f};\n    int32_t action = -7;\n"
            "    if (argc != 2 || octet_policy_load(&policy, argv[1], error, sizeof(error)) != OCTET_POLICY_OK) {\n"
            "        return 1;\n    }\n"
            '    printf("%d ", octet_policy_act(policy, observation, &action));\n'
            '    printf("%d %d %d\\n", (int)action, policy_act(observation), oct_crc32c());\n'
            "    octet_policy_free(policy);\n    return 0;\n}\n")
        subprocess.run(["cc", "-std=c99", f"-I{ROOT / 'include'}", "robot.c", LIBRARY, "-lm", "-pthread", "-o", "robot"],
                       cwd=self.home, check=True, timeout=LIMIT_S)
        done = subprocess.run([self.home / "robot", CASES / "balance.oct"], capture_output=True, text=True, check=True,
                              timeout=LIMIT_S)
        self.assertEqual(done.stdout, "0 1 1 7\n")

    def test_pkg_config_finds_it_where_it_is_installed(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("pkg-config is not installed")
        made = LIBRARY.parents[1] / "meson-private/octet_policy.pc"

        def asked(*options):
            return subprocess.run(["pkg-config", f"--define-variable=prefix={self.home}", *options, made], check=True,
                                  capture_output=True, text=True, timeout=LIMIT_S).stdout.split()
        library, include = (pathlib.Path(asked(f"--variable={name}")[0]) for name in ["libdir", "includedir"])
        self.assertTrue(library.is_relative_to(self.home))
        library.mkdir(parents=True)
        shutil.copy(LIBRARY, library)
        shutil.copytree(ROOT / "include/octet", include / "octet")
        source = ROOT / "examples/robot/act.c"
        subprocess.run(["cc", "-std=c99", source, *asked("--cflags", "--libs"), "-o", self.home / "act"], check=True,
                       timeout=LIMIT_S)
        done = subprocess.run([self.home / "act", CASES / "balance.oct"], capture_output=True, text=True, check=True,
                              timeout=LIMIT_S)
        self.assertIn("500 steps\n", done.stdout)


if __name__ == "__main__":
    OCTET, LIBRARY, CASES, ROOT = (pathlib.Path(path).resolve() for path in sys.argv[1:5])
    unittests.main(sys.argv[:1] + sys.argv[5:])
