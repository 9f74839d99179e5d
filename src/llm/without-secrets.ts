import { holdsPlainSecret, withoutLiveSecrets } from "../secrets/live-secrets.ts";
import type { Message, ModelRequest } from "./model.ts";

/**
 * A request without the secrets of this server, of which no model needs any: the repository may hold one that somebody has
 * committed. It could be reviewed no more if such a request were just refused.
 */
export function withoutServerSecrets(request: ModelRequest): ModelRequest {
  return { ...request, messages: request.messages.map(cleaned) };
}

function cleaned(message: Message): Message {
  const content = clean(message.content);
  if (message.role !== "assistant") return { ...message, content };
  const toolCalls = message.toolCalls.map((call) => ({ ...call, arguments: clean(call.arguments) }));
  return { ...message, content, toolCalls };
}

/** The look for every spelling takes long for a long text, and is worth it only where one is found. */
const clean = (text: string) => (holdsPlainSecret(text) ? withoutLiveSecrets(text) : text);
