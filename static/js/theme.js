// Loaded blocking in the head: the chosen theme, and whether the sidebar is closed, stand before the first paint.
(() => {
  const { dataset } = document.documentElement;
  let theme = null;
  try {
    theme = localStorage.getItem("theme");
    if (localStorage.getItem("sidebar")) dataset.sidebar = "closed";
  } catch {
    // Storage can be forbidden; the system's theme is a good answer then.
  }
  if (theme === "light" || theme === "dark") dataset.theme = theme;
})();
