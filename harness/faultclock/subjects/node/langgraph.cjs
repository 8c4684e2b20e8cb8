// Compiled graphs of @langchain/langgraph, and what createAgent of langchain makes.
//
// The seam is around each tool. A graph without a checkpointer gets one that keeps what LangGraph's
// own saver in memory has in the store of the scenario; one with a checkpointer keeps it. A run that
// was interrupted goes on with Command, one that was cut off with null; a cancelled one is over.
'use strict';
const { refuse } = require('./world.cjs');
const { json, observed, whyNot, kept, keep } = require('./seam.cjs');
const { packageOf } = require('./packages.cjs');

/** Packages of the user's that have LangGraph in their own folders, where it is not in the user's. */
const THROUGH = ['langchain', '@langchain/langgraph'];
const REVIEW = 'HumanInTheLoopMiddleware';
const DEPTH_MAX = 12;
/** Stands for the reason of an end that a stream of LangChain's does not pass on. */
const NO_REASON = 'missing';

/** Return the graph of an agent of langchain, or the graph itself. */
const graphOf = value => (value.lg_is_pregel ? value : value.graph);

const has = value => Boolean(graphOf(value)?.lg_is_pregel) && 'messages' in graphOf(value).channels;

async function open(agent, file) {
  const found = name => packageOf(name, file, { through: THROUGH });
  return {
    lg: await found('@langchain/langgraph'),
    messages: await found('@langchain/core/messages'),
    schemas: await found('@langchain/core/utils/json_schema'),
  };
}

/** Return the tools of a graph, wherever they hang on its nodes, and what leads there. */
function toolsIn(graph) {
  const found = new Map();
  const seen = new Set();
  const follow = (part, through, depth = 0) => {
    if (!(part instanceof Object) || seen.has(part) || depth > DEPTH_MAX) return;
    seen.add(part);
    if (typeof part.invoke === 'function' && part.schema && typeof part.call === 'function') {
      if (!found.has(part.name)) found.set(part.name, [part, through]);
      return;
    }
    if (part.lg_is_pregel) {
      for (const node of Object.values(part.nodes)) follow(node.bound, through, depth + 1);
      return;
    }
    const inside = [part.bound, part.steps, part.tools, part.graph];
    for (const inner of inside.flat()) follow(inner, through, depth + 1);
  };
  follow(graph, []);
  return [...found.values()];
}

/** Return whether a middleware holds calls of a tool back for a person: its hook is tried on one. */
async function isReviewed(agent, name, { messages }) {
  const call = { name, args: {}, id: 'tried', type: 'tool_call' };
  for (const { name: kind, afterModel } of agent.options?.middleware ?? []) {
    if (kind !== REVIEW) continue;
    const said = [new messages.AIMessage({ content: '', tool_calls: [call] })];
    try {
      await (afterModel.hook ?? afterModel)({ messages: said }, { context: {} });
    } catch (error) {
      if (/\binterrupt\(\)/.test(error?.message)) return true;
    }
  }
  return false;
}

const toolsOf = (agent, packages) => Promise.all(toolsIn(graphOf(agent)).map(async ([tool, through]) => ({
  name: tool.name,
  description: tool.description ?? null,
  schema: packages.schemas.toJsonSchema(tool.schema),
  gated: await isReviewed(agent, tool.name, packages),
  through,
})));

function observe(tool, { lg }) {
  const invoke = tool.invoke.bind(tool);
  tool.invoke = (given, config) => {
    const isCall = given?.type === 'tool_call';
    const work = async () => {
      try {
        return { value: await invoke(given, config) };
      } catch (error) {
        if (lg.isGraphInterrupt(error)) refuse('interrupt() in a tool');
        throw error;
      }
    };
    const call = { tool: tool.name, given: isCall ? given.args : given, id: isCall ? given.id : '' };
    return observed({ ...call, signal: config?.signal }, work);
  };
}

/** Bytes in JSON, and back. */
const packed = (_, value) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value);
const unpacked = (_, value) => (typeof value?.base64 === 'string' ? new Uint8Array(Buffer.from(value.base64, 'base64')) : value);

