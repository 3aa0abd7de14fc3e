"""Screens of the app."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import jinja2
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from .. import __version__
from ..exceptions import LatentiaError
from ..reading import ROLES
from . import forms
from .forms import Faces
from .guard import REPORT_POLICY, base_of, header_of
from .jobs import Job
from .workspace import Workspace

_MAX_COLUMNS = 200
_STATIC = {"app.js": "text/javascript", "app.css": "text/css"}


class Pages:
    """Handlers of the screens."""

    def __init__(self, workspace: Workspace, faces: Faces, token: str) -> None:
        self.workspace, self.faces, self.base = workspace, faces, base_of(token)
        self.templates = jinja2.Environment(
            loader=jinja2.ChoiceLoader([jinja2.PackageLoader("latentia.app"), jinja2.PackageLoader("latentia.report")]),
            autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self.templates.filters["address"] = lambda name: quote(name)
        self.common = {
            "base": self.base, "header": header_of(token), "version": __version__, "folder": str(workspace.root)
        }  # fmt: skip

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        return HTMLResponse(self.templates.get_template(template).render(**self.common, **values), status)

    def home(self, request: Request) -> Response:
        names = self.workspace.results()
        states = {name: Job(self.workspace, name).progress().state for name in names}
        return self.page("home.html", title="latentia", entries=self.workspace.entries(), results=states)

    async def upload(self, request: Request) -> Response:
        length = request.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            raise LatentiaError("the upload does not say how long it is.")
        name = await self.workspace.receive(request.path_params["name"], request.stream(), int(length[:15]))
        return self._go(f"file/{quote(name.split('/')[0])}")

    def file(self, request: Request) -> Response:
        name, fields = request.path_params["name"], _query(request)
        words = forms.look_words(name, fields, self.faces.command("look"), self.workspace)
        reading = forms.look(self.workspace, name, fields, self.faces)
        columns = sorted(reading.columns, key=lambda column: not (column.doubt or column.suspects))
        return self.page(
            "file.html", title=name, name=name, reading=reading, columns=columns[:_MAX_COLUMNS], roles=ROLES,
            chosen={v.rpartition("=")[0]: v for v in fields.get("role", [])}, codes=fields.get("missing_codes", []),
            questions=forms.questions(reading, self.faces), query=request.url.query, shell=forms.shell_line(words),
            python=forms.look_python(name, reading, fields),
        )  # fmt: skip

    def ask(self, request: Request) -> Response:
        name, fields = request.path_params["name"], _query(request)
        command = self._command(request)
        reading = forms.look(self.workspace, name, fields, self.faces)
        asked = forms.questions(reading, self.faces)
        number = int(fields["number"][0]) if fields.get("number", [""])[0].isdigit() else 0
        proposed = [question for question in asked if question.command == command.name]
        question = asked[number] if number < len(asked) and asked[number].command == command.name else None
        values = (question or proposed[0]).values if proposed else {}
        size = command.option("k")
        out = self.workspace.free_name(_result_name(name, command.name))
        return self.page(
            "ask.html", title=forms.QUESTIONS.get(command.name, command.name), name=name, command=command, values=values,
            size=None if size is None else (size, forms.size_range(values.get("k", size.default))), out=out,
            missing=forms.missing_choices(command, reading), entries=self.workspace.entries(),
            reading_fields={key: fields[key] for key in forms.READING_OPTIONS if key in fields},
        )  # fmt: skip

    async def start(self, request: Request) -> Response:
        fields, command = await _form(request), self._command(request)
        out = next(iter(fields.get("out", [])), "")
        if request.query_params.get("preview") is None and self.workspace.result(out).exists():
            raise LatentiaError(f"there is a result {out!r} already. Choose another name.")
        words = forms.make_words(command, request.path_params["name"], fields, out, self.workspace)
        if request.query_params.get("preview") is not None:
            return JSONResponse({"shell": forms.shell_line(words), "python": forms.python_lines(words)})
        Job(self.workspace, out).start(words, command.option("checkpoint") is not None)
        return self._go(f"results/{out}")

    def result(self, request: Request) -> Response:
        name = request.path_params["name"]
        folder, job = self.workspace.result(name), Job(self.workspace, name)
        progress = job.progress()
        if progress.state == "none" and not folder.is_dir():
            raise HTTPException(404)
        words = job.command
        values = {
            "title": name, "name": name, "shell": forms.shell_line(words) if words else "",
            "python": forms.python_lines(words) if words else f"import latentia\nmodel = latentia.load('{name}/model.npz')\n",
        }  # fmt: skip
        if progress.state in ("running", "stopped", "failed"):
            return self.page("job.html", progress=asdict(progress), **values)
        files = sorted(path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
        return self.page("result.html", files=files, record=_result_record(self._inside(name, "result.json")), **values)

    def state(self, request: Request) -> Response:
        return JSONResponse(asdict(Job(self.workspace, request.path_params["name"]).progress()))

    async def change(self, request: Request) -> Response:
        fields, job = await _form(request), Job(self.workspace, request.path_params["name"])
        action = next(iter(fields.get("action", [])), "")
        if action == "resume":
            job.resume()
        elif action in ("stop", "kill"):
            job.stop(at_once=action == "kill")
        elif action == "forget":
            job.forget()
            return self._go("")
        else:
            raise LatentiaError(f"expected stop, kill, resume or forget, and found {action[:20]!r}.")
        return self._go(f"results/{job.name}")

    def report(self, request: Request) -> Response:
        path = self._inside(request.path_params["name"], "report.html")
        return FileResponse(path, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})

    def download(self, request: Request) -> Response:
        path = self._inside(request.path_params["name"], request.path_params["file"])
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)

    def archive(self, request: Request) -> Response:
        name = request.path_params["name"]
        folder = self.workspace.result(name)
        file = tempfile.TemporaryFile()  # noqa: SIM115
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                if path.is_file() and not path.is_symlink():
                    archive.write(path, f"{name}/{path.name}")
        size = file.tell()
        file.seek(0)
        headers = {"content-disposition": f'attachment; filename="{name}.zip"', "content-length": str(size)}
        return StreamingResponse(iter(lambda: file.read(1 << 16), b""), media_type="application/zip", headers=headers)

    def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        return Response(self.templates.get_template(name).render(), media_type=_STATIC[name])

    def _command(self, request: Request) -> forms.Command:
        name = request.path_params["command"]
        if name not in forms.QUESTIONS:
            raise HTTPException(404)
        return self.faces.command(name)

    def _inside(self, name: str, file: str) -> Path:
        self.workspace.result(name)
        path = self.workspace.find(f"{name}/{file}")
        if not path.is_file():
            raise HTTPException(404)
        return path

    def _go(self, place: str) -> Response:
        return JSONResponse({"location": f"{self.base}/{place}"})

    def refuse(self, request: Request, error: Exception) -> Response:
        """Answer an error in plain words, on a page or as JSON for the script of a page."""
        if isinstance(error, LatentiaError):
            text, status = self.faces.render_error(error), 400
        elif isinstance(error, HTTPException):
            text, status = "There is no such page.", error.status_code
        elif isinstance(error, OSError):
            text, status = f"The folder of the app cannot be used ({error.strerror}). Nothing was changed.", 507
        else:
            text, status = "latentia itself failed. Nothing of yours is lost.", 500
        if request.method in ("GET", "HEAD"):
            return self.page("error.html", status, title="This did not work", text=text)
        return JSONResponse({"error": text}, status)


def make_app(workspace: Workspace, faces: Faces, token: str) -> Starlette:
    """Return the app, below its secret path."""
    pages = Pages(workspace, faces, token)
    get: Callable[..., Route] = Route
    routes = [
        get("/", pages.home),
        get("/static/{name}", pages.static),
        get("/files/{name:path}", pages.upload, methods=["PUT"]),
        get("/file/{name:path}", pages.file),
        get("/ask/{command}/{name:path}", pages.ask),
        get("/ask/{command}/{name:path}", pages.start, methods=["POST"]),
        get("/results/{name}", pages.result),
        get("/results/{name}", pages.change, methods=["POST"]),
        get("/results/{name}/state", pages.state),
        get("/results/{name}/report", pages.report),
        get("/results/{name}/zip", pages.archive),
        get("/results/{name}/files/{file}", pages.download),
    ]
    handlers: Any = dict.fromkeys((LatentiaError, HTTPException, OSError, Exception), pages.refuse)
    return Starlette(routes=[Mount(base_of(token), routes=routes)], exception_handlers=handlers)


def _query(request: Request) -> dict[str, list[str]]:
    return parse_qs(request.url.query, max_num_fields=5000)


async def _form(request: Request) -> dict[str, list[str]]:
    try:
        return parse_qs((await request.body()).decode(), max_num_fields=5000)
    except ValueError as error:
        raise LatentiaError("the form cannot be read. Reload the page.") from error


def _result_name(source: str, command: str) -> str:
    stem = "".join(c if c.isalnum() else "-" for c in Path(source).name.partition(".")[0])[:40].strip("-")
    return f"{stem or 'result'}-{command}"


def _result_record(path: Path) -> dict[str, Any]:
    record = json.loads(path.read_bytes())
    return record if isinstance(record, dict) else {}
