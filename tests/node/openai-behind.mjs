// Agents of the OpenAI Agents SDK that a function makes; the tools stand behind an agent as a tool.
import { Agent, tool } from '@openai/agents';
import { z } from 'zod';

const writeNote = tool({
  name: 'write_note',
  description: 'Write a note to a file.',
  parameters: z.object({ path: z.string(), text: z.string() }),
  execute: async ({ path, text }) => `${text.length} characters written to ${path}`,
});
const sendMail = tool({
  name: 'send_mail',
  description: 'Send a mail.',
  parameters: z.object({ to: z.string(), body: z.string() }),
  needsApproval: true,
  execute: async ({ to, body }) => `${body.length} characters sent to ${to}`,
});
const clerk = new Agent({ name: 'Clerk', instructions: 'You write.', tools: [writeNote, sendMail] });

export async function makeAgent() {
  const asked = clerk.asTool({ toolName: 'ask_clerk', toolDescription: 'Have something written.' });
  return new Agent({ name: 'Assistant', instructions: 'You help.', tools: [asked] });
}
