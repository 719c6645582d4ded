/** 1536 -> "1.5 KB" */
export function bytesText(bytes: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  for (; bytes >= 1000 && unit < units.length - 1; ++unit) bytes /= 1000;
  return `${unit === 0 || bytes >= 100 ? Math.round(bytes) : bytes.toPrecision(2)} ${units[unit]}`;
}

export function countText(count: number): string {
  return count.toLocaleString("en-US");
}

export function speedText(perSecond: number): string {
  return perSecond > 0 ? `${perSecond >= 100 ? Math.round(perSecond) : perSecond.toPrecision(3)} tokens/s` : "–";
}
