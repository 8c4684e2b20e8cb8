// The world of one Node process: its clock, its chance, its network and its refusals.
//
// Nothing here waits for real time. Timers stand in a table, connections are events of the protocol
// (docs/reference/lockstep.md), and what cannot be simulated is refused by name. Everything is put in
// place before the user's module is loaded. `turns.cjs` says when a turn is over.
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const dns = require('node:dns');
const crypto = require('node:crypto');
const timers = require('node:timers');
const perfHooks = require('node:perf_hooks');
const channels = require('node:diagnostics_channel');
const { Duplex, Writable } = require('node:stream');
const { AsyncLocalStorage, AsyncResource } = require('node:async_hooks');
const { promisify } = require('node:util');
const { fileURLToPath } = require('node:url');
const { simulateFiles } = require('./files.cjs');

const NS_PER_MS = 1e6;
const NS_PER_S = 1e9;
const TIMER_MS_MAX = 2 ** 31 - 1; // A longer delay is 1 ms: nodejs.org, Timers, setTimeout.
const FRAMES_MAX = 50;
const RealDate = Date;
const real = { setImmediate, stat: fs.stat, exit: process.reallyExit.bind(process) };

/** What the turn has brought about so far, and what the harness says of this process. */
const state = { nowNs: 0, epochMs: 0, outbox: [], loading: true, work: 0 };
/** The call that code runs for: { id, stack }. */
const calls = new AsyncLocalStorage();

const say = event => { state.outbox.push(event); state.work++; };
const callId = () => calls.getStore()?.id ?? null;

// ---------------------------------------------------------------------------- stacks

const FRAME = /^\s+at (?:(?:async )?(.*?) \()?(?:async )?(\/|file:\/\/\S+?|node:\S+?|\S.*?):(\d+):(\d+)\)?$/;
/** What stands before the message of a module that cannot be linked. */
const MODULE = /^()(file:\/\/\/.*):(\d+)$/;
const MODULE_NAME = '<module>';

/** Return [file, line, function] of each line of a stack, innermost first, without our own. */
function framesOf(error) {
  const frames = [];
  let text = '';
  try { text = String(error.stack ?? ''); } catch { /* A getter of the subject's may throw. */ }
  for (const line of text.split('\n')) {
    const found = FRAME.exec(line) ?? MODULE.exec(line);
    if (!found) continue;
    let file = found[2];
    if (file.startsWith('file://')) {
      try { file = fileURLToPath(file); } catch { continue; }
    }
    if (!file.startsWith(__dirname)) frames.push([file, +found[3], found[1] || MODULE_NAME]);
  }
  return frames;
}

const isOwn = ([file]) => file.startsWith('/') && !file.includes('/node_modules/');

/** Return where the code stands now; where no line of the user's is on the stack, its last one. */
function here() {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES_MAX;
  const frames = framesOf(new Error());
  Error.stackTraceLimit = limit;
  return placed(frames);
}

function placed(frames) {
  const call = calls.getStore();
  if (!call) return frames;
  const own = frames.filter(isOwn);
  if (own.length) call.stack = own;
  return own.length ? frames : [...frames, ...(call.stack ?? [])];
}

// ---------------------------------------------------------------------------- refusals

class NotSimulated extends Error {
  constructor(what) { super(`${what} cannot be simulated`); this.name = 'NotSimulated'; }
}

function refuse(what) {
  say({ op: 'refused', what, call: callId(), stack: here() });
  throw new NotSimulated(what);
}

function refuseAll(module, label, names) {
  for (const name of names) {
    if (typeof module[name] === 'function') module[name] = () => refuse(`${label}.${name}`);
  }
}

