import { Mistral } from "@mistralai/mistralai";

export function ask(request) {
  const { apiKey, baseURL: serverURL, timeoutMs, model, messages, stream } = request;
  const client = new Mistral({ apiKey, serverURL, timeoutMs });
  return stream ? client.chat.stream({ model, messages }) : client.chat.complete({ model, messages });
}
