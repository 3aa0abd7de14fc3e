/* Complaints about a page as it is shown: contrast (WCAG 2.2, 1.4.3), size of letters, width, names and focus of what
   can be operated, captions, headings, links. */
"use strict";
const complaints = [];
const shown = e => { const r = e.getBoundingClientRect(), s = getComputedStyle(e); return r.width > 1 && r.height > 1 && s.visibility === "visible" && +s.opacity > 0 && e.checkVisibility(); };
const rgb = text => { const c = document.createElement("canvas").getContext("2d", {willReadFrequently: true}); c.fillStyle = text; c.fillRect(0, 0, 1, 1); const d = c.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
const cache = new Map();
const colour = text => { if (!cache.has(text)) cache.set(text, rgb(text)); return cache.get(text); };
function ground(e) {
  const layers = [];
  for (; e; e = e.parentElement) { const s = getComputedStyle(e); if (s.backgroundImage !== "none" && !(e instanceof SVGElement)) return null; layers.push(colour(s.backgroundColor)); if (layers.at(-1)[3] === 1) break; }
  return layers.reverse().reduce((below, above) => over(above, below), [255, 255, 255, 1]);
}
const light = c => { const v = c.slice(0, 3).map(x => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const seen = new Set();
while (walker.nextNode()) {
  const node = walker.currentNode, e = node.parentElement;
  if (!node.data.trim() || seen.has(e) || e.closest("script,style,svg") || !shown(e)) continue;
  seen.add(e);
  const below = ground(e), s = getComputedStyle(e);
  if (!below) continue;
  const r = ratio(over(colour(s.color), below), below), size = parseFloat(s.fontSize), big = size >= 24 || (size >= 18.66 && +s.fontWeight >= 700);
  if (r < (big ? 3 : 4.5) - 0.005) complaints.push(`contrast ${r.toFixed(2)}: ${e.tagName.toLowerCase()}.${e.className} "${node.data.trim().slice(0, 30)}"`);
  if (size < 11) complaints.push(`small ${size}px: ${e.tagName.toLowerCase()}.${e.className} "${node.data.trim().slice(0, 30)}"`);
}
for (const t of document.querySelectorAll("svg text")) {
  if (!shown(t)) continue;
  const s = getComputedStyle(t), size = parseFloat(s.fontSize), m = t.getScreenCTM();
  if (size * Math.hypot(m.a, m.b) < 9) complaints.push(`small drawn ${(size * Math.hypot(m.a, m.b)).toFixed(1)}px: "${t.textContent.slice(0, 30)}"`);
}
const width = document.documentElement.clientWidth; // a phone widens innerWidth until all is seen
if (document.documentElement.scrollWidth > width) {
  const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > width + 1 && !e.closest(".wide")).slice(0, 3).map(e => e.tagName + "." + e.className + "#" + e.id);
  complaints.push(`wider than the screen: ${document.documentElement.scrollWidth} > ${width} ${wide}`);
}
const named = e => (e.getAttribute("aria-label") || e.title || e.textContent || (e.labels && [...e.labels].map(l => l.textContent).join(" ")) || (e.getAttribute("aria-labelledby") || "").split(" ").map(i => document.getElementById(i)?.textContent || "").join(" ") || "").trim();
for (const e of document.querySelectorAll("a[href],button,input,select,textarea,summary,[tabindex],[role=img],[role=button]")) {
  if (!shown(e)) continue;
  if (!named(e)) complaints.push(`no name: ${e.outerHTML.slice(0, 80)}`);
  if (e.matches("[tabindex='-1'],[role=img]:not([tabindex])")) continue;
  e.focus();
  if (document.activeElement !== e) { complaints.push(`no focus: ${e.outerHTML.slice(0, 80)}`); continue; }
}
for (const e of document.querySelectorAll(".wide")) if (shown(e) && e.scrollWidth > e.clientWidth + 1 && !e.matches(".scrolls")) complaints.push(`scrolls and does not say so: ${e.innerHTML.slice(0, 60)}`);
const ids = [...document.querySelectorAll("[id]")].map(e => e.id), twice = ids.filter((id, i) => ids.indexOf(id) !== i);
if (twice.length) complaints.push(`ids twice: ${twice}`);
for (const a of document.querySelectorAll("a[href^='#']")) if (!document.getElementById(decodeURIComponent(a.hash.slice(1)))) complaints.push(`leads nowhere: ${a.hash}`);
for (const f of document.querySelectorAll("div[role=img][id]")) if (shown(f) && !f.closest("figure")?.querySelector("figcaption")?.textContent.trim()) complaints.push(`no caption: ${f.id}`);
for (const t of document.querySelectorAll("table:not([role=img])")) if (!t.querySelector("th")) complaints.push(`table without headings: ${t.id}`);
let level = 0;
for (const h of document.querySelectorAll("h1,h2,h3,h4")) { const n = +h.tagName[1]; if (n > level + 1) complaints.push(`heading ${h.tagName} after h${level}: ${h.textContent.slice(0, 30)}`); level = n; }
return complaints;
