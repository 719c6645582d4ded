// Elements of the page. Text always goes in as text: what looks like markup is shown as it is.

type Child = Node | string | null;

/** element("p", "faint", "text", child, ...); the class may be "", null children are left out. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  if (className) made.className = className;
  for (const child of children) {
    if (child !== null) made.append(child);
  }
  return made;
}

export function link(target: string, className: string, ...children: Child[]): HTMLAnchorElement {
  const made = element("a", className, ...children);
  made.href = `#${target}`;
  return made;
}

export function list(className: string, items: readonly string[] | undefined): HTMLElement | null {
  if (!items?.length) return null;
  return element("ul", className, ...items.map((item) => element("li", "", item)));
}

/** A drawing of one path; `attributes` are those of the path. */
export function drawing(box: string, path: string, attributes: Record<string, string>): SVGSVGElement {
  const name = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(name, "svg");
  svg.setAttribute("viewBox", box);
  svg.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS(name, "path");
  shape.setAttribute("d", path);
  for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
  svg.append(shape);
  return svg;
}
