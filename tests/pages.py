"""The project's pages as tests read them: their code blocks, headings and links."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")),)

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block; its first line is a comment that names a file."""

    page: Path
    language: str
    text: str

    @property
    def file(self) -> str:
        """`policy.toml` for a block that begins with `# policy.toml`."""
        return self.text.splitlines()[0].removeprefix("# ")


def pages() -> list[Path]:
    """Every page that people read."""
    return [*PAGES, *sorted(DOCS.glob("*.md"))]


def blocks(page: Path, language: str) -> list[Block]:
    """The blocks of one language on a page, in order."""
    found = _FENCE.findall(page.read_text(encoding="utf-8"))
    return [
        Block(page=page, language=language, text=text)
        for name, text in found
        if name == language
    ]


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """What a page links to, pictures included."""
    return [link for link in _LINK.findall(prose(page)) if "://" not in link]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    return {_anchor(heading) for heading in _HEADING.findall(prose(page))}


def row(page: Path, name: str) -> list[str]:
    """The cells of the table row that begins with `name`; AssertionError if none."""
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] == f"`{name}`":
            return cells
    raise AssertionError(f"{page.name} has no table row for {name}")


def _anchor(heading: str) -> str:
    words = re.sub(r"[`*_]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
