const header = document.querySelector('meta[name="latentia"]').content;
const base = location.pathname.split("/").slice(0, 2).join("/");
const byId = (id) => document.getElementById(id);
async function send(address, method, body) {
  const answer = await fetch(address, { method, body, headers: { "X-Latentia": header } });
  const result = await answer.json();
  if (result.error) throw new Error(result.error);
  return result;
}
const explain = (error) => { byId("error").textContent = error.message; };
async function upload(files) {
  byId("error").textContent = "";
  try {
    let place;
    for (const file of files) {
      byId("uploading").textContent = `Copying ${file.name} ...`;
      place = await send(`${base}/files/${encodeURIComponent(file.name)}`, "PUT", file);
    }
    if (place) location.assign(place.location);
  } catch (error) { explain(error); byId("uploading").textContent = ""; }
}
const drop = byId("drop");
if (drop) {
  byId("upload").addEventListener("change", (event) => upload(event.target.files));
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); upload(event.dataTransfer.files); });
}
const fields = (form, button) => new URLSearchParams(new FormData(form, button));
for (const form of document.querySelectorAll("form[data-send]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try { location.assign((await send(location.href, "POST", fields(form, event.submitter))).location); } catch (error) { explain(error); }
  });
  if ("preview" in form.dataset) {
    const show = async () => {
      try {
        const same = await send(`${location.pathname}?preview=1`, "POST", fields(form));
        byId("shell").textContent = same.shell; byId("python").textContent = same.python; byId("error").textContent = "";
      } catch (error) { explain(error); }
    };
    form.addEventListener("change", show);
    show();
  }
}
for (const form of document.querySelectorAll("form[data-submits]")) {
  form.addEventListener("change", () => form.requestSubmit());
  form.addEventListener("submit", () => { for (const field of form.elements) if (field.value === "") field.disabled = true; });
}
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => navigator.clipboard.writeText(byId(button.dataset.copy).textContent));
}
const job = byId("job");
if (job && job.dataset.state === "running") {
  const look = async () => {
    const state = await (await fetch(job.dataset.address)).json();
    if (state.state !== "running") return location.reload();
    const left = state.left === null ? "" : `, about ${Math.ceil(state.left)} s left`;
    byId("stage").textContent = `${state.stage}${left}; ${Math.round(state.seconds)} s so far`;
    if (state.total) byId("bar").value = state.done / state.total;
    byId("lines").textContent = state.lines.join("\n");
    setTimeout(look, 1000);
  };
  look();
}
