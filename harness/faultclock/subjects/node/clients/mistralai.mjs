import { Mistral } from "@mistralai/mistralai";

export function ask(request) {
  const { apiKey, baseURL: serverURL, timeoutMs, model, messages, stream, tools } = request;
  const client = new Mistral({ apiKey, serverURL, timeoutMs });
  const asked = { model, messages, ...(tools.length && { tools }) };
  return stream ? client.chat.stream(asked) : client.chat.complete(asked);
}
