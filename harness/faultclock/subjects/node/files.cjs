// The files of one Node process: those of its run in a folder, over the files of the system.
//
// Paths below the working directory, `~` and the folder for temporary files lead into the folder that
// `start` names. What is not there shows through from the directory that the command was started in,
// and is copied before it is changed. All other files can only be read.
'use strict';
const fs = require('node:fs');
const { createHash } = require('node:crypto');
const Module = require('node:module');
const { dirname, join, resolve } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');

const real = { ...fs };
/** The folder as the program sees it: the same path in every run, as docs/simulation.md has it. */
const SHOWN = '/proc/self/fd/250';
const PLACES = ['work', 'home', 'tmp'];
const GONE = 'gone'; // Has a file for each file of the system that was removed.
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const TIMES = ['atime', 'mtime', 'ctime', 'birthtime'];

const origin = process.cwd();
let cwd = `${SHOWN}/work`;
let root = null; // While the module is loaded, there is no folder.
let beganMs = 0;
let refuse;
let random;

// ---------------------------------------------------------------------------- places

function textOf(path) {
  if (path instanceof URL && path.protocol === 'file:') return fileURLToPath(path);
  if (path instanceof Uint8Array) return Buffer.from(path).toString();
  return typeof path === 'string' && path ? path : undefined;
}

function below(whole, base) {
  const start = base.endsWith('/') ? base : `${base}/`;
  if (whole === base) return '';
  return whole.startsWith(start) ? whole.slice(start.length) : null;
}

/** Return the name of an absolute path below the folder of the run; null where it is outside. */
function nameOf(whole) {
  const inside = below(whole, SHOWN) ?? (root && below(whole, root));
  if (inside !== null) return PLACES.includes(inside.split('/')[0]) ? inside : null;
  if (/^\/(dev|proc|sys)\//.test(whole)) return null;
  const rest = below(whole, origin);
  return rest === null ? null : join('work', rest);
}

const inFolder = name => join(root ?? SHOWN, name);
const mark = name => join(root, GONE, createHash('sha1').update(name).digest('hex'));
const isFolder = path => real.statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Return the path of the system that shows through at a name; null where nothing does. */
function beneath(name) {
  const rest = below(name, 'work');
  const path = rest === null ? null : join(origin, rest);
  if (path === null || !real.lstatSync(path, { throwIfNoEntry: false })) return null;
  return root !== null && real.existsSync(mark(name)) ? null : path;
}

/** Return the path at which the real system has what an absolute path shows. */
function look(whole) {
  const name = nameOf(whole);
  if (name === null) return whole;
  if (root !== null && real.existsSync(inFolder(name))) return inFolder(name);
  return beneath(name) ?? inFolder(name);
}

/** Copy what shows through at a name into the folder, and the folders around it. */
function bring(name) {
  if (real.existsSync(inFolder(name))) return;
  if (name.includes('/')) bring(dirname(name));
  const found = beneath(name);
  if (found === null) return;
  if (isFolder(found)) real.mkdirSync(inFolder(name)); else real.copyFileSync(found, inFolder(name));
}

/** When names were last changed, on the clock of the run. */
const changed = new Map();
const change = name => { for (const it of [name, dirname(name)]) changed.set(it, Date.now()); };

/** Return the path at which the real system changes what an absolute path shows. */
function write(whole, label) {
  const name = nameOf(whole);
  if (root === null) refuse(label);
  if (name === null) refuse(`${label} outside of the folder of the run`);
  bring(name);
  change(name);
  return inFolder(name);
}

/** The same for what has this name no more afterwards. */
function leave(whole, label) {
  const path = write(whole, label);
  const name = nameOf(whole);
  const found = beneath(name);
  if (found !== null && isFolder(found)) refuse(`${label} of a folder that is not the run's own`);
  if (found !== null) {
    real.mkdirSync(join(root, GONE), { recursive: true });
    real.closeSync(real.openSync(mark(name), 'w'));
  }
  return path;
}

/** The same for a name that something else takes. */
function take(whole, label) {
  const found = root === null ? null : beneath(nameOf(whole) ?? '');
  if (found !== null && isFolder(found)) refuse(`${label} over a folder that is not the run's own`);
  return write(whole, label);
}

const isWriting = flags => (typeof flags === 'number'
  ? (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT)) !== 0
  : typeof flags === 'string' && /[wa+]/.test(flags));

