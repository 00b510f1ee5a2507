# SPDX-License-Identifier: BSD-3-Clause
"""Finds the single changes that can be made to a C file.

libclang parses the file, and every change belongs to a node of its syntax tree. A change is
a range of bytes and the text that replaces the range:

    if (n < limit && open)          relation    n <= limit      n >= limit
                                    condition   if (n < limit)  if (open)
    done += (uint64_t)n * size;     assignment  done -= ...
                                    cast        n * size
                                    arithmetic  (uint64_t)n / size
                                    deletion    ;

Some code is never changed: declarations of types, the size of an array, _Static_assert,
literal strings and characters, comments, and everything that comes out of a macro. The last
rule covers assert() with its arguments. (`true` and `false` are macros too, but they count
as constants.)

A replacement has as many lines as the text that it replaces. So __LINE__ stays the same in
the rest of the file, and an unchanged program gives an unchanged object file.
"""

import json
import os
import re
import shlex
from typing import Any, Iterator

import clang.cindex as cindex  # type: ignore

from .change import Change, made

Cursor = Any  # the Python binding of libclang has no types
Kind = cindex.CursorKind

RELATIONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
             "==": ("!=",), "!=": ("==",)}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<",
              "&": "|", "|": "&", "^": "|"}
ASSIGNMENTS = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=",
               "^=": "|=", "<<=": ">>=", ">>=": "<<=", "%=": "/="}
STEPS = {"++": "--", "--": "++"}
BOOLEANS = {"true": "false", "false": "true"}
ORDERED = ("-", "/", "%", "<<", ">>")  # the operands of the others may be swapped freely
OPERATORS = ("relation", "constant", "deletion", "operands", "neighbours", "condition", "step",
             "assignment", "arithmetic", "negation", "cast")

JUMPS = (Kind.RETURN_STMT, Kind.BREAK_STMT, Kind.CONTINUE_STMT, Kind.GOTO_STMT)
BRANCHES = (Kind.IF_STMT, Kind.FOR_STMT, Kind.WHILE_STMT, Kind.DO_STMT)
LABELS = (Kind.CASE_STMT, Kind.DEFAULT_STMT, Kind.LABEL_STMT)
DELETED_LINES = 6  # a longer statement is left alone: every test would miss it
WIDE = {cindex.TypeKind.LONG, cindex.TypeKind.ULONG, cindex.TypeKind.LONGLONG,
        cindex.TypeKind.ULONGLONG, cindex.TypeKind.INT128, cindex.TypeKind.UINT128}
DECIMAL = re.compile(rb"0|[1-9][0-9]*")
COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.S)


class ParseError(Exception):
    """A file that libclang cannot parse with the flags of the build."""


