// Only conveniences: everything is readable without this script. It stores and fetches nothing.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const first = (selector) => document.querySelector(selector);

  const script = (root) => {
    for (const element of all("[data-scripted]", root)) element.hidden = false;
    for (const command of all(".command", root)) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: "Copy" });
      button.dataset.copy = "";
      command.append(button);
    }
  };
  script(document);

  // What scrolls sideways must be reachable with the keyboard. All is read before any is written.
  const reachable = (elements) => {
    const wide = elements.map((element) => element.scrollWidth > element.clientWidth);
    elements.forEach((element, index) => {
      if (wide[index]) {
        element.tabIndex = 0;
        element.setAttribute("role", "region");
        element.setAttribute("aria-label", element.dataset.label ?? `Timeline of ${element.closest("[data-section]").id}`);
      } else {
        for (const name of ["tabindex", "role", "aria-label"]) element.removeAttribute(name);
      }
    });
  };
  let resized = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(resized);
    resized = requestAnimationFrame(() => reachable(all(".scroll")));
  });

  // A folded part is the text of a <noscript>; it becomes elements when it is opened.
  const draw = (details) => {
    const folded = details.querySelector(":scope > noscript");
    if (!folded) return;
    const made = document.createRange().createContextualFragment(folded.textContent);
    script(made);
    folded.replaceWith(made);
  };
  const open = (element) => {
    for (let part = element; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") {
        draw(part);
        part.open = true;
      }
      if (part.matches("[data-section], [data-row]")) part.hidden = false;
    }
  };
  document.addEventListener(
    "toggle",
    (event) => {
      if (event.target.tagName !== "DETAILS" || !event.target.open) return;
      draw(event.target);
      reachable(all(".scroll", event.target));
    },
    true,
  );

  // A link leads into parts that are folded, filtered out or not drawn yet.
  const find = (id) => {
    const there = document.getElementById(id);
    if (there) return there;
    const folded = all("details > noscript").find((part) => part.textContent.includes(`id="${id}"`));
    if (folded) draw(folded.parentElement);
    return document.getElementById(id);
  };
  const reveal = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* a hash that is no text leads nowhere */ }
    const target = id && find(id);
    if (!target) return;
    open(target);
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) reveal();
  });

  // The filter. What it is set to stands in the address, so that a link can hold it.
  const form = first(".filter");
  const items = all("[data-row], [data-section]");
  const boxes = all("[data-filter-verdict]");
  const selects = ["check", "exception"]
    .map((key) => ({ key, select: first(`[data-filter-${key}]`) }))
    .filter((item) => item.select);
  const names = new Map(
    items.map((item) => [item, (item.dataset.name ?? item.querySelector("summary").textContent).toLowerCase()]),
  );
  const filter = () => {
    const words = first("[data-filter-name]").value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.dataset.filterVerdict));
    const chosen = selects.filter((item) => item.select.selectedIndex > 0);
    const passes = (item) =>
      verdicts.has(item.dataset.verdict) &&
      words.every((word) => names.get(item).includes(word)) &&
      chosen.every(({ key, select }) => (item.dataset[`${key}s`] || "").split(" ").includes(`${select.selectedIndex}`));
    for (const item of items) item.hidden = !passes(item);
    const shown = items.filter((item) => !item.hidden);
    const narrowed = shown.length < items.length;
    for (const family of all("[data-family]")) {
      family.hidden = !shown.some((item) => family.contains(item));
      if (narrowed && family.tagName === "DETAILS") family.open = true;
    }
    first("[data-shown]").textContent = narrowed
      ? `${shown.length} of ${items.length} scenarios shown`
      : `${items.length} scenarios`;
  };
  const remember = () => {
    const address = new URLSearchParams();
    const text = first("[data-filter-name]").value;
    if (text) address.set("q", text);
    for (const { key, select } of selects) if (select.value) address.set(key, select.value);
    const checked = boxes.filter((box) => box.checked).map((box) => box.dataset.filterVerdict);
    if (checked.length < boxes.length) address.set("verdict", checked.join(" "));
    const query = address.toString();
    history.replaceState(null, "", `${location.pathname}${query ? `?${query}` : ""}${location.hash}`);
  };
  if (form) {
    const address = new URLSearchParams(location.search);
    first("[data-filter-name]").value = address.get("q") || "";
    for (const { key, select } of selects) select.value = address.get(key) || "";
    for (const { select } of selects) if (select.selectedIndex < 0) select.selectedIndex = 0;
    const wanted = address.get("verdict");
    if (wanted !== null) for (const box of boxes) box.checked = wanted.split(" ").includes(box.dataset.filterVerdict);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      filter();
      remember();
    });
    filter();
  }

  // Single keys. They do nothing while one types, and can be turned off.
  const STOPS = ".problem > summary, [data-section] > summary";
  const help = first("[data-keys]");
  const step = (by) => {
    const stops = all(STOPS).filter((stop) => {
      const inside = stop.parentElement.parentElement.closest("details");
      return !stop.closest("[hidden]") && (!inside || inside.open);
    });
    const here = stops.indexOf(document.activeElement.closest(STOPS));
    const next = stops[here < 0 ? (by > 0 ? 0 : stops.length - 1) : here + by];
    if (next) next.focus();
  };
  addEventListener("keydown", (event) => {
    const typing = event.target.matches("input:not([type=checkbox]), select, textarea");
    if (event.key === "Escape" && typing) event.target.blur();
    if (!help || typing || help.open || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!first("[data-keys-on]").checked) return;
    const does = {
      "/": () => form && first("[data-filter-name]").focus(),
      j: () => step(1),
      k: () => step(-1),
      "?": () => help.showModal(),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  });
  if (help) {
    first("[data-keys-open]").addEventListener("click", () => help.showModal());
    first("[data-keys-close]").addEventListener("click", () => help.close());
  }

  // On paper nothing can be unfolded.
  let folded = [];
  const unfold = () => {
    if (folded.length) return;
    all("details").forEach(draw);
    folded = all("details:not([open])");
    for (const element of folded) element.open = true;
  };
  const refold = () => {
    for (const element of folded) element.open = false;
    folded = [];
  };
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", refold);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? unfold() : refold()));

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

  reveal();
  reachable(all(".scroll"));
})();
