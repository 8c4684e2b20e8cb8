// The names of agentool that stud-cli imports. The bodies are ours: what stud-cli does around a tool is
// what is tried here. `grep` fails, `sleep` never replies, `read` wants a path, and the others reply.
import { z } from "zod";

const tool = (execute, shape = {}) => () => ({ description: "", inputSchema: z.object(shape).passthrough(), execute });
const replies = tool(async () => "done");
const path = { file_path: z.string() };

export const createGrep = tool(async () => { throw new Error("EACCES: sk-simulated-0123456789abcdef0123"); });
export const createSleep = tool(() => new Promise(() => {}));
export const createRead = tool(async () => ({ text: "Hello." }), path);
export const createWrite = tool(async () => "written", path);
export const createAskUser = replies;
export const createBash = replies;
export const createDiff = replies;
export const createEdit = replies;
export const createGlob = replies;
export const createHttpRequest = replies;
export const createLsp = replies;
export const createMemory = replies;
export const createMultiEdit = replies;
export const createToolSearch = replies;
export const createWebFetch = replies;
export const createWebSearch = replies;

export async function compactMessages() {
  throw new Error("a stub of agentool compacts nothing");
}
