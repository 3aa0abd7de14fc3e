const header = document.querySelector('meta[name="latentia"]').content;
const base = location.pathname.split("/").slice(0, 2).join("/");
const byId = (id) => document.getElementById(id);
function explain(error, form) { // At the field that it is about, or else at the top.
  silence(form);
  const field = error.field && form?.elements[error.field];
  const place = field?.closest ? field.closest("label") : null;
  if (!place) byId("error").textContent = error.message;
  else place.insertAdjacentHTML("afterend", '<p class="error" role="alert"></p>');
  const line = place ? place.nextElementSibling : byId("error");
  line.textContent = error.message;
  line.scrollIntoView({ block: "nearest" });
}
function silence(form) {
  byId("error").textContent = "";
  for (const line of form?.querySelectorAll('[role="alert"]') ?? []) line.remove();
}
const tell = (text) => sessionStorage.setItem("said", text); // on the next page
byId("said").textContent = sessionStorage.getItem("said") ?? "";
sessionStorage.removeItem("said");

async function send(address, method, body) {
  let answer;
  try {
    answer = await fetch(address, { method, body, headers: { "X-Latentia": header } });
  } catch { throw new Error("The app does not answer. Start latentia app again, and open the address that it shows."); }
  const result = await answer.json().catch(() => ({ error: "Open the address that the terminal shows." }));
  if (result.error) throw Object.assign(new Error(result.error), { field: result.field });
  return result;
}

// --- files ---

async function copy(files) { // Copies them into the folder of the app; returns the last answer.
  const named = files.filter(({ name }) => !name.split("/").some((part) => part.startsWith(".")));
  if (!named.length) throw new Error("There is no file in this folder.");
  const folder = named[0].name.includes("/") && named[0].name.split("/")[0];
  const place = folder && (await send(`${base}/folders/${encodeURIComponent(folder)}`, "POST")).name;
  const renamed = folder && place !== folder ? [`The folder ${folder} is stored as ${place}.`] : [];
  let last;
  for (const [i, { name, file }] of named.entries()) {
    if (byId("uploading")) byId("uploading").textContent = `Copying ${name} (${i + 1} of ${named.length})`;
    const target = folder ? [place, ...name.split("/").slice(1)] : [name];
    last = await send(`${base}/files/${target.map(encodeURIComponent).join("/")}`, "PUT", file);
    if (last.name !== target.join("/")) renamed.push(`${name} is stored as ${last.name}.`);
  }
  if (renamed.length) tell(`${renamed.join(" ")} A file of the same name was there, or the name was too long.`);
  return { ...last, several: named.length > 1 && !folder };
}
async function upload(files) {
  silence();
  try {
    const last = await copy(files);
    location.assign(last.several ? `${base}/` : last.location);
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

const fields = (form, button) => new URLSearchParams([...new FormData(form, button)].filter(([, value]) => typeof value === "string"));
let asked = 0;
async function preview(form) {
  const number = ++asked;
  try {
    const same = await send(`${location.pathname}?preview=1`, "POST", fields(form));
    if (number !== asked) return; // A later answer counts, whichever comes first.
    byId("shell").textContent = same.shell;
    byId("python").textContent = same.python;
    if (form.id !== "topics") silence(form);
  } catch (error) { explain(error, form); }
}
async function refresh(old) { // Shows the page as it is now, at the same place and with the focus on the same field.
  const scroll = scrollY, row = old.closest("tr")?.querySelector("select")?.ariaLabel;
  const page = new DOMParser().parseFromString(await (await fetch(location.pathname)).text(), "text/html");
  document.querySelector("main").replaceWith(page.querySelector("main"));
  const like = (one) => one.name === old.name && (one.ariaLabel ? one.ariaLabel === old.ariaLabel : one.value === old.value);
  const named = [...document.querySelectorAll("main [name]")];
  scrollTo(0, scroll);
  (named.find(like) ?? named.find((one) => row && one.ariaLabel === row))?.focus({ preventScroll: true });
}
document.addEventListener("submit", async (event) => {
  const form = event.target, button = event.submitter, buttons = form.querySelectorAll("button");
  event.preventDefault();
  if (button?.dataset.confirm && !confirm(button.dataset.confirm)) return;
  const body = fields(form, button), focus = button ?? document.activeElement; // before it is disabled
  for (const one of buttons) one.disabled = true; // A second click would start a second job.
  try {
    const answer = await send(location.pathname, "POST", body);
    if ("submits" in form.dataset) await refresh(focus);
    else location.assign(answer.location);
  } catch (error) { explain(error, form); }
  for (const one of buttons) one.disabled = false;
});
document.addEventListener("change", async ({ target }) => {
  const form = target.form;
  if ("upload" in target.dataset) {
    try {
      const { name } = await copy(list(target.files));
      form.elements.file.add(new Option(name, name, true, true));
    } catch (error) { explain(error, form); }
  } else if (form && "submits" in form.dataset) form.requestSubmit();
  else if (form && "preview" in form.dataset) preview(form);
});
document.addEventListener("click", ({ target }) => {
  if (target.dataset?.copy) navigator.clipboard.writeText(byId(target.dataset.copy).textContent);
});
for (const form of document.querySelectorAll("form[data-preview]")) preview(form);

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
    } catch (error) { explain(error, topics); }
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
      byId("notes").replaceChildren(...state.notes.map((note) => Object.assign(document.createElement("li"), { textContent: note })));
    } catch { byId("stage").textContent = "The app does not answer. The work goes on; start latentia app again to see it."; }
    setTimeout(look, 1000);
  };
  look();
}
