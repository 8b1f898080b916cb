"""Models that are not there: they answer at once, in the wire format of chat completions, and one is always down.

python fake_models.py 8100
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DOWN = "down"


class Model(BaseHTTPRequestHandler):
    """Every model at one address."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a chat completion."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        model = asked["model"]
        if model == DOWN:
            self._answer(503, {"error": {"message": f"{DOWN} is down"}})
            return
        said = {"role": "assistant", "content": f"{model} has read: {asked['messages'][-1]['content']}"}
        usage = {"prompt_tokens": 8, "completion_tokens": 8, "total_tokens": 16}
        choices = [{"index": 0, "message": said, "finish_reason": "stop"}]
        answer = {"id": "fake", "object": "chat.completion", "created": 0, "model": model, "choices": choices}
        self._answer(200, {**answer, "usage": usage})

    def _answer(self, code: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
