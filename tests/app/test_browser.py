"""The app in a real browser, as people use it who do not program."""

import http.server
import re
import threading
import time
import zipfile

import numpy as np
import pytest
from try_package import findings

from latentia.datasets import load_bible, planted

MOST_CLICKS = 12


class Person:
    """Somebody in front of the browser, who reads texts and counts clicks."""

    def __init__(self, browser, client, folder):
        from selenium.webdriver.support.ui import Select

        self.browser, self.client, self.folder, self.clicks, self.select = browser, client, folder, 0, Select
        settings = {"behavior": "allow", "downloadPath": str(folder)}
        browser.execute_cdp_cmd("Browser.setDownloadBehavior", settings)
        browser.get(client.address)

    @property
    def text(self):
        return self.browser.find_element("tag name", "main").text

    def until(self, condition, seconds=90):
        """Wait for a condition; pages may change while it is looked at."""
        from selenium.common.exceptions import StaleElementReferenceException, TimeoutException
        from selenium.webdriver.support.ui import WebDriverWait

        waiting = WebDriverWait(self.browser, seconds, 0.1, [StaleElementReferenceException])
        try:
            return waiting.until(lambda _: condition())
        except TimeoutException:
            raise AssertionError(self.text) from None

    def sees(self, text, seconds=90):
        self.until(lambda: text in self.text, seconds)

    def find(self, selector):
        return self.until(lambda: next(iter(self.browser.find_elements("css selector", selector)), None))

    def click(self, text):
        """Click on the first button or link with these words."""
        what = f"//*[self::a or self::button or self::summary or self::label][contains(normalize-space(.), '{text}')]"
        shown = self.until(lambda: [one for one in self.browser.find_elements("xpath", what) if one.is_displayed()])
        self.clicks += 1
        shown[0].click()

    def type(self, selector, text):
        """Click into a box, and put a text there in place of its own."""
        self.clicks += 1
        box = self.find(selector)
        box.click()
        box.send_keys("\ue009a\ue000\ue017" + text + "\ue004")  # Ctrl-A, Delete, the text, Tab

    def choose(self, selector, text):
        """Open a list, and choose from it."""
        self.clicks += 2
        self.select(self.find(selector)).select_by_visible_text(text)

    def bring(self, name, content):
        """Choose a file on this machine, and see how it was read."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.clicks += 1
        self.find("#upload").send_keys(str(path))
        self.until(lambda: f"/file/{name}" in self.browser.current_url)

    def learn(self):
        self.click("Start")
        self.until(lambda: "/results/" in self.browser.current_url)
        self.sees("Download everything")

    def download(self):
        """Download the result; return the names of its files."""
        self.click("Download everything")
        self.until(lambda: list(self.folder.glob("*.zip")))
        with zipfile.ZipFile(next(self.folder.glob("*.zip"))) as archive:
            assert archive.testzip() is None
            return {name.rpartition("/")[2] for name in archive.namelist()}


@pytest.fixture
def person(browser, client, tmp_path):
    return Person(browser, client, tmp_path)


@pytest.fixture(scope="module")
def chapters():
    bible = load_bible()
    first = bible.names.index("Matthew 1")
    rows = [
        f'{name},{"old" if i < first else "new"},"{text[:700].replace(chr(34), chr(39))}"'
        for i, (name, text) in enumerate(zip(bible.names, bible.texts, strict=True))
        if i % 9 == 0
    ]
    return "\n".join(["chapter,testament,text", *rows]) + "\n"


def survey():
    rng = np.random.default_rng(0)
    kinds = rng.integers(3, size=300)
    age, income = rng.normal(np.array([30, 50, 70])[kinds], 6), rng.normal(np.array([20, 45, 18])[kinds], 3)
    satisfaction = np.where(rng.random(300) < 0.08, -99, np.array([2, 5, 3])[kinds] + rng.integers(2, size=300))
    hours = [
        f"{hour:.1f}" if gap else "" for hour, gap in zip(rng.normal(30, 9, 300), rng.random(300) > 0.1, strict=True)
    ]
    rows = zip(age, income, satisfaction, hours, np.array(["Ulm", "Bonn", "Kiel"])[kinds], strict=True)
    lines = [f"{a:.0f},{i:.1f},{s},{h},{city}" for a, i, s, h, city in rows]
    return "\n".join(["age,income,satisfaction,hours,city", *lines]) + "\n"


def friends():
    edges = planted.mixed_membership_graph(150, 2, alpha0=0.1, degree=25, snr=4).adjacency.tocoo()
    pairs = [f"person{i},person{j}" for i, j in zip(edges.row, edges.col, strict=True) if i < j]
    return "\n".join(["source,target", *pairs]) + "\n"


def visits(length=50):
    symbols = planted.hidden_markov_chain(2500, n_states=2, n_symbols=5).symbols
    pages = [["home", "search", "product", "basket", "pay"][symbol] for symbol in symbols]
    return [pages[i : i + length] for i in range(0, len(pages), length)]


def receipts():
    table = findings(np.random.default_rng(0), 15)[:1000]
    return "\n".join(",".join(f"article {j}" for j in np.flatnonzero(row)) for row in table) + "\n"


# --- five tasks -----------------------------------------------------------------------------------------------------


def test_texts_with_groups(person, chapters):
    person.bring("chapters.csv", chapters)
    person.click("What are these texts about?")
    person.type('[name="from"]', "3")
    person.type('[name="to"]', "")
    person.click("testament")
    person.learn()
    person.browser.switch_to.frame(0)
    assert "Topics of chapters.csv" in person.browser.find_element("tag name", "h1").text
    person.browser.switch_to.default_content()
    assert {"report.html", "model.npz", "topics.csv", "prevalence.csv"} <= person.download()
    assert person.clicks <= MOST_CLICKS


def test_a_table_with_gaps_and_codes(person):
    person.bring("survey.csv", survey())
    person.click("-99 stands for a missing answer")
    person.until(lambda: "--missing-codes" in person.find("#shell").get_attribute("textContent"))
    person.click("Which groups do the rows form?")
    person.type('[name="to"]', "3")
    person.learn()
    assert "--missing keep" in person.find("#shell").get_attribute("textContent")
    assert {"report.html", "model.npz"} <= person.download()
    assert person.clicks <= MOST_CLICKS


def test_a_network(person):
    person.bring("friends.csv", friends())
    person.click("Who belongs together in this network?")
    person.learn()
    assert {"report.html", "model.npz"} <= person.download()
    assert person.clicks <= MOST_CLICKS


def test_sequences(person):
    person.bring("visits.txt", "\n".join(" ".join(pages) for pages in visits()) + "\n")
    person.click("Which hidden states do these sequences pass through?")
    person.type('[name="to"]', "3")
    person.learn()
    assert {"report.html", "model.npz", "paths.csv"} <= person.download()
    assert person.clicks <= MOST_CLICKS


def test_receipts(person):
    person.bring("receipts.csv", receipts())
    person.click("Which hidden causes are behind what is present")
    person.type('[name="from"]', "3")
    person.learn()
    assert {"report.html", "model.npz"} <= person.download()
    assert person.clicks <= MOST_CLICKS


# --- what goes otherwise --------------------------------------------------------------------------------------------


def test_a_wrong_role_is_corrected(person):
    rows = [f"v{i},{page}" for i, pages in enumerate(visits()) for page in pages]
    person.bring("events.csv", "\n".join(["who,page", *rows]) + "\n")
    person.sees("No question fits this file")
    person.choose('[aria-label="Role of who"]', "group: whose row it is")
    person.sees("Which hidden states do these sequences pass through?")
    person.click("Which hidden states")
    person.until(lambda: "--column page --sequence who" in person.find("#shell").get_attribute("textContent"))


def test_choices_are_remembered_and_the_place_on_the_page_is_kept(person):
    person.bring("kept.csv", survey())
    person.browser.set_window_size(500, 400)
    tick = person.find('[name="missing_codes"]')
    person.browser.execute_script("arguments[0].scrollIntoView()", tick)
    tick.send_keys(" ")
    person.until(lambda: "--missing-codes" in person.find("#shell").get_attribute("textContent"))
    assert person.browser.switch_to.active_element.get_attribute("name") == "missing_codes"
    assert person.browser.execute_script("return scrollY") > 0
    person.click("Which groups do the rows form?")
    person.type('[name="to"]', "1")
    person.until(lambda: "not above the last" in person.find("fieldset").text)  # beside the number, before any start
    person.type('[name="to"]', "3")
    person.type('[name="out"]', "my groups")
    person.until(lambda: "--out my-groups" in person.find("#shell").get_attribute("textContent"))
    person.browser.get(person.client.address)
    person.click("kept.csv")
    assert person.find('[name="missing_codes"]').is_selected()
    person.click("Which groups do the rows form?")
    assert person.find('[name="to"]').get_attribute("value") == "3"
    assert person.find('[name="out"]').get_attribute("value") == "my-groups"
    person.until(lambda: "--missing-codes" in person.find("#shell").get_attribute("textContent"))
    person.browser.set_window_size(1200, 900)


def test_patients_from_findings_to_the_next_question(person):
    """Columns that are no findings are left out; causes get names; new rows are brought, noted and asked about."""
    table = findings(np.random.default_rng(1), 9)[:800]
    head = ",".join(["patient", "age", *(f"sign {j}" for j in range(36))])
    rows = [f"P{i},{30 + i % 47}," + ",".join("yes" if cell else "no" for cell in row) for i, row in enumerate(table)]
    person.bring("patients.csv", "\n".join([head, *rows]) + "\n")
    person.click("Which hidden causes are behind what is present")
    assert "age: no findings" in person.text
    person.type('[name="from"]', "9")
    person.learn()
    person.click("Give names")
    person.type('[name="name"]', "a cold")
    person.click("Learn with these names")
    person.until(lambda: "-edited" in person.browser.current_url)
    person.sees("Download everything")
    person.click("Apply to another file")
    new = person.folder / "new.csv"
    new.write_text("\n".join([head, *rows[:9], rows[9].replace("no", "", 2).replace("yes", "perhaps", 1)]) + "\n")
    person.find("[data-upload]").send_keys(str(new))
    person.until(lambda: person.select(person.find('[name="file"]')).first_selected_option.text == "new.csv")
    person.type('[name="ask"]', "2")
    person.click("Start")
    person.sees("posteriors.csv: 10 rows")
    assert "a cold: above 50% in" in person.text
    assert "'perhaps', but the model knows" in person.text
    assert "P0 " in person.text
    assert "e-0" not in person.find(".data").text
    assert re.search(r"sign \d+; sign \d+", person.find(".data").text)


def test_files_and_results_are_removed(person):
    person.bring("gone.csv", survey())
    person.browser.get(person.client.address)
    person.find("#upload").send_keys(str(person.folder / "gone.csv"))
    person.sees("gone.csv is stored as gone-2.csv")
    person.click("Remove this file")
    person.browser.switch_to.alert.dismiss()
    assert (person.client.folder / "gone-2.csv").exists()
    person.click("Remove this file")
    person.browser.switch_to.alert.accept()
    person.sees("Drop a file")
    assert "gone-2.csv" not in person.text
    person.click("gone.csv")
    person.click("Which groups do the rows form?")
    person.type('[name="to"]', "")
    person.learn()
    person.click("Remove this result")
    person.browser.switch_to.alert.accept()
    person.sees("Drop a file")
    assert "gone-mixture" not in person.text
    assert not (person.client.folder / "gone-mixture").exists()


def test_names_and_anchors_are_changed_and_undone(person, chapters):
    person.bring("again.csv", chapters)
    person.click("What are these texts about?")
    person.type('[name="from"]', "3")
    person.type('[name="to"]', "")
    person.learn()
    person.click("Names and anchors of topics")
    words = person.find('[data-words="1"]').text
    anchor = person.find('tr:nth-child(2) [name="anchor"]').get_attribute("value")
    person.type('tr:nth-child(2) [name="anchor"]', "nonsense")
    person.until(lambda: "not a word of these texts: nonsense" in person.text)
    person.type('tr:nth-child(2) [name="anchor"]', next(word for word in words.split(", ") if word != anchor))
    person.until(lambda: person.find('[data-words="1"]').text != words)
    person.sees("nats of log-likelihood a word")
    person.click("Undo")
    person.until(lambda: person.find('[data-words="1"]').text == words)
    assert "nats" not in person.text
    person.type('tr:nth-child(1) [name="name"]', "first <b>name</b>")
    person.click("Learn with these names and anchors")
    person.until(lambda: "-edited" in person.browser.current_url)
    person.sees("Download everything")
    person.browser.switch_to.frame(0)
    person.sees("first <b>name</b>")
    person.browser.switch_to.default_content()


def test_work_is_stopped_and_goes_on(person):
    person.bring("long.csv", survey())
    person.click("Which groups do the rows form?")
    person.type('[name="to"]', "6")
    person.click("Start")
    person.until(lambda: "comparing" in person.text)
    person.browser.get(person.client.address)  # the page may be closed
    person.click("long-mixture")
    person.click("Stop")
    person.until(lambda: "Continue" in person.text)
    assert "Nothing is lost" in person.text
    person.click("Continue")
    person.until(lambda: "so far" in person.text)
    person.click("End at once")
    person.until(lambda: "Continue" in person.text)
    person.click("Continue")
    person.sees("Download everything")
    assert {"report.html", "model.npz"} <= person.download()


def test_a_wrong_file_or_number_is_explained(person):
    person.bring("report.pdf", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    assert "not a text file, but a PDF document" in person.text
    person.click("Back to the files")
    person.bring("small.csv", survey())
    person.click("Which groups do the rows form?")
    person.type('[name="from"]', "5000")
    person.type('[name="to"]', "")
    person.click("Start")
    person.sees("This could not be learned")
    assert "“number” 5000 is too large" in person.text
    person.click("Change the question")
    person.sees("Number of components")
    assert person.find('[name="from"]').get_attribute("value") == "5000"
    person.browser.back()
    person.click("Remove")
    person.browser.switch_to.alert.accept()
    person.sees("Drop a file")
    assert "small-mixture" not in person.text


def test_another_page_starts_nothing(person):
    """A page of another server in the same browser, which even knows the address."""
    home = re.sub(r"\?.*", "", person.client.address) + person.client.base.lstrip("/")
    person.bring("mine.csv", survey())
    before = sorted(path.name for path in person.client.folder.iterdir())
    page = f"""<title>waiting</title><body><iframe src="{home}/"></iframe><img src="{home}/file/mine.csv">
    <form action="{home}/ask/mixture/mine.csv" method="post" target="inner"><input name="out" value="stolen"></form>
    <iframe name="inner"></iframe>
    <script>
    const simple = {{mode: "no-cors", credentials: "include"}}, full = {{credentials: "include"}};
    const tries = [
      ["{home}/ask/mixture/mine.csv", {{...simple, method: "POST", body: "out=stolen"}}],
      ["{home}/files/stolen.csv", {{...full, method: "PUT", body: "a", headers: {{"X-Latentia": "x"}}}}],
      ["{home}/", full], ["{home}/results/stolen/state", simple],
    ];
    document.forms[0].submit();
    Promise.allSettled(tries.map(([place, how]) => fetch(place, how).then((answer) => answer.text())))
      .then((ends) => {{ document.title = "ended " + ends.map((end) => end.value || "").join(""); }});
    </script>"""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for host in ("localhost", "127.0.0.1"):  # another site, and the same site at another port, which has the cookie
            person.browser.get(f"http://{host}:{server.server_port}/")
            person.until(lambda: person.browser.title.startswith("ended"))
            time.sleep(0.5)  # for the form
            assert person.browser.title.strip() == "ended"
        server.shutdown()
    assert sorted(path.name for path in person.client.folder.iterdir()) == before
    assert not (person.client.folder / ".latentia-app" / "stolen").exists()
