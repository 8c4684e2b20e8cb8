// Only conveniences: everything is readable without this script. It stores and fetches nothing.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const first = (selector) => document.querySelector(selector);

  for (const element of all("[data-scripted]")) element.hidden = false;

  // Filter of the matrix and of the scenario sections.
  const form = first(".filter");
  const rows = all("[data-row]");
  const sections = all("[data-section]");
  const passes = (element, words, verdicts) => {
    const name = element.dataset.name.toLowerCase();
    return verdicts.has(element.dataset.verdict) && words.every((word) => name.includes(word));
  };
  const filter = () => {
    const words = first("[data-filter-name]").value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = new Set(
      all("[data-filter-verdict]").filter((box) => box.checked).map((box) => box.dataset.filterVerdict),
    );
    for (const element of [...rows, ...sections]) element.hidden = !passes(element, words, verdicts);
    for (const family of all("[data-family]")) {
      family.hidden = all("[data-row]", family).every((row) => row.hidden);
    }
    const shown = rows.filter((row) => !row.hidden).length;
    first("[data-shown]").textContent =
      shown === rows.length ? `${rows.length} scenarios` : `${shown} of ${rows.length} scenarios shown`;
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  filter();

  // Fold and unfold.
  for (const button of all("[data-fold]")) {
    button.addEventListener("click", () => {
      for (const section of sections) section.open = button.dataset.fold === "open";
    });
  }

  // A link into a folded or filtered part opens what hides its target.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let element = target; element; element = element.parentElement) {
      if (element.tagName === "DETAILS") element.open = true;
      if (element.matches("[data-section], [data-row]")) element.hidden = false;
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) reveal();
  });
  reveal();

  // On paper nothing can be unfolded.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    for (const element of folded) element.open = true;
  });
  addEventListener("afterprint", () => {
    for (const element of folded) element.open = false;
  });

  // Copy a command; where the clipboard is refused, select it instead.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });

  // Light, dark, or what the system says.
  const themes = ["system", "light", "dark"];
  first("[data-theme-switch]").addEventListener("click", (event) => {
    const now = document.documentElement.dataset.theme || "system";
    const next = themes[(themes.indexOf(now) + 1) % themes.length];
    document.documentElement.dataset.theme = next;
    event.target.textContent = `Theme: ${next}`;
  });

  // What scrolls sideways must be reachable with the keyboard.
  const reachable = () => {
    for (const element of all(".scroll")) {
      if (element.scrollWidth > element.clientWidth) {
        element.tabIndex = 0;
        element.setAttribute("role", "region");
        element.setAttribute("aria-label", element.dataset.label);
      } else {
        for (const name of ["tabindex", "role", "aria-label"]) element.removeAttribute(name);
      }
    }
  };
  addEventListener("resize", reachable);
  document.addEventListener("toggle", reachable, true);
  reachable();
})();
