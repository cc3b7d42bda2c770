"""Every notebook: a question, annotated parameters, imports, short cells, no outputs."""

import ast
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted([*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("docs/examples/*.ipynb")])
# Lines of a cell: the one has many parameters, the other shows how others' data are brought.
LONGEST = {"02_review": 17, "kleister_nda": 22}
# What grows into a program; a cell that filters, groups and loops over a few names is none.
PROGRAM = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.While, ast.Try, ast.With, ast.Lambda,
)  # fmt: skip


@pytest.fixture(params=NOTEBOOKS, ids=lambda file: file.stem)
def cells(request):
    return nbformat.read(request.param, as_version=4).cells


def test_first_cell_asks_a_question_and_says_what_goes_in_and_out(cells):
    source = cells[0].source
    assert cells[0].cell_type == "markdown"
    assert re.match(r"# .+\?\n", source)
    assert "**In:**" in source
    assert "**Out:**" in source


def test_second_cell_holds_annotated_commented_literals(cells):
    assert cells[1].metadata.get("tags") == ["parameters"]
    lines = cells[1].source.splitlines()
    statements = ast.parse(cells[1].source).body
    assert statements
    for statement in statements:
        assert isinstance(statement, ast.AnnAssign)
        ast.literal_eval(statement.value)
        assert "  # " in lines[statement.end_lineno - 1]


def test_third_cell_and_no_other_imports(cells):
    code = [cell for cell in cells if cell.cell_type == "code"]
    imports = (ast.Import, ast.ImportFrom)
    assert all(isinstance(node, imports) for node in ast.parse(code[1].source).body)
    for cell in code[2:]:
        assert not any(isinstance(node, imports) for node in ast.walk(ast.parse(cell.source)))


def test_no_cell_is_a_program_or_holds_a_path_of_a_machine(cells, request):
    for cell in cells:
        if cell.cell_type == "code":
            assert not any(isinstance(node, PROGRAM) for node in ast.walk(ast.parse(cell.source)))
            assert len(cell.source.splitlines()) <= LONGEST.get(request.node.callspec.id, 15)
            assert not re.search(r"[\"']/(home|root|work|tmp|Users)\b", cell.source)


def test_prose_holds_no_typed_number(cells):
    for cell in cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"(?<![\w-])\d+(\.\d+)?\b(?!\s*[-–]?[A-Z])", cell.source), (
                cell.source
            )


def test_notebook_is_stripped_of_outputs(cells):
    for cell in cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
