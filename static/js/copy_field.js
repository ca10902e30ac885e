// A button copies the field that it names. It comes with the dialogs and pages that have one, which are seldom opened,
// and stands alone.

const WORD_SHOWN = 1600; // ms that a button says whether it has copied

document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copies]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copies);
  field.select();
  const isCopied = await copy(field.value);
  const label = (button.dataset.label ??= button.textContent);
  button.textContent = isCopied ? button.dataset.copied : button.dataset.failed;
  setTimeout(() => (button.textContent = label), WORD_SHOWN);
});

/** Copy what is selected; without https there is no clipboard API, but the old way. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return document.execCommand("copy");
  }
}
