import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

/**
 * The client errors that the Messages API refuses with 400 and that a client of ours could make, in the service's words if they are known.
 *
 * Sources, named at each rule: "docs" is a page of platform.claude.com/docs/en, "types" a doc comment of @anthropic-ai/sdk 1.14.0, and
 * `owner/name#1` a thread that quotes the service's answer (second-hand). "strict" is a rule that is stricter than the service: what our client
 * never sends is refused, so that nothing here has to judge it.
 */

export interface ClaudeBlock {
  type: string;
  text?: string;
  thinking?: string;
  signature?: string;
  data?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: string | ClaudeBlock[];
  is_error?: boolean;
  cache_control?: { type: string };
  [key: string]: unknown;
}

export interface ClaudeMessage {
  role: string;
  content: string | ClaudeBlock[];
}

export interface ClaudeTool {
  name: string;
  description?: string;
  input_schema: { type: string; [key: string]: unknown };
  [key: string]: unknown;
}

/** A request body as received. It is unchecked until `complaintAbout` returns null. */
export interface MessagesBody {
  model: string;
  max_tokens: number;
  messages: ClaudeMessage[];
  system?: string | ClaudeBlock[];
  tools?: ClaudeTool[];
  tool_choice?: { type: string };
  thinking?: { type: string; budget_tokens?: number };
  output_config?: { effort?: string };
}

/** What the service remembers of an answer with thinking. A real one has it in the signatures. */
export interface Thought {
  model: string;
  /** The answer's blocks, in order. */
  blocks: ClaudeBlock[];
  /** `prefixBefore` of the request that it answered. */
  prefix: string;
  /** The last thought in the request that it answered. */
  before: Thought | null;
}

/** A service that judges requests. */
export interface Service {
  /** `adaptive`: Claude 4.7 and later. `budget`: Claude 4.5 and earlier. docs: build-with-claude/thinking-troubleshooting, table by model. */
  family: "adaptive" | "budget";
  mostOutputTokens: number;
  contextTokens: number;
  /** Checks as Claude Fable 5.1 and later do. docs: build-with-claude/preserved-thinking. */
  preserved: boolean;
  /** By the `signature` or `data` of each block with thinking. */
  thoughts: ReadonlyMap<string, Thought>;
}

/** strict: types, MessageCreateParamsBase, has more. */
const knownKeys = {
  body: ["model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config"],
  thinking: ["type", "budget_tokens"],
  output_config: ["effort"],
  tool_choice: ["type"],
};

/** strict: types, ContentBlockParam, has more. Blocks with thinking take no `cache_control`: Wei-Shaw/sub2api#225, docs: build-with-claude/prompt-caching. */
const blockKeys: Record<string, readonly string[]> = {
  text: ["text", "cache_control"],
  thinking: ["thinking", "signature"],
  redacted_thinking: ["data"],
  tool_use: ["id", "name", "input"],
  tool_result: ["tool_use_id", "content", "is_error", "cache_control"],
};

const efforts = ["low", "medium", "high", "xhigh", "max"];

export const blocksOf = (content: string | ClaudeBlock[] | undefined): ClaudeBlock[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);

export const isThinking = (block: ClaudeBlock) =>
  block.type === "thinking" || block.type === "redacted_thinking";

/** About four characters a token. Real tokenizers differ by model, and no test depends on them. */
export const tokensOf = (value: unknown) => Math.ceil(JSON.stringify(value).length / 4);

/** Marks for the cache are no part of the prompt. */
export const promptTokens = ({ tools = [], system = [], messages }: MessagesBody) =>
  Math.ceil(unmarked([tools, system, messages]).length / 4);

/** The first error in a request, null if the request is valid. */
export function complaintAbout(body: MessagesBody, service: Service): string | null {
  return (
    firstOf(
      ...Object.entries(knownKeys).map(([name, known]) => unknownKey(name, known, body)),
      !body.model && "model: Field required",
      !Array.isArray(body.messages) && "messages: Field required",
      !Array.isArray(body.tools ?? []) && "tools: Input should be a valid list",
    ) ??
    complaintAboutMaximum(body, service) ??
    complaintAboutThinkingParameters(body, service) ??
    complaintAboutTools(body) ??
    complaintAboutMessages(body, service) ??
    complaintAboutCalls(body.messages) ??
    thoughtsSentBack(body, service).complaint ??
    complaintAboutStart(body, service) ??
    complaintAboutCacheControl(body) ??
    complaintAboutSize(body, service)
  );
}

