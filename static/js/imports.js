// The pages of imports: files are sent in pieces, and a page looks how far its import is. It comes with these pages.

import { ownHeaders } from "./base/session.js";

const LOOK_EVERY = 1500; // ms
const PATIENCE = 120_000; // ms for one piece
const LONGEST_WAIT = 30_000; // ms between two tries on a lost connection
const AWAY = [502, 503, 504]; // a proxy, or a server that restarts
const LEAST_PIECE = 60_000; // bytes: less is refused for another reason than its size

const form = document.querySelector(".import-upload");
if (form) startUpload();
const progress = document.getElementById("import-progress");
if (progress) follow();

// --- Sending -------------------------------------------------------------------------------------

function startUpload() {
  const input = form.querySelector("input[type=file]");
  const drop = form.querySelector(".import-drop");
  const send = async (files) => {
    if (!files.length || input.disabled) return;
    input.disabled = true;
    showError("");
    try {
      location.assign(await sendAll(files));
    } catch (error) {
      showError(error.message || form.dataset.failed);
      input.disabled = false;
      input.value = "";
    }
  };
  input.addEventListener("change", () => send([...input.files]));
  for (const name of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name === "drop") send([...event.dataTransfer.files]);
    });
  }
}

/** Make an import, or find the one that waits for these files, and send what it lacks; its address. */
async function sendAll(files) {
  const named = files.map(({ name, size }) => ({ name, size }));
  const made = await ask(form.dataset.url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ files: named }),
  });
  const job = await made.json();
  const total = files.reduce((sum, { size }) => sum + size, 0);
  const left = [...files];
  let before = 0;
  for (const wanted of job.files) {
    const place = left.findIndex(({ name, size }) => name === wanted.name && size === wanted.size);
    const [file] = left.splice(Math.max(0, place), 1);
    const url = `${form.dataset.url}pieces/${job.id}/${wanted.id}/`;
    let at = wanted.received;
    while (at < file.size) {
      showSent(file.name, (before + at) / total);
      const piece = await sendPiece(`${url}?offset=${at}`, file.slice(at, at + job.piece_bytes));
      if (piece.isTooLarge) job.piece_bytes = Math.ceil(job.piece_bytes / 4);
      else at = piece.received;
    }
    before += file.size;
  }
  await ask(`${job.url}start/`, { method: "POST" });
  return job.url;
}

/** How much of the file is there then; or that a proxy takes no piece of this size. */
async function sendPiece(url, body) {
  const answer = await ask(url, { method: "PUT", body }, [409, 413]);
  if (answer.status === 413 && body.size > LEAST_PIECE) return { isTooLarge: true };
  if (!answer.headers.get("Content-Type")?.includes("json")) throw new Error(await answer.text());
  return answer.json();
}

/** `fetch` that goes on when a lost connection is back. Raises what the server says against it. */
async function ask(url, options, expected = []) {
  for (let wait = 1000; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const answer = await fetch(url, {
      ...options,
      headers: { ...ownHeaders(), "X-Requested-With": "fetch", ...options.headers },
      signal: AbortSignal.timeout(PATIENCE),
    }).catch(() => null);
    if (!answer || AWAY.includes(answer.status)) {
      say(form.dataset.lost);
      await new Promise((resolve) => setTimeout(resolve, wait));
      continue;
    }
    if (answer.redirected && !answer.url.includes(form.dataset.url))
      throw new Error(form.dataset.signedOut);
    if (answer.ok || expected.includes(answer.status)) return answer;
    const hasWords = answer.headers.get("Content-Type")?.startsWith("text/plain");
    throw new Error(hasWords ? await answer.text() : form.dataset.failed);
  }
}

function showSent(name, share) {
  const percent = Math.floor(100 * share);
  const bar = form.querySelector("progress");
  bar.hidden = false;
  bar.value = percent;
  say(form.dataset.sending.replace("{name}", name).replace("{percent}", percent));
}

function say(words) {
  const line = form.querySelector(".import-said");
  if (line.textContent !== words) line.textContent = words;
}

function showError(words) {
  const line = form.querySelector(".import-error");
  line.textContent = words;
  line.hidden = !words;
  if (!words) return;
  form.querySelector("progress").hidden = true;
  say("");
}

// --- Looking -------------------------------------------------------------------------------------

/** Draw how far an import is, until it is over. */
async function follow() {
  const isActive = () => ["queued", "running"].includes(progress.firstElementChild?.dataset.status);
  while (isActive()) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
    const answer = await fetch(`${progress.dataset.url}?part`, {
      headers: { ...ownHeaders(), "X-Requested-With": "fetch" },
    }).catch(() => null);
    if (!answer?.ok || answer.redirected) continue;
    const hadFocus = progress.contains(document.activeElement);
    progress.innerHTML = await answer.text();
    if (hadFocus) progress.querySelector("button, a")?.focus();
  }
}
