import { holdsPlainSecret, withoutLiveSecrets } from "../secrets/live-secrets.ts";
import type { Message, ModelRequest } from "./model.ts";

/*
 * What all providers need of a request before it is sent.
 */

/** The ids of all calls so far. */
export const idsOf = ({ messages }: ModelRequest): Set<string> =>
  new Set(
    messages.flatMap((message) =>
      message.role === "assistant" ? message.toolCalls.map((call) => call.id) : [],
    ),
  );

/** The name of a call in the letters that all providers accept. */
export const nameOnWire = (name: string): string =>
  name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unnamed";

/**
 * A request without the secrets of this server, which no model needs: a repository may contain one that was committed by mistake. A refusal
 * instead would make such a repository unreviewable.
 */
export function withoutServerSecrets(request: ModelRequest): ModelRequest {
  const messages = request.messages.map((message): Message => {
    const content = withoutSecrets(message.content);
    if (message.role !== "assistant") return { ...message, content };
    const toolCalls = message.toolCalls.map((call) => ({
      ...call,
      arguments: withoutSecrets(call.arguments),
    }));
    return { ...message, content, toolCalls };
  });
  return { ...request, messages };
}

/** The search for every spelling is slow on a long text, and only worth it if one is found. */
const withoutSecrets = (text: string) => (holdsPlainSecret(text) ? withoutLiveSecrets(text) : text);
