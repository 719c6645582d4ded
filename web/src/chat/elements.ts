/** An element of the page, which is there. */
export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

export const input = (id: string): HTMLInputElement => element<HTMLInputElement>(id);

export function show(id: string, visible: boolean): void {
  element(id).hidden = !visible;
}
