// How the lines of a chart differ: colours (those of lact/eval/plot.cpp, from the style sheet) and markers.
import { styleValue } from "./theme";

const COLOURS = 7;

/** Paths around the point: circle, square, triangle, diamond, triangle on its tip, plus. */
const MARKERS = [
  "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0z",
  "M-3.8-3.8h7.6v7.6h-7.6z",
  "M0-5L4.8 3.6h-9.6z",
  "M0-5.4L5.4 0L0 5.4L-5.4 0z",
  "M0 5L4.8-3.6h-9.6z",
  "M-2-5h4v3h3v4h-3v3h-4v-3h-3v-4h3z",
];

export const DASHES = [6, 4];

export function markerPath(line: number): string {
  return MARKERS[line % MARKERS.length];
}

export function colourName(line: number): string {
  return `--series-${(line % COLOURS) + 1}`;
}

export function colourOf(line: number): string {
  return styleValue(colourName(line));
}