function unknownKey(name: string, known: readonly string[], body: MessagesBody): string | undefined {
  const value = name === "body" ? body : (body[name as keyof MessagesBody] ?? {});
  const key = Object.keys(value).find((one) => !known.includes(one));
  return key && `${name === "body" ? "" : `${name}.`}${key}: Extra inputs are not permitted`;
}

const firstOf = (...complaints: unknown[]): string | null =>
  (complaints.find((complaint) => typeof complaint === "string" && complaint !== "") as string) ?? null;

const firstIn = <T>(items: T[], complain: (item: T, index: number) => string | null): string | null =>
  firstOf(...items.map(complain));

/** anthropics/claude-code#24451. strict: types allow 0, which only fills the prompt cache; our clients want an answer. */
const complaintAboutMaximum = (
  { max_tokens: asked, model }: MessagesBody,
  { mostOutputTokens: most }: Service,
) =>
  firstOf(
    asked === undefined && "max_tokens: Field required",
    !Number.isInteger(asked) && "max_tokens: Input should be a valid integer",
    asked < 1 && "max_tokens: Input should be greater than or equal to 1",
    asked > most &&
      `max_tokens: ${asked} > ${most}, which is the maximum allowed number of output tokens for ${model}`,
  );

/**
 * docs: api/errors, "Extended thinking not supported" and "Adaptive thinking not supported"; types, ThinkingConfigEnabled. The words:
 * TauricResearch/TradingAgents#831, themaximalist/llm.js#30, quarkiverse/quarkus-langchain4j#1812. strict: other types than these exist.
 */
function complaintAboutThinkingParameters(
  { thinking, output_config, max_tokens }: MessagesBody,
  { family }: Service,
): string | null {
  const { type, budget_tokens: budget } = thinking ?? {};
  const effort = output_config?.effort;
  const isBudget = family === "budget";
  return firstOf(
    ![undefined, "enabled", "adaptive"].includes(type) &&
      `thinking: Input tag '${type}' does not match any of the expected tags`,
    budget && type !== "enabled" && `thinking.${type}.budget_tokens: Extra inputs are not permitted`,
    effort &&
      !efforts.includes(effort) &&
      "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    !isBudget &&
      type === "enabled" &&
      `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`,
    isBudget && type === "adaptive" && "adaptive thinking is not supported on this model",
    isBudget && effort && "This model does not support the effort parameter.",
    type === "enabled" &&
      !(Number(budget) >= 1024) &&
      "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    type === "enabled" &&
      Number(budget) >= max_tokens &&
      "`max_tokens` must be greater than `thinking.budget_tokens`.",
  );
}

/** types, Tool. The words: BerriAI/litellm#26788, tailcallhq/forgecode#892. */
function complaintAboutTools(body: MessagesBody): string | null {
  const { tools = [], tool_choice: choice } = body;
  const called = body.messages.some(({ content }) =>
    blocksOf(content).some(({ type }) => type.startsWith("tool_")),
  );
  return (
    firstIn(tools, (tool, index) =>
      firstOf(
        !matches(/^[a-zA-Z0-9_-]{1,128}$/, tool.name) &&
          `tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`,
        typeof (tool.description ?? "") !== "string" &&
          `tools.${index}.custom.description: Input should be a valid string`,
        !tool.input_schema && `tools.${index}.custom.input_schema: Field required`,
        tool.input_schema?.type !== "object" &&
          `tools.${index}.custom.input_schema.type: Input should be 'object'`,
      ),
    ) ??
    firstOf(
      new Set(tools.map((tool) => tool.name)).size < tools.length && "tools: Tool names must be unique.",
      // Only public code quotes these words and those about tools that are not provided.
      called &&
        tools.length === 0 &&
        "Requests which include `tool_use` or `tool_result` blocks must define tools.",
      // strict: some models can be forced to call a tool.
      choice &&
        choice.type !== "none" &&
        `tool_choice: type "${choice.type}" is not supported for this model.`,
    )
  );
}

