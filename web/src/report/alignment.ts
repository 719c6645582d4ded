// The lines of a chart as uPlot wants them: one ascending list of places for all, and for each line a value at every place:
// undefined where the line has no point, null where its value is missing and the line breaks.
import uPlot from "uplot";
import type { Chart, Line, Values } from "./report";

type Column = (number | null | undefined)[];

export interface AlignedLine {
  y: Column;
  band: { low: Column; high: Column } | null;
  /** Points with a value. */
  count: number;
}

export interface AlignedChart {
  x: number[];
  lines: AlignedLine[];
}

const value = (values: Values, i: number): number | null => (Number.isFinite(values[i]) ? values[i] : null);

function hasBand(line: Line): boolean {
  return !!line.low?.length && line.low.length === line.y.length && line.high?.length === line.y.length;
}

/** Columns x, y and, with a band, low and high. */
function tableOf(line: Line, logarithmic: boolean): (number | null)[][] {
  const places = line.x
    .map((x, i) => ({ x, i }))
    .filter((place): place is { x: number; i: number } => Number.isFinite(place.x) && (!logarithmic || place.x! > 0))
    .sort((a, b) => a.x - b.x);
  // Two values at one place would become one.
  for (let k = 1; k < places.length; ++k) {
    const before = places[k - 1].x;
    if (places[k].x <= before) places[k].x = before + Math.max(Math.abs(before) * 1e-9, 1e-12);
  }
  const columns = hasBand(line) ? [line.y, line.low!, line.high!] : [line.y];
  return [places.map(({ x }) => x), ...columns.map((column) => places.map(({ i }) => value(column, i)))];
}

export function aligned(chart: Chart): AlignedChart {
  const lines = chart.lines ?? [];
  const tables = lines.map((line) => tableOf(line, chart.log_x === true));
  if (tables.length === 0) return { x: [], lines: [] };
  const [x, ...columns] = uPlot.join(tables as uPlot.AlignedData[]) as [number[], ...Column[]];
  const result: AlignedLine[] = [];
  for (let i = 0, next = 0; i < lines.length; ++i) {
    const y = columns[next++];
    const band = hasBand(lines[i]) ? { low: columns[next++], high: columns[next++] } : null;
    result.push({ y, band, count: y.filter((one) => one != null).length });
  }
  return { x, lines: result };
}
