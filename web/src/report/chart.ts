// A chart by uPlot: hover shows values in the legend, a click on a name hides its line, a drag zooms along x.
import uPlot from "uplot";
import { aligned, type AlignedChart } from "./alignment";
import { element } from "./elements";
import { Legend } from "./legend";
import { colourOf, DASHES, markerPath } from "./looks";
import { isPowerOfTwo, logTicks, tickLabel } from "./numbers";
import type { Chart } from "./report";
import { isPrinting, onThemeChange, styleValue } from "./theme";

const MOST_MARKERS = 60; // a longer series is a curve, its points would hide it
const PRINTED_WIDTH = 640;
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
const NEAR = 40; // pixels: a line's value is shown when one of its points is that close to the pointer

/** Where uPlot keeps what belongs to a line: its own series behind all bands, the first line last and so on top. */
interface Places {
  series: number[];
  bands: ([high: number, low: number] | null)[];
}

function placesOf(data: AlignedChart): Places {
  const places: Places = { series: [], bands: [] };
  let next = 1;
  for (const line of data.lines) places.bands.push(line.band ? [next++, next++] : null);
  for (let i = data.lines.length; i-- > 0; ) places.series[i] = next++;
  return places;
}

/** Points with nothing beside them have no line and would be invisible. */
function lonePoints(y: AlignedChart["lines"][number]["y"]): number[] {
  const present = y.flatMap((value, i) => (value === undefined ? [] : [{ value, i }]));
  return present
    .filter(({ value }, k) => value !== null && present[k - 1]?.value == null && present[k + 1]?.value == null)
    .map(({ i }) => i);
}

function markers(line: number): uPlot.Series.Points.PathBuilder {
  const shape = new Path2D(markerPath(line));
  return (plot, index, from, to, chosen) => {
    const path = new Path2D();
    const add = (i: number) => {
      const y = plot.data[index][i];
      if (y == null) return;
      const place = new DOMMatrix()
        .translate(plot.valToPos(plot.data[0][i], "x", true), plot.valToPos(y, "y", true))
        .scale(uPlot.pxRatio);
      path.addPath(shape, place);
    };
    if (chosen) chosen.forEach(add);
    else for (let i = from; i <= to; ++i) add(i);
    return { fill: path, stroke: path };
  };
}

function seriesOf(chart: Chart, data: AlignedChart, places: Places): uPlot.Series[] {
  const series: uPlot.Series[] = [{}];
  places.bands.forEach((band) => {
    for (const index of band ?? []) series[index] = { stroke: "transparent", width: 0, points: { show: false } };
  });
  data.lines.forEach((line, i) => {
    const colour = colourOf(i);
    const few = line.count <= MOST_MARKERS;
    series[places.series[i]] = {
      stroke: colour,
      width: 2,
      dash: chart.lines![i].dashed ? DASHES : undefined,
      points: {
        show: true,
        paths: markers(i),
        filter: () => (few ? null : lonePoints(line.y)),
        fill: colour,
        stroke: styleValue("--card"),
        width: 1,
        dash: [],
      },
    };
  });
  return series;
}

function axesOf(chart: Chart, base: 2 | 10): uPlot.Axis[] {
  const common = {
    font: FONT,
    labelFont: FONT,
    stroke: styleValue("--faint"),
    labelGap: 4,
    labelSize: 24,
    ticks: { stroke: styleValue("--axis"), width: 1, size: 5 },
    border: { show: true, stroke: styleValue("--axis"), width: 1 },
  };
  const labels = (_: uPlot, splits: number[], __: number, ___: number, step: number) =>
    splits.map((value) => tickLabel(value, step, Math.max(...splits.map(Math.abs))));
  const x: uPlot.Axis = { ...common, label: chart.x_label, size: 30, grid: { stroke: styleValue("--grid-soft"), width: 1 }, values: labels };
  if (chart.log_x) {
    x.splits = (plot, _, low, high) => logTicks(low, high, base, Math.floor(plot.width / 60));
    x.filter = (_, splits) => splits;
    x.values = (_, splits) => splits.map((value) => (base === 2 && value >= 1 ? String(value) : tickLabel(value, value, value)));
  }
  const y: uPlot.Axis = {
    ...common,
    label: chart.y_label,
    grid: { stroke: styleValue("--grid"), width: 1 },
    values: labels,
    size: (_, values) => 16 + 7 * Math.max(1, ...(values ?? []).map((text) => text?.length ?? 0)),
  };
  return [x, y];
}

