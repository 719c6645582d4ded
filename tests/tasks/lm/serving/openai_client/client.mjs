// node client.mjs URL: what programs do that were written for OpenAI's servers, by its own client. Run in a folder that has
// the package.
import assert from "node:assert/strict";
import OpenAI from "openai";

const [url] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}v1`, apiKey: "secret", maxRetries: 0 });
const greedy = { model: "tiny", max_tokens: 12, temperature: 0 };

const [model] = (await client.models.list()).data;
assert.equal(model.id, "tiny");

const prompt = "It was a dark and stormy night";
const whole = await client.completions.create({ ...greedy, prompt, logprobs: 2 });
assert.equal(whole.choices.length, 1);
assert.equal(whole.usage.completion_tokens, whole.choices[0].logprobs.tokens.length);
assert.equal(whole.usage.prompt_tokens, prompt.length);

let text = "";
for await (const event of await client.completions.create({ ...greedy, prompt, stream: true })) {
  text += event.choices[0]?.text ?? "";
}
assert.equal(text, whole.choices[0].text, "a stream brings the same text");

const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "Who?" }];
const said = await client.chat.completions.create({ ...greedy, messages });
assert.equal(said.choices[0].message.role, "assistant");
text = "";
let usage;
const stream = await client.chat.completions.create({
  ...greedy, messages, stream: true, stream_options: { include_usage: true },
});
for await (const event of stream) {
  text += event.choices[0]?.delta?.content ?? "";
  usage = event.usage ?? usage;
}
assert.equal(text, said.choices[0].message.content);
assert.ok(usage.prompt_tokens_details.cached_tokens > 0, "the prompt was known by then");

const three = await client.chat.completions.create({ ...greedy, temperature: 1.5, messages, n: 3, seed: 1 });
assert.deepEqual(three.choices.map(({ index }) => index), [0, 1, 2]);

await assert.rejects(client.completions.create({ ...greedy, prompt, best_of: 4 }), (error) => {
  assert.ok(error instanceof OpenAI.BadRequestError);
  assert.match(error.message, /best_of is 4, which is not supported here/);
  return true;
});
const stranger = new OpenAI({ baseURL: `${url}v1`, apiKey: "wrong", maxRetries: 0 });
await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);

// Leaving a stream ends the text: the server has a single slot, and the next request needs it.
const endless = await client.completions.create({ ...greedy, prompt, max_tokens: 1_000_000, stream: true, ignore_eos: true });
for await (const event of endless) break;
await client.completions.create({ ...greedy, prompt }, { timeout: 10_000 });
