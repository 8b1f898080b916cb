"""Everything that the documents show is run: Python blocks in Markdown, and the examples in docstrings."""

from sybil import Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser

pytest_collect_file = (
    Sybil(parsers=[PythonCodeBlockParser()], patterns=["*.md"], excludes=["CHANGELOG.md"])
    + Sybil(parsers=[DocTestParser()], path="src", patterns=["*.py"], document_types={".py": PythonDocStringDocument})
).pytest()
