#!/usr/bin/env python3
"""Translates the functions of policy_curves.h or nn_slopes.h to SIMD, or to the nodes of an ONNX graph.

usage: curves.py simd|onnx OUT.h CURVES.h

simd: policy_NAME and nn_NAME become v_NAME over the names of policy_simd_*.h. onnx: they become curve_NAME, which adds nodes
by op1, op2 and op3 of export_onnx.c and returns the name of the result. The functions above the line "// ---- exponentials"
of policy_curves.h are primitives, which both forms have by hand. That header says which C the functions may use; anything
else ends with its line.
"""

import pathlib
import re
import sys

TOKEN = re.compile(r"\s*(0x[\w.]+[+-]\w+|\d[\w.]*|\w+|[-+*/()<>?:=,;{}])")
TYPES = ("float", "int32_t")
PREFIX = re.compile(r"^(policy|nn)_")


class Text:
    """The tokens of one function, read from left to right."""

    def __init__(self, text):
        self.tokens, at = [], 0
        text = re.sub(r"//.*", "", text).strip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                sys.exit(f"curves.py: cannot be read: {text[at:at + 60]}")
            self.tokens.append(match[1])
            at = match.end()

    def next(self, *expected):
        token = self.tokens.pop(0)
        if expected and token not in expected:
            sys.exit(f"curves.py: {token!r} where {' or '.join(expected)} is expected, before: {' '.join(self.tokens[:12])}")
        return token

    def has(self, token):
        return self.tokens[:1] == [token]


class Simd:
    types = {"float": "vfloat", "int32_t": "vint"}
    name = "v_{}".format
    first = ""
    operators = {"+": "v_add", "-": "v_sub", "*": "v_mul", "/": "v_div", "max": "v_max", "min": "v_min"}

    def number(self, text):
        return f"v_set({text})"

    def operation(self, operator, a, b):
        return f"{self.operators[operator]}({a}, {b})"

    def negation(self, a):
        return f"v_negative({a})"

    def cast(self, a):
        return f"v_float({a})"

    def choice(self, a, b, if_greater, otherwise):
        return f"v_if_greater({a}, {b}, {if_greater}, {otherwise})"


class Onnx(Simd):
    types = {"float": "const char *", "int32_t": "const char *"}
    name = "curve_{}".format
    first = "const onnx *o"
    operators = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "max": "Max", "min": "Min"}

    def number(self, text):
        return f"constant(o, {text})"

    def operation(self, operator, a, b):
        return f'op2(o, "{self.operators[operator]}", {a}, {b})'

    def negation(self, a):
        return f'op1(o, "Neg", {a})'

    def cast(self, a):
        return a  # integers are tensors of floats there

    def choice(self, a, b, if_greater, otherwise):
        return f'op3(o, "Where", op2(o, "Greater", {a}, {b}), {if_greater}, {otherwise})'


class Translator:
    def __init__(self, form):
        self.form = form

    def declared(self, kind, name):
        kind = self.form.types[kind]
        return kind + name if kind.endswith("*") else f"{kind} {name}"

    def call(self, name, arguments):
        first = ["o"] if self.form.first else []
        return f"{self.form.name(PREFIX.sub('', name))}({', '.join(first + arguments)})"

    def factor(self, text):
        token = text.next()
        if token == "(":
            if text.tokens[:2] == ["float", ")"]:
                del text.tokens[:2]
                return self.form.cast(self.factor(text))
            inner = self.expression(text)
            text.next(")")
            return inner
        if token == "-":
            if re.match(r"\d", text.tokens[0]):
                return self.form.number("-" + text.next())
            return self.form.negation(self.factor(text))
        if text.has("("):
            text.next()
            arguments = [self.expression(text)]
            while text.next(",", ")") == ",":
                arguments.append(self.expression(text))
            return self.call(token, arguments)
        return self.form.number(token) if re.match(r"\d|POLICY_|NN_", token) else token

    def chain(self, text, operators, operand):
        left = operand(text)
        while text.tokens[0] in operators:
            left = self.form.operation(text.next(), left, operand(text))
        return left

    def sum(self, text):
        return self.chain(text, "+-", lambda inner: self.chain(inner, "*/", self.factor))

    def expression(self, text):
        a = self.sum(text)
        if text.tokens[0] not in "<>":
            return a
        comparison, b = text.next(), self.sum(text)
        text.next("?")
        yes = self.sum(text)
        text.next(":")
        no = self.sum(text)
        if (yes, no) == (a, b):
            return self.form.operation("max" if comparison == ">" else "min", a, b)
        return self.form.choice(*((a, b) if comparison == ">" else (b, a)), yes, no)

    def statement(self, text):
        if text.has("return"):
            start = text.next() + " "
        else:
            kind = text.next() if text.tokens[0] in TYPES else None
            name = text.next()
            start = (self.declared(kind, name) if kind else name) + " = "
            text.next("=")
        line = f"    {start}{self.expression(text)};"
        text.next(";")
        return line

    def function(self, text):
        kind, name = text.next(*TYPES), text.next()
        text.next("(")
        parameters = [self.form.first] if self.form.first else []
        while True:
            parameters.append(self.declared(text.next(*TYPES), text.next()))
            if text.next(",", ")") == ")":
                break
        text.next("{")
        body = []
        while not text.has("}"):
            body.append(self.statement(text))
        head = self.declared(kind, "").rstrip()
        if self.form.first and not any("(o," in line for line in body):
            body.insert(0, "    (void)o;")
        own = self.form.name(PREFIX.sub("", name))
        return "\n".join([f"static inline {head}", f"{own}({', '.join(parameters)})", "{", *body, "}"])


def main(form, out, source):
    text = pathlib.Path(source).read_text(encoding="utf-8")
    curves = text.partition("// ---- exponentials")[2] or text
    translator = Translator({"simd": Simd, "onnx": Onnx}[form]())
    functions = re.findall(r"^static inline (.*?^\})", curves, re.DOTALL | re.MULTILINE)
    lines = [f"// Made by curves.py of {pathlib.Path(source).name}."]
    lines += [translator.function(Text(function)) for function in functions]
    pathlib.Path(out).write_text("\n\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
