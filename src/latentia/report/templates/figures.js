for (const [id, figure] of Object.entries(JSON.parse(document.getElementById("report-data").textContent))) {
  Charts.draw(document.getElementById(id), figure);
}
