// What was said, and the articles that show it.
import { element } from "./elements";

export interface Message {
  role: "user" | "assistant";
  content: string;
}

export class Conversation {
  readonly messages: Message[] = [];
  #articles: HTMLElement[] = [];

  add(role: Message["role"], content: string): void {
    this.messages.push({ role, content });
    const article = document.createElement("article");
    article.className = role;
    article.textContent = content;
    this.#articles.push(article);
    element("empty").hidden = true;
    element("conversation").append(article);
    this.#scroll();
  }

  /** Adds to the last message. */
  extend(content: string): void {
    const last = this.messages.length - 1;
    this.messages[last].content += content;
    this.#articles[last].textContent = this.messages[last].content;
    this.#scroll();
  }

  writing(on: boolean): void {
    this.#lastArticle?.classList.toggle("writing", on);
  }

  /** A line below the last message. */
  note(text: string): void {
    const small = document.createElement("small");
    small.textContent = text;
    this.#lastArticle?.append(small);
    this.#scroll();
  }

  removeLast(): void {
    this.messages.pop();
    this.#articles.pop()?.remove();
  }

  clear(): void {
    while (this.messages.length > 0) this.removeLast();
    element("empty").hidden = false;
  }

  get last(): Message | undefined {
    return this.messages[this.messages.length - 1];
  }

  get #lastArticle(): HTMLElement | undefined {
    return this.#articles[this.#articles.length - 1];
  }

  #scroll(): void {
    const view = element("conversation");
    view.scrollTop = view.scrollHeight;
  }
}
