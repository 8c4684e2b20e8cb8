import OpenAI from "openai";

export function ask(request) {
  const { apiKey, baseURL, timeoutMs: timeout, model, messages, stream, tools } = request;
  const client = new OpenAI({ apiKey, baseURL, timeout });
  return client.chat.completions.create({
    model,
    messages,
    ...(stream && { stream }),
    ...(tools.length && { tools }),
  });
}
