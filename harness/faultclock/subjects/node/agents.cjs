// Agents of frameworks, taken as they are: which objects are agents, and one life of one.
'use strict';

/** Files with `has`, `open`, `toolsOf` and `live`, by the package of the framework. */
const FRAMEWORKS = {
  '@openai/agents': require('./openai_agents.cjs'),
  '@langchain/langgraph': require('./langgraph.cjs'),
};
/** What each agent was found to be: its framework, and what that has opened. */
const found = new WeakMap();

function frameworkOf(value) {
  try {
    return Object.entries(FRAMEWORKS).find(([, { has }]) => value instanceof Object && has(value)) ?? [];
  } catch {
    return []; // A getter of the subject's may throw.
  }
}

/** Return what the harness has to know of an agent; undefined for what is none. */
async function agentOf(value, file) {
  const [name, framework] = frameworkOf(value);
  if (!framework) return undefined;
  const opened = await framework.open(value, file);
  found.set(value, { framework, opened });
  const session = framework.sessionOf?.(value)?.constructor?.name ?? '';
  return { package: name, kind: framework.kind, session, tools: await framework.toolsOf(value, opened) };
}

let life = null;

/**
 * Begin a life of an agent, or make a turn in it.
 * @param value the agent, or a function that makes it anew in each life.
 * @param piece called with each piece of text that the user sees.
 * @param signal gives the turn up.
 */
async function lived(value, { do: what, arguments: given, stream }, { piece, signal, file }) {
  if (what === 'turn') return life.turn(given[0], { piece: stream ? piece : null, signal });
  const agent = found.has(value) ? value : await value();
  if (agent !== value) await agentOf(agent, file);
  const { framework, opened } = found.get(agent);
  const [session, resume] = given;
  life = framework.live(agent, opened, session);
  await life.start(resume);
  return null;
}

module.exports = { agentOf, lived };
