// A host of the protocol of docs/reference/lockstep.md: node host.cjs READ WRITE MODULE [MAKING]
//
// READ and WRITE are descriptors; MAKING is an export that makes an agent: what it makes is described. When the event loop has nothing left to do, this process writes one
// line (what it did, when its next timer rings), and blocks until it reads one (what time it is, and
// what has happened).
'use strict';
const fs = require('node:fs');
const { AsyncResource, createHook } = require('node:async_hooks');
const { createRequire } = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const world = require('./world.cjs');
const { enter } = require('./files.cjs');
const { exportsOf, memberOf, answerOf, isRuntime } = require('./exports.cjs');
const { described } = require('./errors.cjs');
const agents = require('./agents.cjs');
const runtimes = require('./runtimes.cjs');
const { answered } = require('./seam.cjs');

const PROTOCOL = 3;
const GRANULARITY_NS = 1e6; // Timers have whole milliseconds.
const CALM_TURNS = 2; // Turns of the event loop in which nothing may happen.
const PATIENCE_MS = 5000; // Of real time, for what libuv's own thread has to do.
/** What keeps the loop busy by itself, and nothing of the subject's. */
const HARMLESS = new Set(['Immediate', 'MessagePort', 'SignalWrap']);
const { state, calls, say, real } = world;
const [, , read, write, file, making] = process.argv;
const realNow = performance.now.bind(performance);
const { readSync, writeSync } = fs;

process.argv = [process.argv0, file];

// ---------------------------------------------------------------------------- lines

let input = Buffer.alloc(0);

function readLine() {
  const chunk = Buffer.alloc(1 << 16);
  let end;
  while ((end = input.indexOf(10)) < 0) {
    const count = readSync(+read, chunk);
    if (!count) real.exit(0);
    input = Buffer.concat([input, chunk.subarray(0, count)]);
  }
  const line = input.toString('utf8', 0, end);
  input = input.subarray(end + 1);
  return JSON.parse(line);
}

function writeLine(value) {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  for (let at = 0; at < bytes.length;) at += writeSync(+write, bytes, at);
}

function exchange() {
  const timer = world.nextTimer();
  const events = state.outbox;
  state.outbox = [];
  writeLine({ next_ns: timer === null ? null : timer.atNs, events });
  return readLine();
}

/** End this process: the harness is told, and nothing of it runs any more. */
function end({ what, error = null, stack = [] }) {
  if (state.loading) failed(error ?? { type: '', message: what, stack });
  say({ op: 'ended', what, error, stack });
  writeLine({ next_ns: null, events: state.outbox });
  real.exit(0);
}

process.on('uncaughtException', error => {
  if (process.listenerCount('uncaughtException') > 1) return;
  end({ what: 'an uncaught error', error: described(error) });
});

// ---------------------------------------------------------------------------- turns

let own = false;
createHook({ init() { if (!own) state.work++; } }).enable();

/** Do something of ours that is no work of the subject's. */
function aside(action) {
  own = true;
  try { action(); } finally { own = false; }
}

const ignored = new Set();
let calm = 0;
let seen = -1;
let busySince = null;

function busy() {
  return process.getActiveResourcesInfo().filter(name => !HARMLESS.has(name) && !ignored.has(name));
}

function soon() { aside(() => real.setImmediate(look)); }

/** Look whether the event loop has come to rest. */
function look() {
  if (state.work !== seen) [calm, busySince] = [0, null]; else calm += 1;
  seen = state.work;
  const active = calm >= CALM_TURNS ? busy() : [];
  if (active.length && stillHoping(active)) calm = 0;
  if (calm < CALM_TURNS) return soon();
  // The one thread of libuv's pool works in order: when this is done, all before it is.
  if (calm === CALM_TURNS) return aside(() => real.stat('/', soon));
  calm = 0;
  busySince = null;
  rest();
  soon();
}

function stillHoping(active) {
  busySince ??= realNow();
  if (state.loading || realNow() - busySince < PATIENCE_MS) return true;
  for (const name of active) {
    ignored.add(name);
    say({ op: 'refused', what: `${name}, which goes on in real time`, call: null, stack: [] });
  }
  busySince = null;
  return false;
}

