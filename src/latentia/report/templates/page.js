"use strict";
/* What every page can do: change its colours, and save its tables. */
(() => {
  // --- colours: those of the system, until the reader chooses
  const root = document.documentElement, button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = dark() ? "☀ Light" : "☾ Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("latentia-theme", root.dataset.theme); } catch { /* some viewers forbid it */ }
    label();
  });
  system.addEventListener("change", label);
  label();

  // --- tables: a button that saves each as CSV
  const plain = (cell) => (cell.dataset.value ?? cell.textContent).trim().replace(/\s+/g, " ");

  // A spreadsheet would read a text that begins like a formula as one.
  function field(value) {
    const safe = /^[=+\-@]/.test(value) && Number.isNaN(Number(value)) ? "'" + value : value;
    return /[",\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  }

  const csv = (rows) => "\ufeff" + rows.map((row) => row.map((value) => field(String(value))).join(",") + "\r\n").join("");
  const rowsOf = (table) => [...table.rows].map((row) => [...row.cells].map(plain));
  const saveCsv = (name, rows) =>
    Charts.save(`${Charts.named(name)}.csv`, new Blob([csv(rows)], { type: "text/csv;charset=utf-8" }));

  const LONG = 12; // rows
  const boxOf = (table) => table.closest(".wide, .tall") ?? table;

  // Rows of long tables are found by any text in them, where the page has no search of its own.
  function findIn(table) {
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    if (rows.length < LONG || table.matches(".evidence") || table.closest("section")?.querySelector("input[type=search]")) return;
    const place = Charts.element("p", "find"), label = Charts.element("label", "", "Find "), input = Charts.element("input");
    const found = Charts.element("span", "hint");
    input.type = "search";
    input.autocomplete = "off";
    found.setAttribute("role", "status");
    label.append(input);
    place.append(label, " ", found);
    input.addEventListener("input", () => {
      const text = input.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(text);
      found.textContent = text ? `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows` : "";
    });
    boxOf(table).before(place);
  }

  for (const table of document.querySelectorAll("table[data-csv], table.stacked[id]")) {
    findIn(table);
    const save = () => saveCsv(table.dataset.csv ?? table.id.replace("-table", ""), rowsOf(table));
    boxOf(table).after(Charts.element("p", "tools", Charts.button("CSV", save, "Save this table as CSV")));
  }

  // What is wider than its frame says that it scrolls, and can be reached by keys.
  function weigh(frame) {
    const scrolls = frame.scrollWidth > frame.clientWidth + 1;
    frame.classList.toggle("scrolls", scrolls);
    if (scrolls && !frame.querySelector("[tabindex]")) frame.tabIndex = 0;
  }

  const frames = new ResizeObserver((entries) => entries.forEach(({ target }) => weigh(target.closest(".wide"))));
  addEventListener("DOMContentLoaded", () => {
    for (const frame of document.querySelectorAll(".wide")) {
      weigh(frame);
      for (const one of [frame, ...frame.children]) frames.observe(one);
    }
  });

  window.Page = { csv, rowsOf, saveCsv };
  addEventListener("DOMContentLoaded", Charts.tools);
})();
