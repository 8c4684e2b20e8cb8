import { GoogleGenAI } from "@google/genai";

export function ask(request) {
  const { apiKey, baseURL: baseUrl, timeoutMs: timeout, model, messages, stream } = request;
  const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl, timeout } });
  const functionDeclarations = request.tools.map(({ function: { parameters, ...tool } }) => ({
    ...tool,
    parametersJsonSchema: parameters,
  }));
  const asked = {
    model,
    contents: messages.map(({ content }) => content).join("\n"),
    ...(functionDeclarations.length && { config: { tools: [{ functionDeclarations }] } }),
  };
  return stream ? client.models.generateContentStream(asked) : client.models.generateContent(asked);
}
