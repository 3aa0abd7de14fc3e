"use strict";
(() => {
  const topics = JSON.parse(document.getElementById("report-data").textContent);
  const byId = (id) => document.getElementById(id);
  const single = document.getElementById("detail").dataset.single === "yes";
  const rows = [...document.querySelectorAll("#topic-table tbody tr")];
  const percent = (x, digits = 1) => (100 * x).toFixed(digits) + "%";
  const style = {
    good: { fill: "#0072b2", line: "#0072b2", text: "#ffffff" },
    care: { fill: "#fbe3b0", line: "#e69f00", text: "#1b2430" },
    bad: { fill: "#ffffff", line: "#a33b00", text: "#a33b00" },
    unknown: { fill: "#dde2e8", line: "#7b8794", text: "#1b2430" },
  };
  const ink = "#1b2430";
  const font = { family: getComputedStyle(document.body).fontFamily, size: 13, color: ink };
  const still = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };
  let selected = -1;

  // Plotly reads its texts as a kind of HTML.
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function element(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  // --- the map: places are pixels, and circles are moved apart so that none hides another
  function mapLayout() {
    const [width, height] = [byId("map").clientWidth, byId("map").clientHeight];
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
    return { width, height, radius, places };
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

  const outline = () => ({
    color: topics.map((t) => (t.number === selected ? ink : style[t.grade.key].line)),
    width: topics.map((t) => (t.number === selected ? 4 : 2)),
  });

  function mapHover(topic) {
    const error = topic.error === null ? "" : "expected error " + topic.error.toFixed(2) + ": ";
    const words = [0, 5].map((i) => topic.words.slice(i, i + 5).map((w) => plain(w.text)).join(", ")).join("<br>");
    return `<b>Topic ${topic.number}</b><br>${words}<br>${percent(topic.share)} of the corpus<br>` +
      error + topic.grade.label;
  }

  function drawMap() {
    const { width, height, radius, places } = mapLayout();
    const axis = (length) => ({ visible: false, fixedrange: true, range: [0, length] });
    const trace = {
      type: "scatter", mode: "markers+text", cliponaxis: false,
      x: places.map((p) => p[0]), y: places.map((p) => p[1]),
      text: topics.map((t) => String(t.number)), hovertext: topics.map(mapHover), hoverinfo: "text",
      textfont: { size: 12, color: topics.map((t) => style[t.grade.key].text) },
      marker: {
        size: radius.map((r) => 2 * r), color: topics.map((t) => style[t.grade.key].fill), opacity: 1, line: outline(),
      },
    };
    const layout = {
      font, xaxis: axis(width), yaxis: axis(height), width, height, dragmode: false, hovermode: "closest",
      margin: { l: 0, r: 0, t: 0, b: 0 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
      hoverlabel: { bgcolor: "#fff", bordercolor: ink, font, align: "left" },
    };
    Plotly.react("map", [trace], layout, { ...still, responsive: false });
  }

  // --- the selected topic
  function drawBars(topic) {
    const places = topic.words.map((_, i) => i);
    const hover = topic.words.map((w) =>
      `${plain(w.text)}${w.anchor ? " (anchor word)" : ""}<br>${percent(w.topic, 2)} of the topic<br>` +
      `${percent(w.corpus, 2)} of the corpus`);
    const bars = (name, values, color, offsetgroup) => ({
      type: "bar", orientation: "h", name, y: places, x: values, marker: { color }, hovertext: hover,
      hoverinfo: "text", offsetgroup,
    });
    const label = (w) => plain(w.text.length > 18 ? w.text.slice(0, 17) + "…" : w.text);
    const height = 22 * topic.words.length + 70;
    byId("word-bars").style.height = height + "px";  // what follows must not slide under the bars, in print either
    const layout = {
      font, barmode: "group", bargap: 0.3, bargroupgap: 0.05, height, dragmode: false,
      margin: { l: 10, r: 16, t: 36, b: 30 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
      xaxis: { tickformat: ".1~%", nticks: 6, fixedrange: true, rangemode: "tozero", gridcolor: "#e6eaee" },
      yaxis: {
        automargin: true, fixedrange: true, autorange: "reversed", tickvals: places, ticklen: 6,
        tickcolor: "#fff", ticktext: topic.words.map((w) => (w.anchor ? `<b>◆ ${label(w)}</b>` : label(w))),
      },
      legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", itemclick: false, itemdoubleclick: false },
      hoverlabel: { bgcolor: "#fff", bordercolor: ink, font, align: "left" },
    };
    const traces = [
      bars("in the topic", topic.words.map((w) => w.topic), "#0072b2", "1"),
      bars("in the corpus", topic.words.map((w) => w.corpus), "#b0b8c1", "2"),
    ];
    Plotly.react("word-bars", traces, layout, still);
  }

  function fillNumbers(topic) {
    byId("word-numbers").querySelector("tbody").replaceChildren(...topic.words.map((w) => {
      const row = element("tr");
      const name = element("td");
      name.append(element(w.anchor ? "b" : "span", w.anchor ? "anchor" : "", w.text));
      row.append(name, element("td", "number", percent(w.topic, 2)), element("td", "number", percent(w.corpus, 2)));
      return row;
    }));
  }

  function fillFacts(topic) {
    byId("topic-title").textContent = `Topic ${topic.number}: ${topic.title}`;
    const badge = element("span", "badge " + topic.grade.key);
    badge.append(element("i", "dot"), topic.grade.label);
    const facts = [element("span", "", percent(topic.share) + " of the corpus"), badge];
    if (topic.error !== null) facts.push(element("span", "", `expected error ${topic.error.toFixed(2)} of 2`));
    byId("topic-facts").replaceChildren(...facts);
    byId("anchors")?.replaceChildren(...(topic.anchors ?? []).flatMap((word, i) =>
      [...(i ? [", "] : []), element("b", "anchor", word)]));
  }

  function fillSimilar(topic) {
    const items = topic.similar.map(([number, overlap]) => {
      const button = element("button", "", `Topic ${number}: ${topics[number].title} `);
      button.type = "button";
      button.append(element("small", "", `(${percent(overlap, 0)} in common)`));
      button.addEventListener("click", () => select(number, true));
      const item = element("li");
      item.append(button);
      return item;
    });
    byId("similar").replaceChildren(...(items.length ? items : [element("li", "", "There is no other topic.")]));
  }

  // Splits a text at the topic's words, and marks these.
  function marked(text, words) {
    const known = new Set(words.map((w) => w.text.toLowerCase()));
    return text.split(/([\p{L}\p{M}]+)/u).map((part, i) =>
      i % 2 && known.has(part.toLowerCase()) ? element("mark", "", part) : part);
  }

  function fillDocuments(topic) {
    byId("documents").replaceChildren(...topic.documents.map((d) => {
      const item = element("li");
      const size = single ? ` probability ${percent(d.share, 0)}, ${d.words.toLocaleString("en")} counted words`
        : ` ${percent(d.share, 0)} of its ${d.words.toLocaleString("en")} counted words`;
      item.append(element("span", "name", d.name), element("span", "size", size));
      if (d.excerpt) {
        const excerpt = element("p", "excerpt");
        excerpt.append(...marked(d.excerpt, topic.words));
        item.append(excerpt);
      }
      return item;
    }));
  }

  function show(topic) {
    fillFacts(topic);
    fillNumbers(topic);
    fillSimilar(topic);
    fillDocuments(topic);
    drawBars(topic);
  }

  function select(number, byReader) {
    if (!topics[number]) return;
    selected = number;
    rows.forEach((row) => row.removeAttribute("aria-current"));
    rows.find((row) => Number(row.dataset.topic) === number).setAttribute("aria-current", "true");
    show(topics[number]);
    if (byId("map").data) Plotly.restyle("map", { "marker.line": [outline()] });
    if (!byReader) return;
    try { history.replaceState(null, "", "#topic-" + number); } catch { /* some viewers forbid it */ }
    const beside = getComputedStyle(byId("detail")).position === "sticky";
    if (beside) byId("detail").scrollTop = 0; else byId("detail").scrollIntoView();
  }

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
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" || event.key === " ") select(Number(row.dataset.topic), true);
    else if (step) rows[rows.indexOf(row) + step]?.focus();
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
  window.addEventListener("resize", drawMap);
  const order = ["good", "care", "unknown", "bad"];
  const best = topics.reduce((a, b) => (order.indexOf(b.grade.key) < order.indexOf(a.grade.key) ? b : a));
  select(fromHash() >= 0 ? fromHash() : best.number, fromHash() >= 0);
  drawMap();
  byId("map").on("plotly_click", (event) => select(event.points[0].pointNumber, true));
})();
