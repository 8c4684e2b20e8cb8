// Errors of the program, described for the harness.
'use strict';
const world = require('./world.cjs');

const ERRORS_MAX = 16;

function nameOf(error) {
  const kind = error.constructor?.name;
  return kind && kind !== 'Error' && kind !== 'DOMException' ? kind : error.name || kind || 'Error';
}

/**
 * Return an error as the protocol has it.
 * @param place takes the frames of its stack; those of its causes are left as they are.
 * @param left how many errors may still be described.
 */
function described(error, place = frames => frames, left = ERRORS_MAX) {
  if (error === null || typeof error !== 'object') {
    return { type: 'thrown', message: String(error), stack: place([]), is_made: true };
  }
  const said = { type: 'Error', message: '', stack: [], is_made: true };
  try {
    Object.assign(said, { type: String(nameOf(error)), message: String(error.message ?? error) });
    said.stack = place(world.framesOf(error));
    // What an operation raises has no line of a program that made it.
    said.is_made = world.made.has(error)
      || !/^(Type|Range|Syntax|Reference|URI)Error$/.test(error.constructor?.name);
    for (const [name, key] of [['error_class', 'errorClass'], ['code', 'code']]) {
      if (typeof error[key] === 'string') said[name] = error[key];
    }
    if (left > 1 && error.cause instanceof Object) said.cause = described(error.cause, undefined, left - 1);
    if (left > 1 && Array.isArray(error.errors)) {
      said.errors = error.errors.slice(0, left - 1).map(item => described(item, undefined, 1));
    }
  } catch { /* A getter of the subject's may throw. */ }
  return said;
}

module.exports = { described };
