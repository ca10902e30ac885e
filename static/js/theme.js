// Loaded blocking in the head: the chosen theme stands before the first paint.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("theme");
  } catch {
    // Storage can be forbidden; the system's theme is a good answer then.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
