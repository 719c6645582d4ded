// What remembering costs: the state, which stays as it is, against keys and values, which grow with the text.
import type { StreamEvent } from "./api";
import { element } from "./elements";
import { bytesText, countText, speedText } from "./numbers";

const WIDTH = 240;
const HEIGHT = 96;
const LEFT = 4;
const BOTTOM = 14;

export class Cost {
  #keyValueBytes = 0;
  #tokens = 0;
  #state = 0;

  set keyValueBytesPerToken(bytes: number) {
    this.#keyValueBytes = bytes;
    this.#draw();
  }

  /** A memory that is continued from, before anything was asked. */
  begin(tokens: number, bytes: number): void {
    this.#tokens = tokens;
    if (bytes > 0) this.#state = bytes;
    this.#draw();
  }

  take(event: StreamEvent): void {
    if (event.prompt_progress) this.#tokens = event.prompt_progress.processed;
    if (event.timings) {
      element("cached").textContent = countText(event.timings.cache_n);
      if (event.timings.prompt_n > 0) {
        element("reading-speed").textContent = speedText(event.timings.prompt_per_second);
      }
      element("writing-speed").textContent = speedText(event.timings.predicted_per_second);
    }
    if (event.state) {
      this.#tokens = event.state.tokens;
      this.#state = event.state.bytes;
    }
    this.#draw();
  }

  #draw(): void {
    const full = this.#tokens * this.#keyValueBytes;
    element("tokens").textContent = countText(this.#tokens);
    element("state").textContent = this.#state > 0 ? bytesText(this.#state) : "–";
    element("full").textContent = full > 0 ? bytesText(full) : "–";
    // Far enough to see where the lines cross.
    const crossing = this.#keyValueBytes > 0 ? this.#state / this.#keyValueBytes : 0;
    const tokens = Math.max(64, this.#tokens, 1.6 * crossing);
    const most = Math.max(1, tokens * this.#keyValueBytes, this.#state);
    const x = (count: number): number => LEFT + ((WIDTH - 2 * LEFT) * count) / tokens;
    const y = (bytes: number): number => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - 6) * bytes) / most;
    const line = (kind: string, from: number, to: number): string =>
      `<path class="${kind}" d="M${x(0)} ${y(from)}L${x(tokens)} ${y(to)}"/>`;
    const here = x(this.#tokens);
    element("growth").innerHTML =
      `<path class="axis" d="M${LEFT} ${HEIGHT - BOTTOM}H${WIDTH - LEFT}M${here} ${HEIGHT - BOTTOM}V6"/>` +
      line("full", 0, tokens * this.#keyValueBytes) +
      (this.#state > 0 ? line("own", this.#state, this.#state) : "") +
      `<text x="${LEFT}" y="${HEIGHT - 3}">0</text>` +
      `<text x="${WIDTH - LEFT}" y="${HEIGHT - 3}" text-anchor="end">${countText(Math.round(tokens))} tokens</text>`;
  }
}
