// What the program asks the harness for: that a tool is called, a person's answer, a port of a runtime.
'use strict';
const { calls, callId, say } = require('./world.cjs');
const { described } = require('./errors.cjs');

let asked = 0;
const open = new Map();

/** Say something, and return what is answered; `number` goes on with what was asked before. */
function ask(op, said, number = ++asked) {
  return new Promise(resolve => {
    open.set(number, resolve);
    say({ op, number, call: callId(), ...said });
  });
}

/** Let an answer of the harness arrive. */
function answered(event) {
  const resolve = open.get(event.number);
  open.delete(event.number);
  resolve?.(event);
}

/** Return what was answered, or throw the error that it is. */
function valueOf({ error, value }) {
  if (!error) return value;
  const { message, code, error_class: errorClass } = error;
  throw Object.assign(new Error(message), code ? { code } : {}, errorClass ? { errorClass } : {});
}

/** Return a promise, or what a signal is aborted with if that comes first. */
function unlessAborted(promise, signal, stopped = () => {}) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => { stopped(); reject(signal.reason); };
    if (signal.aborted) stop(); else signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Return a value as JSON has it. */
const json = value => JSON.parse(JSON.stringify(value) ?? 'null');

/** Return a value as JSON has it, or what of it can be said where it refers to itself or holds a BigInt. */
function readable(value, isPart = false) {
  try {
    return json(value);
  } catch {
    if (typeof value === 'bigint') return String(value);
    if (isPart || Array.isArray(value)) return String(value?.constructor?.name);
    return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, readable(it, true)]));
  }
}

/**
 * Have a tool called through the harness, which says when its function does its work.
 * @param work calls the function; returns { value }, with the `error` that the framework made it of.
 * @param fail raises an error of the scenario as the function would.
 * @param signal of the framework: a call that has not come to its work is given up with it.
 */
async function observed({ tool, given, id, signal }, work, fail = error => { throw error; }) {
  const number = ++asked;
  const stopped = () => say({ op: 'tool', number, call: callId(), stopped: true });
  const begin = ask('tool', { tool, arguments: given, tool_call: id ?? '' }, number);
  let done;
  let answer = await unlessAborted(begin, signal, stopped);
  if (answer.work) {
    try {
      done = await calls.run({ ...calls.getStore(), tool }, work);
    } catch (error) {
      done = { error, thrown: true };
    }
    const said = done.error ? { error: described(done.error) } : { value: readable(done.value) };
    answer = await unlessAborted(ask('tool', said, number), signal, stopped);
  }
  let value;
  try {
    value = valueOf(answer);
  } catch (error) {
    return fail(error);
  }
  if (!done || 'value' in answer) return value;
  if (done.thrown) throw done.error;
  return done.value;
}

/** Ask the person whether a tool may be called; return why not, empty for a yes. */
async function whyNot(tool, given, id, signal) {
  const answer = ask('ask', { tool, arguments: given, tool_call: id ?? null });
  return (await unlessAborted(answer, signal)).why_not;
}

const callbacks = [];
/** Return an argument as the protocol has it: a function is called back by its number. */
const crossing = it => (typeof it === 'function' ? { callback: callbacks.push(it) - 1 } : readable(it));
const calledBack = (number, given) => callbacks[number](...given);

/** Use what the harness holds. The last argument may have a `signal`, which gives that up. */
async function use(of, what, given) {
  const number = ++asked;
  const { signal, ...rest } = given.at(-1) ?? {};
  const isSignal = signal instanceof AbortSignal;
  const crossed = (isSignal ? [...given.slice(0, -1), rest] : given).map(crossing);
  const stopped = () => say({ op: 'use', number, call: callId(), stopped: true });
  const answer = ask('use', { of, do: what, arguments: crossed }, number);
  return valueOf(await unlessAborted(answer, isSignal ? signal : null, stopped));
}

/** Say something that wants no answer. */
const tell = (of, what, given) => say({ op: 'tell', of, do: what, arguments: given.map(crossing), call: callId() });

/** Return what was kept of a session; null: nothing. */
const kept = session => use('store', 'read', [session]);

/** Keep a session over the end of the process. */
const keep = (session, state) => use('store', 'write', [session, json(state)]);

module.exports = { json, answered, calledBack, observed, whyNot, use, tell, kept, keep };
