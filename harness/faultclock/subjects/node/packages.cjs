// Packages as the user's own module finds them.
'use strict';
const { createRequire } = require('node:module');
const vm = require('node:vm');

const missing = error => ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(error?.code);

/** Return an import() that looks where the file at `path` would. */
function importerAt(path) {
  const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  return new vm.Script('name => import(name)', { filename: path, importModuleDynamically }).runInThisContext();
}

/**
 * Return a package, as a module or as CommonJS: the one that `fits`.
 * @param through packages of the user's that may have it in their own folders.
 */
async function packageOf(name, file, { fits = () => true, through = [] } = {}) {
  const from = [file];
  for (const outer of through) {
    try { from.push(createRequire(file).resolve(outer)); } catch { /* The user does not have it. */ }
  }
  for (const path of from) {
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

module.exports = { packageOf };
