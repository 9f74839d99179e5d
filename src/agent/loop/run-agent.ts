import { AppError, asValue } from "../../core/errors.ts";
import type { Masks } from "../../core/secrets/masks.ts";
import { parseJson } from "../../core/text/json.ts";
import type { Masking } from "../llm/masked-request.ts";
import type { Message, ModelTurn, ToolCall } from "../llm/model.ts";
import type { AgentEvent, StopReason } from "../record/trajectory.ts";
import { refusedCall, runTool, toolNameIn, unknownTool } from "../tools/run-tool.ts";
import type { AnyTool, ToolContext } from "../tools/tool.ts";
import {
  type AnswerOptions,
  answerCalls,
  MAX_REPEATS,
  noCallsNudge,
  WRAP_UP_TURNS,
  wrapUpNudge,
} from "./answer-calls.ts";
import type { UsageTotals } from "./limits.ts";
import { type LoopOptions, LoopState } from "./loop-state.ts";

const WITHOUT_IT =
  "Change the lines around it with edit_file and leave its line as it is, or have the program read the value from its environment.";

/** Arguments that repeat text of the repository, which a tool looks up there. All others are the model's own text. */
const quoted = new Set(["quote", "old_string", "path", "file_path", "directory"]);
/** Arguments that are not looked up, and published as they are. */
const notLookedUp = new Set(["evidence"]);

/** Arguments that must not hold a mask, and what the model can do instead. */
const refusals: Partial<Record<AnyTool["kind"], Record<string, string>>> = {
  change: {
    content: WITHOUT_IT,
    new_string: WITHOUT_IT,
    path: "Leave that file to a person.",
    source_path: "Leave that file to a person.",
    destination_path: "Leave that file to a person.",
  },
  // A pattern is a program argument, which every user of the machine can see.
  read: { pattern: "Search for the name to which the value is assigned." },
};

type GivenCall = { arguments: unknown; note: string | null } | { refused: string };

/** Replaces masks by values in arguments that a tool looks up, or says why the call is refused. */
export async function unmaskCall(
  call: ToolCall,
  tool: AnyTool,
  conversation: readonly Message[],
  { masks, request }: Masking,
): Promise<GivenCall> {
  const asItIs = { arguments: call.arguments, note: null };
  const given = parsed(call.arguments);
  // JSON may escape any character.
  const plain = given === undefined ? call.arguments : JSON.stringify(given);
  if (!masks.looksMasked(plain)) return asItIs;
  // A recorded turn was requested by another process: masking the conversation again restores the masks that it saw.
  await request({ messages: conversation, tools: [], maxOutputTokens: 0 });
  if (!masks.holdsMask(plain)) return asItIs;
  if (given === undefined) return { refused: NOT_JSON };
  for (const [argument, instead] of Object.entries(refusals[tool.kind] ?? {}))
    if (holds(masks, given[argument])) return { refused: `${argument} holds a masked secret. ${instead}` };
  const { suggestion, ...kept } = given;
  if (!holds(masks, suggestion)) return { arguments: unmasked(given, masks), note: null };
  return { arguments: unmasked(kept, masks), note: NO_SUGGESTION };
}

const NOT_JSON = "the arguments hold a masked secret and are not valid JSON; send one JSON object";

const NO_SUGGESTION = "The suggestion was left out: it holds a masked secret.";

const holds = (masks: Masks, value: unknown) => typeof value === "string" && masks.holdsMask(value);

function unmasked(value: unknown, masks: Masks): unknown {
  if (Array.isArray(value)) return value.map((item) => unmasked(item, masks));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    if (notLookedUp.has(key)) return [key, inner];
    if (typeof inner !== "string") return [key, unmasked(inner, masks)];
    return [key, quoted.has(key) ? masks.unmask(inner) : inner];
  });
  return Object.fromEntries(entries);
}

function parsed(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text);
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
}

export interface Interjection {
  text: string;
  /** Called if the model is shown this text: a resumed run may show the recorded text instead. */
  shown(): void;
}

export interface AgentInput extends LoopOptions {
  context: ToolContext;
  /** Those of the tools through which this loop reports. */
  outputTools: readonly AnyTool[];
  masking?: Masking;
  emit(event: AgentEvent): void;
  /** Called after every turn that did not end the loop. `turnsLeft` is an estimate. */
  interject?(state: { turnsLeft: number; isLimitNear: boolean }): Promise<Interjection | null>;
}

export interface AgentResult {
  stopReason: StopReason;
  /** The conversation at the end, after compaction. */
  messages: readonly Message[];
  usage: UsageTotals;
  turns: number;
  modelError: AppError | null;
}

/** Turns in a row without a tool call that end the loop. */
const MAX_IDLE_TURNS = 3;

/** Lets a model work with tools until it finishes or a limit stops it. Only bugs, and a trajectory that cannot be written, reject. */
export async function runAgent(input: AgentInput): Promise<AgentResult> {
  const state = new LoopState(input);
  await state.begin();
  let stop: StopReason | AppError | undefined;
  while (stop === undefined) stop = await takeTurn(input, state);

  const modelError = stop instanceof AppError ? stop : null;
  const stopReason = stop instanceof AppError ? failureOf(stop) : stop;
  await state.recorder.stopped(stopReason, modelError);
  input.emit({ type: "stopped", reason: stopReason });
  return { stopReason, messages: state.messages, usage: state.usage, turns: state.turn, modelError };
}

