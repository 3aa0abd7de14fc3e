"""``--levels``: the tree of the components in the folder of results."""

import json

import numpy as np
import pytest

CENTRES = np.array([[0, 0], [0, 6], [60, 0], [60, 6], [0, 90]])


@pytest.mark.filterwarnings("ignore")
def test_tree_of_a_mixture_is_written_and_opens_to_the_clearest_level(call, rows, written, tmp_path):
    rng = np.random.default_rng(0)
    X = CENTRES[rng.integers(5, size=2000)] + rng.standard_normal((2000, 2))
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="<b>one,two", comments="", fmt="%.6g")
    out = tmp_path / "out"
    printed = call("mixture", tmp_path / "rows.csv", "-k", 5, "--levels", "--no-cache", "--out", out)
    assert "The 5 components fall into 3 groups" in printed
    assert "levels.csv" in written(out)
    table = rows(out / "levels.csv")
    assert [row["join"] for row in table] == ["8", "7", "6", "5"]
    assert table[0]["name"] == "5 components"
    assert all(row["name"].startswith("2 components: ") for row in table[2:])
    record = json.loads((out / "result.json").read_text())["levels"]
    assert record["suggested"] == 3
    assert len(set(record["groups"])) == 3
    assert len(record["names"]) == 5
    page = (out / "report.html").read_text()
    tree = page[page.index('id="levels"') :].split("</section>")[0]
    assert tree.count("<details") == tree.count("</details>") == 4
    assert tree.count("<details open>") == 2
    assert "<b>one" not in tree


@pytest.mark.filterwarnings("ignore")
def test_tree_opens_and_closes_by_keys_at_the_width_of_a_phone(call, browser, tmp_path):
    X = CENTRES[np.arange(2000) % 5] + np.random.default_rng(0).standard_normal((2000, 2))
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="one,two", comments="", fmt="%.6g")
    call("mixture", tmp_path / "rows.csv", "-k", 5, "--levels", "--no-cache", "--out", tmp_path / "out")
    browser.set_window_size(400, 900)
    browser.get((tmp_path / "out" / "report.html").as_uri())
    groups = browser.find_elements("css selector", "#levels summary")
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    browser.set_window_size(1280, 900)

    def list_open():
        return [browser.execute_script("return arguments[0].parentElement.open", group) for group in groups]

    before = list_open()
    browser.execute_script("arguments[0].focus()", groups[0])
    browser.switch_to.active_element.send_keys("\ue004")  # Tab
    number = groups.index(browser.switch_to.active_element)
    assert number == 1
    for key in "\ue007 ":  # Enter and Space
        browser.switch_to.active_element.send_keys(key)
        assert (list_open()[number] != before[number]) == (key != " ")
    assert list_open() == before


@pytest.mark.filterwarnings("ignore")
def test_topics_and_communities_have_levels_too(call, rows, tmp_path):
    rng = np.random.default_rng(0)
    words = [f"{letter}{i:02}word" for letter in "abcd" for i in range(15)]
    texts = [" ".join(rng.choice(words[15 * t : 15 * t + 15], 40)) for t in rng.integers(4, size=400)]
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n")
    call("topics", tmp_path / "texts.txt", "-k", 4, "--words", r"\w+", "--levels", "--out", tmp_path / "topics")
    assert len(rows(tmp_path / "topics" / "levels.csv")) == 3
    labels = np.repeat(np.arange(4), 50)
    upper = np.triu(rng.random((200, 200)) < 0.02 + 0.4 * (labels[:, None] == labels), 1)
    (tmp_path / "edges.txt").write_text("".join(f"{i} {j}\n" for i, j in np.argwhere(upper)))
    call("communities", tmp_path / "edges.txt", "-k", 4, "--levels", "--out", tmp_path / "graph")
    assert len(rows(tmp_path / "graph" / "levels.csv")) == 3
    assert "levels" not in json.loads((tmp_path / "graph" / "result.json").read_text())["read"]
