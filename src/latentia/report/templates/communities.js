"use strict";
(() => {
  const { colours, nodes, ...figures } = JSON.parse(document.getElementById("report-data").textContent);
  const byId = (id) => document.getElementById(id);
  const body = document.querySelector("#node-table tbody");
  const headings = [...document.querySelectorAll("#node-table th")];
  const { button, element } = Charts, step = 50;
  let [shown, sorted] = [step, nodes];

  // A community with its share: a key in its colour, as elsewhere on the page.
  function part([number, share]) {
    const [item, key] = [element("span", "part"), element("b", "key", String(number))];
    key.style.borderColor = colours[number % colours.length];
    item.append(key, ` ${(100 * share).toFixed(0)}%`);
    return item;
  }

  function row([name, degree, ...parts]) {
    const [line, cell] = [element("tr"), element("td")];
    cell.append(...(parts.length ? parts.map(part) : ["no edges"]));
    line.append(element("td", "", name), element("td", "number", degree.toLocaleString("en")), cell,
      element("td", "number", parts.length ? (100 * parts[0][1]).toFixed(0) + "%" : ""));
    return line;
  }

  function fill() {
    const [text, only] = [byId("search").value.trim().toLowerCase(), byId("only").value];
    const found = sorted.filter(([name, , ...parts]) =>
      name.toLowerCase().includes(text) && (only === "" || parts.some(([number]) => String(number) === only)));
    body.replaceChildren(...found.slice(0, shown).map(row));
    const more = byId("more");
    more.textContent = found.length ? `${Math.min(shown, found.length)} of ${found.length.toLocaleString("en")} ` : "None. ";
    if (found.length <= shown) return;
    more.append(button("Show more", () => { shown *= 2; fill(); }));
  }

  const values = [
    (node) => node[0], (node) => node[1], (node) => (node[2] ? node[2][0] : Infinity), (node) => (node[2] ? node[2][1] : -1),
  ];

  function sortBy(column, heading) {
    const first = column === 1 || column === 3 ? "descending" : "ascending";  // the largest numbers are looked for first
    const before = heading.getAttribute("aria-sort");
    const order = before === null ? first : before === "ascending" ? "descending" : "ascending";
    headings.forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", order);
    const value = values[column];
    const compare = column ? (a, b) => value(a) - value(b) || 0
      : (a, b) => value(a).localeCompare(value(b), "en", { numeric: true });
    sorted = [...nodes].sort((a, b) => (order === "ascending" ? compare(a, b) : compare(b, a)));
    fill();
  }

  headings.forEach((heading, column) =>
    heading.querySelector("button").addEventListener("click", () => sortBy(column, heading)));
  for (const [id, change] of [["search", "input"], ["only", "change"]]) {
    byId(id).addEventListener(change, () => { shown = step; fill(); });
  }
  fill();
  for (const [id, figure] of Object.entries(figures)) Charts.draw(byId(id), figure);
})();
