// A choice among a few, kept for the next visit.

import { make, mark } from "./elements.js";

/** A row of buttons of which one is chosen. `options` are pairs of a value and its word. */
export function choice(parent, { name, label, options, onChange }) {
  let chosen = recalled(name);
  if (!options.some(([value]) => value === chosen)) [[chosen]] = options;
  const buttons = options.map(([value, word]) => {
    const button = make("button", { type: "button", "data-choice": value }, word);
    button.addEventListener("click", () => {
      chosen = value;
      keep(name, value);
      paint();
      onChange(value);
    });
    return button;
  });
  const paint = () => {
    for (const button of buttons) mark(button, "aria-pressed", String(button.dataset.choice === chosen));
  };
  paint();
  parent.append(make("div", { class: "choice", role: "group", "aria-label": label }, ...buttons));
  return { value: () => chosen };
}

function recalled(name) {
  try {
    return localStorage.getItem(`cobandit-${name}`);
  } catch {
    return null; // storage may be forbidden: then the choice lasts as long as the page
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(`cobandit-${name}`, value);
  } catch {
    // as above
  }
}
