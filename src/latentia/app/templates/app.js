const header = document.querySelector('meta[name="latentia"]').content;
const base = location.pathname.split("/").slice(0, 2).join("/");
const byId = (id) => document.getElementById(id);
const explain = (error) => { byId("error").textContent = error.message; byId("error").scrollIntoView({ block: "center" }); };

async function send(address, method, body) {
  let answer;
  try {
    answer = await fetch(address, { method, body, headers: { "X-Latentia": header } });
  } catch { throw new Error("The app does not answer. Start latentia app again, and open the address that it shows."); }
  const result = await answer.json().catch(() => ({ error: "Open the address that the terminal shows." }));
  if (result.error) throw new Error(result.error);
  return result;
}

// --- files ---

async function upload(files) {
  const named = files.filter(({ name }) => !name.split("/").some((part) => part.startsWith(".")));
  byId("error").textContent = "";
  try {
    if (!named.length) throw new Error("There is no file in this folder.");
    const folder = named[0].name.includes("/") && named[0].name.split("/")[0];
    const place = folder && (await send(`${base}/folders/${encodeURIComponent(folder)}`, "POST")).name;
    let last;
    for (const [i, { name, file }] of named.entries()) {
      byId("uploading").textContent = `Copying ${name} (${i + 1} of ${named.length})`;
      const target = folder ? [place, ...name.split("/").slice(1)] : [name];
      last = await send(`${base}/files/${target.map(encodeURIComponent).join("/")}`, "PUT", file);
    }
    location.assign(named.length === 1 || folder ? last.location : `${base}/`);
  } catch (error) { explain(error); byId("uploading").textContent = ""; }
}

const list = (files) => [...files].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
async function walk(entry, path = "") {
  if (entry.isFile) return [{ name: path + entry.name, file: await new Promise((done, failed) => entry.file(done, failed)) }];
  const reader = entry.createReader(), found = [];
  for (let some = [null]; some.length;) {
    some = await new Promise((done, failed) => reader.readEntries(done, failed));
    found.push(...some);
  }
  return (await Promise.all(found.map((inner) => walk(inner, `${path}${entry.name}/`)))).flat();
}

const drop = byId("drop");
if (drop) {
  for (const id of ["upload", "folder"]) byId(id).addEventListener("change", (event) => upload(list(event.target.files)));
  document.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  document.addEventListener("dragleave", () => drop.classList.remove("over"));
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const folder = entries.find((entry) => entry.isDirectory);
    upload(folder ? await walk(folder) : list(event.dataTransfer.files));
  });
}

// --- forms ---

const fields = (form, button) => new URLSearchParams(new FormData(form, button));
for (const form of document.querySelectorAll("form[data-send]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const buttons = form.querySelectorAll("button"), body = fields(form, event.submitter);
    for (const button of buttons) button.disabled = true; // A second click would start a second job.
    try { location.assign((await send(location.pathname, "POST", body)).location); } catch (error) { explain(error); }
    for (const button of buttons) button.disabled = false;
  });
  if ("preview" in form.dataset) {
    let asked = 0;
    const show = async () => {
      const number = ++asked;
      try {
        const same = await send(`${location.pathname}?preview=1`, "POST", fields(form));
        if (number !== asked) return; // A later answer counts, whichever comes first.
        byId("shell").textContent = same.shell;
        byId("python").textContent = same.python;
        if (form.id !== "topics") byId("error").textContent = "";
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

// --- anchors ---

const topics = byId("topics");
if (topics) {
  let asked = 0;
  const change = async () => {
    const number = ++asked;
    for (const button of topics.querySelectorAll("[data-undo]")) {
      const input = button.previousElementSibling;
      button.hidden = input.value === input.defaultValue;
    }
    try {
      const found = await send(`${location.pathname}/words`, "POST", fields(topics));
      if (number !== asked) return;
      byId("error").textContent = "";
      for (const [k, topic] of found.topics.entries()) {
        topics.querySelector(`[data-share="${k}"]`).textContent = topic.share;
        const words = topics.querySelector(`[data-words="${k}"]`);
        words.dataset.first ??= words.textContent;
        words.textContent = topic.words;
        words.classList.toggle("changed", words.dataset.first !== topic.words);
      }
      byId("cost").textContent = found.changed ? "Measuring what the other anchors cost ..." : "";
      if (!found.changed) return;
      const cost = await send(`${location.pathname}/cost`, "POST", fields(topics));
      if (number === asked) byId("cost").textContent = cost.text;
    } catch (error) { explain(error); }
  };
  for (const input of topics.querySelectorAll('[name="anchor"]')) input.addEventListener("change", change);
  for (const button of topics.querySelectorAll("[data-undo]")) {
    button.addEventListener("click", () => {
      const input = button.previousElementSibling;
      input.value = input.defaultValue;
      input.dispatchEvent(new Event("change", { bubbles: true }));
      input.focus();
    });
  }
}

// --- progress ---

const span = (seconds) => seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.round(seconds / 60)} min`;
const job = byId("job");
if (job && job.dataset.state === "running") {
  const look = async () => {
    try {
      const state = await (await fetch(job.dataset.address)).json();
      if (state.state !== "running") return location.reload();
      const left = state.seconds_left === null ? "" : `, about ${span(state.seconds_left)} left in this stage`;
      const done = state.total ? `: ${state.done} of ${state.total} ${state.unit}` : "";
      byId("stage").textContent = `${state.stage}${done}${left}; ${span(state.seconds)} so far`;
      if (state.done) byId("bar").value = state.done / state.total;
      else byId("bar").removeAttribute("value");
      byId("lines").textContent = state.lines.join("\n");
    } catch { byId("stage").textContent = "The app does not answer. The work goes on; start latentia app again to see it."; }
    setTimeout(look, 1000);
  };
  look();
}
