// The settings: what cannot wait for the server. It comes with their dialog and their page, and stands alone.

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