/** All of the data with a little room beside it, so that the outermost markers are whole. */
function xRange(logarithmic: boolean): uPlot.Range.Function {
  return (_, low, high) => {
    if (logarithmic) {
      const room = low < high ? (high / low) ** 0.02 : 2;
      return [low / room, high * room];
    }
    const room = low < high ? (high - low) * 0.02 : Math.abs(low) / 2 || 1;
    return [low - room, high + room];
  };
}

/** The point of a series nearest to the pointer, if it is near enough. */
function nearestPoint(plot: uPlot, index: number, hovered: number): number | null {
  const column = plot.data[index];
  const pointer = plot.cursor.left ?? -1;
  let best: number | null = null;
  let least = NEAR;
  const look = (i: number) => {
    if (column[i] == null) return;
    const away = Math.abs(plot.valToPos(plot.data[0][i], "x") - pointer);
    if (away < least) [best, least] = [i, away];
  };
  for (let i = hovered; i >= 0 && column[i + 1] == null; --i) look(i);
  for (let i = hovered; i < column.length && (i === hovered || column[i - 1] == null); ++i) look(i);
  return best;
}

function optionsOf(chart: Chart, data: AlignedChart, places: Places, width: number, legend: Legend): uPlot.Options {
  const base = data.x.every(isPowerOfTwo) ? 2 : 10;
  return {
    width,
    height: width < 420 ? 240 : 300,
    legend: { show: false },
    padding: [8, 12, 0, 0],
    scales: {
      x: { time: false, distr: chart.log_x ? 3 : 1, log: base, range: xRange(chart.log_x === true) },
    },
    axes: axesOf(chart, base),
    series: seriesOf(chart, data, places),
    bands: places.bands.flatMap((band, i) => (band ? [{ series: band, fill: colourOf(i) + styleValue("--band-opacity") }] : [])),
    cursor: {
      dataIdx: (plot, index, hovered) => (index === 0 ? hovered : nearestPoint(plot, index, hovered)),
      y: false,
      points: { show: (plot, index) => hoverPoint(plot, index, places), size: 9 },
      drag: { x: true, y: false, dist: 6 },
    },
    hooks: { setCursor: [(plot) => legend.showValues(plot, data, places.series)] },
  };
}

/** A dot on each line, and none on the edges of its band. */
function hoverPoint(_: uPlot, index: number, places: Places): HTMLElement {
  const dot = element("div", "u-cursor-pt");
  if (!places.series.includes(index)) dot.style.display = "none";
  return dot;
}

/** A figure with the chart, which is drawn again for every width and colour scheme. */
export function chartFigure(chart: Chart): HTMLElement {
  const data = aligned(chart);
  const caption = element("figcaption", "", element("span", "", chart.title));
  if (!data.lines.some((line) => line.count > 0)) {
    return element("figure", "chart", caption, element("p", "empty", "No values."));
  }
  const places = placesOf(data);
  const columns = [data.x] as unknown[];
  data.lines.forEach((line, i) => {
    columns[places.series[i]] = line.y;
    if (line.band) [columns[places.bands[i]![0]], columns[places.bands[i]![1]]] = [line.band.high, line.band.low];
  });
  const hidden = new Set<number>();
  const area = element("div", "area");
  let plot: uPlot | null = null;
  const show = (line: number) => {
    for (const index of [places.series[line], ...(places.bands[line] ?? [])]) plot?.setSeries(index, { show: !hidden.has(line) });
  };
  const legend = new Legend(chart, (line) => {
    if (!hidden.delete(line)) hidden.add(line);
    show(line);
    return !hidden.has(line);
  });
  caption.append(legend.place);
  const figure = element("figure", "chart", caption, area, legend.element);

  const draw = () => {
    const width = isPrinting() ? PRINTED_WIDTH : Math.floor(area.clientWidth);
    if (width <= 0) return;
    plot?.destroy();
    plot = new uPlot(optionsOf(chart, data, places, width, legend), columns as uPlot.AlignedData, area);
    hidden.forEach(show);
  };
  new ResizeObserver(() => {
    if (!plot || plot.width !== Math.floor(area.clientWidth)) draw();
  }).observe(area);
  onThemeChange(draw);
  return figure;
}
