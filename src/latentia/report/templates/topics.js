"use strict";
(() => {
  const { topics, vocabulary, rest, size, ...figures } =
    JSON.parse(document.getElementById("report-data").textContent);
  const { button, element, svg, text } = Charts;
  const byId = (id) => document.getElementById(id);
  const single = byId("detail").dataset.single === "yes";
  const table = byId("topic-table"), rows = [...table.tBodies[0].rows], topicOf = (row) => topics[row.dataset.topic];
  const percent = (x, digits = 1) => (100 * x).toFixed(digits) + "%";
  const [inTable, inTitle, prefixes] = [10, 3, 8];
  let [selected, weight, sought] = [-1, null, -1];  // `sought` is the place of a word in the vocabulary.

  // --- words: in the model's order, or by latentia.metrics.relevance, computed from its values at weights 1 and 0

  function wordsOf(topic, count = size) {
    const { at, p, lift, rank } = topic.words;
    const score = at.map((_, i) => (weight === null ? -rank[i] : weight * Math.log(p[i]) + (1 - weight) * lift[i]));
    return at.map((_, i) => i).sort((a, b) => score[b] - score[a]).slice(0, count).map((i) => {
      const name = vocabulary.text[at[i]], anchor = topic.anchors?.includes(name) ?? false;
      return { name, anchor, sought: at[i] === sought, topic: p[i], corpus: vocabulary.corpus[at[i]] };
    });
  }

  const titleOf = (topic) => topic.name || wordsOf(topic, inTitle).map((word) => word.name).join(", ");
  const lacksSoughtWord = (topic) => sought >= 0 && !topic.words.at.includes(sought);
  const joinNodes = (nodes) => nodes.flatMap((node, i) => (i ? [", ", node] : [node]));

  function wordNode({ name, anchor, sought: isSought }) {
    const node = anchor ? element("b", "anchor", name) : name;
    return isSought ? element("mark", "", node) : node;
  }

  function fillTable() {
    for (const row of rows) {
      const topic = topicOf(row), cell = row.querySelector(".words");
      cell.replaceChildren(...joinNodes(wordsOf(topic, inTable).map(wordNode)));
      cell.dataset.value = titleOf(topic);
      row.setAttribute("aria-label", `Topic ${topic.number}: ${titleOf(topic)}`);
      row.classList.toggle("faded", lacksSoughtWord(topic));
    }
  }

  // --- the map: places are pixels, and circles move so that none hides another

  function mapLayout(width) {
    const height = width < 500 ? 340 : 430, top = Math.max(...topics.map((t) => t.share), 1e-12);
    const largest = Math.min(64, 1.1 * Math.sqrt((width * height) / topics.length) / 2);
    const radius = topics.map((t) => Math.max(largest * Math.sqrt(Math.max(t.share, 0) / top), 20) / 2);
    const pad = 2 * Math.max(...radius) + 12;
    const ends = ["x", "y"].map((axis) => topics.map((t) => t[axis])).map((all) => [Math.min(...all), Math.max(...all)]);
    const fill = ends.map(([low, high], axis) => ([width, height][axis] - pad) / Math.max(high - low, 1e-9));
    const scale = Math.min(...fill) > 1e8 ? 0 : Math.min(...fill);  // The largest scale without distortion that fits.
    const [x, y] = ends.map(([low, high]) => (low + high) / 2);
    const places = topics.map((t) => [width / 2 + scale * (t.x - x), height / 2 + scale * (t.y - y)]);
    for (let step = 0; step < 200 && spread(places, radius); step++) {
      places.forEach((place, i) => [width, height].forEach((end, axis) => {
        place[axis] = Math.min(Math.max(place[axis], radius[i] + 4), end - radius[i] - 4);
      }));
    }
    return { height, radius, places };
  }

  // Push overlapping circles by half of their overlap; return whether any overlapped.
  function spread(places, radius) {
    let moved = false;
    places.forEach((first, i) => places.slice(0, i).forEach((second, j) => {
      let [dx, dy] = [first[0] - second[0], first[1] - second[1]];
      if (dx === 0 && dy === 0) [dx, dy] = [Math.cos(i), Math.sin(i)];
      const distance = Math.hypot(dx, dy), overlap = radius[i] + radius[j] + 3 - distance;
      if (overlap <= 0.5) return;
      moved = true;
      [dx, dy].forEach((d, axis) => { first[axis] += overlap / 2 / distance * d; second[axis] -= overlap / 2 / distance * d; });
    }));
    return moved;
  }

  function mapHover(topic) {
    const words = wordsOf(topic, 10).map((word) => word.name), lines = [words.slice(0, 5), words.slice(5)];
    const error = topic.error === null ? "" : `expected error ${topic.error.toFixed(2)}: `;
    const facts = [...lines.map((line) => line.join(", ")), `${percent(topic.share)} of the corpus`, error + topic.grade.label];
    return [`Topic ${topic.number}`, ...facts].filter(Boolean).join("\n");
  }

  const layouts = {};

  function mapDrawing(width) {
    const { height, radius, places } = layouts[width] ??= mapLayout(width), group = svg("g");
    const targets = topics.map((topic, i) => {
      const [cx, cy, r] = [...places[i], radius[i]].map((x) => Math.round(10 * x) / 10), key = topic.grade.key;
      const classes = `ball ${key}${lacksSoughtWord(topic) ? " faded" : ""}${i === selected ? " chosen" : ""}`;
      group.append(svg("circle", { cx, cy, r, class: classes, "data-topic": i }));
      group.append(text(cx, cy + 4, i, { "text-anchor": "middle", class: `on ${key}` }));
      return { cx, cy, r: radius[i], says: mapHover(topic) };
    });
    return { group, height, targets };
  }

  const drawMap = () => Charts.draw(byId("map"), mapDrawing, (i) => select(i, true));

  // --- the selected topic

  function drawBars(words) {
    const hover = words.map((w) =>
      `${w.name}${w.anchor ? " (anchor word)" : ""}\n${percent(w.topic, 2)} of the topic\n${percent(w.corpus, 2)} of the corpus`);
    const marks = [["topic", 0, -0.18], ["corpus", "pale", 0.18]].map(([where, colour, shift]) => ({
      mark: "bars", sideways: true, name: `in the ${where}`, x: words.map((_, i) => i + shift), y: words.map((w) => w[where]),
      width: 0.36, colour, hover,
    }));
    const names = words.map((w) => (w.anchor ? "◆ " : "") + w.name);
    const strong = words.flatMap((w, i) => (w.anchor || w.sought ? [i] : []));
    const panel = { title: "", x: { title: "", zero: true, percent: true }, y: { names, strong }, marks };
    Charts.draw(byId("word-bars"), { kind: "plot", panels: [panel], height: 22 * words.length, legend: true });
  }

  // Make a button that selects a topic.
  const topicButton = (topic, label, note) =>
    element("li", "", button([label + " ", element("small", "", note)], () => select(topic.number, true)));

  // Split a text at the topic's words, and mark these.
  function markWords(excerpt, words) {
    const names = new Set(words.map((word) => word.name.toLowerCase()));
    return excerpt.split(/([\p{L}\p{M}]+)/u).map((piece, i) =>
      i % 2 && names.has(piece.toLowerCase()) ? element("mark", "", piece) : piece);
  }

  function documentNode(d, words) {
    const counted = `${d.words.toLocaleString("en")} counted words`;
    const size = single ? ` probability ${percent(d.share, 0)}, ${counted}` : ` ${percent(d.share, 0)} of its ${counted}`;
    const excerpt = d.excerpt ? [element("p", "excerpt", ...markWords(d.excerpt, words))] : [];
    return element("li", "", element("span", "name", d.name), element("span", "size", size), ...excerpt);
  }

  function show(topic) {
    const words = wordsOf(topic), { grade, error } = topic, fill = (id, nodes) => byId(id)?.replaceChildren(...nodes);
    byId("word-bars").closest("figure").dataset.name = `topic-${topic.number}`;  // of saved pictures
    fill("topic-title", [`Topic ${topic.number}: ${titleOf(topic)}`]);
    fill("topic-facts", [
      element("span", "", percent(topic.share) + " of the corpus"),
      element("span", "badge " + grade.key, element("i", "dot"), grade.label),
      ...(error === null ? [] : [element("span", "", `expected error ${error.toFixed(2)} of 2`)]),
    ]);
    fill("anchors", joinNodes((topic.anchors ?? []).map((word) => element("b", "anchor", word))));
    byId("word-numbers").querySelector("tbody").replaceChildren(...words.map((word) => element("tr", "",
      element("td", "", wordNode(word)), ...[word.topic, word.corpus].map((p) => element("td", "number", percent(p, 2))))));
    const similar = topic.similar.map(([number, overlap]) =>
      topicButton(topics[number], `Topic ${number}: ${titleOf(topics[number])}`, `(${percent(overlap, 0)} in common)`));
    fill("similar", similar.length ? similar : [element("li", "", "There is no other topic.")]);
    fill("documents", topic.documents.map((d) => documentNode(d, words)));
    drawBars(words);
  }

  function select(number, byReader) {
    if (!topics[number]) return;
    selected = number;
    for (const row of rows) {
      const isSelected = topicOf(row).number === number;
      if (isSelected) row.setAttribute("aria-current", "true"); else row.removeAttribute("aria-current");
      row.tabIndex = isSelected ? 0 : -1;
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

  function rankBy(chosen) {
    weight = chosen;
    byId("weight-value").textContent = weight === null ? "–" : weight.toFixed(1);
    byId("together").setAttribute("aria-handleKey", weight === null);
    refresh();
  }

  byId("weight").addEventListener("input", () => rankBy(Number(byId("weight").value)));
  byId("together").addEventListener("click", () => rankBy(null));

  // Find the topics with a word, and their parts of its uses.
  const holders = (place) => topics.filter((topic) => topic.words.at.includes(place)).map((topic) => {
    const p = topic.words.p[topic.words.at.indexOf(place)];
    return { topic, part: (topic.share * p) / (vocabulary.total[place] || 1), p };
  }).sort((a, b) => b.part - a.part);

  function wordResult(place) {
    const buttons = holders(place).map(({ topic, part, p }) =>
      topicButton(topic, `Topic ${topic.number}`, `${percent(part, 0)} of its uses, ${percent(p, 2)} of the topic`));
    const fact = ` is ${percent(vocabulary.corpus[place], 3)} of the corpus. It occurs in:`;
    return [element("span", "", element("b", "", vocabulary.text[place]), fact), element("ul", "", ...buttons)];
  }

  // Describe a word that is not among the first of any topic.
  function rareWordResult(place) {
    const parts = rest.in[place], buttons = [];
    for (let i = 0; i < parts.length; i += 2) buttons.push(topicButton(topics[parts[i]], `Topic ${parts[i]}`, `${percent(parts[i + 1] / 1000, 0)} of its uses`));
    const fact = ` is ${percent(rest.corpus[place], 3)} of the corpus, and not among the first words of any topic.`;
    return [element("span", "", element("b", "", rest.text[place]), fact, buttons.length ? " It comes from:" : ""), element("ul", "", ...buttons)];
  }

  function suggestions(begin) {
    const [texts, corpus] = ["text", "corpus"].map((of) => [...vocabulary[of], ...rest[of]]);
    const near = (test) => texts.flatMap((word, i) => (test(word.toLowerCase()) ? [i] : [])).sort((a, b) => corpus[b] - corpus[a]);
    const places = [...new Set([...near((word) => word.startsWith(begin)), ...near((word) => word.includes(begin))])];
    if (!places.length) return [`No similar word is among the ${texts.length.toLocaleString("en")} words of the search.`];
    const words = places.slice(0, prefixes).map((place) => texts[place]);
    const items = words.map((word) => element("li", "", button([word], () => { byId("search").focus(); search(word); })));
    return [`${places.length > prefixes ? "Some similar words" : "Similar words"}:`, element("ul", "", ...items)];
  }

  function search(word) {
    byId("search").value = word;
    const begin = word.trim().toLowerCase();
    const placeIn = ({ text: all }) => (begin ? all.findIndex((word) => word.toLowerCase() === begin) : -1), rare = placeIn(rest);
    sought = placeIn(vocabulary);
    byId("found").hidden = !begin;
    byId("found").replaceChildren(...(!begin ? [] : sought >= 0 ? wordResult(sought) : rare >= 0 ? rareWordResult(rare) : suggestions(begin)));
    refresh();
  }

  byId("search").addEventListener("input", () => search(byId("search").value));
  byId("search").addEventListener("keydown", (event) => {
    if (event.key === "Escape") search("");
    if (event.key === "Enter" && sought >= 0) select(holders(sought)[0].topic.number, true);
  });

  // --- tables to save

  const TABLES = {
    topics: () => [
      ["topic", "share", "expected error", "grade", ...(topics[0].anchors ? ["anchor words"] : []), "words"],
      ...rows.map(topicOf).map((t) => [
        t.number, t.share.toPrecision(5), t.error === null ? "" : t.error.toPrecision(4), t.grade.label,
        ...(t.anchors ? [t.anchors.join(" ")] : []), wordsOf(t).map((word) => word.name).join(" "),
      ]),
    ],
    words: () => [
      ["topic", "rank", "word", "probability in the topic", "frequency in the corpus"],
      ...rows.map(topicOf).flatMap((t) => wordsOf(t).map((word, i) => [t.number, i + 1, word.name, word.topic, word.corpus])),
    ],
    documents: () => [
      ["topic", "document", single ? "probability" : "share", "counted words", "beginning"],
      ...rows.map(topicOf).flatMap((t) =>
        t.documents.map((d) => [t.number, d.name, d.share.toPrecision(4), d.words, d.excerpt])),
    ],
    evidence: () => {
      const [heading, ...others] = [...document.querySelectorAll("table.evidence")].flatMap(Page.rowsOf);
      return [heading, ...others.filter((row) => row.join() !== heading.join())];
    },
  };
  document.querySelectorAll("[data-save]").forEach((save) =>
    save.addEventListener("click", () => Page.saveCsv(save.dataset.save, TABLES[save.dataset.save]())));

  // --- the table: sorting and keys

  const headings = [...table.tHead.rows[0].cells];

  function sortBy(column, heading) {
    const up = heading.getAttribute("aria-sort") !== "ascending", value = (row) => row.cells[column].dataset.value;
    headings.forEach((header) => header.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const difference = Number.isNaN(x - y) ? x.localeCompare(y) : x - y;
      return up ? difference : -difference;
    });
    table.tBodies[0].append(...rows);
  }

  function handleKey(event, row) {
    const place = rows.indexOf(row);
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") select(topicOf(row).number, true);
    else if (to !== undefined) rows[to]?.focus();
    else return;
    event.preventDefault();
  }

  function move(step) {
    const place = rows.findIndex((row) => topicOf(row).number === selected);
    select(topicOf(rows[(place + step + rows.length) % rows.length]).number, true);
  }

  // The topic that the address names, or -1.
  const fromHash = () => topics[/^#topic-(\d+)$/.exec(location.hash)?.[1]]?.number ?? -1;

  rows.forEach((row) => {
    row.addEventListener("click", () => select(topicOf(row).number, true));
    row.addEventListener("keydown", (event) => handleKey(event, row));
  });
  headings.forEach((heading, column) =>
    heading.querySelector("button").addEventListener("click", () => sortBy(column, heading)));
  byId("previous").addEventListener("click", () => move(-1));
  byId("next").addEventListener("click", () => move(1));
  window.addEventListener("hashchange", () => { if (fromHash() >= 0) select(fromHash(), true); });
  byId("weight").value = byId("weight").defaultValue;  // Browsers keep the value of a reloaded page.
  byId("search").value = "";
  select(fromHash() >= 0 ? fromHash() : topicOf(rows[0]).number, fromHash() >= 0);
  for (const [id, figure] of Object.entries(figures)) Charts.draw(byId(id), figure);
})();
