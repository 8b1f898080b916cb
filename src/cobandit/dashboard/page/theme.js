// Light or dark. A plain script and not a module, so that it runs before the first paint and nothing flashes.
(() => {
  const NAME = "cobandit-theme";
  const root = document.documentElement;

  function recalled() {
    try {
      return localStorage.getItem(NAME);
    } catch {
      return null; // storage may be forbidden: then the system decides
    }
  }

  function apply(theme) {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  }

  apply(recalled());
  document.addEventListener("DOMContentLoaded", () => {
    const control = document.getElementById("theme");
    control.value = root.dataset.theme ?? "system";
    control.addEventListener("change", () => {
      apply(control.value);
      try {
        localStorage.setItem(NAME, control.value);
      } catch {
        // it holds until the page is left
      }
    });
  });
})();
