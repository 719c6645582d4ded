// The page of `lact lm serve`: a conversation, or a text that the model continues, streamed as it is written.
import { ask, key, Refusal, setKey, stream, type Properties, type StreamEvent } from "./api";
import { Conversation } from "./conversation";
import { Cost } from "./cost";
import { element, input, show } from "./elements";
import { Memories } from "./memories";
import { speedText } from "./numbers";

type Mode = "chat" | "text";

const conversation = new Conversation();
const cost = new Cost();
const memories = new Memories((memory) => cost.begin(memory?.tokens ?? 0, memory?.bytes ?? 0), complain);
const composer = element<HTMLTextAreaElement>("input");
let mode: Mode = "chat";
let running: AbortController | undefined;

function status(word: "ready" | "busy" | "lost", text: string): void {
  element("status").dataset.status = word;
  element("status-word").textContent = text;
}

function complain(error: unknown): void {
  const refused = error instanceof Refusal ? error : undefined;
  element("message").textContent = error instanceof Error ? error.message : String(error);
  show("message", true);
  if (refused?.status === 401) {
    show("key-row", true);
    document.body.classList.add("panel-open");
    input("key").focus();
  }
  status(refused ? "ready" : "lost", refused ? "Ready" : "No answer");
}

function setMode(next: Mode): void {
  running?.abort();
  mode = next;
  document.body.classList.toggle("text", mode === "text");
  element("mode-chat").ariaPressed = String(mode === "chat");
  element("mode-text").ariaPressed = String(mode === "text");
  composer.placeholder = mode === "chat" ? "Write a message" : "Begin a text; the model goes on";
  conversation.clear();
  settled();
}

/** The buttons as they are while a text is written, or not. */
function settled(): void {
  const send = element<HTMLButtonElement>("send");
  send.textContent = running ? "Stop" : mode === "chat" ? "Send" : "Continue";
  const canRegenerate = !running && conversation.last?.role === "assistant";
  element<HTMLButtonElement>("again").disabled = !canRegenerate;
  document.body.classList.toggle("can-regenerate", canRegenerate);
}

function requestBody(): string {
  const seed = input("seed").value;
  const common = {
    stream: true,
    return_progress: true,
    temperature: Number(input("temperature").value),
    top_p: Number(input("top-p").value),
    max_tokens: Number(input("max-tokens").value),
    ...(seed === "" ? {} : { seed: Number(seed) }),
    ...(memories.chosen ? { memory: memories.chosen.name } : {}),
  };
  const messages = conversation.messages.slice(0, -1); // the last is the answer to come
  if (mode === "chat") return JSON.stringify({ messages, ...common });
  return JSON.stringify({ prompt: messages.map(({ content }) => content).join(""), ...common });
}

/** Lets the model write the next message. */
async function write(): Promise<void> {
  running = new AbortController();
  conversation.add("assistant", "");
  conversation.writing(true);
  settled();
  status("busy", "Reading");
  show("message", false);
  let last: StreamEvent = {};
  try {
    const path = mode === "chat" ? "v1/chat/completions" : "completion";
    await stream(path, requestBody(), "application/json", (event) => {
      const piece = event.content ?? event.choices?.[0]?.delta?.content ?? "";
      if (piece !== "") {
        status("busy", "Writing");
        conversation.extend(piece);
      }
      cost.take(event);
      if (event.timings) last = event;
    }, running.signal);
    status("ready", "Ready");
  } catch (error) {
    if (running.signal.aborted) status("ready", "Ready");
    else complain(error);
  }
  running = undefined;
  conversation.writing(false);
  if (conversation.last?.content === "" && !last.timings) conversation.removeLast();
  else if (last.timings) conversation.note(`${last.timings.predicted_n} tokens, ${speedText(last.timings.predicted_per_second)}`);
  settled();
}

function send(): void {
  if (running) return running.abort();
  const text = composer.value;
  const nothing = text.trim() === "" && (mode === "chat" || (conversation.messages.length === 0 && !memories.chosen));
  if (nothing) return;
  if (text !== "") conversation.add("user", text);
  composer.value = "";
  composer.style.height = "";
  document.body.classList.remove("panel-open");
  write();
}

function regenerate(): void {
  if (running || conversation.last?.role !== "assistant") return;
  conversation.removeLast();
  write();
}

async function connect(): Promise<void> {
  try {
    const properties = await ask<Properties>("GET", "props");
    element("model").textContent = properties.model_alias;
    document.title = `${properties.model_alias} · lact`;
    input("temperature").value = String(properties.default_generation_settings.temperature);
    input("top-p").value = String(properties.default_generation_settings.top_p);
    input("max-tokens").max = String(properties.default_generation_settings.n_predict);
    input("max-tokens").value = String(Math.min(256, properties.default_generation_settings.n_predict));
    cost.keyValueBytesPerToken = properties.memory.key_value_bytes_per_token;
    await memories.refresh();
    show("message", false);
    status("ready", "Ready");
  } catch (error) {
    complain(error);
  }
}

element("send").addEventListener("click", send);
element("again").addEventListener("click", regenerate);
element("new").addEventListener("click", () => setMode(mode));
element("mode-chat").addEventListener("click", () => setMode("chat"));
element("mode-text").addEventListener("click", () => setMode("text"));
element("panel-button").addEventListener("click", () => {
  element("panel-button").ariaPressed = String(document.body.classList.toggle("panel-open"));
});
input("key").value = key;
input("key").addEventListener("change", () => {
  setKey(input("key").value);
  connect();
});
composer.addEventListener("input", () => {
  composer.style.height = "";
  composer.style.height = `${composer.scrollHeight}px`;
});
composer.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!running) send();
});

settled();
connect();
