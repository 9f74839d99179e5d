/**
 * The client errors that the Chat Completions endpoint refuses with 400 and that our client could make. Real servers differ in strictness;
 * these are OpenAI's own rules, the strictest in wide use.
 */

/** A request body as received. It is unchecked until `complaintAbout` returns null. */
export interface ChatRequestBody {
  model: string;
  messages: WireMessage[];
  tools?: WireTool[];
  parallel_tool_calls?: boolean;
  max_tokens?: number;
  max_completion_tokens?: number;
  [key: string]: unknown;
}

export interface WireMessage {
  role: "system" | "developer" | "user" | "assistant" | "tool";
  content?: string | null;
  tool_call_id?: string;
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
}

export interface WireTool {
  type: string;
  function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean };
}

const knownKeys = new Set([
  ...[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "max_completion_tokens",
  ],
  ...["temperature", "top_p", "stop", "seed", "response_format", "reasoning_effort", "user", "n", "stream"],
  ...["prompt_cache_key", "safety_identifier", "store", "metadata", "service_tier", "verbosity"],
]);

/** The first error in a request, in the endpoint's words if they are known; null if the request is valid. */
export function complaintAbout(body: ChatRequestBody): string | null {
  if (typeof body !== "object" || body === null) return "We could not parse the JSON body of your request.";
  const unknown = Object.keys(body).find((key) => !knownKeys.has(key));
  if (unknown) return `Unrecognized request argument supplied: ${unknown}`;
  if (typeof body.model !== "string" || body.model === "") return "you must provide a model parameter";
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined) {
    return "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
  }
  return complaintAboutTools(body) ?? complaintAboutMessages(body.messages);
}

function complaintAboutTools(body: ChatRequestBody): string | null {
  const { tools } = body;
  if (tools === undefined) {
    return body.parallel_tool_calls === undefined
      ? null
      : "'parallel_tool_calls' is only allowed when 'tools' are specified.";
  }
  if (!Array.isArray(tools) || tools.length === 0) return "[] is too short - 'tools'";
  if (tools.length > 128)
    return "Invalid 'tools': array too long. Expected an array with maximum length 128.";
  const names = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    const complaint = complaintAboutTool(tool, `tools[${index}]`);
    if (complaint) return complaint;
    if (names.has(tool.function.name)) return `tools: duplicate function name '${tool.function.name}'`;
    names.add(tool.function.name);
  }
  return null;
}

function complaintAboutTool(tool: WireTool, place: string): string | null {
  if (tool.type !== "function") return `Invalid value: '${tool.type}'. Supported values are: 'function'.`;
  const { name, parameters } = tool.function ?? {};
  if (typeof name !== "string") return `Missing required parameter: '${place}.function.name'.`;
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    return `Invalid '${place}.function.name': string does not match pattern.`;
  if (parameters === undefined) return null;
  if (parameters.type !== "object")
    return `Invalid schema for function '${name}': schema must be of type "object".`;
  if (typeof parameters.properties !== "object")
    return `Invalid schema for function '${name}': object schema missing properties.`;
  const bare = arrayWithoutItems(parameters, "parameters");
  return bare
    ? `Invalid schema for function '${name}': In context ${bare}, array schema missing items.`
    : null;
}

function arrayWithoutItems(schema: unknown, place: string): string | null {
  if (typeof schema !== "object" || schema === null) return null;
  if (!Array.isArray(schema) && "type" in schema && schema.type === "array" && !("items" in schema))
    return place;
  for (const [key, value] of Object.entries(schema)) {
    const found = arrayWithoutItems(value, `${place}.${key}`);
    if (found) return found;
  }
  return null;
}

function complaintAboutMessages(messages: WireMessage[]): string | null {
  if (!Array.isArray(messages)) return "Missing required parameter: 'messages'.";
  if (messages.length === 0) return "[] is too short - 'messages'";
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const place = `messages.[${index}]`;
    if (message.role === "tool") {
      if (typeof message.content !== "string")
        return `Invalid type for '${place}.content': expected a string.`;
      if (!open.delete(message.tool_call_id ?? "")) {
        return `Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (${place}, id '${message.tool_call_id}').`;
      }
      continue;
    }
    if (open.size > 0) return unanswered(open);
    const complaint = complaintAboutMessage(message, place);
    if (complaint) return complaint;
    open = new Set(message.tool_calls?.map((call) => call.id));
  }
  return open.size > 0 ? unanswered(open) : null;
}

function complaintAboutMessage(message: WireMessage, place: string): string | null {
  if (!["system", "developer", "user", "assistant"].includes(message.role)) {
    return `Invalid value: '${message.role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`;
  }
  const calls = message.tool_calls;
  if (calls === undefined) {
    return typeof message.content === "string"
      ? null
      : `Invalid value for '${place}.content': expected a string, got null.`;
  }
  if (message.role !== "assistant") return `Unknown parameter: '${place}.tool_calls'.`;
  if (calls.length === 0)
    return `Invalid '${place}.tool_calls': empty array. Expected an array with minimum length 1.`;
  if (new Set(calls.map((call) => call.id)).size !== calls.length)
    return `Duplicate value for 'tool_call_id' in ${place}.`;
  for (const call of calls) {
    if (!call.id || call.id.length > 64) return `Invalid '${place}.tool_calls[].id': '${call.id}'.`;
    if (call.type !== "function") return `Invalid value: '${call.type}'. Supported values are: 'function'.`;
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(call.function.name))
      return `Invalid '${place}.tool_calls[].function.name': '${call.function.name}'.`;
    if (typeof call.function.arguments !== "string")
      return `Invalid type for '${place}.tool_calls[].function.arguments'.`;
  }
  return null;
}

const unanswered = (open: Set<string>) =>
  `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`;
