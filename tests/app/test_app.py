"""The app over HTTP: from a file to a result, with the bits of the command and of the Python, and what it refuses."""

import json
import os
import shlex
import socket
from urllib.parse import urlencode

import numpy as np
import pytest
from shell import latentia as run_command

import latentia
from latentia.app.server import make_server
from latentia.reading import ColumnOptions, look_at


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 3)) + 6 * rng.integers(2, size=(120, 1))
    return "a,b,c\n" + "".join(",".join(f"{cell:.4f}" for cell in row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(1)
    words = np.array([f"{topic}{i}" for topic in ("sea", "sky", "war", "law") for i in range(30)]).reshape(4, 30)
    groups = rng.integers(4, size=200)
    lines = [" ".join(rng.choice(words[(k + (rng.random() < 0.1)) % 4], 40)) for k in groups]
    return "text,party\n" + "".join(
        f"{line},{'left' if k % 2 else 'right'}\n" for line, k in zip(lines, groups, strict=True)
    )


def preview(client, path, fields):
    return json.loads(client.send("POST", f"{path}?preview=1", fields)[2])


def test_from_a_file_to_a_result(client, table):
    status, _, text = client.send("PUT", "/files/groups.csv", table.encode())
    assert status == 200
    assert json.loads(text)["location"].endswith("/file/groups.csv")
    assert "Which groups do the rows form?" in client.get("/file/groups.csv")[2]
    assert 'name="from" value="2"' in client.get("/ask/mixture/groups.csv")[2]
    one = preview(client, "/ask/mixture/groups.csv", urlencode({"from": "2", "to": "", "step": "5", "out": "groups"}))
    assert one["shell"] == "latentia mixture groups.csv -k 2 --out groups"
    fields = urlencode({"from": "2", "to": "3", "out": "groups"})
    same = preview(client, "/ask/mixture/groups.csv", fields)
    assert same["shell"] == "latentia mixture groups.csv -k 2:3 --out groups"
    assert client.send("POST", "/ask/mixture/groups.csv", fields)[0] == 200
    state = client.wait("groups")
    assert state["state"] == "done", state
    assert 'sandbox="allow-scripts allow-downloads"' in client.get("/results/groups")[2]
    assert "sandbox" in client.get("/results/groups/report")[1]["content-security-policy"]
    assert client.get("/results/groups/zip")[1]["content-type"] == "application/zip"


def test_the_app_the_command_and_the_python_have_the_same_bits(client, table, texts, tmp_path, monkeypatch):
    cases = [
        ("mixture", "bits.csv", table, {"from": "2", "to": "3"}),
        ("mixture", "rows.csv", table, {"from": "2", "keep_moments": "yes", "role": "a=measurement"}),
        ("topics", "texts.csv", texts, {"from": "4", "column": "text", "by": "party", "min_df": "1"}),
    ]
    monkeypatch.chdir(tmp_path)
    for command, file, content, fields in cases:
        out = file.partition(".")[0]
        client.send("PUT", f"/files/{file}", content.encode())
        (tmp_path / file).write_text(content)
        form = urlencode(fields | {"out": out})
        same = preview(client, f"/ask/{command}/{file}", form)
        client.send("POST", f"/ask/{command}/{file}", form)
        assert client.wait(out)["state"] == "done"
        assert run_command(*shlex.split(same["shell"])[1:], "--quiet").returncode == 0
        (tmp_path / out).rename(tmp_path / "by-command")
        names = {}
        exec(same["python"], names)
        files = [client.folder / out, tmp_path / "by-command", tmp_path / out]
        ours, *theirs = (vars(latentia.load(folder / "model.npz")) for folder in files)
        arrays = [name for name, value in ours.items() if isinstance(value, np.ndarray)]
        assert len(arrays) > 2
        for other in [*theirs, vars(names["model"])]:
            assert [name for name in arrays if ours[name].tobytes() != other[name].tobytes()] == []
        for path in (tmp_path / "by-command", tmp_path / out):
            path.rename(path.with_name(f"{path.name}-of-{out}"))


def test_a_result_is_used(client, table):
    """Another number, another file, new rows, and a comparison with an earlier result."""
    client.send("PUT", "/files/used.csv", table.encode())
    client.send(
        "POST", "/ask/mixture/used.csv", urlencode({"from": "2", "to": "3", "keep_moments": "yes", "out": "used"})
    )
    assert client.wait("used")["state"] == "done"
    page = client.get("/results/used")[2]
    for text in ("Take 3", "Apply to another file", "Add new rows", "Compare with an earlier result"):
        assert text in page
    for out, fields in {
        "number": {"action": "number", "k": "3"}, "applied": {"action": "apply", "file": "used.csv"},
        "updated": {"action": "update", "file": "used.csv"}, "compared": {"action": "compare", "earlier": "number"},
    }.items():  # fmt: skip
        status, _, text = client.send("POST", "/results/used", urlencode(fields | {"out": out}))
        assert status == 200, text
        state = client.wait(out)
        assert state["state"] == "done", state
        assert client.get(f"/results/{out}")[0] == 200
    assert len(latentia.load(client.folder / "number" / "model.npz").means_) == 3
    assert latentia.load(client.folder / "updated" / "model.npz").moments_.n_rows == 240
    assert "<td>" in client.get("/results/applied")[2]  # rows of the table, since there is no report
    assert client.get("/results/compared/report")[0] == 200


def test_names_and_anchors_of_topics(client, texts):
    client.send("PUT", "/files/edited.csv", texts.encode())
    client.send(
        "POST", "/ask/topics/edited.csv", urlencode({"from": "4", "column": "text", "min_df": "1", "out": "first"})
    )
    assert client.wait("first")["state"] == "done"
    model = latentia.load(client.folder / "first" / "model.npz")
    anchors = [" ".join(words) for words in model.anchor_words_]
    assert all(word in client.get("/results/first/topics")[2] for word in anchors)
    fields = {"name": ["", "waves", "", ""], "anchor": anchors, "out": ["second"]}
    same = json.loads(client.send("POST", "/results/first/topics/words", urlencode(fields, doseq=True))[2])
    assert not same["changed"]
    fields["anchor"] = [next(word for word in model.top_words(3)[0] if word != anchors[0]), *anchors[1:]]
    edited = json.loads(client.send("POST", "/results/first/topics/words", urlencode(fields, doseq=True))[2])
    assert edited["changed"]
    expected = model.reanchor([text.split() for text in fields["anchor"]])
    assert edited["topics"][0]["words"] == ", ".join(expected.top_words(12)[0])
    cost = json.loads(client.send("POST", "/results/first/topics/cost", urlencode(fields, doseq=True))[2])["text"]
    assert "nats of log-likelihood a word" in cost
    assert "first-anchors" not in "".join(path.name for path in client.folder.iterdir())
    assert client.send("POST", "/results/first/topics", urlencode(fields, doseq=True))[0] == 200
    state = client.wait("second")
    assert state["state"] == "done", state
    second = latentia.load(client.folder / "second" / "model.npz")
    assert second.topic_names[1] == "waves"
    assert second.anchor_words_[0] == [fields["anchor"][0]]
    wrong = urlencode(fields | {"anchor": ["nonsense", *anchors[1:]]}, doseq=True)
    assert "not a word of these texts: nonsense" in client.send("POST", "/results/first/topics/words", wrong)[2]


def test_a_folder_of_texts_is_copied(client):
    name = json.loads(client.send("POST", "/folders/letters")[2])["name"]
    for i in range(30):
        status, _, text = client.send(
            "PUT", f"/files/{name}/year/{i}.txt", f"A letter about ships, number {i}.".encode()
        )
        assert status == 200, text
    assert "What are these texts about?" in client.get(f"/file/{name}")[2]
    assert json.loads(client.send("POST", "/folders/letters")[2])["name"] == "letters-2"


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
    uploads = [client.send("PUT", f"/files/{name}", b"a,b\n1,2\n") for name in names if name != "link.csv"]
    uploads += [client.send("POST", f"/folders/{name}") for name in names if "/" not in name]
    fields = [{"out": name} for name in names] + [
        {"from": "--force", "out": "x1"},
        {"effects": "~ exec('1')", "out": "x2"},
    ]
    fields += [
        {"action": action, "file": name, "earlier": name, "out": "x3"}
        for action in ("apply", "compare", "x")
        for name in names
    ]
    sent = [
        client.send("POST", path, urlencode(field))
        for field in fields
        for path in ("/results/groups", "/results/groups/topics")
    ]
    assert {next(iter(json.loads(text))) for _, _, text in sent} == {"error"}
    answers += uploads + sent
    answers += [client.send(method, "/file/x") for method in ("POST", "DELETE", "PATCH", "OPTIONS", "TRACE")]
    answers += [client.send("POST", "/results/x", b"x" * (1 << 19)), client.send("PUT", "/files/..%2f..%2fx.csv", b"a")]
    assert len(answers) + len(refused) >= 300
    assert {status for status, _, _ in refused} == {403}
    for _, headers, text in answers + refused:
        assert "secret,words" not in text
        assert "root:" not in text
        assert "Traceback" not in text
        assert "<script>" not in text or headers["content-type"] == "application/json"
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
    assert not (client.folder / "y.csv").exists()
    assert sorted(path.name for path in client.folder.parent.iterdir()) == ["secret.csv", "workspace"]


def test_modules_are_not_loaded_from_uploads(client, table):
    client.send("PUT", "/files/rich.py", b"raise SystemExit('loaded from the folder')")
    client.send("PUT", "/files/second.csv", table.encode())
    client.send("POST", "/ask/mixture/second.csv", urlencode({"from": "2", "out": "second"}))
    state = client.wait("second")
    assert state["state"] == "done", state


def test_files_outside_of_the_folder_are_no_values(client, table, tmp_path):
    outside = tmp_path / "outside.csv"
    outside.write_text(table)
    for name in ("first", "second"):
        (client.folder / f"{name}.csv").write_text(table)
    (client.folder / "way-out.csv").symlink_to(outside)
    fields = {"other": "second.csv", "out": "value"}
    for option in ("target", "linear_map"):
        for value in (str(outside), os.path.relpath(outside, client.folder), "way-out.csv"):
            answer = client.send("POST", "/ask/contrast/first.csv", urlencode(fields | {option: value}))
            assert "leads out of the folder" in answer[2], value
    words = urlencode({"stop_words": f"german,{outside}", "out": "value"})
    assert "leads out of the folder" in client.send("POST", "/ask/topics/first.csv", words)[2]
    assert "expected letters" in client.send("POST", "/ask/mixture/first.csv?preview=1", "out=../x")[2]


def test_the_address_is_taken_before_it_is_shown(tmp_path):
    _, listener, _ = make_server(tmp_path, None)
    with listener:
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)


@pytest.mark.skipif(not os.path.exists("/proc/self/net/tcp") or os.getuid() != 0, reason="needs root on Linux")
def test_other_users_of_the_machine_get_nothing(client):
    """Not even with the token, which they see among the arguments of the browser, and not if they end at once."""
    head = (
        f"HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nOrigin: http://127.0.0.1:{client.port}\r\nConnection: close\r\n"
    )
    secrets = f"Cookie: {client.cookie}\r\nX-Latentia: {client.header}\r\nContent-Length: 0\r\n\r\n"

    def connect():
        os.seteuid(65534)
        try:
            return socket.create_connection(("127.0.0.1", client.port))
        finally:
            os.seteuid(0)

    with connect() as other:
        other.sendall(f"GET /?token={client.token} {head}\r\n".encode())
        assert other.makefile().read().startswith("HTTP/1.1 403")
    with connect() as other:
        other.sendall(f"POST {client.base}/folders/intruder {head}{secrets}".encode())
    assert client.get("/")[0] == 200
    assert not (client.folder / "intruder").exists()
    assert client.folder.stat().st_mode & 0o077 == 0


def test_names_of_a_hostile_file(client):
    """Names with marks of shells, pages, and of the progress of a job."""
    names = ["<img src=x onerror=alert(1)>\"'`id`$(id)", 'b\n{"progress": {"stage": 1}}']
    rows = "".join(f"{i % 7},{i % 5}\n" for i in range(60))
    (client.folder / "日本.csv").write_text(
        ",".join(f'"{name.replace(chr(34), 2 * chr(34))}"' for name in names) + f"\n{rows}"
    )
    place = "%E6%97%A5%E6%9C%AC"
    status, _, page = client.get(f"/file/{place}.csv")
    assert (status, "<img" in page) == (200, False)
    shown = [
        words
        for column in look_at(client.folder / "日本.csv", ColumnOptions()).columns
        for words in shlex.split(column.doubt)
    ]
    assert [f"{name}=category" for name in names] == [words for words in shown if words.endswith("=category")]
    (client.folder / "answers.csv").write_text("$(id) b,x\n" + "aye `id`,1.5\nnay `id`,2.5\n" * 30)
    answers = look_at(client.folder / "answers.csv", ColumnOptions()).columns[0]
    assert shlex.split(answers.doubt)[-1] in ("$(id) b=aye `id`", "$(id) b=nay `id`")
    client.send("POST", f"/ask/mixture/{place}.csv", urlencode({"from": "2", "out": "日本"}))
    state = client.wait(place)
    assert state["state"] == "done", state
    assert "<img" not in client.get(f"/results/{place}")[2]
    assert "<img src=x" not in client.get(f"/results/{place}/report")[2]
    assert client.get("/")[0] == 200
    assert client.get(f"/results/{place}/zip")[0] == 200


@pytest.mark.parametrize(
    ("record", "log", "summary"),
    [
        ({"started": "x"}, '{"progress": {"stage": 1}}\n{"progress": 1}', "[]"),
        (
            {"started": float("nan")},
            '{"progress": {"stage": "", "done": 1, "total": 0, "unit": "", "seconds": NaN}}',
            "[" * 10**5,
        ),
        ({"command": 1, "pid": 1}, "", None),
    ],
)
def test_damaged_records_of_a_job(client, record, log, summary):
    folder = client.folder / ".latentia-app" / "damaged"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.json").write_text(json.dumps({"command": ["mixture", "x.csv"]} | record))
    (folder / "log").write_text(log)
    (folder / "summary.json").unlink(missing_ok=True)
    if summary is not None:
        (folder / "summary.json").write_text(summary)
    for path in ("/", "/results/damaged", "/results/damaged/state"):
        assert client.get(path)[0] == 200
    assert client.send("POST", "/results/damaged", "action=forget")[0] == 200
    assert not folder.exists()


def test_a_folder_of_someone_else(client, tmp_path, table):
    """What it stores runs only commands that read and write in it, and its links lead nowhere."""
    outside = tmp_path / "outside.csv"
    outside.write_text(table)
    (client.folder / "foreign.csv").write_text(table)
    folder = client.folder / ".latentia-app" / "foreign"
    folder.mkdir(parents=True)
    first, last = ["mixture", "foreign.csv"], ["--out", "foreign"]
    for words in (
        ["mixture", str(outside), *last], [*first, "--out", str(tmp_path / "x"), *last], [*first, f"-o{tmp_path}/x", *last],
        [*first, "--cache", str(tmp_path / "x"), *last], [*first, "--force", *last], ["app", *last], [*last], ["contrast", *first[1:], "foreign.csv", f"--target={outside}", *last],  # noqa: E501
    ):  # fmt: skip
        (folder / "job.json").write_text(json.dumps({"command": words}))
        assert client.send("POST", "/results/foreign", "action=resume")[0] == 400, words
    (folder / "job.json").write_text(json.dumps({"command": [*first, "-k", "2", *last]}))
    (folder / "log").symlink_to(outside)
    (folder / "lock").symlink_to(outside)
    assert client.send("POST", "/results/foreign", "action=resume")[0] == 507
    (folder / "lock").unlink()
    assert client.send("POST", "/results/foreign", "action=resume")[0] == 200
    assert client.wait("foreign")["state"] == "done"
    assert outside.read_text() == table
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    assert [client.get(path)[0] for path in ("/results/foreign", "/")] == [400, 200]
    folder.unlink()
    (client.folder / "foreign" / "result.json").write_text('{"comparison": {"rows": [{}, 5]}}')
    assert client.get("/results/foreign")[0] == 200
    os.mkfifo(client.folder / "pipe.csv")
    assert client.get("/file/pipe.csv")[0] == 400
    (client.folder / "pipe.csv").unlink()


def test_an_old_tab_does_not_undo_a_result(client, table):
    client.send("PUT", "/files/tab.csv", table.encode())
    client.send("POST", "/ask/mixture/tab.csv", urlencode({"from": "2", "out": "tab"}))
    for action in ("kill", ""):  # Neither running nor stopped work is replaced.
        again = client.send("POST", "/ask/mixture/tab.csv", urlencode({"from": "3", "out": "tab"}))
        assert "unfinished work" in again[2]
        client.send("POST", "/results/tab", f"action={action}")
        assert client.wait("tab")["state"] == "stopped"
    assert client.send("POST", "/results/tab", "action=resume")[0] == 200
    assert client.wait("tab")["state"] == "done"
    for action in ("resume", "forget", "stop"):
        assert client.send("POST", "/results/tab", f"action={action}")[0] == 200
        assert client.wait("tab")["state"] == "done"
