import Anthropic from "@anthropic-ai/sdk";

// The API demands `max_tokens`. As in Python, streams are read with the SDK's own helper.
export function ask(request) {
  const { apiKey, baseURL, timeoutMs: timeout, model, messages, stream } = request;
  const client = new Anthropic({ apiKey, baseURL, timeout });
  const tools = request.tools.map(({ function: { name, description, parameters } }) => ({
    name,
    description,
    input_schema: parameters,
  }));
  const asked = { model, messages, max_tokens: 1024, ...(tools.length && { tools }) };
  return stream ? client.messages.stream(asked).finalMessage() : client.messages.create(asked);
}
