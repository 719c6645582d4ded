export type Vec = readonly [number, number, number];

export const add = (a: Vec, b: Vec): Vec => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a: Vec, b: Vec): Vec => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a: Vec, factor: number): Vec => [a[0] * factor, a[1] * factor, a[2] * factor];
export const dot = (a: Vec, b: Vec): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const length = (a: Vec): number => Math.sqrt(dot(a, a));
export const cross = (a: Vec, b: Vec): Vec => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

export function normalize(a: Vec): Vec {
  const size = length(a);
  return size > 0 ? scale(a, 1 / size) : a;
}

export function mean(all: readonly Vec[]): Vec {
  return scale(all.reduce(add, [0, 0, 0] as Vec), 1 / Math.max(1, all.length));
}

/** Rodrigues' formula; `axis` has unit length. */
export function rotate(a: Vec, axis: Vec, angle: number): Vec {
  const cosine = Math.cos(angle);
  const along = scale(axis, dot(axis, a) * (1 - cosine));
  return add(add(scale(a, cosine), scale(cross(axis, a), Math.sin(angle))), along);
}

/** The solution of rows · x = right, or nothing when the rows are nearly dependent. */
export function solve(rows: readonly [Vec, Vec, Vec], right: Vec): Vec | undefined {
  const [a, b, c] = rows;
  const determinant = dot(a, cross(b, c));
  if (Math.abs(determinant) < 1e-6 * length(a) * length(b) * length(c)) return undefined;
  const sum = add(add(scale(cross(b, c), right[0]), scale(cross(c, a), right[1])), scale(cross(a, b), right[2]));
  return scale(sum, 1 / determinant);
}
