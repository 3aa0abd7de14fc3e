import csv
import html
import json
import re

import pytest
import shell

import latentia
from latentia.datasets import load_bible
from latentia.exceptions import DroppedDataWarning


def run(*arguments, code=0):
    done = shell.latentia(*arguments)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Two hundred chapters, one a line."""
    path = tmp_path_factory.mktemp("cli") / "chapters.txt"
    path.write_text("\n".join(load_bible().texts[::6]))
    return path


def table(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_topics_of_a_file_of_lines(written, texts, tmp_path):
    done = run("topics", texts, "-k", 5, "--out", tmp_path / "o", "--quiet")
    assert written(tmp_path / "o") == [
        "documents.csv",
        "evidence.csv",
        "model.npz",
        "report.html",
        "result.json",
        "topics.csv",
    ]
    assert re.search(r"^  \w+ +error +\S+ +needed <= 0\.4", done.stdout, re.MULTILINE)
    assert "199 documents" in done.stdout
    words = table(tmp_path / "o" / "topics.csv")
    assert len(words) == 1 + 5 * 50
    documents = table(tmp_path / "o" / "documents.csv")
    assert len(documents) == 200
    assert sum(map(float, documents[1][1:])) == pytest.approx(1, abs=1e-4)
    assert latentia.load(tmp_path / "o" / "model.npz").components_.shape[0] == 5
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o"]
    again = run("topics", texts, "-k", 5, "--out", tmp_path / "o", "--quiet", code=2)
    assert "not empty" in again.stderr
    run("topics", texts, "-k", 4, "--out", tmp_path / "o", "--quiet", "--force")


def test_topics_have_the_names_that_they_are_given(rows, texts, tmp_path):
    (tmp_path / "names.csv").write_text('component,name\n0,"war, and peace"\n2,kings\n')
    given = ["--names", tmp_path / "names.csv", "--name", "2=two=kings"]
    run("topics", texts, "-k", 4, *given, "--refine", 2, "--out", tmp_path / "o", "--quiet")
    called = ["war, and peace", "topic 1", "two=kings", "topic 3"]
    assert list(rows(tmp_path / "o" / "documents.csv")[0])[1:] == called
    words = rows(tmp_path / "o" / "topics.csv")
    assert {row["name"] for row in words if row["topic"] == "2"} == {"two=kings"}
    assert {row["name"] for row in words if row["topic"] == "1"} == {""}
    page = (tmp_path / "o" / "report.html").read_text("utf-8")
    assert "<b>2</b> two=kings" in page
    assert "called by their names or first words" in page
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert model.get_feature_names_out()[[0, 2]].tolist() == ["war, and peace", "two=kings"]
    run("apply", tmp_path / "o", texts, "--out", tmp_path / "p", "--quiet")
    assert list(rows(tmp_path / "p" / "documents.csv")[0])[1:] == called


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-k", 3, "--name", "3=guns"], "--name 3=guns: expected a number from 0 to 2 and a name, such as"),
        (["-k", 3, "--name", "guns"], "--name guns: expected a number from 0 to 2"),
        (["-k", "2:3", "--name", "1=guns"], "--name needs one number of topics. Choose it with -k"),
        (["-k", 3, "--name", "0=a", "--name", "1=a"], "two topics are called 'a'"),
        (["-k", 3, "--names", "absent.csv"], "--names absent.csv: no such file"),
    ],
)
def test_names_that_cannot_be_given(texts, tmp_path, options, message):
    assert message in run("topics", texts, *options, "--out", tmp_path / "o", "--quiet", code=2).stderr


def test_a_range_is_compared(rows, recommended, texts, tmp_path):
    done = run("topics", texts, "-k", "3:9:3", "--refine", 3, "--out", tmp_path / "o", "--quiet")
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert [row["topics"] for row in compared] == ["3", "6", "9"]
    assert {"perplexity", "coherence (NPMI)", "expected error", "needed", "grade"} <= set(compared[0])
    best, _ = recommended(done.stdout, compared)
    assert len(latentia.load(tmp_path / "o" / "model.npz").components_) == best


def test_anchors_from_a_file(texts, tmp_path):
    (tmp_path / "anchors.txt").write_text("offering altar # sacrifice\ndavid saul=0.8\nnosuchword\n")
    done = run(
        "topics",
        texts,
        "-k",
        6,
        "--anchors",
        tmp_path / "anchors.txt",
        "--out",
        tmp_path / "o",
        "--quiet",
        "--refine",
        0,
    )
    assert "nosuchword" in done.stderr
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert model.anchor_words_[:2] == [["offering", "altar"], ["david", "saul"]]


@pytest.mark.parametrize(("model", "kind"), [("lda", "SpectralLDA"), ("single", "SingleTopicModel")])
def test_other_models(call, rows, recommended, texts, tmp_path, model, kind):
    out = tmp_path / "o"
    printed = call("topics", texts, "-k", "2:3", "--model", model, "--refine", 2, "--out", out)
    fitted = latentia.load(out / "model.npz")
    assert type(fitted).__name__ == kind
    best, _ = recommended(printed, rows(out / "comparison.csv"))
    assert len(fitted.components_) == best
    words = rows(out / "topics.csv")
    assert "anchor" not in words[0]
    shares = fitted.weights_ if model == "single" else fitted.prevalence_
    assert float(words[0]["share"]) == pytest.approx(shares[0], abs=1e-5)
    documents = rows(out / "documents.csv")
    assert sum(float(documents[0][f"topic {i}"]) for i in range(len(shares))) == pytest.approx(1, abs=1e-4)
    assert all(1 < float(row["perplexity"]) < 1e5 for row in rows(out / "comparison.csv"))
    assert "Anchor word" not in (out / "report.html").read_text("utf-8")


def test_the_dirichlet_sum_can_be_given(call, texts, tmp_path):
    call("topics", texts, "-k", 2, "--model", "lda", "--alpha0", 0.5, "--refine", 0, "--out", tmp_path / "o")
    assert latentia.load(tmp_path / "o" / "model.npz").alpha0_ == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "pear"], "--model 'pear': use one of anchor, lda, single, auto"),
        (["--model", "lda", "--anchors", "a.txt"], "--model lda has no anchors"),
        (["--alpha0", "1"], "--alpha0: --model anchor has no such parameter"),
        (["--model", "lda", "--alpha0", "-1"], "--alpha0 -1: expected a positive number"),
    ],
)
def test_options_that_do_not_fit_the_model(refused, texts, options, message):
    assert message in refused("topics", texts, *options)


def test_uci_and_folder_and_csv(tmp_path, corpus):
    coo = corpus.counts.tocoo()
    with open(tmp_path / "docword.p.txt", "w") as file:
        file.write(f"{coo.shape[0]}\n{coo.shape[1]}\n{coo.nnz}\n")
        file.writelines(f"{d + 1} {w + 1} {c}\n" for d, w, c in zip(coo.row, coo.col, coo.data, strict=True))
    (tmp_path / "vocab.p.txt").write_text("".join(f"w{i}\n" for i in range(coo.shape[1])))
    run("topics", tmp_path / "docword.p.txt", "-k", 10, "--out", tmp_path / "o", "-q", "--refine", 0)
    assert table(tmp_path / "o" / "topics.csv")[1][7].startswith("w")
    folder = tmp_path / "folder"
    folder.mkdir()
    for i, text in enumerate(load_bible().texts[:60]):
        (folder / f"{i}.txt").write_text(text)
    run("topics", folder, "-k", 3, "--out", tmp_path / "f", "-q")
    assert len(table(tmp_path / "f" / "documents.csv")) == 61


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("x.txt", "", [], "x.txt: expected text, found an empty file"),
        ("x.txt", "the of and\nthe\n", [], "no words remain"),
        ("x.txt", "a b c\n", ["-k", "ten"], "-k 'ten'"),
        ("x.txt", "a b c\n", ["-k", "9:3"], "no number of topics"),
        ("x.txt", "house river\n" * 30, ["-k", "50", "--max-df", "1.0"], "-k 50 is too large"),
        ("x.txt", "house river\n" * 30, ["--jobs", "0"], "--jobs 0"),
        ("x.txt", "house river\n" * 30, ["--seed", "-1"], "--seed"),
        ("x.txt", "house river\n" * 30, ["-k", "1:999999999"], "can be compared"),
        ("docword.x.txt", "2\n2\n1\n1 5 1\n", [], "docword.x.txt, line 4"),
        (
            "x.mtx",
            "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 -3\n1 2 1\n2 2 4\n",
            ["-k", "2"],
            "x.mtx: Negative values in data: a count of -3.0 in row 0, column 0",
        ),
        ("x.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 nan\n", [], "x.mtx, line 3"),
        ("x.csv", "id,body\n1,abc\n", [], "which column"),
        ("x.txt", "house river\n" * 30, ["--anchors", "absent.txt"], "--anchors absent.txt: no such file"),
    ],
)
def test_bad_input_ends_with_code_2_and_writes_nothing(tmp_path, name, content, options, message):
    (tmp_path / name).write_text(content)
    done = run("topics", tmp_path / name, "--out", tmp_path / "o", "-q", *options, code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir() if not p.name.endswith("cache")] == [name]


def test_output_inside_the_source_and_bad_strengths(tmp_path):
    (tmp_path / "a.txt").write_text("house river")
    assert "lies in the input folder" in run("topics", tmp_path, "--out", tmp_path / "o", code=2).stderr
    anchors = tmp_path / "anchors.txt"
    for bad in ("river=2", "river=nan", "=1", "[/b]=x"):
        anchors.write_text(f"house\n{bad}\n")
        done = run("topics", tmp_path / "a.txt", "--anchors", anchors, "--out", tmp_path / "o", code=2)
        assert "anchors.txt, line 2" in done.stderr
        assert bad in done.stderr


def test_missing_source_and_version(tmp_path):
    assert "no such file or folder" in run("topics", tmp_path / "absent", "--out", tmp_path / "o", code=2).stderr
    assert run("--version").stdout.strip() == latentia.__version__


# --- files as people have them ------------------------------------------------------------------------------------


def novel(folder, name, n_chapters, words):
    """A text of chapters, each with words of its own kind."""
    chapters = [
        f"CHAPTER {number}\n\n"
        + " ".join(f"{words[number % len(words)]}{i % 15} common{i % 40}" for i in range(120))
        + "\n\n"
        for number in range(1, n_chapters + 1)
    ]
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("A NOVEL\n\n" + "".join(chapters))


def test_novels_are_cut_into_chapters(call, refused, rows, tmp_path):
    for name in ("a.txt", "b.txt"):
        novel(tmp_path / "novels", name, 40, ["ship", "city"])
    (tmp_path / "novels" / "paper.pdf").write_bytes(b"%PDF-1.4\n")
    with pytest.warns(DroppedDataWarning, match=r"1 of 3 files were left out. paper.pdf: not a text file, but a PDF"):
        message = refused("topics", tmp_path / "novels", "-k", 3)
    assert "2 documents" in message
    assert "-k 3 is too large. Long texts can be cut into documents: --split chapter, --split paragraph, or" in message
    (tmp_path / "novels" / "paper.pdf").unlink()
    (tmp_path / "years.csv").write_text("novel,year\na,1811\nb,1813\n")
    out = tmp_path / "o"
    about = ["--metadata", tmp_path / "years.csv"]
    call("topics", tmp_path / "novels", "-k", 2, "--split", "chapter", *about, "--refine", 0, "--out", out)
    assert [row["document"] for row in rows(out / "documents.csv")][:2] == ["a.txt, chapter 1", "a.txt, chapter 2"]
    assert len(rows(out / "documents.csv")) == 80
    novel(tmp_path, "c.txt", 5, ["ship"])
    call("apply", out, tmp_path / "c.txt", "--out", tmp_path / "a")  # cut as the others were
    assert [row["document"] for row in rows(tmp_path / "a" / "documents.csv")][-1] == "c.txt, chapter 5"
    call("apply", out, tmp_path / "c.txt", "--split", "200", "--out", tmp_path / "b")
    assert rows(tmp_path / "b" / "documents.csv")[-1]["document"] == "c.txt, part 6"
    call("apply", out, tmp_path / "c.txt", "--split", "none", "--out", tmp_path / "c")
    assert rows(tmp_path / "c" / "documents.csv")[0]["document"] == "line 1"


def test_words_of_a_table_are_left_out_and_counted(call, refused, tmp_path, corpus):
    coo = corpus.counts.tocoo()
    n, width = coo.shape
    words = ["the", "and", *(f"w{i}" for i in range(2, width))]
    entries = [f"{d + 1} {w + 1} {c}\n" for d, w, c in zip(coo.row, coo.col, coo.data, strict=True)]
    (tmp_path / "docword.p.txt").write_text(f"{n}\n{width}\n{coo.nnz}\n" + "".join(entries))
    (tmp_path / "vocab.p.txt").write_text("\n".join(words) + "\n")
    options = ["-k", 3, "--refine", 0, "--no-cache", "--max-df", 1, "--min-df", 1]
    printed = call("topics", tmp_path / "docword.p.txt", *options, "--out", tmp_path / "first")
    assert "2 words were left out: 2 stop words (--stop-words" in printed
    model = latentia.load(tmp_path / "first" / "model.npz")
    assert list(model.vocabulary) == words[2:]
    call("apply", tmp_path / "first", tmp_path / "docword.p.txt", "--no-cache", "--out", tmp_path / "a")
    kept = call("topics", tmp_path / "docword.p.txt", *options, "--stop-words", "none", "--out", tmp_path / "p")
    assert "left out" not in kept
    (tmp_path / "vocab.p.txt").unlink()
    message = refused("topics", tmp_path / "docword.p.txt", *options, "--stop-words", "english")
    assert "the columns of the table have no names. For stop words give the vocabulary" in message
    printed = call(
        "topics", tmp_path / "docword.p.txt", "-k", 3, "--refine", 0, "--max-df", 0.3, "--out", tmp_path / "q"
    )
    assert "in more than 30% of the documents" in printed
    call("apply", tmp_path / "q", tmp_path / "docword.p.txt", "--no-cache", "--out", tmp_path / "r")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--split", "chapters"], "--split chapters: expected chapter, paragraph, or a number of words"),
        (["--split", "chapter"], "x.txt: --split chapter: expected headings of chapters, found none"),
        (["--stop-words", "germann"], "did you mean 'german'?"),
        (["--stop-words", "absent.txt"], "--stop-words absent.txt: no such file"),
        (["--metadata", "absent.csv"], "absent.csv: --metadata: no such file"),
    ],
)
def test_options_of_texts_that_cannot_be_used(refused, tmp_path, option, message):
    (tmp_path / "x.txt").write_text("house river\n" * 30)
    assert message in refused("topics", tmp_path / "x.txt", "-k", 2, *option)


def test_a_column_that_nobody_named(refused, tmp_path):
    (tmp_path / "x.csv").write_text("id,body\n1,house\n")
    assert "x.csv: --column: which column holds the text? There are id, body" in refused("topics", tmp_path / "x.csv")


def test_stop_words_may_be_given_as_words_and_html_is_none(call, tmp_path):
    (tmp_path / "x.txt").write_text("house<br>river &amp; said garden\nriver &lt; garden said house\n" * 30)
    options = ["-k", 1, "--refine", 0, "--max-df", 1]
    call("topics", tmp_path / "x.txt", *options, "--stop-words", "english,said", "--out", tmp_path / "o")
    assert set(latentia.load(tmp_path / "o" / "model.npz").vocabulary) == {"house", "river", "garden"}


@pytest.mark.filterwarnings("ignore::latentia.exceptions.DroppedDataWarning")
def test_documents_without_words_have_no_shares(call, tmp_path):
    texts = ["house river house", "river house garden", "garden garden house", "-"] * 10
    (tmp_path / "x.csv").write_text("text\n" + "\n".join(f'"{text}"' for text in texts) + "\n")
    call("topics", tmp_path / "x.csv", "--column", "text", "-k", 2, "--out", tmp_path / "o")
    call("apply", tmp_path / "o", tmp_path / "x.csv", "--out", tmp_path / "a")
    for path in (tmp_path / "o" / "documents.csv", tmp_path / "a" / "documents.csv"):
        lines = path.read_text().splitlines()[1:]
        assert [line.endswith(",,") for line in lines] == [text == "-" for text in texts]


def test_stop_words_of_languages_and_files(call, tmp_path):
    pytest.importorskip("stopwordsiso")
    (tmp_path / "x.txt").write_text("der hund und die katze laufen garten\nein hund ohne katze und maus garten\n" * 30)
    (tmp_path / "mine.txt").write_text("garten\n")
    both = f"german,{tmp_path / 'mine.txt'}"
    options = ["-k", 1, "--refine", 0, "--max-df", 1]
    for i, (option, lacking, kept) in enumerate(
        [
            ("german", {"der", "und"}, {"garten"}),
            (both, {"der", "garten"}, {"hund"}),
            ("none", set(), {"der", "garten"}),
        ]
    ):
        call("topics", tmp_path / "x.txt", *options, "--stop-words", option, "--out", tmp_path / f"o{i}")
        words = set(latentia.load(tmp_path / f"o{i}" / "model.npz").vocabulary)
        assert not words & lacking
        assert kept <= words
    call("apply", tmp_path / "o1", tmp_path / "x.txt", "--out", tmp_path / "a")


def test_single_topics_are_raced_beside_anchors(texts, tmp_path):
    done = run("topics", texts, "-k", 3, "--refine", 2, "--model", "auto", "--out", tmp_path / "o", "--quiet")
    chosen, perplexities = re.search(
        r"--model auto takes (\w+): perplexity of [\d,]+ hidden\s+words of \d+\s+held-out\s+documents: "
        r"(anchor [\d,]+,\s+single [\d,]+);",
        done.stdout,
    ).groups()
    anchor, single = (
        int(value.replace(",", "")) for value in re.findall(r"(?:anchor|single) ([\d,]*\d)", perplexities)
    )
    assert chosen == "anchor" or single < anchor
    kind = {"anchor": "AnchorTopics", "single": "SingleTopicModel"}[chosen]
    assert type(latentia.load(tmp_path / "o" / "model.npz")).__name__ == kind
    race = json.loads((tmp_path / "o" / "result.json").read_text())["race"]
    assert race["chosen"] == chosen
    assert [f"{value:,.0f}" for value in race["perplexities"].values()] == re.findall(r"[\d,]*\d", perplexities)
    page = (tmp_path / "o" / "report.html").read_text()
    assert "Choice of the model" in page
    assert race["why"].removeprefix(chosen) in html.unescape(page)
