"use strict";
/* Functions of every page: change the colours, and save the tables. */
(() => {
  // --- colours: the system's, until the reader chooses
  const root = document.documentElement, button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = dark() ? "☀ Light" : "☾ Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("latentia-theme", root.dataset.theme); } catch { /* Some viewers forbid it. */ }
    label();
  });
  system.addEventListener("change", label);
  label();

  // --- tables: a button saves each as CSV
  const plain = (cell) => (cell.dataset.value ?? cell.textContent).trim().replace(/\s+/g, " ");

  // An apostrophe keeps spreadsheets from reading text as a formula.
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

  // A search box filters the rows of long tables, unless the page has its own search.
  function findIn(table) {
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    if (rows.length < LONG || table.matches(".evidence") || table.closest("section")?.querySelector("input[type=search]")) return;
    const place = Charts.element("p", "find"), label = Charts.element("label", "", "Find "), input = Charts.element("input");
    const status = Charts.element("span", "hint");
    input.type = "search";
    input.autocomplete = "off";
    status.setAttribute("role", "status");
    label.append(input);
    place.append(label, " ", status);
    input.addEventListener("input", () => {
      const text = input.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(text);
      status.textContent = text ? `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows` : "";
    });
    boxOf(table).before(place);
  }

  for (const table of document.querySelectorAll("table[data-csv], table.stacked[id]")) {
    findIn(table);
    const save = () => saveCsv(table.dataset.csv ?? table.id.replace("-table", ""), rowsOf(table));
    boxOf(table).after(Charts.element("p", "tools", Charts.button("CSV", save, "Save this table as CSV")));
  }

  // Content wider than its frame is marked as scrolling and can be reached with keys.
  function weigh(frame) {
    const scrolls = frame.scrollWidth > frame.clientWidth + 1;
    frame.classList.toggle("scrolls", scrolls);
    if (scrolls && !frame.querySelector("[tabindex]")) frame.tabIndex = 0;
  }

  const frames = new ResizeObserver((entries) => entries.forEach(({ target }) => weigh(target.closest(".wide"))));
  addEventListener("DOMContentLoaded", () => {
    for (const frame of document.querySelectorAll(".wide")) {
      weigh(frame);
      for (const element of [frame, ...frame.children]) frames.observe(element);
    }
  });

  window.Page = { csv, rowsOf, saveCsv };
  addEventListener("DOMContentLoaded", Charts.tools);
})();
