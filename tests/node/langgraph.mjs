// A graph of LangGraph, whose tools hang on its ToolNode; no call needs a yes.
import { tool } from '@langchain/core/tools';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';

const writeNote = tool(async ({ path, text }) => `${text.length} characters written to ${path}`, {
  name: 'write_note',
  description: 'Write a note to a file.',
  schema: z.object({ path: z.string(), text: z.string() }),
});
const model = new ChatOpenAI({ model: 'gpt-4.1-mini' }).bindTools([writeNote]);

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode('tools', new ToolNode([writeNote]))
  .addEdge('__start__', 'model')
  .addConditionalEdges('model', toolsCondition)
  .addEdge('tools', 'model')
  .compile();