/** Nothing is left to do: take a turn. */
let rest = () => {
  const timer = world.nextTimer();
  // While the module is loaded, its own timers are all there is.
  if (timer === null || reached()) failed({ type: '', message: 'a top-level await never ends', stack: [] });
  state.nowNs = timer.atNs;
  timer.ring();
};

function takeTurn() {
  const { now_ns: nowNs, events } = exchange();
  state.nowNs = Math.max(state.nowNs, nowNs);
  if (events.length) {
    events.forEach(meet);
    return;
  }
  // One timer a turn: what else is due at this instant comes in the order of the harness.
  const timer = world.nextTimer();
  if (timer !== null && timer.atNs <= state.nowNs) timer.ring();
}

function meet(event) {
  state.work++;
  if (event.op === 'start') start(event);
  else if (event.op === 'call') callFor(event);
  else if (event.op === 'cancel') open.get(event.number)?.();
  else if (event.number !== undefined) answered(event);
  else world.sockets.get(event.id)?.meet(event);
}

function start({ seed, epoch_ms: epochMs, folder }) {
  // What was set while the module was loaded was set at the beginning of this life.
  world.shiftTimers(state.nowNs - loadedNs);
  world.reseed(seed);
  state.epochMs = epochMs;
  enter(folder);
}

let module_ = null;
let loadedNs = 0;

/** What gives up each call that is open. */
const open = new Map();

function answerTo(event, piece, signal) {
  const member = memberOf(module_, event.export);
  if (!event.do) return answerOf(member, event.arguments, piece);
  const { lived } = isRuntime(member.value) ? runtimes : agents;
  return lived(member.value, event, { piece, signal, file });
}

function callFor(event) {
  const { call, number } = event;
  const giving = new AbortController();
  calls.run({ id: call, stack: [] }, async () => {
    open.set(number, AsyncResource.bind(() => giving.abort()));
    try {
      const piece = value => say({ op: 'yielded', number, call, value });
      let value = answerTo(event, piece, giving.signal);
      if (value instanceof Promise) value = await value;
      say({ op: 'returned', number, call, value });
    } catch (error) {
      say({ op: 'raised', number, call, error: described(error, world.placed) });
    } finally {
      open.delete(number);
    }
  });
}

// ---------------------------------------------------------------------------- loading

/** Return the first thing of the world that the module reached for while it was loaded. */
const reached = () => state.outbox.find(event => event.op === 'connect' || event.op === 'refused');

function failed(error) {
  writeLine({ lockstep: PROTOCOL, failed: error, reached: reached() ?? null });
  real.exit(0);
}

/** Return the versions of Node and of the packages that the module itself imports. */
function versions(source) {
  const found = { node: process.versions.node };
  const importing = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)['"]((?:@[\w.-]+\/)?[\w][\w.-]*)/g;
  for (const [, name] of source.matchAll(importing)) {
    for (const folder of createRequire(file).resolve.paths(name) ?? []) {
      try {
        found[name] ??= JSON.parse(fs.readFileSync(path.join(folder, name, 'package.json'))).version;
      } catch { /* It lies elsewhere. */ }
    }
  }
  return found;
}

async function load() {
  let exports;
  try {
    module_ = await import(pathToFileURL(file).href);
    exports = await exportsOf(module_, file, making);
  } catch (error) {
    return failed(described(error));
  }
  if (reached()) return failed({ type: '', message: '', stack: [] });
  state.outbox = [];
  state.loading = false;
  loadedNs = state.nowNs;
  writeLine({
    lockstep: PROTOCOL,
    timer_granularity_ns: GRANULARITY_NS,
    versions: versions(fs.readFileSync(file, 'utf8')),
    exports,
  });
  const first = readLine();
  state.nowNs = first.now_ns;
  first.events.forEach(meet);
  rest = takeTurn;
}

world.simulate(end);
load();
soon();
