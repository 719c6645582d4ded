// Numbers as people read them, and round places on a logarithmic axis.

/** The label of a tick on an axis whose ticks are `step` apart: 20000 -> "20k", 0.25 at step 0.05 -> "0.25". */
export function tickLabel(value: number, step: number, largest: number): string {
  if (Math.abs(value) < step * 1e-6) return "0";
  if (step < 1e-5 || largest >= 1e12) return String(Number(value.toPrecision(4)));
  const scaled = (unit: number, suffix: string) => `${Number((value / unit).toPrecision(9))}${suffix}`;
  if (largest >= 1e9 && step >= 1e6) return scaled(1e9, "G");
  if (largest >= 1e6 && step >= 1e3) return scaled(1e6, "M");
  if (largest >= 1e4 && step >= 1e2) return scaled(1e3, "k");
  return value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))).replace("-", "−");
}

/** Four digits, or all of a whole number below a million. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value).replace("-", "−");
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2).replace(/-/g, "−");
  return value.toLocaleString("en", { maximumSignificantDigits: 4 }).replace("-", "−");
}

const SLACK = 1e-9;

/** Every `stride`-th power of `base` between the ends, times each factor. */
function powers(low: number, high: number, base: number, stride: number, factors: number[]): number[] {
  const values: number[] = [];
  const exponent = (value: number) => Math.log2(value) / Math.log2(base);
  for (let i = Math.floor(exponent(low) - SLACK); i <= Math.floor(exponent(high) + SLACK); ++i) {
    if (i % stride !== 0) continue;
    for (const factor of factors) {
      const value = factor * base ** i;
      if (value >= low * (1 - SLACK) && value <= high * (1 + SLACK)) values.push(value);
    }
  }
  return values;
}

/** At most `most` round values between `low` and `high`: powers of two, or 1, 2, 5 times powers of ten. */
export function logTicks(low: number, high: number, base: 2 | 10, most: number): number[] {
  let values = powers(low, high, base, 1, base === 10 ? [1, 2, 5] : [1]);
  for (let stride = 1; values.length > Math.max(2, most); ++stride) values = powers(low, high, base, stride, [1]);
  return values;
}

export function isPowerOfTwo(value: number): boolean {
  return value > 0 && Number.isInteger(Math.log2(value));
}