class _Finder:
    """Walks through one syntax tree and collects the changes."""

    def __init__(self, file: str, text: bytes, unit: Cursor) -> None:
        self.file = file
        self.text = text
        self.changes: list[Change] = []
        self.macros: list[tuple[int, int]] = []
        self.bodies: set[tuple[int, int]] = set()  # of functions
        self.blocks: list[tuple[int, int]] = []  # that begin with what runs first
        self.switched: set[tuple[int, int]] = set()  # bodies of switch
        booleans: list[tuple[int, int]] = []
        code: list[tuple[int, int]] = []  # where there is anything to change
        top = [c for c in unit.cursor.get_children()
               if c.location.file is not None and c.location.file.name == unit.spelling]
        for c in top:
            if c.kind == Kind.MACRO_INSTANTIATION:
                (booleans if c.spelling in BOOLEANS else self.macros).append(self.range(c))
        for c in top:
            for part in self.parts(c):
                code.append(self.range(part))
                self.visit(part)
        for start, end in booleans:
            if any(a <= start and end <= b for a, b in code) and not self.in_macro(start, end):
                self.add("constant", start, end, BOOLEANS[text[start:end].decode()].encode())

    @staticmethod
    def range(c: Cursor) -> tuple[int, int]:
        return c.extent.start.offset, c.extent.end.offset

    def source(self, c: Cursor) -> bytes:
        start, end = self.range(c)
        return self.text[start:end]

    def in_macro(self, start: int, end: int) -> bool:
        return any(a <= start and end <= b for a, b in self.macros)

    def parts(self, c: Cursor) -> Iterator[Cursor]:
        """What can change in a declaration: bodies of functions, initial and enum values."""
        if c.kind == Kind.FUNCTION_DECL:
            for x in c.get_children():
                if x.kind == Kind.COMPOUND_STMT:
                    self.bodies.add(self.range(x))
                    yield x
        elif c.kind == Kind.VAR_DECL:
            for x in c.get_children():
                between = self.text[c.location.offset:x.extent.start.offset]
                if between.rstrip().endswith(b"="):
                    yield x
        elif c.kind == Kind.ENUM_DECL:
            for constant in c.get_children():
                yield from constant.get_children()

    def add(self, operator: str, start: int, end: int, new: bytes) -> None:
        old = self.text[start:end]
        new += b"\n" * (old.count(b"\n") - new.count(b"\n"))
        self.changes.append(made(self.file, operator, self.text, start, end, new,
                                 self.place(start, end)))

    def place(self, start: int, end: int) -> int:
        """Where the innermost block around a range begins."""
        return max((a + 1 for a, b in self.blocks if a < start and end < b), default=-1)

    def visit(self, c: Cursor) -> None:
        start, end = self.range(c)
        if self.in_macro(start, end) or c.kind == Kind.STATIC_ASSERT:
            return
        if c.kind == Kind.DECL_STMT:
            for declaration in c.get_children():
                for part in self.parts(declaration):
                    self.visit(part)
            return
        if c.kind == Kind.CXX_UNARY_EXPR:  # sizeof
            return
        children = list(c.get_children())
        if c.kind == Kind.SWITCH_STMT:
            self.switched.add(self.range(children[-1]))  # its first statement is after a label
        elif c.kind == Kind.COMPOUND_STMT and self.range(c) not in self.switched:
            self.blocks.append(self.range(c))
        handler = getattr(self, "visit_" + c.kind.name.lower(), None)
        if handler is not None:
            handler(c, children)
        for child in children:
            self.visit(child)

    def between(self, left: Cursor, right: Cursor) -> tuple[str, int]:
        """The operator between two operands, and where it starts."""
        a, b = left.extent.end.offset, right.extent.start.offset
        gap = COMMENT.sub(lambda m: b" " * len(m.group()), self.text[a:b])
        return gap.strip().decode(), a + len(gap) - len(gap.lstrip())

    def visit_binary_operator(self, c: Cursor, children: list[Cursor]) -> None:
        left, right = children
        sign, at = self.between(left, right)
        start, end = self.range(c)
        for other in RELATIONS.get(sign, ()):
            self.add("relation", at, at + len(sign), other.encode())
        if sign in ARITHMETIC:
            self.add("arithmetic", at, at + len(sign), ARITHMETIC[sign].encode())
        if sign in ORDERED:
            self.swap("operands", self.range(left), self.range(right))
        if sign in ("&&", "||"):
            self.add("condition", start, end, self.source(left))
            self.add("condition", start, end, self.source(right))

    def visit_compound_assignment_operator(self, _: Cursor, children: list[Cursor]) -> None:
        sign, at = self.between(*children)
        if sign in ASSIGNMENTS:
            self.add("assignment", at, at + len(sign), ASSIGNMENTS[sign].encode())

    def visit_unary_operator(self, c: Cursor, _: list[Cursor]) -> None:
        start, end = self.range(c)
        for at in (start, end - 2):
            sign = self.text[at:at + 2].decode()
            if sign in STEPS:
                self.add("step", at, at + 2, STEPS[sign].encode())
                return

    def visit_integer_literal(self, c: Cursor, _: list[Cursor]) -> None:
        start, end = self.range(c)
        literal = self.text[start:end]
        if not literal[:1].isdigit():
            return
        plain = DECIMAL.fullmatch(literal) is not None
        more = b"%d" % (int(literal) + 1) if plain else b"(%s + 1)" % literal
        self.add("constant", start, end, more)
        if literal.rstrip(b"uUlL") not in (b"0", b"0x0"):
            less = b"%d" % (int(literal) - 1) if plain else b"(%s - 1)" % literal
            self.add("constant", start, end, less)

    def visit_cstyle_cast_expr(self, c: Cursor, children: list[Cursor]) -> None:
        inner = children[-1]
        if c.type.get_canonical().kind in WIDE and 0 < inner.type.get_size() < c.type.get_size():
            start, end = self.range(c)
            self.add("cast", start, end, self.source(inner))

    def visit_call_expr(self, c: Cursor, _: list[Cursor]) -> None:
        arguments = list(c.get_arguments())
        for a, b in zip(arguments, arguments[1:]):
            if a.type.get_canonical().spelling == b.type.get_canonical().spelling:
                self.swap("operands", self.range(a), self.range(b))

    def visit_if_stmt(self, _: Cursor, children: list[Cursor]) -> None:
        self.negate(children[0])
        self.delete(children[1:])

    def visit_while_stmt(self, _: Cursor, children: list[Cursor]) -> None:
        self.negate(children[0])
        self.delete(children[-1:])

    def visit_do_stmt(self, _: Cursor, children: list[Cursor]) -> None:
        self.negate(children[-1])
        self.delete(children[:1])

    def visit_for_stmt(self, _: Cursor, children: list[Cursor]) -> None:
        self.delete(children[-1:])

    def visit_case_stmt(self, _: Cursor, children: list[Cursor]) -> None:
        self.delete(children[-1:])

    visit_default_stmt = visit_case_stmt
    visit_label_stmt = visit_case_stmt

    def visit_conditional_operator(self, _: Cursor, children: list[Cursor]) -> None:
        self.negate(children[0])

    def visit_compound_stmt(self, c: Cursor, children: list[Cursor]) -> None:
        ends_function = self.range(c) in self.bodies and children
        if ends_function and children[-1].kind == Kind.RETURN_STMT:
            self.delete(children[:-1])  # without its last return a function has no meaning
        else:
            self.delete(children)
        for a, b in zip(children, children[1:]):
            if self.can_move(a) and self.can_move(b):
                self.swap("neighbours", self.statement(a), self.statement(b))

    def swap(self, operator: str, a: tuple[int, int], b: tuple[int, int]) -> None:
        first, second = self.text[a[0]:a[1]], self.text[b[0]:b[1]]
        if first != second and a[1] <= b[0]:
            self.add(operator, a[0], b[1], second + self.text[a[1]:b[0]] + first)

    def negate(self, c: Cursor) -> None:
        """A condition becomes its opposite, unless `relation` has that change already."""
        start, end = self.range(c)
        if self.in_macro(start, end) or c.kind == Kind.INTEGER_LITERAL:
            return
        if c.kind == Kind.UNARY_OPERATOR and self.text[start:start + 1] == b"!":
            self.add("negation", start, start + 1, b"")
            return
        if c.kind == Kind.BINARY_OPERATOR:
            if self.between(*c.get_children())[0] in RELATIONS:
                return
        self.add("negation", start, end, b"!(%s)" % self.source(c))

    def is_action(self, c: Cursor) -> bool:
        """An expression that is a statement of its own."""
        if c.kind == Kind.BINARY_OPERATOR:
            return self.between(*c.get_children())[0] == "="
        if c.kind == Kind.UNARY_OPERATOR:
            return bool({self.source(c)[:2], self.source(c)[-2:]} & {b"++", b"--"})
        return c.kind in (Kind.CALL_EXPR, Kind.COMPOUND_ASSIGNMENT_OPERATOR)

    def can_move(self, c: Cursor) -> bool:
        if self.in_macro(*self.range(c)):
            return False
        short = self.source(c).count(b"\n") < DELETED_LINES
        return self.is_action(c) or (c.kind in BRANCHES and short)

    def statement(self, c: Cursor) -> tuple[int, int]:
        """The range of a statement with its semicolon; libclang leaves the semicolon out."""
        start, end = self.range(c)
        tail = COMMENT.sub(lambda m: b" " * len(m.group()), self.text[end:end + 200])
        blank = len(tail) - len(tail.lstrip())
        if tail[blank:blank + 1] == b";":
            end += blank + 1
        return start, end

    def delete(self, statements: list[Cursor]) -> None:
        for c in statements:
            if self.can_move(c) or c.kind in JUMPS:
                self.add("deletion", *self.statement(c), b";")


