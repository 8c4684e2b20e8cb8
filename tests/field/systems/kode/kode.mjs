// KODE SDK, to be asked: its provider, its agent, and its agent with tools that fail in each way.
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";

const require = createRequire(import.meta.url);
const { z } = require("zod");
const {
  Agent, AgentTemplateRegistry, AnthropicProvider, JSONStore, SandboxFactory, ToolRegistry, builtin, tool,
} = require("./dist/index.js");

/** In the folder of the run. */
const HOME = os.homedir();
const MINUTES = 60_000;
const later = ms => new Promise(done => setTimeout(done, ms));
const model = () => new AnthropicProvider(process.env.ANTHROPIC_API_KEY, "claude-sonnet-5");
const said = prompt => [{ role: "user", content: [{ type: "text", text: prompt }] }];

// ---------------------------------------------------------------------------- as a client

export const complete = prompt => model().complete(said(prompt));

export const stream = prompt => model().stream(said(prompt));

// ---------------------------------------------------------------------------- as an agent

const aborted = signal => new Promise((_, reject) => {
  signal.addEventListener("abort", () => reject(signal.reason));
});

/** A tool that is no `tool()`: what leaves it reaches the agent. */
const raw = (name, exec) => ({
  name, description: name, input_schema: { type: "object" }, exec,
  toDescriptor: () => ({ source: "registered", name, registryId: name }),
});

const note = z.object({ path: z.string().refine(path => !path.startsWith("/"), "must be relative") });
const TOOLS = [
  ...builtin.fs(),
  tool({
    name: "read_note", parameters: note,
    execute: ({ path }) => (path === "notes.txt" ? { text: "Hello." } : { ok: false, error: `File not found: ${path}` }),
  }),
  tool({ name: "fetch_page", execute: () => { throw new Error("ECONNREFUSED"); } }),
  tool({ name: "stop_when_aborted", execute: (_, { signal }) => aborted(signal) }),
  tool({ name: "never_reply", execute: () => new Promise(() => {}) }),
  raw("raise", async () => { throw new Error("it broke"); }),
  raw("raise_when_aborted", (_, { signal }) => aborted(signal)),
];

async function agentWith(template, tools) {
  const toolRegistry = new ToolRegistry();
  for (const item of TOOLS) toolRegistry.register(item.name, () => item);
  const templateRegistry = new AgentTemplateRegistry();
  templateRegistry.register({ id: "assistant", systemPrompt: "You help.", tools, ...template });
  fs.mkdirSync(`${HOME}/work`, { recursive: true });
  return Agent.create(
    { templateId: "assistant", model: model(), sandbox: { kind: "local", workDir: `${HOME}/work`, watchFiles: false } },
    { store: new JSONStore(`${HOME}/store`), templateRegistry, sandboxFactory: new SandboxFactory(), toolRegistry },
  );
}

/** The agent without a tool, asked as its README asks it; somebody listens to its errors. */
export async function chat(prompt) {
  const agent = await agentWith({}, []);
  agent.on("error", () => {});
  const { text } = await agent.chat(prompt);
  return text;
}

// ---------------------------------------------------------------------------- what it says of itself

/**
 * Ask an agent with tools, and ten minutes later once more, as its guide does after an error.
 * @returns JSON: its events, its state after ten minutes, what `on` heard, what the model is told.
 */
async function story(prompt, { template = {}, begin = () => {}, listen = true } = {}) {
  const agent = await agentWith(template, TOOLS.map(item => item.name));
  const events = [];
  const heard = { error: 0, "tool:error": 0 };
  agent.on("tool:error", () => { heard["tool:error"] += 1; });
  if (listen) agent.on("error", () => { heard.error += 1; });
  (async () => { for await (const envelope of agent.subscribe()) events.push(envelope); })();
  begin(agent);
  await agent.send(prompt);
  await later(10 * MINUTES);
  const { state } = await agent.status();
  const told = agent.messages.flatMap(({ content }) => content.filter(({ type }) => type === "tool_result"));
  const asked = events.filter(({ event }) => event.current === "STREAMING_MODEL").length;
  await agent.send("Please adjust and retry based on recommendations");
  await later(10 * MINUTES);
  const records = await agent.persistentStore.loadToolCallRecords(agent.agentId);
  return JSON.stringify({ asked, state, heard, told, records, events });
}

const failing = name => ({ template: { hooks: { [name]: () => { throw new Error("the hook broke"); } } } });

export const told = prompt => story(prompt);
export const unheard = prompt => story(prompt, { listen: false });
export const preToolUse = prompt => story(prompt, failing("preToolUse"));
export const postToolUse = prompt => story(prompt, failing("postToolUse"));
export const preModel = prompt => story(prompt, failing("preModel"));
export const denied = prompt => story(prompt, {
  template: { permission: { mode: "approval" } },
  begin: agent => agent.on("permission_required", async ({ respond }) => { await later(1000); await respond("deny"); }),
});
export const interrupted = prompt => story(prompt, {
  begin: agent => setTimeout(() => agent.interrupt(), 5000),
});
