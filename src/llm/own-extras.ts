import { isObject } from "./lenient-json.ts";
import type { Extras, Message, ModelRequest, ModelTurn } from "./model.ts";
import type { Probed } from "./probe.ts";

/**
 * A model that is given back its own extras alone: a conversation may have turns of several models, and what one provider
 * signed or encrypted is nothing that another one may see, or takes. `key` tells models apart, and stands in the record.
 */
export function withOwnExtras(model: Probed, key: string): Probed {
  return {
    ...model,
    respond: async (request, signal) => signed(await model.respond(ownAlone(request, key), signal), key),
  };
}

const sign = (given: Extras, key: string): Extras => ({ of: key, given });

/** Extras without a sign are of a record that an older version wrote: nobody knows whose they are, and so nobody gets them. */
function own(extras: Extras | undefined, key: string): Extras | undefined {
  return extras?.of === key && isObject(extras.given) ? extras.given : undefined;
}

function signed(turn: ModelTurn, key: string): ModelTurn {
  return {
    ...turn,
    toolCalls: turn.toolCalls.map((call) =>
      call.extras ? { ...call, extras: sign(call.extras, key) } : call,
    ),
    ...(turn.extras ? { extras: sign(turn.extras, key) } : {}),
  };
}

function ownAlone(request: ModelRequest, key: string): ModelRequest {
  const messages = request.messages.map((message): Message => {
    if (message.role !== "assistant") return message;
    const toolCalls = message.toolCalls.map((call) =>
      call.extras ? { ...call, extras: own(call.extras, key) } : call,
    );
    return { ...message, toolCalls, extras: own(message.extras, key) };
  });
  return { ...request, messages };
}
