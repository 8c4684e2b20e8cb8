import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";

// `textStream` leaves errors out, by design: `onError` has them (ai-sdk.dev, `streamText`).
export async function ask(request) {
  const { apiKey, baseURL, timeoutMs, model, messages, stream } = request;
  const asked = {
    model: createOpenAI({ apiKey, baseURL }).chat(model),
    messages,
    abortSignal: AbortSignal.timeout(timeoutMs),
  };
  return stream ? streamText(asked).textStream : (await generateText(asked)).text;
}
