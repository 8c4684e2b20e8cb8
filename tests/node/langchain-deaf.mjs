// Wrong: its middleware asks a person, and does not read the answer.
import { createAgent, createMiddleware, tool } from 'langchain';
import { interrupt } from '@langchain/langgraph';
import { z } from 'zod';

const sendMail = tool(async ({ to, body }) => `${body.length} characters sent to ${to}`, {
  name: 'send_mail',
  description: 'Send a mail.',
  schema: z.object({ to: z.string(), body: z.string() }),
});

const asking = createMiddleware({
  name: 'HumanInTheLoopMiddleware',
  afterModel: {
    hook: async ({ messages }) => {
      const calls = messages.at(-1).tool_calls ?? [];
      if (calls.length) {
        await interrupt({
          actionRequests: calls.map(({ name, args }) => ({ name, args })),
          reviewConfigs: calls.map(({ name }) => ({
            actionName: name,
            allowedDecisions: ['approve', 'reject'],
          })),
        });
      }
    },
  },
});

export const agent = createAgent({
  model: 'openai:gpt-5.2',
  tools: [sendMail],
  middleware: [asking],
});
