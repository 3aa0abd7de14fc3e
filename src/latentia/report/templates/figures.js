"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("report-data").textContent);
  const ink = "#1b2430";
  const font = { family: getComputedStyle(document.body).fontFamily, size: 13, color: ink };
  const still = { displayModeBar: false, scrollZoom: false, doubleClick: false, responsive: true };
  for (const [id, figure] of Object.entries(figures)) {
    const place = document.getElementById(id);
    place.style.minWidth = figure.width + "px";
    place.style.height = figure.layout.height + "px";  // what follows must not slide under it, in print either
    const layout = {
      paper_bgcolor: "#fff", plot_bgcolor: "#fff", dragmode: false,
      hoverlabel: { bgcolor: "#fff", bordercolor: ink, font, align: "left" }, ...figure.layout, font,
    };
    Plotly.newPlot(place, figure.traces, layout, still);
  }
})();
