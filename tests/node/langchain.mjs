// An agent of LangChain on LangGraph: one tool writes, one needs a yes, one reads.
import { createAgent, humanInTheLoopMiddleware, tool } from 'langchain';
import { z } from 'zod';

const writeNote = tool(async ({ path, text }) => `${text.length} characters written to ${path}`, {
  name: 'write_note',
  description: 'Write a note to a file.',
  schema: z.object({ path: z.string(), text: z.string() }),
});
const sendMail = tool(async ({ to, body }) => `${body.length} characters sent to ${to}`, {
  name: 'send_mail',
  description: 'Send a mail.',
  schema: z.object({ to: z.string(), body: z.string() }),
});
const getWeather = tool(async ({ city }) => `sunny in ${city}`, {
  name: 'get_weather',
  description: 'Return the weather in a city.',
  schema: z.object({ city: z.string() }),
});

export const agent = createAgent({
  model: 'openai:gpt-5.2',
  tools: [writeNote, sendMail, getWeather],
  middleware: [humanInTheLoopMiddleware({ interruptOn: { send_mail: true } })],
});