/** LangGraph's own saver, kept in the store of the scenario after each of its writes. */
const saverOf = ({ MemorySaver }, session) => new class StoreSaver extends MemorySaver {
  // A whole state is kept each time, so an older one must not land last.
  #last = Promise.resolve();
  load(saved) {
    const { storage, writes } = JSON.parse(saved, unpacked);
    Object.assign(this.storage, storage);
    Object.assign(this.writes, writes);
  }
  async put(...given) {
    const done = await super.put(...given);
    await this.#keep();
    return done;
  }
  async putWrites(...given) {
    await super.putWrites(...given);
    await this.#keep();
  }
  #keep() {
    const now = () => keep(session, { saved: JSON.stringify({ storage: this.storage, writes: this.writes }, packed) });
    const done = this.#last.then(now);
    this.#last = done.catch(() => {});
    return done;
  }
}();

class Life {
  constructor(agent, packages, session) {
    Object.assign(this, { agent, packages, session, graph: graphOf(agent) });
    this.options = { configurable: { thread_id: session } };
    if (!this.graph.checkpointer) this.graph.checkpointer = this.saver = saverOf(packages.lg, session);
    for (const [tool] of toolsIn(this.graph)) observe(tool, packages);
  }
  async start(resume) {
    const state = this.saver && resume ? await kept(this.session) : null;
    if (state) this.saver.load(state.saved);
  }
  /** Go on with a run that did not end, then answer. */
  async turn(text, how) {
    const begun = await this.graph.getState(this.options);
    const goesOn = begun.tasks.length && !this.cancelled;
    this.cancelled = false;
    how.signal.addEventListener('abort', () => { this.cancelled = true; }, { once: true });
    if (goesOn) {
      const asked = begun.tasks.flatMap(task => task.interrupts ?? []);
      await this.run(asked.length ? { __interrupt__: asked } : null, how);
    }
    const state = await this.run({ messages: [{ role: 'user', content: text }] }, how);
    const { structuredResponse, messages } = state;
    if (structuredResponse !== undefined) return { text: JSON.stringify(structuredResponse), finish_reason: null };
    const last = messages.at(-1);
    const said = last.response_metadata ?? {};
    const reason = said.finish_reason ?? said.stop_reason ?? said.status ?? (how.piece ? NO_REASON : undefined);
    const { content, additional_kwargs } = last;
    return { message: json({ text: last.text, content, additional_kwargs, response_metadata: said, finish_reason: reason }) };
  }
  async run(given, how) {
    let state = given?.__interrupt__ ? given : await this.asked(given, how);
    while (state.__interrupt__?.length) {
      const resume = {};
      for (const { id, value } of state.__interrupt__) resume[id] = await this.answerTo(value, how);
      state = await this.asked(new this.packages.lg.Command({ resume }), how);
    }
    return state;
  }
  async asked(given, { piece, signal }) {
    const options = { ...this.options, signal };
    if (!piece) return this.agent.invoke(given, options);
    let state = {};
    const parts = await this.agent.stream(given, { ...options, streamMode: ['messages', 'values'] });
    for await (const [mode, part] of parts) {
      if (mode === 'values') state = { ...state, __interrupt__: undefined, ...part };
      else if (this.packages.messages.isAIMessageChunk(part[0]) && part[0].text) piece(part[0].text);
    }
    return state;
  }
  /** Return what the person decides on calls that a middleware of langchain holds back. */
  async answerTo({ actionRequests, reviewConfigs }, { signal }) {
    if (!actionRequests) refuse('interrupt() with a form of its own');
    const decisions = [];
    for (const [n, { name, args }] of actionRequests.entries()) {
      const message = await whyNot(name, args, null, signal);
      const approves = reviewConfigs?.[n]?.allowedDecisions?.includes('approve') ?? true;
      const yes = approves ? { type: 'approve' } : { type: 'edit', editedAction: { name, args } };
      decisions.push(message ? { type: 'reject', message } : yes);
    }
    return { decisions };
  }
}

const live = (agent, packages, session) => new Life(agent, packages, session);

const sessionOf = agent => graphOf(agent).checkpointer || null;

module.exports = { kind: 'Pregel', has, open, sessionOf, toolsOf, live };
