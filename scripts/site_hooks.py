"""Hooks of MkDocs: the references of operators and Python modules, notebooks as pages, and links
out of docs/.

The operators come from the library, so caffe2.python must be importable; the Python reference is
read from the sources.
"""

import ast
import collections
import json
import pathlib
import posixpath
import re
import textwrap

from mkdocs.structure.files import File

from caffe2.python import _import_c_extension as C
from caffe2.python._core.operator_help import operator_doc

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "caffe2" / "python"


# -- Operators -------------------------------------------------------------------------------------


def _families():
    """{family: [operator types]}; the family is the folder of the schema's source."""
    families = collections.defaultdict(list)
    for key in sorted(C.registered_operators()):
        schema = None if "_ENGINE_" in key else C.OpSchema.get(key)
        if schema is None or schema.private:
            continue
        folder = pathlib.PurePath(schema.file).parent
        is_operator = folder.parent.name == "operators"
        families[folder.name if is_operator else "other"].append(key)
    return families


def _escape(text):
    """Text as Markdown that shows it as it is, but for code in backticks."""
    parts = re.split(r"(`+[^`]+`+)", text)
    parts[::2] = [part.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
                  for part in parts[::2]]
    return "".join(parts)


def _operator_section(op_type):
    doc, *sections = operator_doc(op_type).split("\n\n")
    lines = [f"## {op_type}", "", _escape(doc), ""]
    for section in sections:
        title, *entries = re.sub(r"\n {6,}", " ", section).split("\n")
        lines += [_escape(title), ""]
        for entry in entries:
            name, _, text = entry.strip().partition(": ")
            lines.append(f"- `{name}`: {_escape(text)}")
        lines.append("")
    return "\n".join(lines)


def operator_pages():
    """{path: Markdown}: a page for each family of operators, and their index."""
    families = _families()
    index = ["# Operators", "",
             "The pages are made from the schemas, which `help(net.Conv)` shows, too.", "",
             "| family | operators |", "|---|---|"]
    pages = {}
    for family, operators in sorted(families.items()):
        links = ", ".join(f"[{name}]({family}.md#{name.lower()})" for name in operators)
        index.append(f"| [{family}]({family}.md) | {links} |")
        sections = "\n".join(map(_operator_section, operators))
        pages[f"operators/{family}.md"] = f"# Operators: {family}\n\n{sections}"
    return {"operators/index.md": "\n".join(index) + "\n", **pages}


# -- Python ----------------------------------------------------------------------------------------


def _summary(node):
    return _escape((ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " "))


def _section(paragraph):
    """A paragraph of a docstring as Markdown: "Args:" with its entries as a list, indented lines as
    code, or text."""
    title, *rest = paragraph.split("\n")
    if re.fullmatch(r"[A-Z]\w+:", title) and rest:
        entries = re.split(r"\n(?! )", textwrap.dedent("\n".join(rest)))
        items = []
        for entry in entries:
            text = re.sub(r"\n +", " ", entry)
            named = re.fullmatch(r"([\w*., ]+): (.*)", text)
            items.append(f"- `{named[1]}`: {_escape(named[2])}" if named else f"- {_escape(text)}")
        return "\n".join([title, "", *items])
    if paragraph.startswith("    "):
        return f"```python\n{textwrap.dedent(paragraph)}\n```"
    return _escape(paragraph)


def _details(node):
    """The docstring after its summary, as Markdown."""
    paragraphs = (ast.get_docstring(node) or "").split("\n\n")[1:]
    return "\n\n".join(map(_section, paragraphs))


def _item(function):
    """The list item of a function: its signature and docstring."""
    details = textwrap.indent(_details(function), "    ")
    item = f"- {_signature(function)}: {_summary(function)}"
    return f"{item}\n\n{details}\n" if details else item


def _signature(function):
    arguments = ast.unparse(function.args)
    arguments = re.sub(r"^(self|cls)(, )?", "", arguments)
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"`{function.name}({arguments}){result}`"


def _public(nodes, kind):
    return [node for node in nodes if isinstance(node, kind) and not node.name.startswith("_")]


def _module_page(name, module):
    paragraphs = (ast.get_docstring(module) or "").split("\n\n")
    lines = [f"# {name}", "", "\n\n".join(map(_section, paragraphs)), ""]
    for function in _public(module.body, ast.FunctionDef):
        lines.append(_item(function))
    for cls in _public(module.body, ast.ClassDef):
        lines += ["", f"## {cls.name}", "", _summary(cls), "", _details(cls), ""]
        lines += map(_item, _public(cls.body, ast.FunctionDef))
    return "\n".join(lines) + "\n"


def module_pages():
    """{path: Markdown}: a page for each public module of caffe2.python, and their index."""
    index = ["# Python modules", "", "| module | what it holds |", "|---|---|"]
    pages = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if any(part.startswith("_") for part in parts):
            continue
        name = ".".join(parts)
        module = ast.parse(path.read_text())
        index.append(f"| [{name}]({name}.md) | {_summary(module)} |")
        pages[f"api/{name}.md"] = _module_page(f"caffe2.python.{name}", module)
    return {"api/index.md": "\n".join(index) + "\n", **pages}


# -- Notebooks -------------------------------------------------------------------------------------


def _cell_text(cell):
    source = "".join(cell["source"])
    return source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"


def notebook_pages():
    """{path: Markdown}: a page for each notebook, which is kept without outputs."""
    return {f"notebooks/{path.stem}.md":
            "\n\n".join(map(_cell_text, json.loads(path.read_text())["cells"])) + "\n"
            for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))}


# -- MkDocs ----------------------------------------------------------------------------------------


def on_files(files, config):
    """Adds the pages that are made from the library, the sources and the notebooks."""
    for path, text in {**operator_pages(), **module_pages(), **notebook_pages()}.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Writes links to files outside of docs/ as text: a site has no source tree. Links to notebooks
    lead to their pages. Raises ValueError for a link to a file that does not exist."""
    folder = posixpath.dirname(page.file.src_uri)

    def replace(match):
        text, target = match[1], match[2].split("#")[0]
        path = posixpath.normpath(posixpath.join("docs", folder, target))
        if path.startswith("docs/"):
            return match[0]
        if not (ROOT / path).exists():
            raise ValueError(f"{page.file.src_uri}: no file {path}")
        return f"{text} (`{path}`)"

    markdown = re.sub(r"\((notebooks/\w+)\.ipynb\)", r"(\1.md)", markdown)
    return re.sub(r"\[([^\]]+)\]\((\.\.?/[^)]+)\)", replace, markdown)
