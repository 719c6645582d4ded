// The page of `lact reproduce`: a table of verdicts, then the sections.
import { drawing, element, link } from "./elements";
import { embeddedReport, type Report } from "./report";
import { badge, sectionElement } from "./sections";
import { currentTheme, onThemeChange, startTheme, toggleTheme } from "./theme";

const SUN = "M8 5a3 3 0 1 0 0 6a3 3 0 1 0 0-6zM8 .8v1.6M8 13.6v1.6M.8 8h1.6M13.6 8h1.6M2.9 2.9L4 4M12 12l1.1 1.1M2.9 13.1L4 12M12 4l1.1-1.1";
const MOON = "M13.5 9.6A6 6 0 1 1 6.4 2.5a4.8 4.8 0 0 0 7.1 7.1z";

function themeButton(): HTMLElement {
  const button = element("button", "theme");
  button.type = "button";
  button.addEventListener("click", toggleTheme);
  const draw = () => {
    const dark = currentTheme() === "dark";
    button.replaceChildren(drawing("0 0 16 16", dark ? SUN : MOON, {
      fill: "none", stroke: "currentColor", "stroke-width": "1.5", "stroke-linecap": "round", "stroke-linejoin": "round",
    }));
    button.title = dark ? "Light colours" : "Dark colours";
    button.ariaLabel = button.title;
  };
  onThemeChange(draw);
  return button;
}

function verdictTable(report: Report): HTMLElement {
  const rows = (report.sections ?? []).map((section) =>
    element(
      "tr", "",
      element("th", "", link(section.id, "", section.title)),
      element("td", "claim", section.claim ?? ""),
      element("td", "verdict", badge(section.verdict)),
    ),
  );
  const head = element("tr", "", ...["Figure or table", "Claim", "Verdict"].map((name) => element("th", "", name)));
  const made = element("table", "verdicts", element("thead", "", head), element("tbody", "", ...rows));
  made.id = "verdicts";
  return made;
}

function start(): void {
  const page = document.getElementById("page")!;
  const report = embeddedReport();
  document.title = report.title;
  page.replaceChildren(
    element("header", "top", element("div", "", element("h1", "", report.title), element("p", "circumstances", report.circumstances)), themeButton()),
  );
  if (report.sections?.length) page.append(element("p", "tally", `${report.tally}.`), verdictTable(report));
  page.append(...(report.sections ?? []).map(sectionElement));
  startTheme();
  // The browser looked for the place before it existed.
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

start();
