// stud-cli, to be asked: the whole program, without a terminal.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { Readable, Writable } from "node:stream";
import { parseLaunchArgs } from "./dist/cli/launch-args.js";
import { runShell } from "./dist/cli/shell.js";
import { OPENAI, classed, said } from "./providers.mjs";

/** In the folder of the run. */
const HOME = os.homedir();

class Printed extends Writable {
  text = "";
  _write(chunk, encoding, done) { this.text += chunk; done(); }
}

let sessions = 0;

async function run(prompt, { flags = [], settings = {} } = {}) {
  const global = { providers: { "openai-compatible": OPENAI }, active: { provider: "openai-compatible" }, ...settings };
  fs.mkdirSync(`${HOME}/.stud`, { recursive: true });
  fs.writeFileSync(`${HOME}/.stud/settings.json`, JSON.stringify(global));
  const id = `s${++sessions}`;
  const [stdout, stderr] = [new Printed(), new Printed()];
  const args = parseLaunchArgs(["--headless", ...flags], { cwd: () => `${HOME}/project` });
  const { exitCode } = await runShell(args, {
    homedir: () => HOME, stdin: Readable.from([prompt]), stdout, stderr, packageVersion: "0.1.1", sessionIdFactory: () => id,
  });
  const path = `${HOME}/.stud/logs/session-${id}.jsonl`;
  const lines = fs.existsSync(path) ? fs.readFileSync(path, "utf8").trim().split("\n") : [];
  return { exitCode, stdout: stdout.text, stderr: stderr.text, events: lines.map(line => JSON.parse(line)) };
}

/** The last answer of a session, or the error of its turn, as its own log has them. */
export async function session(prompt) {
  const { events, stderr } = await run(prompt);
  const error = events.findLast(({ type }) => type === "TurnError")?.payload;
  if (error) throw classed(Object.assign(new Error(error.message), { code: error.code }), error.class);
  const answer = events.findLast(({ type }) => type === "ProviderResponse")?.payload;
  if (!answer) throw new Error(stderr);
  return said("message", answer.assistantText, answer.finishReason);
}

// ---------------------------------------------------------------------------- what it says of itself

/** Run it once. Returns JSON: exit code, what it printed, and its session log. */
async function story(prompt, options) {
  const { events, ...rest } = await run(prompt, options);
  // The wire itself, and the descriptions of all tools, are no events.
  const kept = events.filter(({ type }) => type !== "ProviderRawChunk");
  for (const { payload } of kept) delete payload.tools;
  return JSON.stringify({ ...rest, events: kept });
}

export const told = prompt => story(prompt);
export const yolo = prompt => story(prompt, { flags: ["--yolo"] });
export const wrongSettings = prompt => story(prompt, { settings: { providers: { "openai-compatible": { model: 7 } } } });
/** The session is written when it begins; each later write of it fails. */
export async function storeDown(prompt) {
  const { rename } = fs.promises;
  let writes = 0;
  fs.promises.rename = (from, to) => (to.includes("/sessions/") && ++writes > 1
    ? Promise.reject(Object.assign(new Error("EIO: i/o error"), { code: "EIO" })) : rename(from, to));
  syncBuiltinESMExports();
  return JSON.stringify({ ...JSON.parse(await story(prompt)), writes });
}
