// Agents of @openai/agents: a Runner on the agent as it is, with its own tools.
//
// The seam is inside of what makes a result of an error: an error of the scenario is thrown where the
// SDK says that it has read the arguments, right before it calls the user's function.
'use strict';
const { refuse } = require('./world.cjs');
const { observed, whyNot, kept, keep } = require('./seam.cjs');
const { packageOf, insideOf } = require('./packages.cjs');

const PACKAGES = ['@openai/agents', '@openai/agents-core'];
/** How the SDK (agents-core, tool.mjs, 0.20.0) names what it calls with the arguments that it has read. */
const READ = 'openai.agents.functionToolParsedInputCallback';
/** Where it has the span that it reports the error of a tool to (tracing/context.mjs). */
const CONTEXT = Symbol.for('openai.agents.core.asyncLocalStorage');

const has = value => typeof value.asTool === 'function' && typeof value.getAllTools === 'function'
  && Array.isArray(value.handoffs);

/** Where the SDK keeps which agent a tool of `asTool` calls (agents-core, 0.20.0). */
const SOURCES = 'agentToolSourceRegistry';

/** Return the SDK that the agent is of, as the user's module has it, and what says which agent a tool calls. */
async function open(agent, file) {
  for (const name of PACKAGES) {
    const fits = sdk => sdk.Agent && agent instanceof sdk.Agent;
    const sdk = await packageOf(name, file, { fits, through: PACKAGES });
    if (!sdk) continue;
    const sources = await insideOf('@openai/agents-core', SOURCES, file, PACKAGES);
    const calledBy = tool => sources.map(it => it.getAgentToolSourceAgent(tool)).find(Boolean);
    return { sdk, calledBy };
  }
  throw new Error('the package @openai/agents of this agent is not found');
}

/** Return the function tools of an agent and of those that it hands over to or calls, and what leads there. */
function functionsOf(agent, calledBy) {
  const agents = [[agent, []]];
  const found = [];
  for (const [one, through] of agents) {
    const behind = [];
    for (const handed of one.handoffs ?? []) {
      const inner = handed.agent ?? handed;
      behind.push([inner, handed.toolName ?? `transfer_to_${inner.name.replace(/[^a-zA-Z0-9]/g, '_')}`]);
    }
    for (const tool of one.tools ?? []) {
      const inner = calledBy(tool);
      if (inner) behind.push([inner, tool.name]);
      // An agent as a tool listens to the stream of its own runs.
      else if (tool.type === 'function' && typeof tool.on !== 'function') found.push([tool, through]);
    }
    for (const [inner, name] of behind) {
      if (!agents.some(([known]) => known === inner)) agents.push([inner, [...through, name]]);
    }
  }
  return found;
}

/** Return whether each call needs a yes; a function of the user's decides call by call. */
const needsYes = async tool => /\boptions\.needsApproval\b/.test(String(tool.needsApproval)) && tool.needsApproval();

const toolsOf = (agent, { calledBy }) => Promise.all(functionsOf(agent, calledBy).map(async ([tool, through]) => ({
  name: tool.name,
  description: tool.description ?? null,
  schema: tool.parameters ?? null,
  gated: await needsYes(tool),
  through,
})));

function observe(tool) {
  const invoke = tool.invoke.bind(tool);
  tool.invoke = (context, input, details) => {
    const read = Object.getOwnPropertySymbols(details ?? {}).find(it => it.description === READ);
    if (!read) refuse('a call of a tool by this version of @openai/agents');
    const work = async () => {
      let error;
      const span = { setError: said => { error = new Error(String(said.data?.error ?? said.message)); } };
      const value = await globalThis[CONTEXT].run({ active: true, span }, () => invoke(context, input, details));
      return { value, error };
    };
    const fail = error => {
      const raising = { value: () => { throw error; }, enumerable: true };
      const own = { ...Object.getOwnPropertyDescriptors(details), [read]: raising };
      return invoke(context, input, Object.create(Object.getPrototypeOf(details), own));
    };
    const call = { tool: tool.name, given: input, id: details.toolCall?.callId, signal: details.signal };
    return observed(call, work, fail);
  };
}

/** A Session that keeps its items in the store of the scenario, and the run that waits for a person. */
class StoreSession {
  items = [];
  waiting = null;
  constructor(id) { this.id = id; }
  async start(resume) {
    const state = resume ? await kept(this.id) : null;
    if (state) ({ items: this.items, waiting: this.waiting } = state);
  }
  async getSessionId() { return this.id; }
  async getItems(limit) { return structuredClone(limit ? this.items.slice(-limit) : this.items); }
  async addItems(items) {
    this.items.push(...items);
    this.waiting = null;
    await this.keep();
  }
  async popItem() {
    const last = this.items.pop();
    await this.keep();
    return last;
  }
  async clearSession() {
    this.items = [];
    await this.keep();
  }
  async waitForPerson(state) {
    this.waiting = state;
    await this.keep();
  }
  keep() { return keep(this.id, { items: this.items, waiting: this.waiting }); }
}

class Life {
  constructor(agent, { sdk, calledBy }, session) {
    this.agent = agent;
    this.sdk = sdk;
    this.session = new StoreSession(session);
    this.runner = new sdk.Runner({ tracingDisabled: true });
    for (const [tool] of functionsOf(agent, calledBy)) observe(tool);
  }
  start(resume) { return this.session.start(resume); }
  /** Go on with a run that waits for a person, then answer. */
  async turn(text, how) {
    const { waiting } = this.session;
    if (waiting !== null) await this.run(await this.sdk.RunState.fromString(this.agent, waiting), how);
    return this.run(text, how);
  }
  async run(start, how) {
    const { session } = this;
    let result = await this.asked(start, how);
    while (result.interruptions?.length) {
      const { state } = result;
      await session.waitForPerson(state.toString());
      for (const item of result.interruptions) {
        const { name, arguments: given, callId } = item.rawItem;
        const message = await whyNot(name, given, callId, how.signal);
        if (message) state.reject(item, { message }); else state.approve(item);
      }
      result = await this.asked(state, how);
    }
    if (session.waiting !== null) await session.waitForPerson(null);
    return answerOf(result);
  }
  async asked(start, { piece, signal }) {
    const given = { session: this.session, signal };
    if (!piece) return this.runner.run(this.agent, start, given);
    const result = await this.runner.run(this.agent, start, { ...given, stream: true });
    for await (const { type, data } of result) {
      if (type === 'raw_model_stream_event' && data.type === 'output_text_delta' && data.delta) piece(data.delta);
    }
    await result.completed;
    // A stream that was given up ends without a word.
    signal.throwIfAborted();
    return result;
  }
}

/** Return what a run came to, with what the last message says of itself: its `status`. */
function answerOf({ finalOutput, rawResponses }) {
  const message = (rawResponses?.at(-1)?.output ?? []).findLast(item => item.type === 'message');
  const text = typeof finalOutput === 'string' ? finalOutput : JSON.stringify(finalOutput);
  return { text: text ?? '', finish_reason: message?.status ?? null };
}

const live = (agent, opened, session) => new Life(agent, opened, session);

module.exports = { kind: 'Agent', has, open, toolsOf, live };