/** What each function does to the paths that it is given. */
const FUNCTIONS = {
  access: [look], exists: [look], lstat: [look], openAsBlob: [look], readFile: [look], readlink: [look],
  stat: [look], appendFile: [write], chmod: [write], mkdir: [write], truncate: [write], utimes: [write],
  writeFile: [write], rm: [leave], rmdir: [leave], unlink: [leave], copyFile: [look, write],
  rename: [leave, take],
};

// ---------------------------------------------------------------------------- what comes back

/** Have an error name the paths as the program does. */
function corrected(error, pairs) {
  if (!(error instanceof Error)) return error;
  for (const [path, text] of pairs) {
    const said = value => value.split(`'${path}`).join(`'${text}`);
    if (error.path === path) error.path = text;
    if (error.dest === path) error.dest = text;
    const stack = said(String(error.stack));
    error.message = said(error.message);
    error.stack = stack;
  }
  return error;
}

const inodes = new Map();

/** What the system says of a file of the run, with what differs from run to run replaced. */
function dated(stats, name) {
  const ms = changed.get(name) ?? beganMs;
  const sized = typeof stats.size === 'bigint' ? BigInt : Number;
  const set = (key, value) =>
    Object.defineProperty(stats, key, { value, configurable: true, enumerable: true, writable: true });
  for (const key of TIMES) {
    set(key, new Date(ms));
    set(`${key}Ms`, sized(ms));
    if (sized === BigInt) set(`${key}Ns`, BigInt(ms) * 1000000n);
  }
  if (!inodes.has(stats.ino)) inodes.set(stats.ino, sized(inodes.size + 1));
  set('ino', inodes.get(stats.ino));
  set('dev', sized(1));
  return stats;
}

const nameInFolder = path => (root !== null && typeof path === 'string' ? below(path, root) : null);
/** The name of each open file of the run, by its descriptor. */
const opened = new Map();

/** Return what a function gives back, as the program is to see it. */
function shown(name, value, [path, , time], text) {
  const inside = nameInFolder(path);
  if (name === 'open') {
    const fd = value?.fd ?? value;
    if (inside === null) opened.delete(fd); else opened.set(fd, inside);
    if (inside !== null && typeof value === 'object') {
      const { stat } = value;
      value.stat = async options => dated(await stat.call(value, options), inside);
    }
  }
  if (inside === null) return value;
  if ((name === 'stat' || name === 'lstat') && value) return dated(value, inside);
  if (name === 'utimes') changed.set(inside, typeof time === 'object' ? +time : time * 1000);
  // The first folder that was made.
  if (name === 'mkdir' && typeof value === 'string') {
    const whole = resolve(cwd, text);
    return whole.slice(0, whole.length - (path.length - value.length));
  }
  return value;
}

// ---------------------------------------------------------------------------- functions

/** Put a function in the place of another one, with what that has beside its code. */
function replace(holder, name, made) {
  const { length, prototype, ...rest } = Object.getOwnPropertyDescriptors(holder[name]);
  holder[name] = Object.defineProperties(made, rest);
}

