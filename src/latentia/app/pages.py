"""Screens of the app."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from .. import __version__
from ..exceptions import LatentiaError
from . import forms
from .forms import Faces
from .guard import REPORT_POLICY, base_of, header_of
from .jobs import Job
from .results import Results, anchor_lines, anchors_of, component_rows, cost_of_anchors, parse_anchors
from .workspace import Workspace

_MAX_COLUMNS = 200
_UNFINISHED, _FIELDS = ("running", "stopped"), ("from", "to", "step", "out")
_STATIC = {"app.js": "text/javascript", "app.css": "text/css"}


class Pages:
    """Handlers of the screens."""

    def __init__(self, workspace: Workspace, faces: Faces, token: str) -> None:
        self.workspace, self.faces, self.base = workspace, faces, base_of(token)
        self.templates = jinja2.Environment(
            loader=jinja2.ChoiceLoader([jinja2.PackageLoader("latentia.app"), jinja2.PackageLoader("latentia.report")]),
            autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self.templates.filters |= {"address": lambda name: quote(name), "words": forms.spell_out}
        self.common = {
            "base": self.base, "header": header_of(token), "version": __version__, "folder": str(workspace.root)
        }  # fmt: skip

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        return HTMLResponse(self.templates.get_template(template).render(**self.common, **values), status)

    def home(self, request: Request) -> Response:
        results = []
        for name in self.workspace.results():
            job, result = Job(self.workspace, name), self._results(name)
            state = job.progress().state
            state = str(result.record.get("grade") or "") if state in ("done", "none") else state
            results.append((name, state, forms.describe(job.command), result.date))
        return self.page("home.html", title="latentia", entries=self.workspace.entries(), results=results)

    async def upload(self, request: Request) -> Response:
        length = request.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            raise LatentiaError("the upload does not say how long it is.")
        name = await self.workspace.receive(request.path_params["name"], request.stream(), int(length[:15]))
        return self._go(f"file/{quote(name.split('/')[0])}", name=name)

    async def folder(self, request: Request) -> Response:
        return JSONResponse({"name": self.workspace.make_folder(request.path_params["name"])})

    def file(self, request: Request) -> Response:
        name = request.path_params["name"]
        fields = self.workspace.load_forms(name).get("reading", {})
        look = self.faces.command("look")
        words, text = forms.look_words(name, fields, look, self.workspace), ""
        try:
            reading = forms.look(self.workspace, name, fields, self.faces)
        except LatentiaError as error:
            if not any(fields.values()):
                raise
            text = forms.spell_out(self.faces.render_error(error))
            reading = forms.look(self.workspace, name, {}, self.faces)
        columns = [forms.column_row(column, fields) for column in reading.columns]
        columns.sort(key=lambda column: not column["doubtful"])
        return self.page(
            "file.html", title=name, name=name, reading=reading, columns=columns[:_MAX_COLUMNS], roles=forms.ROLES, text=text,
            fields=fields, questions=forms.questions(reading, self.faces), shell=forms.shell_line(words),
            python=forms.python_lines(words), options=look.group("file"), names=list(reading.columns_by_name),
        )  # fmt: skip

    async def change_file(self, request: Request) -> Response:
        name, fields = request.path_params["name"], await _form(request)
        self.workspace.find(name)
        if _first(fields, "action") == "remove":
            self.workspace.remove_entry(name)
            return self._go("")
        self.workspace.remember(name, "reading", forms.keep_last(fields))
        return self._go(f"file/{quote(name)}")

    def ask(self, request: Request) -> Response:
        name, key, command = request.path_params["name"], request.path_params["command"], self._command(request)
        reading, question, fields = self._question(name, key, command)
        fields |= self.workspace.load_forms(name).get(key, {})
        out = _result(fields)
        out = out if out and self._is_free(out) else self._free(_result_name(name, key))
        return self.page(
            "ask.html", title=question.text, name=name, command=command, fields=fields, out=out, size=command.option("k"),
            missing=forms.missing_choices(command, reading), entries=self.workspace.entries(),
            comparable=forms.comparable(reading, command, question.values), names=list(reading.columns_by_name),
            left_out=forms.columns_left_out(reading, command, question), documents=forms.documents(command, reading),
            back=[(f"file/{quote(name)}", name)],
        )  # fmt: skip

    def _question(
        self, name: str, key: str, command: forms.Command
    ) -> tuple[Any, forms.Question, dict[str, list[str]]]:
        """Return how a file is read, a question about it, and the fields that its form proposes."""
        reading = forms.look(self.workspace, name, self.workspace.load_forms(name).get("reading", {}), self.faces)
        question = forms.Question(forms.QUESTIONS[command.name], command.name, {})
        question = forms.questions(reading, self.faces).get(key, question)
        return reading, question, forms.propose_fields(question, command, reading)

    async def start(self, request: Request) -> Response:
        name, key = request.path_params["name"], request.path_params["command"]
        fields, command = await _form(request), self._command(request)
        *_, proposed = await run_in_threadpool(self._question, name, key, command)
        changed = [f for f in {*fields, *proposed} if fields.get(f, []) != list(filter(None, proposed.get(f, [])))]
        self.workspace.remember(name, key, {field: fields.get(field, []) for field in changed})
        reading, out = self.workspace.load_forms(name).get("reading", {}), _result(fields)
        words = forms.make_words(command, name, reading | fields, out, self.workspace)
        return self._start(request, words, out, key)

    def _start(self, request: Request, words: list[str], out: str, question: str = "") -> Response:
        """Start a command that writes a new result, or only show it."""
        self.workspace.result(out)
        if request.query_params.get("preview") is not None:
            return JSONResponse({"shell": forms.shell_line(words), "python": forms.python_lines(words)})
        if not self._is_free(out):
            text = f"there is a result or unfinished work {out!r} already. Choose another name."
            raise LatentiaError(text, parameter="out")
        Job(self.workspace, out).forget()  # Its checkpoint may be of another question.
        return self._run(words, out, question)

    def _is_free(self, out: str) -> bool:
        """Return False if there is a result of this name, or work that can go on."""
        return not self.workspace.result(out).exists() and Job(self.workspace, out).progress().state not in _UNFINISHED

    def _run(self, words: list[str], out: str, question: str = "") -> Response:
        """Start a command that the app made, or that the folder stores."""
        if not words or words[0] not in (*forms.QUESTIONS, "apply", "update", "compare"):
            raise LatentiaError("no command is stored for this result, so it cannot be run again.", source=out)
        command = self.faces.command(words[0])
        forms.check_words(words, command, out, self.workspace)
        Job(self.workspace, out).start(words, command.option("checkpoint") is not None, question)
        return self._go(f"results/{quote(out)}")

    def result(self, request: Request) -> Response:
        name = request.path_params["name"]
        folder, job = self.workspace.result(name), Job(self.workspace, name)
        progress = job.progress()
        if progress.state == "none" and not folder.is_dir():
            raise HTTPException(404)
        words, question = job.command, job.record.get("question")
        values = {
            "title": name, "name": name, "shell": forms.shell_line(words) if words else "", "progress": asdict(progress),
            "python": forms.python_lines(words) if words else f"import latentia\nmodel = latentia.load('{name}/model.npz')\n",
            "about": forms.describe(words), "back": [], "text": forms.spell_out(progress.error),
        }  # fmt: skip
        if words[1:] and words[0] in forms.QUESTIONS:
            place = f"ask/{question or words[0]}/{quote(words[1])}"
            values["back"] = [(f"file/{quote(words[1])}", words[1]), (place, "Question")]
        elif words[1:]:
            values["back"] = [(f"results/{quote(words[1])}", words[1])]
        if progress.state in (*_UNFINISHED, "failed"):
            return self.page("job.html", **values)
        if not folder.is_dir():
            raise LatentiaError(f"the folder of the result {name!r} was removed.")
        results, earlier_results = self._results(name), map(self._results, self.workspace.results())
        command = self.faces.command(words[0]) if words[:1] and words[0] in forms.QUESTIONS else None
        entries = [entry.name for entry in self.workspace.entries() if entry.size != "0 bytes"]
        return self.page(
            "result.html", results=results, can=results.abilities(words, command), entries=entries,
            model=self._results(words[1]) if words[:1] == ["apply"] else None,
            others=[earlier.name for earlier in earlier_results if earlier.name != name and results.is_like(earlier)],
            commands={action: self.faces.command(action) for action in ("apply", "update")},
            ways=forms.ways_to_apply(command), sized=command is not None and command.option("k") is not None,
            outs={action: self._free(f"{name[:50]}-{action}") for action in ("number", "apply", "update", "compare")}, **values,
        )  # fmt: skip

    def _results(self, name: str) -> Results:
        return Results(self.workspace, name)

    async def change(self, request: Request) -> Response:
        name, fields = request.path_params["name"], await _form(request)
        job, action, out = Job(self.workspace, name), _first(fields, "action"), _result(fields)
        if action in ("resume", "forget") and job.progress().state == "done":
            pass  # It was resumed in another tab.
        elif action == "resume":
            return self._run(job.command, name, str(job.record.get("question", "")))
        elif action in ("stop", "kill"):
            job.stop(at_once=action == "kill")
        elif action == "forget":
            job.forget()
            return self._go("")
        elif action == "remove":
            job.forget()
            self.workspace.remove_result(name)
            return self._go("")
        elif action == "number":
            return self._start(
                request, self._again(job, {"k": [forms.size_of({"from": fields.get("k", [])})]}, out), out
            )
        elif action in ("apply", "update"):
            file = _first(fields, "file")
            reading = self.workspace.load_forms(file).get("reading", {})
            reading_fields = {key: reading[key] for key in ("sheet", "encoding", "missing_codes") if reading.get(key)}
            if "missing_codes" in reading_fields:  # Codes that are given replace those of the model.
                codes = [
                    *self._results(name).load().reading_.get("missing_codes", ()),
                    *reading_fields["missing_codes"],
                ]
                reading_fields["missing_codes"] = list(dict.fromkeys(codes))
            fields = reading_fields | fields | {"source": [file]}
            return self._start(
                request, forms.make_words(self.faces.command(action), name, fields, out, self.workspace), out
            )
        elif action == "compare":
            earlier = _first(fields, "earlier")
            self.workspace.result(earlier)
            return self._start(request, ["compare", earlier, name, "--out", out], out)
        else:
            raise LatentiaError(f"expected something to do with a result, and found {action[:20]!r}.")
        return self._go(f"results/{quote(job.name)}")

    def _again(self, job: Job, changes: dict[str, list[str]], out: str) -> list[str]:
        if not job.command:
            raise LatentiaError("the app did not learn this result, so it does not know how. Start from the file.")
        return forms.words_again(job.command, self.faces.command(job.command[0]), changes, out)

    # --- names of components, and anchors of topics -------------------------------------------------------------

    def topics(self, request: Request) -> Response:
        name = request.path_params["name"]
        model = self._results(name).load()
        alone = component_rows(model.reanchor(anchors=anchors_of(model))) if anchors_of(model) else []
        return self.page(
            "topics.html", title=f"{model.nouns[1].capitalize()} of {name}", noun=model.nouns[0],
            topics=component_rows(model), alone=alone, out=self._free(f"{name[:50]}-edited"),
            back=[(f"results/{quote(name)}", name)],
        )  # fmt: skip

    async def learn_topics(self, request: Request) -> Response:
        name, fields = request.path_params["name"], await _form(request, blanks=True)
        model, out, job = self._results(name).load(), _result(fields), Job(self.workspace, name)
        names = [f"{k}={text.strip()}" for k, text in enumerate(fields.get("name", [])) if text.strip()]
        changes = {"name": names, **({"k": [str(len(component_rows(model)))]} if "-k" in job.command else {})}
        if "anchor" in fields and (anchors := parse_anchors(model, fields)) != anchors_of(model):
            self.workspace.result(out)
            changes["anchors"] = [f"{out}-anchors.txt"]
            if request.query_params.get("preview") is None:
                self.workspace.write(changes["anchors"][0], anchor_lines(anchors))
        return self._start(request, self._again(job, changes, out), out)

    async def topic_words(self, request: Request) -> Response:
        model, fields = self._results(request.path_params["name"]).load(), await _form(request, blanks=True)
        anchors = parse_anchors(model, fields)
        edited = await run_in_threadpool(model.reanchor, anchors)
        return JSONResponse({"topics": component_rows(edited), "changed": anchors != anchors_of(model)})

    async def topic_cost(self, request: Request) -> Response:
        name, fields = request.path_params["name"], await _form(request, blanks=True)
        words = Job(self.workspace, name).command
        if len(words) < 2:
            raise LatentiaError("the app did not learn this result, so it does not know its texts.")
        model = self._results(name).load()
        text = await run_in_threadpool(
            cost_of_anchors, model, parse_anchors(model, fields), self.workspace.find(words[1]), self.faces.documents
        )
        return JSONResponse({"text": text})

    def state(self, request: Request) -> Response:
        return JSONResponse(asdict(Job(self.workspace, request.path_params["name"]).progress()))

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
        disposition = f"attachment; filename*=utf-8''{quote(name)}.zip"
        headers = {"content-disposition": disposition, "content-length": str(size)}
        return StreamingResponse(iter(lambda: file.read(1 << 16), b""), media_type="application/zip", headers=headers)

    def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        return Response(self.templates.get_template(name).render(), media_type=_STATIC[name])

    def _command(self, request: Request) -> forms.Command:
        name = forms.command_of(request.path_params["command"])
        if name not in forms.QUESTIONS:
            raise HTTPException(404)
        return self.faces.command(name)

    def _inside(self, name: str, file: str) -> Path:
        self.workspace.result(name)
        path = self.workspace.find(f"{name}/{file}")
        if not path.is_file():
            raise HTTPException(404)
        return path

    def _free(self, name: str) -> str:
        return self.workspace.free_name(name)

    def _go(self, place: str, **values: str) -> Response:
        return JSONResponse({"location": f"{self.base}/{place}", **values})

    def refuse(self, request: Request, error: Exception) -> Response:
        """Answer an error in plain words, on a page or as JSON for the script of a page."""
        field = error.parameter if isinstance(error, LatentiaError) else None
        if isinstance(error, LatentiaError):
            text = error.problem if field in _FIELDS else self.faces.render_error(error)
            text, status = forms.spell_out(text), 400
        elif isinstance(error, HTTPException):
            text, status = "There is no such page.", error.status_code
        elif isinstance(error, OSError):
            text, status = f"The folder of the app cannot be used ({error.strerror}). Nothing was changed.", 507
        else:
            text, status = "latentia itself failed. Nothing of yours is lost.", 500
        if request.method in ("GET", "HEAD"):
            return self.page("error.html", status, title="This did not work", text=text)
        return JSONResponse({"error": text, "field": field}, status)


def make_app(workspace: Workspace, faces: Faces, token: str) -> Starlette:
    """Return the app, below its secret path."""
    pages = Pages(workspace, faces, token)
    get: Callable[..., Route] = Route
    routes = [
        get("/", pages.home),
        get("/static/{name}", pages.static),
        get("/files/{name:path}", pages.upload, methods=["PUT"]),
        get("/folders/{name}", pages.folder, methods=["POST"]),
        get("/file/{name:path}", pages.file),
        get("/file/{name:path}", pages.change_file, methods=["POST"]),
        get("/ask/{command}/{name:path}", pages.ask),
        get("/ask/{command}/{name:path}", pages.start, methods=["POST"]),
        get("/results/{name}", pages.result),
        get("/results/{name}", pages.change, methods=["POST"]),
        get("/results/{name}/topics", pages.topics),
        get("/results/{name}/topics", pages.learn_topics, methods=["POST"]),
        get("/results/{name}/topics/words", pages.topic_words, methods=["POST"]),
        get("/results/{name}/topics/cost", pages.topic_cost, methods=["POST"]),
        get("/results/{name}/state", pages.state),
        get("/results/{name}/report", pages.report),
        get("/results/{name}/zip", pages.archive),
        get("/results/{name}/files/{file}", pages.download),
    ]
    handlers: Any = dict.fromkeys((LatentiaError, HTTPException, OSError, Exception), pages.refuse)
    return Starlette(routes=[Mount(base_of(token), routes=routes)], exception_handlers=handlers)


async def _form(request: Request, blanks: bool = False) -> dict[str, list[str]]:
    try:
        return parse_qs((await request.body()).decode(), keep_blank_values=blanks, max_num_fields=5000)
    except ValueError as error:
        raise LatentiaError("the form cannot be read. Reload the page.") from error


def _first(fields: forms.Fields, name: str) -> str:
    return next(iter(fields.get(name, ())), "").strip()


def _result(fields: forms.Fields) -> str:
    """Return the name of a result, with a hyphen for each space."""
    return "-".join(_first(fields, "out").split())


def _result_name(source: str, command: str) -> str:
    stem = "".join(c if c.isalnum() else "-" for c in Path(source).name.partition(".")[0])[:40].strip("-")
    return f"{stem or 'result'}-{command}"