const matches = (pattern: RegExp, text: unknown) => typeof text === "string" && pattern.test(text);

/** danny-avila/LibreChat#7346; docs: api/errors, "Prefill not supported"; tailcallhq/forgecode#1872. The word "user" is quoted by public code only. */
function complaintAboutMessages({ messages, system }: MessagesBody, { family }: Service): string | null {
  const last = messages.at(-1);
  const prefilled = last?.role === "assistant";
  return firstOf(
    messages.length === 0 && "messages: at least one message is required",
    Array.isArray(system) &&
      system.some(({ text }) => !text?.trim()) &&
      "system: text content blocks must be non-empty",
    messages[0]?.role !== "user" && 'messages: first message must use the "user" role',
    firstIn(messages, (message, index) => complaintAboutMessage(message, `messages.${index}`)),
    prefilled &&
      family === "adaptive" &&
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    prefilled &&
      /\s$/.test(blocksOf(last.content).at(-1)?.text ?? "") &&
      "messages: final assistant content cannot end with trailing whitespace",
  );
}

/**
 * Consecutive messages of one role are right: the service combines them (types, `messages`). strict: docs,
 * build-with-claude/mid-conversation-system-messages, allow the role "system" after a user turn on some models, never as the first.
 * Blocks with thinking come first, and not last: anthropics/claude-code#20705, tailcallhq/forgecode#2107.
 */
function complaintAboutMessage({ role, content }: ClaudeMessage, place: string): string | null {
  const blocks = Array.isArray(content) ? content : blocksOf(content);
  const [head, tail] = [blocks[0]?.type ?? "", blocks.at(-1)?.type ?? ""];
  return firstOf(
    role === "system" && `${place}: role 'system' is not supported on this model`,
    role !== "user" && role !== "assistant" && `${place}.role: Input should be 'user' or 'assistant'`,
    !content?.length &&
      `${place}: all messages must have non-empty content except for the optional final assistant message`,
    firstIn(blocks, (block, index) =>
      complaintAboutBlock(block, role, `${place}.content.${index}.${block.type}`),
    ),
    !isThinking({ type: head }) &&
      blocks.some(isThinking) &&
      `${place}.content.0: If an assistant message contains any thinking blocks, the first block must be \`thinking\` or \`redacted_thinking\`. Found \`${head}\`.`,
    isThinking({ type: tail }) && `${place}: The final block in an assistant message cannot be \`thinking\`.`,
  );
}

/**
 * The words about roles, inputs and failed calls are quoted by public code only. Texts: LibreChat-AI/agents#124 (strict: it saw white space
 * accepted beside other text), anthropics/claude-code#54013.
 */
