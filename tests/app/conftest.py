import http.client
import json
import re
import threading
import time

import pytest

from latentia.app import Faces
from latentia.app.server import make_server
from latentia.cli.app import _column_options, _describe, _documents
from latentia.cli.commands import COMMANDS, render_error


class Client:
    def __init__(self, folder):
        self.folder = folder
        self.server, self.listener, address = make_server(
            folder, Faces(tuple(COMMANDS), _describe, render_error, _column_options, _documents)
        )
        self.address = address
        self.port, self.token = self.listener.getsockname()[1], address.partition("token=")[2]
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        status, headers, _ = self.raw("GET", f"/?token={self.token}")
        assert status == 303
        self.base, self.cookie = headers["location"].rstrip("/"), headers["set-cookie"].partition(";")[0]
        assert "HttpOnly" in headers["set-cookie"]
        self.header = re.search('name="latentia" content="(.*?)"', self.get("/")[2])[1]

    def raw(self, method, path, body=None, headers=()):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, text

    def get(self, path, **headers):
        return self.raw("GET", self.base + path, headers={"Cookie": self.cookie, **headers})

    def wait(self, name):
        """Wait for the end of a job; return its last state."""
        while (state := json.loads(self.get(f"/results/{name}/state")[2]))["state"] == "running":
            time.sleep(0.2)
        return state

    def send(self, method, path, body=b"", **headers):
        common = {"Cookie": self.cookie, "Origin": f"http://127.0.0.1:{self.port}", "X-Latentia": self.header}
        return self.raw(method, self.base + path, body, common | headers)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    client = Client(tmp_path_factory.mktemp("app") / "workspace")
    yield client
    client.server.should_exit = True
    client.thread.join(10)
