"""A web server on this machine that can be told to misbehave."""

import contextlib
import http.server
import json
import threading
import urllib.parse

BODY = json.dumps([{"asin": f"B{number:09d}"} for number in range(20_000)]).encode()


class Server(http.server.ThreadingHTTPServer):
    """Serves ``files`` by path; ``cuts`` are the bytes after which connections break, one each."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.cuts, self.ranges, self.queries = {}, [], [], []
        self.honours_ranges, self.tells_length = True, True

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        self.server.queries.append((path, dict(urllib.parse.parse_qsl(query))))
        self.server.ranges.append(self.headers.get("Range"))
        if path not in self.server.files:
            self.send_error(404)
            return
        kind, body = self.server.files[path]
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1]) if self.server.honours_ranges else 0
        if start >= len(body) > 0:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Type", kind)
        if self.server.tells_length:
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut = self.server.cuts.pop(0) if self.server.cuts else len(body)
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body[start : start + cut])

    def log_message(self, *args):
        pass


def offer(server, path="/f", body=BODY, kind="application/json"):
    """Serve a file; returns its address."""
    server.files[path] = (kind, body)
    return server.url + path


@contextlib.contextmanager
def running():
    """A server that answers until the end of the block."""
    with Server() as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()
