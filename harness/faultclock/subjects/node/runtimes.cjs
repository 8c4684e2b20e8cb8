// Runtimes of the user's own: made of their surroundings in each life, and asked what they have.
'use strict';
const { readable } = require('./exports.cjs');
const { calledBack, use, tell } = require('./seam.cjs');

/** What a runtime may be asked; it says which of them it has. */
const ASKED = ['start', 'runTurn', 'streamTurn', 'ask', 'cancel', 'close'];

/** Give what the harness holds to the surroundings, as functions of each port. */
function equipped(surroundings, ports) {
  for (const { of, does, tells } of ports) {
    const port = of.split('.').reduce((inner, name) => inner[name], surroundings);
    for (const name of does) port[name] = (...given) => (tells ? tell : use)(of, name, given);
  }
  return surroundings;
}

let runtime = null;

async function make(value, [surroundings, ports]) {
  const given = equipped(surroundings, ports);
  const isClass = /^class\b/.test(Function.prototype.toString.call(value));
  runtime = isClass ? new value(given) : await value(given);
  if (typeof runtime?.runTurn !== 'function') throw new TypeError('it makes no object with runTurn(text)');
  return ASKED.filter(name => typeof runtime[name] === 'function');
}

/** Make the runtime of this life, ask it for something, or call it back: that is over before all that it causes. */
function lived(value, { do: what, arguments: given, callback }) {
  if (what === 'make') return make(value, given);
  const answer = what === 'back' ? calledBack(callback, given) : runtime[what](...given);
  return typeof answer?.then === 'function' ? Promise.resolve(answer).then(readable) : readable(answer);
}

module.exports = { lived };
