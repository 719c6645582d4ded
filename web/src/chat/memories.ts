// The memories that have names: chosen, made of a text file, deleted.
import { ask, stream, type Memory, type Progress } from "./api";
import { element, input, show } from "./elements";
import { bytesText, countText } from "./numbers";

export class Memories {
  #known: Memory[] = [];
  readonly #select = element<HTMLSelectElement>("memory");

  constructor(readonly onChosen: (memory: Memory | undefined) => void, readonly onError: (error: unknown) => void) {
    this.#select.addEventListener("change", () => this.#chosenChanged());
    element("read").addEventListener("click", () => input("file").click());
    input("file").addEventListener("change", () => {
      const file = input("file").files?.[0];
      input("file").value = "";
      if (file) this.read(file).catch(onError);
    });
    element("forget").addEventListener("click", () => this.#remove().catch(onError));
  }

  get chosen(): Memory | undefined {
    return this.#known.find(({ name }) => name === this.#select.value);
  }

  async refresh(choose = this.#select.value): Promise<void> {
    this.#known = (await ask<{ data: Memory[] }>("GET", "v1/memories")).data;
    const options = this.#known.map(({ name, tokens, bytes }) => {
      const option = new Option(name, name);
      option.title = `${countText(tokens)} tokens in ${bytesText(bytes)}`;
      return option;
    });
    this.#select.replaceChildren(new Option("nothing", ""), ...options);
    this.#select.value = this.#known.some(({ name }) => name === choose) ? choose : "";
    this.#chosenChanged();
  }

  /** Reads a text file into a memory of its name, and continues from it. */
  async read(file: File): Promise<void> {
    const name = file.name.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^\.+/, "").slice(0, 64) || "text";
    show("reading", true);
    this.#progress(name, { total: 1, cache: 0, processed: 0 });
    try {
      const query = `name=${encodeURIComponent(name)}&replace=true&stream=true`;
      await stream(`v1/memories?${query}`, await file.text(), "text/plain", ({ progress }) => {
        if (progress) this.#progress(name, progress);
      });
    } finally {
      show("reading", false);
    }
    await this.refresh(name);
  }

  #progress(name: string, { total, processed }: Progress): void {
    const bar = element<HTMLProgressElement>("reading-bar");
    bar.value = total > 0 ? processed / total : 0;
    element("reading-word").textContent = `${name}: ${countText(processed)} of ${countText(total)} tokens`;
  }

  async #remove(): Promise<void> {
    if (!this.chosen) return;
    await ask("DELETE", `v1/memories/${encodeURIComponent(this.chosen.name)}`);
    await this.refresh("");
  }

  #chosenChanged(): void {
    element<HTMLButtonElement>("forget").disabled = !this.chosen;
    this.onChosen(this.chosen);
  }
}
