// The sections of the report, one per figure or table of the paper.
import { chartFigure } from "./chart";
import { drawing, element, link, list } from "./elements";
import type { Finding, Picture, Section, Table, Verdict } from "./report";

const ICONS: Record<Verdict, string> = {
  holds: "M3 8.5l3.5 3.5L13 4.5",
  "does not hold": "M4 4l8 8M12 4l-8 8",
  inconclusive: "M3 9.5c2-3.5 4-3.5 5-1.5s3 2 5-1.5",
};

export function badge(verdict: Verdict): HTMLElement {
  const icon = drawing("0 0 16 16", ICONS[verdict] ?? "", {
    fill: "none", stroke: "currentColor", "stroke-width": "2", "stroke-linecap": "round", "stroke-linejoin": "round",
  });
  const made = element("span", "badge", icon, verdict);
  made.dataset.verdict = verdict;
  return made;
}

function findingCard(finding: Finding): HTMLElement {
  const row = (name: string, text: string) =>
    text ? element("div", "", element("dt", "", name), element("dd", "", text)) : null;
  return element(
    "li", "finding",
    element("div", "head", badge(finding.verdict), element("p", "statement", finding.statement)),
    element("dl", "", row("Numbers", finding.because), row("Rule", finding.rule)),
  );
}

function tableBox(table: Table): HTMLElement {
  const row = (name: "th" | "td", cells: string[]) =>
    element("tr", "", ...cells.map((text, i) => element(name, table.quantities?.[i] ? "quantity" : "", text)));
  const scroll = element(
    "div", "scroll",
    element("table", "", element("thead", "", row("th", table.header)), element("tbody", "", ...table.rows.map((cells) => row("td", cells)))),
  );
  scroll.tabIndex = 0; // so that the keyboard can scroll it
  return element("figure", "table", table.title ? element("figcaption", "", table.title) : null, scroll);
}

function pictureFigure(picture: Picture): HTMLElement {
  const image = element("img", "");
  image.src = picture.address;
  image.alt = picture.caption;
  return element("figure", "picture", image, picture.caption ? element("figcaption", "", picture.caption) : null);
}

function commandsBox(commands: string[] | undefined): HTMLElement | null {
  if (!commands?.length) return null;
  const count = `${commands.length} command${commands.length === 1 ? "" : "s"}`;
  return element("details", "commands", element("summary", "", count), element("pre", "", element("code", "", commands.join("\n"))));
}

function group(className: string, parts: HTMLElement[] | undefined): HTMLElement | null {
  return parts?.length ? element("div", className, ...parts) : null;
}

function titled(className: string, title: string, content: HTMLElement | null): HTMLElement | null {
  return content && element("div", className, element("h3", "", title), content);
}

export function sectionElement(section: Section): HTMLElement {
  const findings = section.findings?.length ? element("ul", "findings", ...section.findings.map(findingCard)) : null;
  const made = element(
    "section", "",
    element("header", "", element("h2", "", link(section.id, "", section.title)), badge(section.verdict)),
    section.claim ? element("p", "claim", section.claim) : null,
    findings,
    titled("paper", "In the paper", list("", section.paper)),
    group("charts", section.charts?.map(chartFigure)),
    group("tables", section.tables?.map(tableBox)),
    group("pictures", section.pictures?.map(pictureFigure)),
    titled("notes", "Notes", list("", section.notes)),
    element(
      "footer", "",
      commandsBox(section.commands),
      element("p", "time", section.time ? `${section.time} of one core` : "", link("verdicts", "back", "All verdicts")),
    ),
  );
  made.id = section.id;
  return made;
}
