// An agent of the OpenAI Agents SDK: one tool writes, one needs a yes, one reads.
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
const getWeather = tool({
  name: 'get_weather',
  description: 'Return the weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
});

export const agent = new Agent({
  name: 'Assistant',
  instructions: 'You help.',
  tools: [writeNote, sendMail, getWeather],
});
