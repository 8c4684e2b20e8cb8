// What a module exports, said so that the harness can tell how it is called.
'use strict';
const { agentOf } = require('./agents.cjs');

const isFunction = value => typeof value === 'function';
const at = (value, place) => place.split('.').reduce((inner, name) => inner?.[name], value);

/** Return what streams of an SDK, or the whole answer, one after the other. */
const asked = (client, place, given, streaming) => {
  const owner = at(client, place.split('.').slice(0, -1).join('.'));
  const name = streaming ?? place.split('.').at(-1);
  return owner[name](given);
};

const textOf = message => String(message.content);
const plain = ({ messages, model }) => ({ model, messages });

/** Clients of known libraries: what they have, the API where it is one alone, and how they are asked. */
const CLIENTS = [
  {
    has: 'chat.completions.create',
    dialects: { AzureOpenAI: 'azure-openai' },
    ask: (client, { stream, tools, ...request }) => asked(client, 'chat.completions.create',
      { ...plain(request), ...(stream && { stream }), ...(tools.length && { tools }) }),
  },
  {
    has: 'messages.create',
    dialect: 'anthropic-messages',
    ask: (client, { stream, ...request }) => asked(client, 'messages.create',
      { ...plain(request), max_tokens: 256, ...(stream && { stream }) }),
  },
  {
    has: 'models.generateContent',
    dialect: 'gemini-generate-content',
    ask: (client, { stream, messages, model }) => asked(client, 'models.generateContent',
      { model, contents: messages.map(textOf).join('\n') }, stream ? 'generateContentStream' : undefined),
  },
  {
    has: 'chat.complete',
    dialect: 'mistral',
    ask: (client, { stream, ...request }) => asked(client, 'chat.complete', plain(request),
      stream ? 'stream' : undefined),
  },
];

function clientOf(value) {
  if (value === null || typeof value !== 'object') return undefined;
  try {
    return CLIENTS.find(({ has }) => isFunction(at(value, has)));
  } catch {
    return undefined; // A getter of the subject's may throw.
  }
}

// ---------------------------------------------------------------------------- parameters

/** Return the text between the parentheses of a function, or the one name before an arrow. */
function parametersText(text) {
  const alone = /^(?:async\s+)?([\w$]+)\s*=>/.exec(text);
  if (alone) return alone[1];
  const begin = text.indexOf('(') + 1;
  for (let end = begin, depth = 1; end < text.length; end++) {
    if ('([{'.includes(text[end])) depth++;
    else if (')]}'.includes(text[end]) && --depth === 0) return text.slice(begin, end);
  }
  return '';
}

/** Split at the commas that stand in no brackets and no text. */
function split(text) {
  const parts = [''];
  let depth = 0;
  let quote = '';
  for (const char of text.replace(/\/\*[^]*?\*\/|\/\/[^\n]*/g, '')) {
    if (quote) quote = char === quote ? '' : quote;
    else if ('\'"`'.includes(char)) quote = char;
    else if ('([{'.includes(char)) depth++;
    else if (')]}'.includes(char)) depth--;
    if (char === ',' && !depth && !quote) parts.push(''); else parts[parts.length - 1] += char;
  }
  return parts.map(part => part.trim()).filter(Boolean);
}

function parameterOf(text) {
  const fields = /^\{([^]*)\}\s*(=[^]*)?$/.exec(text);
  if (fields) return { name: '', optional: Boolean(fields[2]), fields: split(fields[1]).map(parameterOf) };
  const [, rest, name, value] = /^(\.\.\.)?([\w$]+)?[^=]*(=[^]*)?$/.exec(text) ?? [];
  return { name: name ?? text, optional: Boolean(rest || value) };
}

// ---------------------------------------------------------------------------- exports

/** Return whether it makes a runtime: its one parameter has the name `surroundings`. */
function isRuntime(value) {
  if (!isFunction(value)) return false;
  const text = Function.prototype.toString.call(value);
  const begin = /^class\b/.test(text) ? text.search(/\bconstructor\s*\(/) : 0;
  if (begin < 0) return isRuntime(Object.getPrototypeOf(value));
  const taken = split(parametersText(text.slice(begin))).map(parameterOf);
  return taken.length === 1 && taken[0].name === 'surroundings';
}

async function described(name, value, file) {
  const agent = await agentOf(value, file);
  if (agent) return { name, kind: 'agent', agent };
  const client = clientOf(value);
  if (client) {
    const type = value.constructor?.name ?? '';
    return { name, kind: 'client', class: type, dialect: client.dialects?.[type] ?? client.dialect ?? null };
  }
  if (!isFunction(value)) return { name, kind: 'other', class: String(value?.constructor?.name ?? value) };
  if (isRuntime(value)) return { name, kind: 'runtime', options: readable(value.faultclock) ?? {} };
  const text = Function.prototype.toString.call(value);
  if (/^class\b/.test(text)) return { name, kind: 'class' };
  return {
    name,
    kind: 'function',
    is_async: /^async\b|^\[?async/.test(text) || value.constructor?.name === 'AsyncFunction',
    parameters: split(parametersText(text)).map(parameterOf),
  };
}

/** Return what a module exports, the members of a CommonJS module by their own names. */
function membersOf(module) {
  const found = new Map(Object.entries(module).filter(([name]) => name !== 'module.exports'));
  const whole = found.get('default');
  if (whole && typeof whole === 'object' && !clientOf(whole) && Object.getPrototypeOf(whole) === Object.prototype) {
    found.delete('default');
    for (const [name, value] of Object.entries(whole)) if (!found.has(name)) found.set(name, value);
  }
  return found;
}

/** @param making an export that is called, so that what it makes is described in its place. */
const exportsOf = (module, file, making) => Promise.all([...membersOf(module)].map(
  async ([name, value]) => described(name, name === making ? await value() : value, file)));

/** Return what is called, and the object that it is a method of: `client`, `agent.ask`. */
function memberOf(module, name) {
  const [first, ...rest] = name.split('.');
  let owner;
  let value = membersOf(module).get(first);
  for (const part of rest) [owner, value] = [value, value?.[part]];
  return { owner, value };
}

/**
 * Ask what is exported once.
 * @param given the arguments; for a client, the request is the only one.
 * @param piece called with each part of an answer that comes in parts.
 */
async function answerOf({ owner, value }, given, piece) {
  const client = clientOf(value);
  const answer = await (client ? client.ask(value, given[0]) : value.apply(owner, given));
  if (answer?.[Symbol.asyncIterator] && typeof answer !== 'string') {
    for await (const part of answer) piece(readable(part));
    return null;
  }
  return readable(answer);
}

function readable(value) {
  if (value === undefined) return null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  try {
    return JSON.parse(JSON.stringify(value) ?? 'null');
  } catch {
    return { unreadable: String(value?.constructor?.name) };
  }
}

module.exports = { exportsOf, memberOf, answerOf, readable, isRuntime };
