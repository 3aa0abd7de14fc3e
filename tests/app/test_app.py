"""The app over HTTP: from a file to a result, with the bits of the command, and what it refuses."""

import http.client
import json
import re
import threading
import time
from urllib.parse import urlencode

import numpy as np
import pytest
from shell import latentia as run_command

import latentia

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

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

    def send(self, method, path, body=b"", **headers):
        common = {"Cookie": self.cookie, "Origin": f"http://127.0.0.1:{self.port}", "X-Latentia": self.header}
        return self.raw(method, self.base + path, body, common | headers)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    client = Client(tmp_path_factory.mktemp("app") / "workspace")
    yield client
    client.server.should_exit = True
    client.thread.join(10)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 3)) + 6 * rng.integers(2, size=(120, 1))
    return "a,b,c\n" + "".join(",".join(f"{cell:.4f}" for cell in row) + "\n" for row in rows)


def test_from_a_file_to_the_result_of_the_command(client, table, tmp_path):
    status, _, text = client.send("PUT", "/files/groups.csv", table.encode())
    assert status == 200
    assert json.loads(text)["location"].endswith("/file/groups.csv")
    assert "Which groups do the rows form?" in client.get("/file/groups.csv")[2]
    assert 'name="from" value="2"' in client.get("/ask/mixture/groups.csv")[2]
    fields = urlencode({"from": "2", "to": "3", "out": "groups"})
    same = json.loads(client.send("POST", "/ask/mixture/groups.csv?preview=1", fields)[2])
    assert same["shell"] == "latentia mixture groups.csv -k 2:3 --out groups"
    assert client.send("POST", "/ask/mixture/groups.csv", fields)[0] == 200
    while (state := json.loads(client.get("/results/groups/state")[2]))["state"] == "running":
        time.sleep(0.2)
    assert state["state"] == "done", state
    assert 'sandbox="allow-scripts allow-downloads"' in client.get("/results/groups")[2]
    assert "sandbox" in client.get("/results/groups/report")[1]["content-security-policy"]
    assert client.get("/results/groups/zip")[1]["content-type"] == "application/zip"
    (tmp_path / "groups.csv").write_text(table)
    assert (
        run_command("mixture", tmp_path / "groups.csv", "-k", "2:3", "--out", tmp_path / "o", "--quiet").returncode == 0
    )
    ours, theirs = (latentia.load(folder / "model.npz") for folder in (client.folder / "groups", tmp_path / "o"))
    assert ours.means_.tobytes() == theirs.means_.tobytes()


def test_hostile_requests_get_nothing(client, tmp_path):
    outside = client.folder.parent / "secret.csv"
    outside.write_text("secret,words\n1,2\n")
    (client.folder / "link.csv").symlink_to(outside)
    (client.folder / "linked").symlink_to(client.folder.parent)
    names = ["../secret.csv", "..%2fsecret.csv", "%2e%2e/secret.csv", "link.csv", "linked/secret.csv", "/etc/passwd", "..%5csecret.csv",  # noqa: E501
             "%00", ".latentia-app", "a/../../secret.csv", "<script>alert(1)</script>", "%22%3E%3Cscript%3E"]  # fmt: skip
    places = ["/file/{}", "/ask/mixture/{}", "/results/{}", "/results/{}/report", "/results/{}/zip", "/results/{}/state",
              "/results/linked/files/{}", "/static/{}"]  # fmt: skip
    foreign = [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Cookie": "latentia=x"}, {"Sec-Fetch-Site": "cross-site"},  # noqa: E501
               {"Origin": f"http://127.0.0.1:{client.port + 1}"}]  # fmt: skip
    answers = [client.get(place.format(name)) for place in places for name in names]
    refused = [client.get(place.format("groups"), **headers) for place in places for headers in foreign]
    for headers in [*foreign, {"X-Latentia": "x"}, {"X-Latentia": ""}]:
        refused += [client.send(method, place.format(name), b"x", **headers) for method, place, name in
                    [("POST", "/ask/mixture/{}", "x"), ("PUT", "/files/{}", "y.csv"), ("POST", "/results/{}", "x")] * 5]  # fmt: skip  # noqa: E501
    refused += [
        client.raw("GET", path) for path in ("/", "/?token=x", client.base, f"{client.base}/", "/file/x", "/x") * 5
    ]
    answers += [client.send(method, "/file/x") for method in ("POST", "DELETE", "PATCH", "OPTIONS", "TRACE")]
    answers += [client.send("POST", "/results/x", b"x" * (1 << 19)), client.send("PUT", "/files/..%2f..%2fx.csv", b"a")]
    assert len(answers) + len(refused) >= 250
    assert {status for status, _, _ in refused} == {403}
    for _, headers, text in answers + refused:
        assert "secret,words" not in text
        assert "root:" not in text
        assert "Traceback" not in text
        assert "<script>" not in text
        assert "default-src 'none'" in headers.get("content-security-policy", "default-src 'none'")
    assert not (client.folder / "y.csv").exists()
    assert sorted(path.name for path in client.folder.parent.iterdir()) == ["secret.csv", "workspace"]


def test_modules_are_not_loaded_from_uploads(client, table):
    client.send("PUT", "/files/rich.py", b"raise SystemExit('loaded from the folder')")
    client.send("PUT", "/files/second.csv", table.encode())
    client.send("POST", "/ask/mixture/second.csv", urlencode({"from": "2", "out": "second"}))
    while (state := json.loads(client.get("/results/second/state")[2]))["state"] == "running":
        time.sleep(0.2)
    assert state["state"] == "done", state