function refuseTheRest() {
  refuseAll(require('node:child_process'), 'child_process',
    ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync']);
  refuseAll(require('node:http2'), 'http2', ['connect', 'createServer', 'createSecureServer']);
  refuseAll(require('node:dgram'), 'dgram', ['createSocket']);
  refuseAll(require('node:inspector'), 'inspector', ['open']);
  refuseAll(require('node:cluster'), 'cluster', ['fork']);
  const resolves = Object.keys(dns).filter(name => /^(resolve|reverse|lookupService)/.test(name));
  refuseAll(dns, 'dns', resolves);
  refuseAll(dns.promises, 'dns.promises', resolves);
  const workers = require('node:worker_threads');
  workers.Worker = class Worker { constructor() { refuse('worker_threads.Worker'); } };
  net.Server.prototype.listen = () => refuse('net.Server.listen');
  net.Socket.prototype.connect = () => refuse('net.Socket.connect');
  Atomics.wait = () => refuse('Atomics.wait');
  if (Atomics.waitAsync) Atomics.waitAsync = () => refuse('Atomics.waitAsync');
  // Code in C could do anything. Where a package does without it, nothing is lost.
  process.dlopen = (_, file) => {
    throw new Error(`no native addon can be loaded here: ${String(file).split('/').pop()}`);
  };
}

// ---------------------------------------------------------------------------- chance

let seed = 0;

/** Return the next number of mulberry32, 0 to below 1. */
function random() {
  seed = (seed + 0x6D2B79F5) >>> 0;
  let t = Math.imul(seed ^ (seed >>> 15), seed | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}

function fill(array, from = 0, size = undefined) {
  const bytes = ArrayBuffer.isView(array)
    ? new Uint8Array(array.buffer, array.byteOffset, array.byteLength) : new Uint8Array(array);
  const end = size === undefined ? bytes.length : from + size;
  for (let at = from; at < end; at++) bytes[at] = Math.floor(random() * 256);
  return array;
}

function randomUUID() {
  const bytes = fill(Buffer.alloc(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function simulateChance() {
  Math.random = random;
  const later = (done, ...given) => process.nextTick(done, ...given);
  crypto.randomFillSync = fill;
  crypto.randomFill = (array, ...rest) => later(rest.pop(), null, fill(array, ...rest));
  crypto.randomBytes = (size, done) => {
    const bytes = fill(Buffer.alloc(size));
    return done ? later(done, null, bytes) : bytes;
  };
  crypto.pseudoRandomBytes = crypto.randomBytes;
  crypto.randomInt = (low, high, done) => {
    if (typeof high !== 'number') [low, high, done] = [0, low, high];
    const drawn = low + Math.floor(random() * (high - low));
    return done ? later(done, null, drawn) : drawn;
  };
  crypto.randomUUID = randomUUID;
  const set = (holder, name, value) =>
    Object.defineProperty(holder, name, { value, configurable: true, writable: true });
  for (const holder of [crypto.webcrypto, Object.getPrototypeOf(crypto.webcrypto)]) {
    set(holder, 'getRandomValues', array => fill(array));
    set(holder, 'randomUUID', randomUUID);
  }
  // When memory is collected must change nothing, and a process is short.
  globalThis.FinalizationRegistry = class FinalizationRegistry { register() {} unregister() {} };
  globalThis.WeakRef = class WeakRef {
    #target;
    constructor(target) { this.#target = target; }
    deref() { return this.#target; }
  };
}

// ---------------------------------------------------------------------------- clock

const nowMs = () => state.nowNs / NS_PER_MS;
/** What a clock without a date says at virtual time 0: code may take 0 for no time at all. */
const SINCE_NS = 1000 * NS_PER_S;
const sinceNs = () => SINCE_NS + state.nowNs;
const sinceMs = () => sinceNs() / NS_PER_MS;

class SimulatedDate extends RealDate {
  constructor(...given) { if (given.length) super(...given); else super(SimulatedDate.now()); }
  static now() { return state.epochMs + Math.floor(nowMs()); }
}

const waiting = new Map();
let timersMade = 0;

class Timeout {
  constructor(callback, delay, given, repeats) {
    if (typeof callback !== 'function') {
      const error = new TypeError('The "callback" argument must be of type function.');
      throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
    }
    const ms = +delay;
    Object.assign(this, { callback, given, repeats, number: ++timersMade, isReferenced: true });
    this.ms = ms >= 1 && ms <= TIMER_MS_MAX ? Math.trunc(ms) : 1;
    this.resource = new AsyncResource('Timeout');
    this.stack = here();
    this.set();
  }
  set() {
    this.fromNs = state.nowNs;
    this.atNs = state.nowNs + this.ms * NS_PER_MS;
    this.order = ++timersMade;
    waiting.set(this.number, this);
    state.work++;
    return this;
  }
  ring() {
    if (this.repeats) this.set(); else waiting.delete(this.number);
    const call = this.resource.runInAsyncScope(callId);
    // What Node itself has set is no wait of the program's.
    if (call && !this.stack[0]?.[0].startsWith('node:')) {
      say({ op: 'waited', call, from_ns: this.fromNs, stack: this.stack });
    }
    this.resource.runInAsyncScope(this.callback, this, ...this.given);
  }
  ref() { this.isReferenced = true; return this; }
  unref() { this.isReferenced = false; return this; }
  hasRef() { return this.isReferenced; }
  refresh() { return this.set(); }
  close() { waiting.delete(this.number); return this; }
  [Symbol.toPrimitive]() { return this.number; }
  [Symbol.dispose ?? Symbol('dispose')]() { this.close(); }
}

const setTimer = (callback, ms, ...given) => new Timeout(callback, ms, given, false);
const repeat = (callback, ms, ...given) => new Timeout(callback, ms, given, true);

function clear(timer) {
  if (timer instanceof Timeout) timer.close(); else waiting.get(+timer)?.close();
}

function sleep(ms, value, { signal, ref = true } = {}) {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      clear(timer);
      const error = new Error('The operation was aborted', { cause: signal.reason });
      reject(Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' }));
    };
    const timer = setTimer(() => {
      signal?.removeEventListener('abort', aborted);
      resolve(value);
    }, ms);
    if (!ref) timer.unref();
    if (signal?.aborted) aborted(); else signal?.addEventListener('abort', aborted, { once: true });
  });
}

async function* intervals(ms, value, options = {}) {
  for (;;) yield await sleep(ms, value, options);
}

/** Return the timer that rings next; of two at one instant, the one that was set first. */
function nextTimer() {
  let best = null;
  for (const timer of waiting.values()) {
    const order = best === null ? -1 : timer.atNs - best.atNs || timer.order - best.order;
    if (order < 0) best = timer;
  }
  return best;
}

function simulateClock() {
  globalThis.Date = new Proxy(SimulatedDate, { apply: () => new SimulatedDate().toString() });
  SimulatedDate.prototype.constructor = globalThis.Date;
  const functions = { setTimeout: setTimer, clearTimeout: clear, setInterval: repeat, clearInterval: clear };
  setTimer[promisify.custom] = sleep;
  for (const holder of [globalThis, timers]) Object.assign(holder, functions);
  Object.assign(timers.promises, { setTimeout: sleep, setInterval: intervals });
  timers.promises.scheduler.wait = (ms, options) => sleep(ms, undefined, options);
  AbortSignal.timeout = ms => {
    const controller = new AbortController();
    const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
    setTimer(() => controller.abort(reason), ms).unref();
    return controller.signal;
  };
  const { performance } = perfHooks;
  const { mark, measure } = performance;
  const members = {
    now: sinceMs,
    mark: (name, options) => mark.call(performance, name, { startTime: sinceMs(), ...options }),
    measure: (name, start, end) => measure.call(performance, name, typeof start === 'object'
      ? { end: sinceMs(), ...start } : { start: start ?? 0, end: end ?? sinceMs() }),
  };
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(performance, name, { value, configurable: true, writable: true });
  }
  Object.defineProperty(performance, 'timeOrigin', {
    get: () => state.epochMs - SINCE_NS / NS_PER_MS, configurable: true,
  });
  process.hrtime = before => {
    const [s, ns] = [Math.floor(sinceNs() / NS_PER_S), sinceNs() % NS_PER_S];
    if (!before) return [s, ns];
    const over = ns < before[1] ? 1 : 0;
    return [s - before[0] - over, ns - before[1] + over * NS_PER_S];
  };
  process.hrtime.bigint = () => BigInt(sinceNs());
  process.uptime = () => sinceNs() / NS_PER_S;
  Object.defineProperty(process, 'pid', { value: 4242 });
}

// ---------------------------------------------------------------------------- network

const sockets = new Map();
const addresses = new Map();
let connections = 0;
/** The call that asked last: undici connects for it again where a cancel, which is no call, gives it up. */
let lastAsked = null;

/** Return the address of a name: the harness knows names alone. */
function addressOf(host) {
  if (net.isIP(host)) return host;
  if (!addresses.has(host)) addresses.set(host, `10.254.${addresses.size >> 8}.${addresses.size & 255}`);
  return addresses.get(host);
}

const nameOf = host => [...addresses].find(([, address]) => address === host)?.[0] ?? host;

/** A connection, whose bytes go through the protocol. TLS is in the clear: its failures are not simulated. */
class Socket extends Duplex {
  constructor(options, isSecure) {
    super({ allowHalfOpen: options.allowHalfOpen ?? false });
    const host = nameOf(options.host || options.hostname || options.servername || 'localhost');
    Object.assign(this, {
      id: ++connections, isSecure, connecting: true, encrypted: isSecure, authorized: isSecure,
      servername: options.servername, alpnProtocol: false, bytesRead: 0, bytesWritten: 0,
      remoteAddress: addressOf(host), remotePort: +options.port || (isSecure ? 443 : 80),
      remoteFamily: 'IPv4', localAddress: '10.255.0.1', localPort: 40000 + connections,
    });
    this.resource = new AsyncResource('Socket');
    sockets.set(this.id, this);
    here();
    say({ op: 'connect', id: this.id, host, port: this.remotePort, tls: isSecure,
      call: callId() ?? lastAsked, tool: calls.getStore()?.tool ?? null });
    options.signal?.addEventListener('abort', () => this.destroy(options.signal.reason), { once: true });
    if (options.timeout) this.setTimeout(options.timeout);
  }
  /** Let an event of the harness happen to it, in the context in which it was made. */
  meet(event) { this.resource.runInAsyncScope(() => this[`on_${event.op}`](event)); }
  on_up() {
    this.connecting = false;
    this.emit('connect');
    this.emit('ready');
    if (this.isSecure) this.emit('secureConnect');
    this.pendingWrite?.();
  }
  on_data({ data }) {
    const bytes = Buffer.from(data, 'base64');
    this.bytesRead += bytes.length;
    this.idle();
    this.push(bytes);
  }
  on_eof() { this.push(null); this.read(0); }
  on_error({ code, syscall, message }) {
    sockets.delete(this.id);
    this.destroy(Object.assign(new Error(message), { code, syscall, errno: -1 }));
  }
  _read() {}
  _write(chunk, encoding, done) {
    const send = () => {
      this.bytesWritten += chunk.length;
      this.idle();
      const call = this.forCall ?? callId() ?? this.resource.runInAsyncScope(callId);
      say({ op: 'write', id: this.id, data: Buffer.from(chunk, encoding).toString('base64'), call });
      done();
    };
    if (this.connecting) this.pendingWrite = send; else send();
  }
  _final(done) {
    if (this.connecting) { this.once('connect', () => this._final(done)); return; }
    say({ op: 'end', id: this.id });
    done();
  }
  _destroy(error, done) {
    if (sockets.delete(this.id)) say({ op: 'close', id: this.id, reset: this.isReset === true });
    this.timer?.close();
    done(error);
  }
  idle() { this.timer?.refresh(); }
  setTimeout(ms, callback) {
    this.timer?.close();
    this.timer = undefined;
    this.timeout = ms;
    if (callback) { if (ms) this.once('timeout', callback); else this.off('timeout', callback); }
    if (ms) this.timer = setTimer(() => this.emit('timeout'), ms).unref();
    return this;
  }
  setNoDelay() { return this; }
  setKeepAlive() { return this; }
  ref() { return this; }
  unref() { return this; }
  address() { return { address: this.localAddress, family: 'IPv4', port: this.localPort }; }
  getPeerCertificate() { return {}; }
  getCipher() { return { name: 'TLS_AES_256_GCM_SHA384', version: 'TLSv1.3' }; }
  getProtocol() { return 'TLSv1.3'; }
  getSession() { return undefined; }
  isSessionReused() { return false; }
  setServername() {}
  resetAndDestroy() { this.isReset = true; return this.destroy(); }
  destroySoon() { if (this.writable) this.end(); if (this.writableFinished) this.destroy(); else this.once('finish', this.destroy); }
  get pending() { return this.connecting; }
  get readyState() { return this.connecting ? 'opening' : this.destroyed ? 'closed' : 'open'; }
}

function connectorOf(isSecure) {
  return (first, ...rest) => {
    let options = first;
    if (Array.isArray(first)) [options, ...rest] = first;
    if (typeof options !== 'object') {
      options = isNaN(options) ? { path: options } : { port: options };
      if (typeof rest[0] === 'string') options.host = rest.shift();
      if (rest[0] && typeof rest[0] === 'object') Object.assign(options, rest.shift());
    }
    if (options.path) refuse('a Unix socket');
    if (options.socket instanceof Socket) return tlsOver(options.socket, rest);
    const socket = new Socket(options, isSecure);
    const done = rest.find(item => typeof item === 'function');
    if (done) socket.once(isSecure ? 'secureConnect' : 'connect', done);
    return socket;
  };
}

/** TLS over a connection that is there, as a proxy's client wants it: in the clear, it is the same. */
function tlsOver(socket, rest) {
  socket.encrypted = socket.authorized = true;
  const done = rest.find(item => typeof item === 'function');
  if (done) socket.once('secureConnect', done);
  process.nextTick(() => socket.emit('secureConnect'));
  return socket;
}

function simulateNetwork() {
  net.connect = net.createConnection = connectorOf(false);
  tls.connect = connectorOf(true);
  require('node:http').Agent.prototype.createConnection = net.createConnection;
  const found = (host, options) => (options?.all
    ? [{ address: addressOf(host), family: 4 }] : { address: addressOf(host), family: 4 });
  dns.lookup = (host, options, done = options) => process.nextTick(() => {
    const at = found(host, options);
    if (options?.all) done(null, at); else done(null, at.address, at.family);
  });
  dns.promises.lookup = async (host, options) => found(host, options);
  // undici writes a request when it gets to it: then another call's code may be running.
  const asking = new WeakMap();
  channels.subscribe('undici:request:create', ({ request }) => {
    lastAsked = callId() ?? lastAsked;
    asking.set(request, callId());
    here();
  });
  channels.subscribe('undici:client:sendHeaders', ({ request, socket }) => {
    if (socket instanceof Socket) socket.forCall = asking.get(request);
  });
}

// ---------------------------------------------------------------------------- output, end

const printing = (stream, write) => new Writable({
  decodeStrings: false,
  write(chunk, encoding, done) { write(stream, String(chunk)); done(); },
});

function simulateProcess(end) {
  const write = (stream, text) => say({ op: 'wrote', stream, text, call: callId() });
  for (const name of ['stdout', 'stderr']) {
    Object.defineProperty(process, name, { value: printing(name, write), configurable: true });
  }
  const leave = what => code => end({ what: `${what}(${code ?? ''})`, stack: here() });
  process.exit = leave('process.exit');
  process.reallyExit = leave('process.reallyExit');
  process.abort = leave('process.abort');
  process.kill = pid => (pid === process.pid ? leave('process.kill')(pid) : refuse('process.kill'));
}

/** Errors that code has made with `new`: all others of these types an operation of JavaScript raised. */
const made = new WeakSet();

function markErrors() {
  for (const name of ['TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'URIError']) {
    const Original = globalThis[name];
    const note = error => { made.add(error); return error; };
    const Marked = new Proxy(Original, {
      construct: (target, given, to) => note(Reflect.construct(target, given, to === Marked ? target : to)),
      apply: (target, self, given) => note(new target(...given)),
    });
    Original.prototype.constructor = Marked;
    globalThis[name] = Marked;
  }
}

/** WebAssembly is compiled on this thread: no other one finishes when it likes. */
function compileHere() {
  const moduleOf = source => (source instanceof WebAssembly.Module ? source : new WebAssembly.Module(source));
  WebAssembly.compile = async source => moduleOf(source);
  WebAssembly.instantiate = async (source, imports) => {
    const module = moduleOf(source);
    const instance = new WebAssembly.Instance(module, imports);
    return module === source ? instance : { module, instance };
  };
}

/**
 * Put everything in place.
 * @param end called with what ends the process; it does not return.
 */
function simulate(end) {
  Error.stackTraceLimit = FRAMES_MAX;
  markErrors();
  compileHere();
  simulateChance();
  simulateClock();
  simulateNetwork();
  simulateProcess(end);
  simulateFiles({ refuse, refuseAll, random });
  refuseTheRest();
  // Modules that import a name of these find what stands there now.
  require('node:module').syncBuiltinESMExports();
}

module.exports = {
  simulate, state, calls, say, callId, refuse, real, made, framesOf, placed, sockets, nextTimer,
  reseed: given => { seed = given >>> 0; },
  shiftTimers: byNs => { for (const timer of waiting.values()) { timer.fromNs += byNs; timer.atNs += byNs; } },
};
