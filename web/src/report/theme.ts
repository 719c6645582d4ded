// Light or dark: as the system says, until the reader chooses. On paper always light.

export type Theme = "light" | "dark";

const STORED = "lact-report-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];
let printing = false;

function chosen(): Theme | null {
  // A page from the disk may have no storage.
  try {
    const stored = localStorage.getItem(STORED);
    return stored === "light" || stored === "dark" ? stored : null;
  } catch {
    return null;
  }
}

let choice = chosen();

export function currentTheme(): Theme {
  if (printing) return "light";
  return choice ?? (system.matches ? "dark" : "light");
}

export function isPrinting(): boolean {
  return printing;
}

/** Called after every change, with the new colours in place. */
export function onThemeChange(listener: () => void): void {
  listeners.push(listener);
}

function apply(): void {
  document.documentElement.dataset.theme = currentTheme();
  for (const listener of listeners) listener();
}

export function toggleTheme(): void {
  choice = currentTheme() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(STORED, choice);
  } catch {
    // It lasts as long as the page, then.
  }
  apply();
}

function setPrinting(now: boolean): void {
  if (printing === now) return;
  printing = now;
  apply();
}

export function startTheme(): void {
  system.addEventListener("change", apply);
  addEventListener("beforeprint", () => setPrinting(true));
  addEventListener("afterprint", () => setPrinting(false));
  matchMedia("print").addEventListener("change", (event) => setPrinting(event.matches));
  apply();
}

/** A colour or length of the style sheet. */
export function styleValue(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