class Parser:
    """Finds the changes of the files that a build directory compiles."""

    def __init__(self, top: str, build: str) -> None:
        self.top = top
        self.index = cindex.Index.create()
        self.flags: dict[str, list[str]] = {}
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
            for entry in json.load(f):
                path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
                file = os.path.relpath(path, os.path.realpath(top))
                self.flags.setdefault(file, _flags(entry))

    @property
    def files(self) -> list[str]:
        """The files that can change."""
        return [f for f in self.flags if f.endswith(".c")]

    def read(self, file: str) -> bytes:
        with open(os.path.join(self.top, file), "rb") as f:
            return f.read()

    def parse(self, file: str, text: bytes) -> Cursor:
        path = os.path.join(self.top, file)
        return self.index.parse(path, args=self.flags[file],
                                unsaved_files=[(path, text.decode())],
                                options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)

    def changes(self, file: str) -> list[Change]:
        """Every change of one file, in a fixed order."""
        text = self.read(file)
        tree = self.parse(file, text)
        for d in tree.diagnostics:
            if d.severity >= cindex.Diagnostic.Error:
                raise ParseError(f"{file}: libclang cannot parse the file: {d}")
        found = _Finder(file, text, tree).changes
        return sorted(set(found), key=lambda c: (c.start, c.end, c.operator, c.new))

    def compiles(self, change: Change) -> bool:
        tree = self.parse(change.file, change.apply(self.read(change.file)))
        return not any(d.severity >= cindex.Diagnostic.Error for d in tree.diagnostics)


def _flags(entry: dict[str, str]) -> list[str]:
    """Include folders, definitions and the standard, with absolute paths."""
    flags = []
    words = shlex.split(entry["command"])
    for word, following in zip(words, words[1:] + [""]):
        if word.startswith("-I") and len(word) > 2:
            flags.append("-I" + os.path.join(entry["directory"], word[2:]))
        elif word.startswith(("-D", "-std=")):
            flags.append(word)
        elif word == "-isystem":
            flags += [word, os.path.join(entry["directory"], following)]
    return flags
