"""Completes the metadata in `pyproject.toml`: the README as an index shows it, and addresses."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[((?:!\[[^\]]*\]\([^)]*\)|[^\[\]])*)\]\(([^)\s]+)\)")
IMAGE_TAG = re.compile(r"""<(?:img|source)\b[^>]*?\b(?:src|srcset)=["']([^"']+)["'][^>]*>""")


def index_page(text: str, repository: str) -> str:
    """Returns Markdown whose links need no files next to it.

    Args:
        text: the README.
        repository: the address of the repository, to which the links lead; without one, the words of
            links are kept, and pictures are left out.
    """

    def picture(match: re.Match[str]) -> str:
        target = match[match.lastindex or 0]
        if "://" in target:
            return match[0]
        return match[0].replace(target, f"{repository}/raw/HEAD/{target}") if repository else ""

    def link(match: re.Match[str]) -> str:
        words, target = match.groups()
        if "://" in target:
            return match[0]
        page = f"README.md{target}" if target.startswith("#") else target
        return f"[{words}]({repository}/blob/HEAD/{page})" if repository else words

    def prose(part: str) -> str:
        return LINK.sub(link, IMAGE_TAG.sub(picture, IMAGE.sub(picture, part)))

    # Every second part is a block of code.
    parts = FENCED.split(text)
    return "".join(part if i % 2 else prose(part) for i, part in enumerate(parts))


def addresses(repository: str) -> dict[str, str]:
    """Returns the project's addresses by their names on an index, for the address of its repository."""
    if not repository:
        return {}
    return {
        "Repository": repository,
        "Documentation": f"{repository}/blob/HEAD/README.md",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


if __name__ == "__main__":
    from setuptools import setup  # Tests read this file where there may be no setuptools.

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    address = settings["tool"]["tfkit"]["repository"].rstrip("/")
    setup(
        long_description=index_page((ROOT / "README.md").read_text(encoding="utf-8"), address),
        long_description_content_type="text/markdown",
        project_urls=addresses(address),
    )
