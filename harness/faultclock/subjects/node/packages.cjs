// Packages as the user's own module finds them.
'use strict';
const { createRequire } = require('node:module');
const { dirname, join } = require('node:path');
const vm = require('node:vm');

const missing = error => ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(error?.code);

/** Return an import() that looks where the file at `path` would. */
function importerAt(path) {
  const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  return new vm.Script('name => import(name)', { filename: path, importModuleDynamically }).runInThisContext();
}

/** Return the files that may have a package: the user's, and the packages `through` which it may come. */
function placesFrom(file, through) {
  const from = [file];
  for (const outer of through) {
    try { from.push(createRequire(file).resolve(outer)); } catch { /* The user does not have it. */ }
  }
  return from;
}

/**
 * Return a package, as a module or as CommonJS: the one that `fits`.
 * @param through packages of the user's that may have it in their own folders.
 */
async function packageOf(name, file, { fits = () => true, through = [] } = {}) {
  for (const path of placesFrom(file, through)) {
    for (const load of [importerAt(path), createRequire(path)]) {
      try {
        const loaded = await load(name);
        if (fits(loaded)) return loaded;
      } catch (error) {
        if (!missing(error)) throw error;
      }
    }
  }
  return undefined;
}

/** Return a file beside the main one of a package, which it does not export, as a module and as CommonJS. */
async function insideOf(name, inner, file, through) {
  const found = [];
  for (const path of placesFrom(file, through)) {
    let beside;
    try { beside = join(dirname(createRequire(path).resolve(name)), inner); } catch { continue; }
    for (const [load, suffix] of [[importerAt(path), '.mjs'], [createRequire(path), '.js']]) {
      try { found.push(await load(`${beside}${suffix}`)); } catch { /* This version has none. */ }
    }
  }
  return found;
}

module.exports = { packageOf, insideOf };