function complaintAboutBlock(block: ClaudeBlock, role: string, place: string): string | null {
  const { type, text, content } = block;
  const keys = blockKeys[type];
  const extra = Object.keys(block).find((key) => key !== "type" && !keys?.includes(key));
  const of = type === "tool_result" ? "user" : type === "tool_use" || isThinking(block) ? "assistant" : role;
  const complaint = firstOf(
    !keys && `${place}: Input tag '${type}' does not match any of the expected tags`,
    extra && `${place}.${extra}: Extra inputs are not permitted`,
    role !== of && `${place.split(".content")[0]}: \`${type}\` blocks can only be in \`${of}\` messages`,
  );
  if (complaint) return complaint;
  if (type === "text") {
    return firstOf(
      typeof text !== "string" && `${place}.text: Input should be a valid string`,
      text === "" && block.cache_control && `${place}: cache_control cannot be set for empty text blocks`,
      text === "" && "messages: text content blocks must be non-empty",
      !String(text).trim() && "messages: text content blocks must contain non-whitespace text",
    );
  }
  if (type === "tool_use") {
    const isObject = typeof block.input === "object" && block.input !== null && !Array.isArray(block.input);
    return firstOf(
      !matches(/^[a-zA-Z0-9_-]+$/, block.id) && `${place}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
      !matches(/^[a-zA-Z0-9_-]{1,128}$/, block.name) &&
        `${place}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`,
      !isObject && `${place}.input: Input should be a valid dictionary`,
    );
  }
  if (type !== "tool_result") return null;
  const inner = Array.isArray(content) ? content : [];
  return firstOf(
    typeof block.tool_use_id !== "string" && `${place}.tool_use_id: Field required`,
    block.is_error && !content?.length && `${place}: content cannot be empty if \`is_error\` is true`,
    firstIn(inner, (one, index) => complaintAboutBlock(one, role, `${place}.content.${index}.${one.type}`)),
  );
}

/**
 * docs: agents-and-tools/tool-use/handle-tool-calls. The words: anthropics/claude-code#5989 and #13460, trycua/cua#524,
 * vectorize-io/hindsight#4250. A result behind another block does not count as "immediately after".
 */
function complaintAboutCalls(messages: ClaudeMessage[]): string | null {
  const seen = new Set<string>();
  let open: string[] = [];
  for (const [index, { content }] of [...messages, { content: "end" }].entries()) {
    const blocks = blocksOf(content);
    const leading = blocks.findIndex(({ type }) => type !== "tool_result");
    const answered = (leading < 0 ? blocks : blocks.slice(0, leading)).map(
      (block) => block.tool_use_id ?? "",
    );
    const missing = open.filter((id) => !answered.includes(id));
    const complaint = firstOf(
      firstIn(blocks, ({ type, id = "", tool_use_id: of = "" }, at) => {
        const twice = blocks.findIndex((block) => block.tool_use_id === of) !== at;
        const known = seen.has(id);
        if (type === "tool_use") seen.add(id);
        return firstOf(
          type === "tool_use" && known && `messages.${index}.content.${at}: \`tool_use\` ids must be unique`,
          type === "tool_result" &&
            !open.includes(of) &&
            `messages.${index}.content.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${of}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
          type === "tool_result" &&
            twice &&
            `messages.${index}.content.${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${of}`,
        );
      }),
      missing.length > 0 &&
        `messages.${index - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    );
    if (complaint) return complaint;
    open = blocks.filter(({ type }) => type === "tool_use").map(({ id = "" }) => id);
  }
  return null;
}

interface SentBack {
  complaint: string | null;
  /** The last thought that the model sees. */
  last: Thought | null;
}

/**
 * Whether each answer with thinking comes back as it was given. docs: api/errors, "Thinking blocks cannot be modified", and
 * build-with-claude/preserved-thinking, "What counts as an edit".
 *
 * strict: the service cannot see from a signature that only the text or the calls beside it changed, and it names the latest assistant
 * message only; a client that sends back all it was given never finds out.
 */
export function thoughtsSentBack(body: MessagesBody, service: Service): SentBack {
  const sentBack: SentBack = { complaint: null, last: null };
  for (const [index, message] of body.messages.entries()) {
    const blocks = blocksOf(message.content);
    for (let at = 0; at < blocks.length; at++) {
      const block = blocks[at] as ClaudeBlock;
      if (!isThinking(block)) continue;
      const refuse = (why: string, where = at) => ({
        ...sentBack,
        complaint: `messages.${index}.content.${where}: ${why}`,
      });
      const invalid = `Invalid \`${block.type === "thinking" ? "signature" : "data"}\` in \`${block.type}\` block`;
      const thought = service.thoughts.get(block.signature ?? block.data ?? "");
      // vybestack/llxprt-code#2335; strict: since September 2026 the thinking of another model is dropped without an error.
      if (thought?.model !== body.model || !thought.blocks.some((one) => sameBlock(one, block)))
        return refuse(invalid);
      const changed = thought.blocks.findIndex((one, offset) => !sameBlock(one, blocks[at + offset]));
      if (changed >= 0) return refuse(modified, at + changed);
      const isChained = sentBack.last === null || thought.before === sentBack.last;
      if (service.preserved && !(isChained && prefixBefore(body, index, at) === thought.prefix))
        return refuse(boundElsewhere);
      sentBack.last = thought;
      at += thought.blocks.length - 1;
    }
  }
  return sentBack;
}

const modified =
  "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.";

/** docs: build-with-claude/thinking-troubleshooting, "A 400 error says a thinking block signature is invalid". */
const boundElsewhere =
  "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block.";

/** A client may drop the keys that say nothing (`citations: null`, `caller`) and add `cache_control`. */
function sameBlock(given: ClaudeBlock, back: ClaudeBlock | undefined): boolean {
  const keys = ["type", "text", "thinking", "signature", "data", "id", "name", "input"];
  return back !== undefined && keys.every((key) => isDeepStrictEqual(given[key], back[key]));
}

/** A hash of what preserved thinking binds a block to: the system prompt, the set of tools, and every message before, without thinking and marks. */
export function prefixBefore(body: MessagesBody, index = body.messages.length, at = 0): string {
  const kept = (content: ClaudeMessage["content"], to?: number) =>
    blocksOf(content)
      .slice(0, to)
      .filter((block) => !isThinking(block));
  const before: { role: string; blocks: ClaudeBlock[] }[] = [];
  for (const [i, { role, content }] of body.messages.slice(0, index + 1).entries()) {
    const blocks = i === index ? kept(content, at) : kept(content);
    if (blocks.length === 0) continue;
    if (before.at(-1)?.role === role) before.at(-1)?.blocks.push(...blocks);
    else before.push({ role, blocks });
  }
  const tools = (body.tools ?? []).map(unmarked).sort();
  return createHash("sha256")
    .update(unmarked([blocksOf(body.system), tools, before]))
    .digest("hex");
}

/** JSON of what the model sees: without marks for the cache and keys that say nothing. */
export const unmarked = (value: unknown) =>
  JSON.stringify(value, (key, inner) =>
    key === "cache_control" || key === "caller" || inner === null ? undefined : inner,
  );

/** With a budget the turn that a tool loop continues begins with thinking; adaptive thinking does not need it. anomalyco/opencode#3077; docs: build-with-claude/adaptive-thinking, "Validation changes". */
function complaintAboutStart({ thinking, messages }: MessagesBody, { family }: Service): string | null {
  if (family !== "budget" || thinking?.type !== "enabled") return null;
  const asked = messages.findLastIndex(
    ({ role, content }) => role === "user" && blocksOf(content).every(({ type }) => type !== "tool_result"),
  );
  const found = blocksOf(messages[asked + 1]?.content)[0];
  return found && !isThinking(found)
    ? `messages.${asked + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${found.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`.`
    : null;
}

/** A place in the prompt that the cache knows. */
export interface Position {
  /** A role for what is in a message. */
  part: string;
  block: ClaudeBlock | ClaudeTool;
  isMarked: boolean;
}

/** In the order of the prompt. docs: build-with-claude/prompt-caching, "Explicit cache breakpoints". */
export function positions({ tools = [], system, messages }: MessagesBody): Position[] {
  const of = (part: string, blocks: readonly (ClaudeBlock | ClaudeTool)[]) =>
    blocks.map((block): Position => ({ part, block, isMarked: block.cache_control !== undefined }));
  return [
    ...of("tools", tools),
    ...of("system", blocksOf(system)),
    ...messages.flatMap(({ content }) => of("messages", blocksOf(content))),
  ];
}

/** tghamm/Anthropic.SDK#50. strict: a mark can have a time to live, the whole request a mark, and a block inside a result, too. */
function complaintAboutCacheControl(body: MessagesBody): string | null {
  const marks = positions(body).filter(({ isMarked }) => isMarked);
  const isPlain = ({ block }: Position) => isDeepStrictEqual(block.cache_control, { type: "ephemeral" });
  return firstOf(
    !marks.every(isPlain) && "cache_control: Input should be 'ephemeral'",
    marks.length > 4 && `A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`,
  );
}

/** anthropics/claude-code#12186. docs: build-with-claude/context-windows: since Claude 4.5 the prompt and `max_tokens` together may exceed the window. */
function complaintAboutSize(body: MessagesBody, { contextTokens }: Service): string | null {
  const tokens = promptTokens(body);
  return tokens > contextTokens ? `prompt is too long: ${tokens} tokens > ${contextTokens} maximum` : null;
}
