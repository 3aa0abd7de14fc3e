"use strict";
(() => {
  const { topics, vocabulary, weight: usual, size, figures = {} } =
    JSON.parse(document.getElementById("report-data").textContent);
  const { element, svg, text } = Charts;
  const byId = (id) => document.getElementById(id);
  const single = byId("detail").dataset.single === "yes";
  const rows = [...document.querySelectorAll("#topic-table tbody tr")];
  const percent = (x, digits = 1) => (100 * x).toFixed(digits) + "%";
  const [inTable, inTitle, prefixes] = [10, 3, 8];
  let [selected, weight, sought] = [-1, usual, -1];  // sought: the place of a word in the vocabulary

  // --- words: the order is that of latentia.metrics.relevance, from its values with the weights 1 and 0

  const rank = (topic, by) => {
    const { at, p, lift } = topic.words;
    const score = at.map((_, i) => by * Math.log(p[i]) + (1 - by) * lift[i]);
    return at.map((_, i) => i).sort((a, b) => score[b] - score[a]);
  };

  function wordsOf(topic, count = size) {
    const { at, p } = topic.words;
    return rank(topic, weight).slice(0, count).map((i) => {
      const name = vocabulary.text[at[i]];
      const anchor = topic.anchors?.includes(name) ?? false;
      return { name, anchor, sought: at[i] === sought, topic: p[i], corpus: vocabulary.corpus[at[i]] };
    });
  }

  const titleOf = (topic) => wordsOf(topic, inTitle).map((word) => word.name).join(", ");

  function shownWord(word) {
    const found = word.anchor ? element("b", "anchor", word.name) : document.createTextNode(word.name);
    if (!word.sought) return found;
    const mark = element("mark");
    mark.append(found);
    return mark;
  }

  const joined = (nodes, between) => nodes.flatMap((node, i) => (i ? [between, node] : [node]));

  function fillTable() {
    for (const row of rows) {
      const topic = topics[row.dataset.topic], cell = row.querySelector(".words");
      cell.replaceChildren(...joined(wordsOf(topic, inTable).map(shownWord), ", "));
      cell.dataset.value = titleOf(topic);
      row.setAttribute("aria-label", `Topic ${topic.number}: ${titleOf(topic)}`);
      row.classList.toggle("faded", sought >= 0 && !topic.words.at.includes(sought));
    }
  }

  // --- the map: places are pixels, and circles are moved apart so that none hides another

  function mapLayout(width) {
    const height = width < 500 ? 340 : 430;
    const top = Math.max(...topics.map((t) => t.share), 1e-12);
    const largest = Math.min(64, 1.1 * Math.sqrt((width * height) / topics.length) / 2);
    const radius = topics.map((t) => Math.max(largest * Math.sqrt(Math.max(t.share, 0) / top), 20) / 2);
    const pad = Math.max(...radius) + 6;
    const fit = fitInto(width - 2 * pad, height - 2 * pad);
    const places = topics.map((t) => [width / 2 + fit.scale * (t.x - fit.x), height / 2 + fit.scale * (t.y - fit.y)]);
    for (let step = 0; step < 200 && spread(places, radius); step++) {
      places.forEach((p, i) => {
        p[0] = Math.min(Math.max(p[0], radius[i] + 4), width - radius[i] - 4);
        p[1] = Math.min(Math.max(p[1], radius[i] + 4), height - radius[i] - 4);
      });
    }
    return { height, radius, places };
  }

  // The centre of the topics, and the scale at which they fill a rectangle without being stretched.
  function fitInto(width, height) {
    const [xs, ys] = [topics.map((t) => t.x), topics.map((t) => t.y)];
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const scale = Math.min(width / Math.max(right - left, 1e-9), height / Math.max(high - low, 1e-9));
    return { x: (left + right) / 2, y: (low + high) / 2, scale: scale > 1e8 ? 0 : scale };
  }

  // Pushes overlapping circles apart by half of what they overlap; says whether any did.
  function spread(places, radius) {
    let moved = false;
    for (let i = 0; i < places.length; i++) {
      for (let j = 0; j < i; j++) {
        let [dx, dy] = [places[i][0] - places[j][0], places[i][1] - places[j][1]];
        if (dx === 0 && dy === 0) [dx, dy] = [Math.cos(i), Math.sin(i)];
        const distance = Math.hypot(dx, dy);
        const overlap = radius[i] + radius[j] + 3 - distance;
        if (overlap <= 0.5) continue;
        const push = overlap / 2 / distance;
        places[i][0] += push * dx; places[i][1] += push * dy;
        places[j][0] -= push * dx; places[j][1] -= push * dy;
        moved = true;
      }
    }
    return moved;
  }

  function mapSays(topic) {
    const words = wordsOf(topic, 10).map((word) => word.name);
    const error = topic.error === null ? "" : `expected error ${topic.error.toFixed(2)}: `;
    return [
      `Topic ${topic.number}`, words.slice(0, 5).join(", "), words.slice(5).join(", "), `${percent(topic.share)} of the corpus`,
      error + topic.grade.label,
    ].filter(Boolean).join("\n");
  }

  const layouts = new Map();

  function mapDrawing(width) {
    if (!layouts.has(width)) layouts.set(width, mapLayout(width));
    const { height, radius, places } = layouts.get(width);
    const group = svg("g");
    const targets = topics.map((topic, i) => {
      const [cx, cy] = places[i].map((x) => Math.round(10 * x) / 10), key = topic.grade.key;
      const faded = sought >= 0 && !topic.words.at.includes(sought) ? " faded" : "";
      const chosen = topic.number === selected ? " chosen" : "";
      group.append(
        svg("circle", { cx, cy, r: Math.round(10 * radius[i]) / 10, class: `ball ${key}${faded}${chosen}`, "data-topic": i }),
        text(cx, cy + 4, topic.number, { "text-anchor": "middle", class: `on ${key}` }),
      );
      return { cx, cy, r: radius[i], says: mapSays(topic) };
    });
    return { group, height, targets };
  }

  const drawMap = () => Charts.draw(byId("map"), mapDrawing, (i) => select(i, true));

  // --- the selected topic

  function drawBars(words) {
    const hover = words.map((w) =>
      `${w.name}${w.anchor ? " (anchor word)" : ""}\n${percent(w.topic, 2)} of the topic\n${percent(w.corpus, 2)} of the corpus`);
    const bars = (name, values, colour, shift) => ({
      mark: "bars", sideways: true, name, x: values.map((_, i) => i + shift), y: values, width: 0.36, colour, hover,
    });
    const strong = words.flatMap((w, i) => (w.anchor || w.sought ? [i] : []));
    const panel = {
      title: "", x: { title: "", zero: true, percent: true },
      y: { names: words.map((w) => (w.anchor ? "◆ " : "") + w.name), strong },
      marks: [
        bars("in the topic", words.map((w) => w.topic), 0, -0.18),
        bars("in the corpus", words.map((w) => w.corpus), "pale", 0.18),
      ],
    };
    Charts.draw(byId("word-bars"), { kind: "plot", panels: [panel], height: 22 * words.length, legend: true });
  }

  function fillNumbers(words) {
    byId("word-numbers").querySelector("tbody").replaceChildren(...words.map((word) => {
      const row = element("tr"), name = element("td");
      name.append(shownWord(word));
      row.append(name, element("td", "number", percent(word.topic, 2)), element("td", "number", percent(word.corpus, 2)));
      return row;
    }));
  }

  function fillFacts(topic) {
    byId("topic-title").textContent = `Topic ${topic.number}: ${titleOf(topic)}`;
    const badge = element("span", "badge " + topic.grade.key);
    badge.append(element("i", "dot"), topic.grade.label);
    const facts = [element("span", "", percent(topic.share) + " of the corpus"), badge];
    if (topic.error !== null) facts.push(element("span", "", `expected error ${topic.error.toFixed(2)} of 2`));
    byId("topic-facts").replaceChildren(...facts);
    byId("anchors")?.replaceChildren(...joined((topic.anchors ?? []).map((word) => element("b", "anchor", word)), ", "));
  }

  // A button that leads to a topic.
  function way(topic, label, note) {
    const button = element("button", "", label + " ");
    button.type = "button";
    button.append(element("small", "", note));
    button.addEventListener("click", () => select(topic.number, true));
    const item = element("li");
    item.append(button);
    return item;
  }

  function fillSimilar(topic) {
    const items = topic.similar.map(([number, overlap]) =>
      way(topics[number], `Topic ${number}: ${titleOf(topics[number])}`, `(${percent(overlap, 0)} in common)`));
    byId("similar").replaceChildren(...(items.length ? items : [element("li", "", "There is no other topic.")]));
  }

  // Splits a text at the topic's words, and marks these.
  function marked(excerpt, words) {
    const known = new Set(words.map((word) => word.name.toLowerCase()));
    return excerpt.split(/([\p{L}\p{M}]+)/u).map((part, i) =>
      i % 2 && known.has(part.toLowerCase()) ? element("mark", "", part) : part);
  }

  function fillDocuments(topic, words) {
    byId("documents").replaceChildren(...topic.documents.map((d) => {
      const item = element("li");
      const counted = `${d.words.toLocaleString("en")} counted words`;
      const told = single ? ` probability ${percent(d.share, 0)}, ${counted}` : ` ${percent(d.share, 0)} of its ${counted}`;
      item.append(element("span", "name", d.name), element("span", "size", told));
      if (d.excerpt) {
        const excerpt = element("p", "excerpt");
        excerpt.append(...marked(d.excerpt, words));
        item.append(excerpt);
      }
      return item;
    }));
  }

  function show(topic) {
    const words = wordsOf(topic);
    byId("word-bars").closest("figure").dataset.name = `topic-${topic.number}`;  // of saved pictures
    fillFacts(topic);
    fillNumbers(words);
    fillSimilar(topic);
    fillDocuments(topic, words);
    drawBars(words);
  }

  function select(number, byReader) {
    if (!topics[number]) return;
    selected = number;
    for (const row of rows) {
      const own = Number(row.dataset.topic) === number;
      row.toggleAttribute("aria-current", own);
      if (own) row.setAttribute("aria-current", "true");
      row.tabIndex = own ? 0 : -1;
    }
    show(topics[number]);
    drawMap();
    if (!byReader) return;
    try { history.replaceState(null, "", "#topic-" + number); } catch { /* some viewers forbid it */ }
    const beside = getComputedStyle(byId("detail")).position === "sticky";
    if (beside) byId("detail").scrollTop = 0; else byId("detail").scrollIntoView();
  }

  // --- the slider and the search

  function refresh() {
    fillTable();
    show(topics[selected]);
    drawMap();
  }

  byId("weight").addEventListener("input", () => {
    weight = Number(byId("weight").value);
    byId("weight-value").textContent = weight.toFixed(1);
    refresh();
  });

  // Topics that hold a word, with their parts of its uses.
  function holders(place) {
    return topics.flatMap((topic) => {
      const i = topic.words.at.indexOf(place);
      if (i < 0) return [];
      return [{ topic, part: (topic.share * topic.words.p[i]) / (vocabulary.total[place] || 1), p: topic.words.p[i] }];
    }).sort((a, b) => b.part - a.part);
  }

  function foundWord(place) {
    const list = element("ul");
    list.append(...holders(place).map(({ topic, part, p }) =>
      way(topic, `Topic ${topic.number}`, `${percent(part, 0)} of its uses, ${percent(p, 2)} of the topic`)));
    const intro = element("span");
    const frequency = percent(vocabulary.corpus[place], 3);
    intro.append(element("b", "", vocabulary.text[place]), ` is ${frequency} of the corpus. It stands in:`);
    return [intro, list];
  }

  function suggested(begin) {
    const near = (test) => vocabulary.text.flatMap((word, i) => (test(word.toLowerCase()) ? [i] : []))
      .sort((a, b) => vocabulary.corpus[b] - vocabulary.corpus[a]);
    const places = [...new Set([...near((word) => word.startsWith(begin)), ...near((word) => word.includes(begin))])];
    const all = vocabulary.text.length.toLocaleString("en");
    if (!places.length) return [`None of the ${all} words that tell these topics is like that.`];
    const list = element("ul");
    list.append(...places.slice(0, prefixes).map((place) => {
      const [item, button] = [element("li"), element("button", "", vocabulary.text[place])];
      button.type = "button";
      button.addEventListener("click", () => {
        byId("search").value = vocabulary.text[place];
        byId("search").focus();
        search();
      });
      item.append(button);
      return item;
    }));
    return [`${places.length > prefixes ? "Some words" : "Words"} like that:`, list];
  }

  function search() {
    const begin = byId("search").value.trim().toLowerCase();
    sought = begin ? vocabulary.text.findIndex((word) => word.toLowerCase() === begin) : -1;
    byId("found").hidden = !begin;
    byId("found").replaceChildren(...(!begin ? [] : sought >= 0 ? foundWord(sought) : suggested(begin)));
    refresh();
  }

  byId("search").addEventListener("input", search);
  byId("search").addEventListener("keydown", (event) => {
    if (event.key === "Escape") { byId("search").value = ""; search(); }
    if (event.key === "Enter" && sought >= 0) select(holders(sought)[0].topic.number, true);
  });

  // --- tables to save

  const inOrder = () => rows.map((row) => topics[row.dataset.topic]);
  const TABLES = {
    topics: () => [
      ["topic", "share", "expected error", "grade", ...(topics[0].anchors ? ["anchor words"] : []), "words"],
      ...inOrder().map((t) => [
        t.number, t.share.toPrecision(5), t.error === null ? "" : t.error.toPrecision(4), t.grade.label,
        ...(t.anchors ? [t.anchors.join(" ")] : []), wordsOf(t).map((word) => word.name).join(" "),
      ]),
    ],
    words: () => [
      ["topic", "rank", "word", "probability in the topic", "frequency in the corpus"],
      ...inOrder().flatMap((t) => wordsOf(t).map((word, i) => [t.number, i + 1, word.name, word.topic, word.corpus])),
    ],
    documents: () => [
      ["topic", "document", single ? "probability" : "share", "counted words", "beginning"],
      ...inOrder().flatMap((t) => t.documents.map((d) => [t.number, d.name, d.share.toPrecision(4), d.words, d.excerpt])),
    ],
    evidence: () => {
      const [heading, ...others] = [...document.querySelectorAll("table.evidence")].flatMap(Page.rowsOf);
      return [heading, ...others.filter((row) => row.join() !== heading.join())];
    },
  };
  document.querySelectorAll("[data-save]").forEach((button) =>
    button.addEventListener("click", () => Page.saveCsv(button.dataset.save, TABLES[button.dataset.save]())));

  // --- the table: sorting and keys

  function sortBy(column, heading) {
    const up = heading.getAttribute("aria-sort") !== "ascending";
    document.querySelectorAll("#topic-table th").forEach((th) => th.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => row.cells[column].dataset.value;
    const numeric = heading.textContent.trim() === "Expected error" || column < 2;
    rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const difference = numeric ? x - y : x.localeCompare(y);
      return up ? difference : -difference;
    });
    document.querySelector("#topic-table tbody").append(...rows);
  }

  function pressed(event, row) {
    const place = rows.indexOf(row);
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") select(Number(row.dataset.topic), true);
    else if (to !== undefined) rows[to]?.focus();
    else return;
    event.preventDefault();
  }

  function move(step) {
    const place = rows.findIndex((row) => Number(row.dataset.topic) === selected);
    select(Number(rows[(place + step + rows.length) % rows.length].dataset.topic), true);
  }

  function fromHash() {
    const match = /^#topic-(\d+)$/.exec(location.hash);
    return match && topics[match[1]] ? Number(match[1]) : -1;
  }

  rows.forEach((row) => {
    row.addEventListener("click", () => select(Number(row.dataset.topic), true));
    row.addEventListener("keydown", (event) => pressed(event, row));
  });
  document.querySelectorAll("#topic-table th").forEach((heading, column) =>
    heading.querySelector("button").addEventListener("click", () => sortBy(column, heading)));
  byId("previous").addEventListener("click", () => move(-1));
  byId("next").addEventListener("click", () => move(1));
  window.addEventListener("hashchange", () => { if (fromHash() >= 0) select(fromHash(), true); });
  byId("weight").value = usual;  // a reloaded page would keep another
  byId("search").value = "";
  select(fromHash() >= 0 ? fromHash() : Number(rows[0].dataset.topic), fromHash() >= 0);
  for (const [id, figure] of Object.entries(figures)) Charts.draw(byId(id), figure);
})();
