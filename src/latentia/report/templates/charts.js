"use strict";
/* Draws the figures of figures.py as SVG, for pointer and keyboard, in the colours of the style sheet. */
const Charts = (() => {
  const INK = "ink", FONT = 12, GAP = 18;

  // --- elements -------------------------------------------------------------------------------------------------------

  function svg(tag, attributes = {}, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  function element(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children);
    return node;
  }

  function button(children, act, title = "") {
    const node = element("button", "", ...[children].flat());
    Object.assign(node, { type: "button", title });
    node.addEventListener("click", act);
    return node;
  }

  const colour = (name) => `var(--${typeof name === "number" ? "c" + name : name})`;
  const pick = (values, i) => (Array.isArray(values) ? values[i] : values);
  const number = (x) => Math.round(100 * x) / 100;  // of a pixel
  const pen = document.createElement("canvas").getContext("2d");

  function measure(text, weight = "") {
    pen.font = `${weight} ${FONT}px ${getComputedStyle(document.body).fontFamily}`;
    return pen.measureText(text).width;
  }

  function fitted(text, width) {
    if (measure(text) <= width) return text;
    let kept = text;
    while (kept.length > 1 && measure(kept + "…") > width) kept = kept.slice(0, -1);
    return kept + "…";
  }

  function text(x, y, content, attributes = {}) {
    return svg("text", { x: number(x), y: number(y), ...attributes }, content);
  }

  // --- numbers --------------------------------------------------------------------------------------------------------

  // Round steps (1, 2 or 5 times a power of ten), at most `most` of them.
  function ticks(low, high, most, whole) {
    const span = high - low || Math.abs(high) || 1;
    const power = 10 ** Math.floor(Math.log10(span / Math.max(most, 1)));
    let step = [1, 2, 5, 10].map((x) => x * power).find((x) => span / x <= most);
    if (whole) step = Math.max(1, Math.round(step));
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i++) found.push(i * step);
    return { step, places: found };
  }

  function written(x, step, percent) {
    if (percent) return `${written(100 * x, 100 * step)}%`;
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    if (digits > 6 || Math.abs(x) >= 1e7) return x === 0 ? "0" : x.toExponential(1).replace("e+", "e");
    const rounded = Number(x.toFixed(digits)) + 0;
    if (Math.abs(rounded) < 10000) return rounded.toFixed(digits).replace("-", "−");
    return rounded.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
  }

  const numberText = (x, percent) => {  // three digits
    if (x === null) return "none";
    const value = percent ? 100 * x : x;
    return String(Number(value.toPrecision(3))).replace("-", "−") + (percent ? "%" : "");
  };

  // --- axes -----------------------------------------------------------------------------------------------------------

  // Range of the data along an axis, over all marks.
  function extent(panels, direction) {
    const axis = panels[0][direction];
    if (axis.names) return [-0.5, axis.names.length - 0.5];
    const [values, bars] = [[], panels.some((panel) => panel.marks.some((mark) => mark.mark === "bars"))];
    for (const { marks } of panels) {
      for (const mark of marks) {
        const along = mark.sideways ? { x: "y", y: "x" }[direction] : direction;
        const half = mark.mark === "bars" && along === "x" ? mark.width / 2 : 0;
        for (const value of [mark[along], along === "x" ? mark.to ?? [] : []].flat()) if (value != null) values.push(value - half, value + half);
        const spread = along === (mark.mark === "dots" ? "x" : "y") ? [mark.low ?? [], mark.high ?? []].flat() : [];
        values.push(...spread.filter((value) => value !== null));
      }
    }
    if (axis.zero || axis.origin) values.push(0);
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (!Number.isFinite(low)) [low, high] = [0, 1];
    if (low === high && axis.zero) [low, high] = [0, low || 1].sort((a, b) => a - b);
    if (low === high) [low, high] = [low - (Math.abs(low) || 1), high + (Math.abs(low) || 1)];
    const dots = panels.some((panel) => panel.marks.some((mark) => mark.mark === "dots"));
    const pad = (high - low) * (direction === "y" || dots || axis.zero ? 0.05 : bars ? 0.02 : 0);
    return [axis.zero && low >= 0 ? low : low - pad, axis.zero && high <= 0 ? high : high + pad];
  }

  const scale = (from, to) => (value) => to[0] + ((value - from[0]) / (from[1] - from[0])) * (to[1] - to[0]);

  // Ticks of an axis: positions and texts.
  function labels(axis, domain, length, room) {
    if (!axis.names) {
      let most = Math.max(2, Math.floor(length / room));
      let found = ticks(...domain, most, axis.whole);
      while (found.places.length < 2 && most < 5) found = ticks(...domain, ++most, axis.whole);  // A single tick shows no scale.
      return found.places.map((place) => [place, written(place, found.step, axis.percent)]);
    }
    return axis.names.map((name, i) => [i, name]);
  }

  // Names side by side may need thinning.
  function thinned(found, length) {
    const widest = Math.max(0, ...found.map(([, name]) => measure(name))) + 10;
    const every = Math.max(1, Math.ceil((found.length * widest) / length));
    return found.filter((_, i) => i % every === 0);
  }

  // --- marks ----------------------------------------------------------------------------------------------------------

  const DASHES = [undefined, "7 4", "2 3"];
  const SHAPES = [
    (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
    (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
    (r) => `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0z`,
    (r) => `M0 ${-1.2 * r}L${1.2 * r} ${r}H${-1.2 * r}z`,
    (r) => `M${-r} ${-r}L${r} ${r}M${-r} ${r}L${r} ${-r}`,
    (r) => `M0 ${1.2 * r}L${1.2 * r} ${-r}H${-1.2 * r}z`,
  ];
  const shape = (symbol, r) => SHAPES[symbol % SHAPES.length](number(r));

  // The path of a curve, with gaps at missing values.
  function path(xs, ys, X, Y, steps) {
    let [found, open] = ["", false];
    xs.forEach((x, i) => {
      if (ys[i] === null) { open = false; return; }
      const [a, b] = [number(X(x)), number(Y(ys[i]))];
      found += !open ? `M${a} ${b}` : steps ? `H${a}V${b}` : `L${a} ${b}`;
      open = true;
    });
    return found;
  }

  function whisker(group, from, to, at, sideways, stroke) {
    const [a, b, c] = [number(from), number(to), number(at)];
    const d = sideways ? `M${a} ${c}H${b}M${a} ${c - 4}v8M${b} ${c - 4}v8` : `M${c} ${a}V${b}M${c - 4} ${a}h8M${c - 4} ${b}h8`;
    group.append(svg("path", { d, fill: "none", stroke, "stroke-width": 1.5 }));
  }

  const MARKS = {
    line(mark, { X, Y }, group) {
      const stroke = colour(mark.colour);
      group.append(svg("path", {
        d: path(mark.x, mark.y, X, Y, mark.steps), fill: "none", stroke, "stroke-width": mark.width,
        "stroke-dasharray": DASHES[mark.dash], "stroke-linejoin": "round",
      }));
      if (!mark.points) return;
      mark.x.forEach((x, i) => {
        if (mark.y[i] !== null) group.append(svg("circle", { cx: number(X(x)), cy: number(Y(mark.y[i])), r: 2.6, fill: stroke }));
      });
    },

    band(mark, { X, Y }, group) {
      const runs = [[]];  // stretches without gap
      mark.x.forEach((_, i) => { if (mark.low[i] === null || mark.high[i] === null) runs.push([]); else runs.at(-1).push(i); });
      const side = (values, order) => order.map((i) => `${number(X(mark.x[i]))} ${number(Y(values[i]))}`).join("L");
      for (const run of runs.filter((one) => one.length)) {
        const d = `M${side(mark.high, run)}L${side(mark.low, [...run].reverse())}z`, paint = colour(mark.colour);
        group.append(svg("path", { d, fill: paint, "fill-opacity": 0.2, ...(run.length === 1 ? { stroke: paint } : {}) }));
      }
    },

    rule(mark, { Y, x0, x1 }, group) {
      const [y, stroke] = [number(Y(mark.y)), colour(mark.colour)];
      group.append(svg("path", { d: `M${x0} ${y}H${x1}`, stroke, "stroke-width": 1.8, "stroke-dasharray": "7 4" }));
      group.append(text(x1 + 6, y + 4, mark.text, { style: `fill: ${stroke}` }));
    },

    bars(mark, { X, Y, x0, x1, y0, y1, names }, group, targets) {
      const V = mark.sideways ? X : Y;
      mark.y.forEach((value, i) => {
        const [from, to] = [mark.x[i] - mark.width / 2, mark.x[i] + mark.width / 2];
        const fill = colour(pick(mark.colour, i));
        const box = mark.sideways ? { x0, x1, y0: Y(from), y1: Y(to) } : { x0: X(from), x1: X(to), y0, y1 };
        if (value !== null) {
          const [base, end] = [V(0), V(value)].sort((a, b) => a - b);
          const along = { start: number(base), length: number(Math.max(end - base, 0.5)) };
          group.append(svg("rect", mark.sideways
            ? { x: along.start, width: along.length, y: number(box.y0), height: number(box.y1 - box.y0), fill }
            : { x: number(box.x0), width: number(Math.max(box.x1 - box.x0, 0.5)), y: along.start, height: along.length, fill }));
        }
        if (mark.low && mark.low[i] !== null) {
          const middle = mark.sideways ? (box.y0 + box.y1) / 2 : (box.x0 + box.x1) / 2;
          whisker(group, V(mark.low[i]), V(mark.high[i]), middle, mark.sideways, colour(INK));
        }
        const says = mark.hover?.[i] ?? `${names?.[mark.x[i]] ?? ""}\n${interval(mark, i, value)}`;
        targets.push({ ...box, says });
      });
    },

    spans(mark, { X, Y }, group, targets) {
      mark.x.forEach((from, i) => {
        const [x0, x1, y0, y1] = [X(from), X(mark.to[i]), Y(mark.y[i] - 0.36), Y(mark.y[i] + 0.36)];
        const box = { x: number(x0), width: number(Math.max(x1 - x0, 0.5)), y: number(y0), height: number(y1 - y0) };
        group.append(svg("rect", { ...box, fill: colour(mark.colour) }));
        targets.push({ x0, x1, y0, y1, says: mark.hover[i] });
      });
    },

    dots(mark, { X, Y }, group, targets) {
      mark.x.forEach((x, i) => {
        const [cx, cy, r, paint] = [X(x), Y(mark.y[i]), mark.sizes?.[i] ?? mark.size, colour(pick(mark.colour, i))];
        if (mark.low) whisker(group, X(mark.low[i]), X(mark.high[i]), cy, true, paint);
        const own = mark.texts ? { fill: colour("paper"), "fill-opacity": 0.92, stroke: paint, "stroke-width": 3 }
          : mark.symbol === 4 ? { fill: "none", stroke: paint, "stroke-width": 1.5 } : { fill: paint };
        const at = `translate(${number(cx)} ${number(cy)})`;
        group.append(svg("path", { d: shape(mark.symbol, r), transform: at, opacity: mark.opacity, ...own }));
        if (mark.texts) group.append(text(cx, cy + 4, mark.texts[i], { "text-anchor": "middle", class: "strong" }));
        targets.push({ cx, cy, r: Math.max(r, 4), says: mark.hover[i] ?? mark.name, quiet: mark.quiet });
      });
    },
  };

  // A value, with its interval if the mark has one.
  function interval(mark, i, value, percent = mark.percent) {
    const known = mark.low && mark.low[i] !== null;
    return numberText(value, percent) + (known ? `\n${mark.says} ${numberText(mark.low[i], percent)} to ${numberText(mark.high[i], percent)}` : "");
  }

  // Targets of curves span the height of the panel, half way to each neighbour in x.
  function curveTargets(panel, { X, x0, x1, y0, y1 }) {
    const curves = panel.marks.filter((mark) => mark.mark === "line" && !mark.quiet);
    const band = panel.marks.find((mark) => mark.mark === "band") ?? {};
    const xs = [...new Set(curves.flatMap((mark) => mark.x))].sort((a, b) => a - b);
    const places = curves.map((mark) => new Map(mark.x.map((x, i) => [x, i])));
    return xs.map((x, i) => {
      const values = curves.flatMap((mark, j) => {
        const at = places[j].get(x), name = mark.name || panel.title;
        return at === undefined ? [] : [(name ? `${name}: ` : "") + interval(band, at, mark.y[at], panel.y.percent)];
      });
      const heading = panel.x.names ? panel.x.names[x] : `${panel.x.title} ${Number(x.toPrecision(6))}`.trim();
      const ends = { x0: i ? X((xs[i - 1] + x) / 2) : x0, x1: i < xs.length - 1 ? X((x + xs[i + 1]) / 2) : x1 };
      return { ...ends, y0, y1, at: number(X(x)), heading, values, line: true };
    });
  }

  // --- plots ----------------------------------------------------------------------------------------------------------

  function legend(figure, width, group) {
    const marks = figure.panels[0].marks.filter((mark) => mark.name);
    let [x, y] = [0, 12];
    for (const mark of marks) {
      const wide = measure(mark.name) + 40;
      if (x && x + wide > width) [x, y] = [0, y + 20];
      const paint = colour(pick(mark.colour, 0));
      group.append(
        mark.mark === "line"
          ? svg("path", { d: `M${x} ${y - 4}h22`, stroke: paint, "stroke-width": 2.5, "stroke-dasharray": DASHES[mark.dash] })
          : mark.mark === "dots"
            ? svg("path", { d: shape(mark.symbol, 5), fill: paint, transform: `translate(${x + 12} ${y - 4})` })
            : svg("rect", { x: x + 6, y: y - 10, width: 12, height: 12, rx: 2, fill: paint }),
      );
      group.append(text(x + 27, y, fitted(mark.name, width - 30)));
      x += wide;
    }
    return y + 14;
  }

  // Domains of the axes, common if the figure asks for it; every panel has its own names.
  function domainsOf({ panels, same, shared }) {
    const x = same || shared ? extent(panels, "x") : null, y = same ? extent(panels, "y") : null;
    return panels.map((panel) => ({ x: x ?? extent([panel], "x"), y: panel.y.names || !y ? extent([panel], "y") : y }));
  }

  const ROW = 22;  // height of a named row among small multiples
  const bodyOf = (panel, figure) => (figure.columns && panel.y.names ? ROW * panel.y.names.length + 8 : figure.height);

  // Heights of a row of panels: above, inside and below.
  function heights(own, figure, { named, axis }) {
    const head = (own.some((panel) => panel.title) ? 22 : 0) + (named && own.some((panel) => panel.y.title) ? 17 : 0) || 8;
    const foot = !axis ? 6 : own.some((panel) => panel.x.title) ? 38 : 22;
    return { head, body: Math.max(...own.map((panel) => bodyOf(panel, figure))), foot };
  }

  function drawPlot(figure, width) {
    const { panels } = figure;
    const [group, targets, places] = [svg("g"), [], []];
    const domains = domainsOf(figure);
    const onY = panels.map((panel, i) => labels(panel.y, domains[i].y, figure.height, figure.height < 120 ? 22 : 34));
    const room = 8 + Math.max(...onY.flat().map(([, name]) => measure(name)));
    const least = Math.max(figure.columns, room / 0.42);  // Names of rows are cut only where one panel is too narrow.
    const fit = figure.columns ? Math.floor((width + GAP) / (least + GAP)) : 1;
    const columns = Math.max(1, Math.min(panels.length, fit));
    const wide = (width - (columns - 1) * GAP) / columns;
    const margin = Math.min(0.42 * wide, room);
    const shared = figure.shared && panels.length > 1 && columns === 1;
    let y = figure.legend ? legend(figure, width, group) : 0;
    for (let first = 0; first < panels.length; first += columns) {
      const own = panels.slice(first, first + columns);
      const how = { named: !figure.columns || first === 0, axis: !shared || first + columns >= panels.length };
      const { head, body, foot } = heights(own, figure, how);
      own.forEach((panel, column) => {
        const left = column * (wide + GAP), right = Math.max(8, ...panel.marks.map(roomBeside));
        const across = { left, x0: number(left + margin), x1: number(left + wide - right) };
        const box = { ...across, y0: y + head, y1: y + head + bodyOf(panel, figure) };
        places.push(drawPanel(panel, domains[first + column], onY[first + column], box, { ...how, column, group, targets }));
      });
      y += head + body + foot + (figure.columns ? ROW / 2 : 0);
    }
    gather(places, targets, shared);
    return { group, height: y, targets };
  }

  const roomBeside = (mark) => (mark.mark === "rule" ? measure(mark.text) + 8 : 0);

  function drawPanel(panel, domain, onY, box, { axis, named, column, group, targets }) {
    const { left, x0, x1, y0, y1 } = box;
    const upright = panel.y.names ? [y0, y1] : [y1, y0];  // Names run from the top.
    const place = { ...box, X: scale(domain.x, [x0, x1]), Y: scale(domain.y, upright), names: panel.y.names };
    const onX = labels(panel.x, domain.x, x1 - x0, 70);
    group.append(grid(panel, place, onX, onY));
    const aloft = y0 - (panel.y.title && named ? 26 : 10);
    if (panel.title) group.append(text(left, aloft, fitted(panel.title, x1 - left), { class: "strong" }));
    if (panel.y.title && named && column === 0) group.append(text(left, y0 - 7, panel.y.title, { class: "soft" }));
    for (const [at, name] of onY) {
      const look = panel.y.strong?.includes(at) ? "strong" : "soft";
      group.append(text(x0 - 6, place.Y(at) + 4, fitted(name, x0 - left - 6), { "text-anchor": "end", class: look }));
    }
    const percent = panel.y.names ? panel.x.percent : panel.y.percent;
    panel.marks.forEach((mark) => MARKS[mark.mark]({ ...mark, percent }, place, group, targets));
    group.append(zeroLine(panel, place, domain));
    if (!axis) return { panel, place };
    for (const [at, name] of panel.x.names ? thinned(onX, x1 - x0) : onX) {
      const middle = Math.min(place.X(at), x1 + 8 - measure(name) / 2);  // The last name must stay in the picture.
      group.append(text(middle, y1 + 16, name, { "text-anchor": "middle", class: "soft" }));
    }
    const across = Math.min((x0 + x1) / 2, x1 + 8 - measure(panel.x.title ?? "") / 2);
    if (panel.x.title) group.append(text(across, y1 + 33, panel.x.title, { "text-anchor": "middle" }));
    return { panel, place };
  }

  function grid(panel, { X, Y, x0, x1, y0, y1 }, onX, onY) {
    const drawn = svg("g", { class: "grid" });
    const upright = panel.y.names || panel.marks.some((mark) => mark.mark === "dots");
    if (!panel.y.names) for (const [at] of onY) drawn.append(svg("path", { d: `M${x0} ${number(Y(at))}H${x1}` }));
    if (upright && !panel.x.names) for (const [at] of onX) drawn.append(svg("path", { d: `M${number(X(at))} ${y0}V${y1}` }));
    return drawn;
  }

  function zeroLine(panel, { X, Y, x0, x1, y0, y1 }, domain) {
    const across = panel.y.names ? panel.x : panel.y, [low] = panel.y.names ? domain.x : domain.y;
    if (!(across.zero || across.origin) || low > 0) return "";
    return svg("path", { class: "axis", d: panel.y.names ? `M${number(X(0))} ${y0}V${y1}` : `M${x0} ${number(Y(0))}H${x1}` });
  }

  // Targets of curves; panels with a common x share them.
  function gather(places, targets, shared) {
    const all = places.map(({ panel, place }) => curveTargets(panel, place));
    const same = shared && all.every((found) => found.length === all[0].length);
    const [y0, y1] = [places[0].place.y0, places.at(-1).place.y1];
    const found = same ? all[0].map((one, i) => ({ ...one, y0, y1, values: all.flatMap((own) => own[i].values) })) : all.flat();
    targets.push(...found.map((one) => ({ ...one, says: [one.heading, ...one.values].join("\n") })));
  }

  // --- heat maps ------------------------------------------------------------------------------------------------------

  function drawHeat(figure, width) {
    const { rows, columns, values, top } = figure;
    const [group, targets] = [svg("g"), []];
    const titled = figure.titles[0] ? 18 : 0;
    const left = Math.min(0.4 * width, 8 + Math.max(0, ...rows.map((name) => measure(name)))) + titled;
    const scaled = figure.digits === null ? 64 : 0;  // room for the colour scale
    const cell = Math.min((width - left - scaled - 2) / columns.length, 150);
    const long = Math.max(0, ...columns.map((name) => measure(name))), slanted = long + 8 > cell;
    const head = (figure.titles[1] ? 18 : 0) + (slanted ? 0.87 * Math.min(long, 150) + 12 : 20);
    const right = left + cell * columns.length;
    columns.forEach((name, j) => {
      const x = left + cell * (j + 0.5);
      const turned = slanted
        ? { transform: `translate(${number(x + 4)} ${number(head - 6)}) rotate(-60)` } : { "text-anchor": "middle" };
      group.append(text(slanted ? 0 : x, slanted ? 0 : head - 7, fitted(name, 150), { ...turned, class: "soft" }));
    });
    if (figure.titles[1]) group.append(text((left + right) / 2, 12, figure.titles[1], { "text-anchor": "middle" }));
    rows.forEach((name, i) => {
      const y = head + figure.height * i;
      const line = y + figure.height / 2 + 4;
      group.append(text(left - 6, line, fitted(name, left - titled - 6), { "text-anchor": "end", class: "soft" }));
      values[i].forEach((value, j) => {
        const [x, level] = [left + cell * j, Math.min(1, Math.abs(value) / top)];
        const paint = { fill: colour(value < 0 ? "low" : "high"), "fill-opacity": number(level) };
        const box = { x: number(x + 0.5), y: y + 0.5, width: number(cell - 1), height: figure.height - 1 };
        group.append(svg("rect", { ...box, class: "cell", ...paint }));
        if (figure.digits !== null) {
          const shown = (Number(value.toFixed(figure.digits)) + 0).toFixed(figure.digits).replace("-", "−");
          group.append(text(x + cell / 2, line, shown, { "text-anchor": "middle", class: level > 0.7 ? "reverse" : "" }));
        }
        targets.push({ x0: x, x1: x + cell, y0: y, y1: y + figure.height, says: figure.hover[i][j] });
      });
    });
    const bottom = head + figure.height * rows.length;
    if (titled) {
      const [x, y] = [11, (head + bottom) / 2];
      const turned = { transform: `translate(${x} ${number(y)}) rotate(-90)`, "text-anchor": "middle" };
      group.append(text(0, 0, figure.titles[0], turned));
    }
    if (scaled) drawScale(figure, group, right + 14, head, Math.min(bottom - head, 180));
    return { group, height: bottom + 4, targets, across: columns.length };
  }

  function drawScale({ top, signed }, group, x, y, height) {
    const [n, low] = [24, signed ? -top : 0];
    for (let i = 0; i < n; i++) {
      const value = top - ((i + 0.5) / n) * (top - low);
      const box = { x: number(x), y: number(y + (i * height) / n), width: 10, height: number(height / n + 0.3) };
      const paint = { fill: colour(value < 0 ? "low" : "high"), "fill-opacity": number(Math.abs(value) / top) };
      group.append(svg("rect", { ...box, ...paint }));
    }
    const { step, places } = ticks(low, top, 4);
    const Y = scale([top, low], [y, y + height]);
    for (const at of places) group.append(text(x + 15, Y(at) + 4, written(at, step), { class: "soft" }));
  }

  // --- links ----------------------------------------------------------------------------------------------------------

  function drawLinks(figure, width) {
    const [group, targets, step] = [svg("g"), [], 21];
    const room = Math.min(0.45 * width, 16 + Math.max(0, ...figure.right.map(([name]) => measure(name))));
    const [x0, x1] = [22, Math.min(width - room, 560)];
    const [left, right] = figure.heights.map((side) => side.map((row) => step * row + 26));
    const found = [...figure.edges].sort((a, b) => a[2] - b[2]).map(([i, j, strength]) => {
      const [from, to, middle] = [number(left[i]), number(right[j]), number((x0 + x1) / 2)];
      const d = `M${x0} ${from}C${middle} ${from} ${middle} ${to} ${number(x1)} ${to}`, stroke = colour(figure.left[i][2]);
      const node = svg("path", { d, fill: "none", stroke, "stroke-width": number(1 + 6 * strength), opacity: 0.75 });
      group.append(node);
      return { i, j, node };
    });
    // Lines of the active target stay; the others fade.
    const only = (test) => (on) =>
      found.forEach((edge) => edge.node.setAttribute("opacity", !on ? 0.75 : test(edge) ? 0.95 : 0.08));
    figure.left.forEach(([label, says, own, called], i) => {
      const ring = { fill: colour("paper"), stroke: colour(own), "stroke-width": 3 };
      group.append(svg("circle", { cx: x0, cy: number(left[i]), r: 13, ...ring }));
      group.append(text(x0, left[i] + 4, label, { "text-anchor": "middle", class: "strong" }));
      if (called) group.append(text(8, left[i] - 18, fitted(called, x1 - 20), { class: "called strong" }));
      targets.push({ cx: x0, cy: left[i], r: 13, says, also: only((edge) => edge.i === i) });
    });
    figure.right.forEach(([label, says], j) => {
      group.append(svg("circle", { cx: number(x1), cy: number(right[j]), r: 4, fill: colour(INK) }));
      group.append(text(x1 + 9, right[j] + 4, fitted(label, width - x1 - 10)));
      targets.push({ cx: x1, cy: right[j], r: 4, says, also: only((edge) => edge.j === j) });
    });
    return { group, height: Math.max(...left, ...right) + 20, targets };
  }

  // --- pointing, by mouse, finger or keys -----------------------------------------------------------------------------

  const tip = element("div", "tip");
  tip.setAttribute("role", "status");
  tip.hidden = true;
  let told = null;  // the target of the tip, and its drawing

  function hideTip() {
    [told, tip.hidden] = [null, true];
  }

  function showTip(target, root) {
    told = { target, root };
    const [heading, ...more] = target.says.split("\n");
    tip.replaceChildren(element("b", "", heading), ...more.map((line) => element("span", "", line)));
    tip.hidden = false;
    placeTip();
  }

  function placeTip() {
    const { target, root } = told, box = root.getBoundingClientRect();
    const [x, y] = target.cx === undefined
      ? [target.at ?? (target.x0 + target.x1) / 2, target.y0] : [target.cx, target.cy - target.r];
    const [left, above] = [box.left + x, box.top + Math.max(y, 0)];
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(6, Math.min(left - width / 2, document.documentElement.clientWidth - width - 6))}px`;
    tip.style.top = `${above - height - 10 > 4 ? above - height - 10 : above + Math.min(2 * (target.r ?? 12), 40) + 12}px`;
  }

  function outline({ line, at, cx, cy, r, x0, x1, y0, y1 }) {
    const look = { fill: "none", stroke: colour(INK), "stroke-width": line ? 1 : 2 };
    if (line) return svg("path", { ...look, d: `M${at} ${y0}V${y1}`, "stroke-dasharray": "3 3" });
    if (cx !== undefined) return svg("circle", { ...look, cx, cy, r: r + 4 });
    return svg("rect", { ...look, x: x0, y: y0, width: x1 - x0, height: y1 - y0 });
  }

  function nearest(targets, x, y) {
    let [best, least] = [-1, 20];
    for (let i = 0; i < targets.length; i++) {
      const t = targets[i];
      if (t.cx === undefined) {
        if (x >= t.x0 && x < t.x1 && y >= t.y0 && y <= t.y1) return i;
      } else {
        const distance = Math.max(0, Math.hypot(x - t.cx, y - t.cy) - t.r);
        if (distance < least || (distance === 0 && least === 0)) [best, least] = [i, distance];
      }
    }
    return best;
  }

  // Makes the targets of a drawing interactive; `chosen(i)` is called on click or enter.
  function listen(place, state) {
    const over = svg("g", { class: "over", "pointer-events": "none" });
    let at = -1;
    function leave() {
      state.targets[at]?.also?.(false);
      at = -1;
      hideTip();
      over.replaceChildren();
    }
    function go(i) {
      if (i === at || !state.targets[i]) return;
      state.targets[at]?.also?.(false);
      at = i;
      over.replaceChildren(outline(state.targets[i]));
      state.targets[i].also?.(true);
      state.root.append(over);
      showTip(state.targets[i], state.root);
    }
    function goByKey(i) {
      go(i);
      over.firstChild?.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    function choose(i) {
      if (!state.chosen) return;
      state.chosen(i);
      state.root.append(over);  // The drawing may be new.
    }
    const under = (event) => {
      const box = state.root.getBoundingClientRect();
      return nearest(state.targets, event.clientX - box.left, event.clientY - box.top);
    };
    place.addEventListener("pointermove", (event) => { const i = under(event); if (i < 0) leave(); else go(i); });
    place.addEventListener("pointerleave", leave);
    place.addEventListener("blur", leave);
    place.addEventListener("click", (event) => { const i = under(event); if (i >= 0) { go(i); choose(i); } });
    place.addEventListener("keydown", (event) => {
      const across = state.across ?? 1;
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across };
      if (event.key === "Escape") leave();
      else if (event.key === "Enter" && at >= 0 && state.chosen) choose(at);
      else if (event.key === "Home") goByKey(next(state.targets, -1, 1));
      else if (event.key === "End") goByKey(next(state.targets, state.targets.length, -1));
      else if (event.key in steps) goByKey(next(state.targets, at, steps[event.key]));
      else return;
      event.preventDefault();
    });
  }

  // The next target for keys; single rows of a cloud are for the pointer only.
  function next(targets, from, step) {
    let i = from < 0 && step < 0 ? targets.length : from;
    do i += from < 0 && Math.abs(step) > 1 ? 1 : step; while (targets[i]?.quiet);
    return i;
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  const KINDS = { plot: drawPlot, heat: drawHeat, links: drawLinks };
  const states = new Map();

  function redraw(place) {
    const state = states.get(place);
    const width = Math.max(place.clientWidth, 200);
    const { group, height, targets, across } = state.draw(width);
    state.width = place.clientWidth;
    Object.assign(state, { targets, across });
    const size = { width, height: Math.ceil(height), viewBox: `0 0 ${width} ${Math.ceil(height)}` };
    state.root = svg("svg", { ...size, class: "chart", "aria-hidden": "true" }, group);
    place.replaceChildren(state.root);
  }

  // Draws a figure, or the result of a function of the width, and redraws it when the width changes.
  function draw(place, figure, chosen) {
    const make = typeof figure === "function" ? figure : (width) => KINDS[figure.kind](figure, width);
    if (!document.body.contains(tip)) {
      document.body.append(tip);
      document.addEventListener("scroll", () => { if (told) placeTip(); }, { passive: true, capture: true });
    }
    const known = states.get(place);
    if (known) {
      Object.assign(known, { draw: make, chosen });
      redraw(place);
      return;
    }
    if (figure.width) place.style.minWidth = figure.width + "px";
    place.tabIndex = 0;
    const state = { draw: make, chosen, targets: [] };
    states.set(place, state);
    redraw(place);
    listen(place, state);
    new ResizeObserver(() => { if (place.clientWidth && place.clientWidth !== state.width) redraw(place); }).observe(place);
  }

  // --- saving ---------------------------------------------------------------------------------------------------------

  function save(name, blob) {
    const link = element("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  const MARGIN = 12;  // in pixels, around a saved picture
  const PAINT = [
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin", "opacity",
    "font-size", "font-weight", "font-family", "text-anchor", "paint-order",
  ];

  // The drawing as a separate file: in light colours, with every style written out.
  function standalone(root) {
    const stage = element("div", "on-paper stage");
    const copy = root.cloneNode(true);
    copy.querySelectorAll(".over").forEach((node) => node.remove());
    stage.append(copy);
    document.body.append(stage);
    for (const node of copy.querySelectorAll("*")) {
      const style = getComputedStyle(node);
      for (const name of PAINT) {
        const value = style.getPropertyValue(name);
        if (value) node.setAttribute(name, value);
      }
      node.removeAttribute("class");
      node.removeAttribute("style");
    }
    const ground = getComputedStyle(stage).backgroundColor;
    const [, , width, height] = root.getAttribute("viewBox").split(" ").map(Number);
    const size = { width: width + 2 * MARGIN, height: height + 2 * MARGIN };
    copy.prepend(svg("rect", { x: -MARGIN, y: -MARGIN, ...size, fill: ground }));
    copy.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${size.width} ${size.height}`);
    copy.setAttribute("width", size.width);
    copy.setAttribute("height", size.height);
    copy.removeAttribute("class");
    stage.remove();
    return { file: new XMLSerializer().serializeToString(copy), ...size };
  }

  const slug = (words) => words.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");

  // The name of a saved file, without suffix.
  const named = (what) => [slug(document.title).slice(0, 50).replace(/-+$/, ""), slug(what)].filter(Boolean).join("-");

  function saveSvg(root, name) {
    save(`${name}.svg`, new Blob([standalone(root).file], { type: "image/svg+xml" }));
  }

  async function pngOf(root) {
    const { file, width, height } = standalone(root);
    const [image, canvas, zoom] = [new Image(), element("canvas"), 2];
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(file);
    await image.decode();
    [canvas.width, canvas.height] = [zoom * width, zoom * height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  // Buttons under every figure with a single drawing.
  function tools() {
    for (const figure of document.querySelectorAll("figure.figure")) {
      if (figure.querySelectorAll("svg").length !== 1) continue;
      const name = () => named(figure.dataset.name);
      const bar = element("p", "tools");
      for (const [label, act] of [
        ["SVG", (root) => saveSvg(root, name())], ["PNG", async (root) => save(`${name()}.png`, await pngOf(root))],
      ]) {
        bar.append(button(label, () => act(figure.querySelector("svg")), `Save this picture as ${label}`));
      }
      figure.append(bar);
    }
  }

  return { button, draw, element, named, pngOf, save, standalone, svg, text, tools };
})();