/** What a provider refuses for its content or its length is the change's doing; all other failures are not. */
const failureOf = ({ code }: AppError): StopReason =>
  code === "content_refused" ? code : code === "too_large" ? "too_long" : "model_error";

async function takeTurn(input: AgentInput, state: LoopState): Promise<StopReason | AppError | undefined> {
  const stop = state.beforeTurn();
  if (stop) return stop;
  const turn = await askModel(input, state);
  if (turn instanceof AppError) {
    state.settle(null);
    const interrupted = state.interrupted();
    if (!interrupted && turn.code === "too_large" && state.shrinkWindow()) return undefined;
    return interrupted ?? turn;
  }
  // Asking again would only get the same refusal.
  if (turn.finishReason === "content_filter")
    return new AppError("content_refused", `The provider of ${input.model.name} refused the content`);

  const { content, extras } = turn;
  const known = new Set(state.tools.keys());
  const toolCalls = turn.toolCalls.map((call) => ({ ...call, name: toolNameIn(call.name, known) }));
  state.add([{ role: "assistant", content, toolCalls, ...(extras ? { extras } : {}) }]);
  if (toolCalls.length === 0) {
    state.idleTurns += 1;
    if (state.idleTurns >= MAX_IDLE_TURNS) return "no_tool_calls";
    await state.say(noCallsNudge(turn.finishReason, input.outputTools));
    return undefined;
  }

  state.idleTurns = 0;
  const repeats = state.repeats.count(toolCalls);
  const answers = await answerCalls(toolCalls, answerOptions(input, state, turn, repeats));
  const finished = answers.some((answer) => answer.endsLoop);
  const interrupted = state.interrupted();
  // Interrupted calls have incomplete answers, which a resumed run must not find.
  if (interrupted && !finished) return interrupted;
  state.add(answers.map(({ callId, text }) => ({ role: "tool", callId, content: text })));
  const turnsLeft = await state.recorder.results(
    state.turn,
    answers.map(({ callId, tool, text }) => ({ callId, tool, text })),
    state.turnsLeft(),
  );
  if (finished) return "finished";
  if (repeats >= MAX_REPEATS) return "repeated_calls";
  await speak(input, state, turnsLeft);
  return undefined;
}

/** The next turn, recorded and charged before it is acted on, or the error. */
async function askModel(input: AgentInput, state: LoopState): Promise<ModelTurn | AppError> {
  const { model, emit } = input;
  const turn = state.turn + 1;
  const request = {
    messages: state.messages,
    tools: state.definitions,
    maxOutputTokens: state.answerTokens(),
  };
  emit({ type: "turn_started", turn });
  const answer = await state.recorder.turn(turn, () => model.respond(request, state.signal).catch(asValue));
  if (answer instanceof AppError) return answer;
  state.charge(answer.usage);
  emit({ type: "turn_finished", turn, model: answer, total: state.usage });
  return answer;
}

function answerOptions(input: AgentInput, state: LoopState, turn: ModelTurn, repeats: number): AnswerOptions {
  const { context, emit, masking } = input;
  const onCrash = (tool: string, error: unknown) =>
    emit({ type: "tool_crashed", turn: state.turn, tool, error: String(error) });
  return {
    finishReason: turn.finishReason,
    tools: state.tools,
    repeats,
    isLast: () => state.isLast(),
    ...state.room,
    async execute(call) {
      const tool = state.tools.get(call.name);
      if (!tool) return unknownTool(call.name, [...state.tools.keys()]);
      const given = masking
        ? await unmaskCall(call, tool, state.messages, masking)
        : { arguments: call.arguments, note: null };
      if ("refused" in given) return refusedCall(given.refused);
      const run = await runTool(tool, given.arguments, context, { signal: state.signal, onCrash });
      return given.note === null ? run : { ...run, text: `${run.text} ${given.note}` };
    },
    started: (call) =>
      emit({
        type: "tool_started",
        turn: state.turn,
        tool: call.name,
        callId: call.id,
        arguments: call.arguments,
      }),
    finished: (call, { result, isWithheld = false }) =>
      emit({ type: "tool_finished", turn: state.turn, call, result, isWithheld }),
  };
}

/** Sends one message, if needed: once that a limit is near, and the interjection of the task. */
async function speak(
  { outputTools, interject }: AgentInput,
  state: LoopState,
  turnsLeft: number,
): Promise<void> {
  const isLimitNear = turnsLeft <= WRAP_UP_TURNS;
  const isTime = isLimitNear && turnsLeft > 0 && !state.wrappingUp;
  const interjection = (await interject?.({ turnsLeft, isLimitNear })) ?? null;
  const parts = [isTime ? wrapUpNudge(turnsLeft, outputTools) : null, interjection?.text ?? null];
  const text = parts.filter((part) => part !== null).join("\n\n");
  const said = await state.say(text === "" ? null : text);
  if (said === null) return;
  // The same call is meaningful again after a new message.
  state.repeats.reset();
  if (isTime) state.wrappingUp = true;
  if (said === text) interjection?.shown();
}