/** Have the paths that a function is given translated, and what it gives back. */
function translate(holder, base, name, placesOf) {
  const original = holder[name];
  if (typeof original !== 'function') return;
  const label = `fs${holder === fs ? '' : '.promises'}.${name}`;
  const prepared = given => {
    const args = [...given];
    const pairs = [];
    placesOf(given).forEach((place, n) => {
      const text = textOf(given[n]);
      if (text === undefined) return;
      args[n] = place(resolve(cwd, text), base === 'open' ? `${label} for writing` : label);
      pairs.push([args[n], text]);
    });
    return { args, pairs, back: value => shown(base, value, args, textOf(given[0])) };
  };
  const forms = {
    sync: (...given) => {
      const { args, pairs, back } = prepared(given);
      try { return back(original.apply(fs, args)); } catch (error) { throw corrected(error, pairs); }
    },
    promise: async (...given) => {
      const { args, pairs, back } = prepared(given);
      try { return back(await original.apply(holder, args)); } catch (error) { throw corrected(error, pairs); }
    },
    callback: (...given) => {
      const { args, pairs, back } = prepared(given);
      const done = args.at(-1);
      if (typeof done === 'function' && base !== 'exists') {
        args[args.length - 1] = (error, ...values) => (error
          ? done(corrected(error, pairs)) : done(error, ...(values.length ? [back(values[0])] : [])));
      }
      return original.apply(fs, args);
    },
  };
  const isPromise = holder !== fs || name === 'openAsBlob';
  replace(holder, name, forms[isPromise ? 'promise' : name.endsWith('Sync') ? 'sync' : 'callback']);
}

/** Put a function that is made of others in place, in its three forms. */
function inThreeForms(name, make) {
  const made = (...given) => make(...given);
  const called = (...given) => {
    const done = given.pop();
    let ends;
    try { ends = [null, make(...given)]; } catch (error) { ends = [error]; }
    setImmediate(done, ...ends);
  };
  const promised = async (...given) => {
    await new Promise(setImmediate);
    return make(...given);
  };
  replace(fs, `${name}Sync`, made);
  replace(fs, name, called);
  replace(fs.promises, name, promised);
  if (made.native) [made.native, called.native] = [made, called];
}

/** Run a function of the real system on one path, whose errors name it as the program does. */
function tried(action, path, text) {
  try { return action(path); } catch (error) { throw corrected(error, [[path, text]]); }
}

/** Return the entries of a folder of the run, and of what shows through it, by their names. */
function entriesOf(name) {
  const found = new Map();
  const layers = [inFolder(name), beneath(name)].filter(path => path !== null && isFolder(path));
  for (const layer of layers) {
    for (const entry of real.readdirSync(layer, { withFileTypes: true })) {
      const inner = `${name}/${entry.name}`;
      const isHere = layer === inFolder(name) || beneath(inner) !== null;
      if (isHere && !found.has(entry.name)) found.set(entry.name, entry);
    }
  }
  return [...found.values()].sort((one, two) => (one.name < two.name ? -1 : 1));
}

function readdir(path, options) {
  const text = textOf(path);
  if (text === undefined) return real.readdirSync(path, options);
  const whole = resolve(cwd, text);
  const name = nameOf(whole);
  const target = look(whole);
  if (name === null || !isFolder(target)) return tried(it => real.readdirSync(it, options), target, text);
  const { encoding, withFileTypes, recursive } = typeof options === 'string' ? { encoding: options } : options ?? {};
  const said = [];
  const walk = (folder, before) => {
    for (const entry of entriesOf(join(name, folder))) {
      const relative = join(folder, entry.name);
      if (withFileTypes) {
        for (const key of ['parentPath', 'path']) if (key in entry) entry[key] = before;
      }
      said.push(withFileTypes ? entry : encoding === 'buffer' ? Buffer.from(relative) : relative);
      if (recursive && entry.isDirectory()) walk(relative, join(before, entry.name));
    }
  };
  walk('', text);
  return said;
}

