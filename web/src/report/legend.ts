// The names below a chart: a click hides a line, and the values under the pointer stand beside them.
import type uPlot from "uplot";
import type { AlignedChart } from "./alignment";
import { drawing, element } from "./elements";
import { colourName, DASHES, markerPath } from "./looks";
import { shortNumber } from "./numbers";
import type { Chart } from "./report";

function sample(line: number, dashed: boolean): HTMLElement {
  const colour = `var(${colourName(line)})`;
  const stroke = { stroke: colour, "stroke-width": "2", ...(dashed ? { "stroke-dasharray": DASHES.join(" ") } : {}) };
  const picture = drawing("-14 -7 28 14", "M-14 0H14", stroke);
  const marker = drawing("-14 -7 28 14", markerPath(line), { fill: colour }).firstChild!;
  picture.append(marker);
  return element("span", "sample", picture);
}

export class Legend {
  readonly element: HTMLElement;
  /** Says where along x the values are. */
  readonly place = element("span", "place");
  #values: HTMLElement[] = [];

  /** `toggle` hides or shows a line and says whether it is shown now. */
  constructor(chart: Chart, toggle: (line: number) => boolean) {
    const buttons = (chart.lines ?? []).map((line, i) => {
      const value = element("span", "value");
      const button = element("button", "", sample(i, line.dashed === true), element("span", "name", line.name), value);
      button.type = "button";
      button.ariaPressed = "true";
      button.title = "Show or hide";
      button.addEventListener("click", () => (button.ariaPressed = String(toggle(i))));
      this.#values.push(value);
      return button;
    });
    this.element = element("div", "legend", ...buttons);
  }

  showValues(plot: uPlot, data: AlignedChart, series: number[]): void {
    const indices = plot.cursor.idxs ?? [];
    const inside = (plot.cursor.left ?? -1) >= 0 && plot.cursor.idx != null;
    data.lines.forEach((line, i) => {
      const at = inside ? indices[series[i]] : null;
      const value = at == null ? null : line.y[at];
      const high = at == null ? null : line.band?.high[at];
      const spread = value != null && high != null ? ` ± ${shortNumber(Number((high - value).toPrecision(2)))}` : "";
      this.#values[i].textContent = value == null ? "" : shortNumber(value) + spread;
    });
    this.place.textContent = inside ? `at ${shortNumber(data.x[plot.cursor.idx!])}` : "";
  }
}
