// The providers of stud-cli, to be asked without the program around them.
import { contract as anthropic } from "./dist/extensions/providers/anthropic/index.js";
import { contract as openai } from "./dist/extensions/providers/openai-compatible/index.js";

const config = (name, baseURL, model) => ({ apiKeyRef: { kind: "env", name }, baseURL, model });
export const OPENAI = config("OPENAI_API_KEY", "https://api.openai.com/v1", "gpt-5-mini");
const ANTHROPIC = config("ANTHROPIC_API_KEY", "https://api.anthropic.com", "claude-sonnet-5");

/** An answer, or a piece of one, in the words of OpenAI's API, which the harness reads. */
export const said = (key, content, reason) => ({
  choices: [{ [key]: { content }, finish_reason: reason?.replace("-", "_") }],
});

/** The harness reads the class of an error as `errorClass`. */
export const classed = (error, name) => Object.assign(error, typeof name === "string" && { errorClass: name });

const host = {
  events: { emit() {}, on() {}, off() {} },
  observability: { emit() {}, suppress() {} },
  secrets: { resolve: ({ name }) => process.env[name] },
};

async function* pieces(contract, settings, prompt) {
  await contract.lifecycle.init(host, settings);
  const request = { messages: [{ role: "user", content: prompt }], tools: [], modelId: settings.model };
  try {
    for await (const event of contract.surface.request(request, host, new AbortController().signal)) {
      if (event.type === "text-delta") yield said("delta", event.delta);
      if (event.type === "finish") yield said("delta", "", event.reason);
    }
  } catch (error) {
    throw classed(error, error.class);
  }
}

export const openaiCompatible = prompt => pieces(openai, OPENAI, prompt);
export const anthropicMessages = prompt => pieces(anthropic, ANTHROPIC, prompt);
