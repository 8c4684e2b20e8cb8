// A folder in memory. The host of Faultclock refuses to write files, and both systems keep theirs in
// a folder: what they do below HOME goes to memfs, with all other files as they are.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import memfs from "memfs";

export const HOME = "/simulated-home";
memfs.vol.mkdirSync(HOME, { recursive: true });

/** Descriptors of memfs are counted downwards from 2^31. */
const isHere = place => (typeof place === "string" ? place.startsWith(HOME) : place >= 2 ** 30);

function divert(real, kept) {
  for (const [name, original] of Object.entries(real)) {
    if (typeof original !== "function" || typeof kept[name] !== "function" || /^[A-Z]/.test(name)) continue;
    real[name] = (place, ...rest) => (isHere(place) ? kept[name](place, ...rest) : original.call(real, place, ...rest));
  }
}

divert(fs, memfs.fs);
divert(fs.promises, memfs.fs.promises);
syncBuiltinESMExports();
