"""Everything that the documents show is run: Python blocks in Markdown, and the examples in docstrings."""

from sybil import Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser
from sybil.sybil import SybilCollection

_CODE = {"patterns": ["*.py"], "document_types": {".py": PythonDocStringDocument}}

pytest_collect_file = SybilCollection(
    (
        Sybil(parsers=[PythonCodeBlockParser()], patterns=["*.md"], excludes=["CHANGELOG.md"]),
        Sybil(parsers=[DocTestParser()], path="src", **_CODE),
        Sybil(parsers=[DocTestParser()], path="lab", **_CODE),
    )
).pytest()
