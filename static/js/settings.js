// The settings: what cannot wait for the server. It comes with their dialog and their page, and stands alone.

const COPIED = 2000; // ms that it says so

document.addEventListener("change", ({ target }) => {
  if (target.name !== "appearance") return;
  const root = document.documentElement;
  if (target.value) root.dataset.theme = target.value;
  else delete root.dataset.theme;
  try {
    localStorage.setItem("theme", target.value || "auto"); // see theme.js
  } catch {
    // The server has it too.
  }
});

async function copy(button) {
  const field = document.querySelector(button.dataset.copy);
  field.select();
  await navigator.clipboard.writeText(field.value);
  const said = button.parentNode.querySelector("[data-copied]");
  said.hidden = false;
  setTimeout(() => (said.hidden = true), COPIED);
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-copy]");
  if (button) copy(button);
});

/** The button works only where the browser lets a page write to the clipboard: on https and localhost. */
function offerCopying() {
  for (const button of document.querySelectorAll("[data-copy]"))
    button.hidden = !navigator.clipboard;
}

document.addEventListener("htmx:afterSwap", offerCopying);
offerCopying();