/** A folder that is read entry by entry. */
class Listing {
  #left;
  constructor(path, options) {
    this.path = path;
    this.#left = readdir(path, { ...options, withFileTypes: true });
  }
  readSync() { return this.#left.shift() ?? null; }
  async read() { return this.readSync(); }
  closeSync() {}
  async close() {}
  async* [Symbol.asyncIterator]() { yield* this.#left; }
}

function realpath(path, options) {
  const text = textOf(path);
  if (text === undefined) return real.realpathSync(path, options);
  const whole = resolve(cwd, text);
  const target = look(whole);
  if (target === whole) return real.realpathSync(whole, options);
  tried(it => real.statSync(it), target, text);
  return whole;
}

function mkdtemp(prefix) {
  for (;;) {
    const path = prefix + Array.from({ length: 6 }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('');
    const target = write(resolve(cwd, path), 'fs.mkdtemp');
    if (real.existsSync(target)) continue;
    tried(it => real.mkdirSync(it, 0o700), target, path);
    return path;
  }
}

// ---------------------------------------------------------------------------- everything

function simulateTimes() {
  for (const name of ['fstat', 'fstatSync']) {
    const original = fs[name];
    const back = (fd, stats) => (opened.has(fd) ? dated(stats, opened.get(fd)) : stats);
    fs[name] = (fd, ...rest) => {
      const done = rest.at(-1);
      if (typeof done !== 'function') return back(fd, original(fd, ...rest));
      return original(fd, ...rest.slice(0, -1), (error, stats) => done(error, error ? stats : back(fd, stats)));
    };
  }
}

/** Have modules found that are named by a path of the folder: they lie where that shows through. */
function simulateModules() {
  const found = name => {
    const text = String(name);
    const path = text.startsWith(`file://${SHOWN}/`) ? fileURLToPath(text) : text;
    const rest = below(path, `${SHOWN}/work`);
    if (rest === null) return name;
    return root !== null && real.existsSync(inFolder(join('work', rest))) ? look(path) : join(origin, rest);
  };
  const { _resolveFilename: resolved, createRequire } = Module;
  Module._resolveFilename = (name, ...rest) => resolved.call(Module, found(name), ...rest);
  Module.createRequire = path => createRequire(found(path));
  // Node 20 has none: there, import() finds no such module.
  Module.registerHooks?.({
    resolve: (name, context, next) => {
      const path = found(name);
      const isUrl = path !== name && !context.conditions?.includes('require');
      return next(isUrl ? pathToFileURL(path).href : path, context);
    },
  });
}

/** SQLite of Node opens its files in C: it has those in memory alone. */
function refuseDatabases(refuseAll) {
  if (!Module.isBuiltin('node:sqlite')) return;
  const sqlite = require('node:sqlite');
  sqlite.DatabaseSync = class DatabaseSync extends sqlite.DatabaseSync {
    constructor(path, ...rest) {
      if (path !== ':memory:') refuse('sqlite.DatabaseSync with a file');
      super(path, ...rest);
    }
  };
  refuseAll(sqlite, 'sqlite', ['backup']);
}

/** Put everything in place; what is refused altogether, `refuseAll` refuses. */
function simulateFiles(world) {
  ({ refuse, random } = world);
  for (const holder of [fs, fs.promises]) {
    const translated = (base, places) => {
      const names = holder === fs ? [base, `${base}Sync`] : [base];
      for (const name of names) translate(holder, base, name, places);
    };
    for (const [base, places] of Object.entries(FUNCTIONS)) translated(base, () => places);
    translated('open', ([, flags]) => [isWriting(flags) ? write : look]);
    const refused = ['chown', 'cp', 'glob', 'lchown', 'link', 'lutimes', 'statfs', 'symlink', 'watch'];
    const label = holder === fs ? 'fs' : 'fs.promises';
    world.refuseAll(holder, label, holder === fs ? refused.flatMap(name => [name, `${name}Sync`]) : refused);
  }
  world.refuseAll(fs, 'fs', ['watchFile']);
  inThreeForms('readdir', readdir);
  inThreeForms('opendir', (path, options) => new Listing(textOf(path), options));
  inThreeForms('realpath', realpath);
  inThreeForms('mkdtemp', mkdtemp);
  simulateTimes();
  simulateModules();
  refuseDatabases(world.refuseAll);
  process.cwd = () => cwd;
  process.chdir = folder => {
    const whole = resolve(cwd, String(folder));
    tried(path => real.readdirSync(path), look(whole), String(folder));
    cwd = whole;
  };
  Object.assign(process.env, { HOME: `${SHOWN}/home` });
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = `${SHOWN}/tmp`;
}

/** Have the folder of the run from now on. */
function enter(folder) {
  root = folder;
  beganMs = Date.now();
}

module.exports = { simulateFiles, enter };
