// Talks to the server that the page came from.

/** What the server says of itself. */
export interface Properties {
  model_alias: string;
  default_generation_settings: { temperature: number; top_p: number; n_predict: number };
  memory: { chunk_tokens: number; window_tokens: number; key_value_bytes_per_token: number };
}

export interface Memory {
  name: string;
  tokens: number;
  bytes: number;
}

export interface Progress {
  total: number;
  cache: number;
  processed: number;
}

/** An event of a stream, in either dialect. */
export interface StreamEvent {
  content?: string;
  choices?: { delta?: { content?: string }; finish_reason?: string | null }[];
  prompt_progress?: Progress;
  progress?: Progress;
  timings?: {
    cache_n: number;
    prompt_n: number;
    prompt_per_second: number;
    predicted_n: number;
    predicted_per_second: number;
  };
  state?: { tokens: number; bytes: number } | null;
  error?: { message: string };
}

/** A refusal; `status` 401 asks for a key. */
export class Refusal extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export let key = sessionStorage.getItem("lact-key") ?? "";

export function setKey(value: string): void {
  key = value;
  sessionStorage.setItem("lact-key", value);
}

function headers(type?: string): HeadersInit {
  const all: Record<string, string> = {};
  if (type) all["Content-Type"] = type;
  if (key) all["Authorization"] = `Bearer ${key}`;
  return all;
}

async function refusalOf(response: Response): Promise<Refusal> {
  const text = await response.text();
  try {
    return new Refusal(response.status, JSON.parse(text).error.message);
  } catch {
    return new Refusal(response.status, text || response.statusText);
  }
}

export async function ask<T>(method: string, path: string): Promise<T> {
  const response = await fetch(path, { method, headers: headers() });
  if (!response.ok) throw await refusalOf(response);
  return response.json();
}

/** Posts and calls `onEvent` with each event that comes back, until the last. */
export async function stream(
  path: string, body: string, type: string, onEvent: (event: StreamEvent) => void, signal?: AbortSignal,
): Promise<void> {
  const response = await fetch(path, { method: "POST", headers: headers(type), body, signal });
  if (!response.ok || !response.body) throw await refusalOf(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const events = rest.split("\n\n");
    rest = events.pop()!;
    for (const text of events) {
      if (!text.startsWith("data: ") || text === "data: [DONE]") continue; // a sign of life, or the end
      const event: StreamEvent = JSON.parse(text.slice(6));
      if (event.error) throw new Refusal(500, event.error.message);
      onEvent(event);
    }
  }
}
