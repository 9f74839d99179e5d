import { Worker } from "node:worker_threads";
import type { Masking } from "../agent/llm/masked-request.ts";
import type { Model, ModelFacts, ModelRole, Models, ModelTurn } from "../agent/llm/model.ts";
import type { Trajectory } from "../agent/record/trajectory.ts";
import type { JournalPort } from "../agent/tools/tool.ts";
import { unlessAborted } from "../core/async.ts";
import { AppError, type ErrorCode } from "../core/errors.ts";
import type { MaskNumbers } from "../core/secrets/masks.ts";
import { keepProgramsInThisGroup, killGroup } from "../repo/git/run-process.ts";
import type { ProgressEvent } from "../tasks/shapes/review-result.ts";
import type { FromChild, ToChild } from "./messages.ts";

type Answer = Exclude<ToChild, { type: "start" }>;

export type RecordMasks = (numbers: MaskNumbers) => Promise<void>;

export type ParentPort = ReturnType<typeof createParentPort>;

/**
 * The review process's side of the channel to its parent: model turns, records, notes and progress.
 * @param send writes one message to the parent
 */
export function createParentPort(send: (message: FromChild) => void) {
  let count = 0;
  const waiting = new Map<number, (answer: Answer) => void>();

  /** Resolves to what `read` finds in the parent's answer; rejects if that is an error. */
  function ask<Value>(
    request: (number: number) => FromChild,
    read: (answer: Answer) => Value | AppError,
    signal?: AbortSignal,
  ): Promise<Value> {
    const number = ++count;
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    waiting.set(number, (answer) => {
      const value = read(answer);
      if (value instanceof AppError) reject(value);
      else resolve(value);
    });
    send(request(number));
    // A loop must not wait for a useless answer. The parent's own request ends with this process.
    const aborted = () => new AppError("aborted", "The model turn was aborted");
    return unlessAborted(promise, signal, aborted).finally(() => waiting.delete(number));
  }

  /** The only way to a model. Requests are sent with their secrets masked, after the numbers of new masks are recorded. */
  function models(
    facts: Readonly<Record<ModelRole, ModelFacts>>,
    masking: Masking,
    record: RecordMasks,
  ): Models {
    let recorded: Promise<unknown> = Promise.resolve();
    const model = (role: ModelRole): Model => ({
      ...facts[role],
      async respond(request, signal) {
        const masked = await masking.request(request);
        const fresh = masking.masks.takeFresh();
        // Also waits for numbers that another loop is recording.
        if (fresh) recorded = Promise.all([recorded, record(fresh)]);
        await recorded;
        const { messages, tools, maxOutputTokens } = masked;
        const asked = { messages: [...messages], tools: [...tools], maxOutputTokens };
        return ask((number) => ({ type: "request_turn", number, role, model: asked }), turnIn, signal);
      },
    });
    return { review: model("review"), verify: model("verify") };
  }

  return {
    models,
    trajectory: {
      append: (entry) =>
        ask(
          (number) => ({ type: "record", number, entry }),
          () => undefined,
        ),
    } satisfies Trajectory,
    /** Notes for people; only if `takesNotes` is set. */
    journal: {
      log: (page, content) =>
        ask(
          (number) => ({ type: "note", number, page, content }),
          (answer) => (answer.type === "noted" ? answer.answer : mixedUp()),
        ),
    } satisfies JournalPort,
    progress: (event: ProgressEvent) => send({ type: "progress", event }),
    receive(message: Answer) {
      const take = waiting.get(message.number);
      waiting.delete(message.number);
      take?.(message);
    },
  };
}

function turnIn(answer: Answer): ModelTurn | AppError {
  if (answer.type === "turn") return answer.turn;
  if (answer.type !== "turn_failed") return mixedUp();
  const { code, message, remedy } = answer.error;
  return new AppError(code as ErrorCode, message, { remedy: remedy ?? undefined });
}

const mixedUp = () => new AppError("child_died", "The parent gave the answer to another request");

/** Must not depend on the event loop of the main thread, which may be blocked. */
const thread = `
const { workerData } = require("node:worker_threads");
const never = new Int32Array(new SharedArrayBuffer(4));
while (process.ppid === workerData.parent) Atomics.wait(never, 0, 0, workerData.everyMs);
try { process.kill(-process.pid, "SIGKILL"); } catch {}
// Reached only by a process in a group of others.
process.kill(process.pid, "SIGKILL");
`;

/** Kills this process's group soon after the parent has died, even if hostile text blocks the main thread. The thread takes 50 ms to start. */
export function watchParent(afterMs = 2_000, everyMs = 1_000): void {
  const parent = process.ppid;
  const start = () => new Worker(thread, { eval: true, env: {}, workerData: { parent, everyMs } }).unref();
  setTimeout(start, afterMs).unref();
}

/**
 * Ties this process to its parent, which kills its process group.
 * @param fail receives uncaught errors
 * @param watchAfterMs at once in a process that native code may block
 */
export function liveForParent(fail: (error: unknown) => void, watchAfterMs?: number): void {
  keepProgramsInThisGroup();
  watchParent(watchAfterMs);
  // Without a parent, nothing would end this process if it hangs.
  process.on("disconnect", () => {
    killGroup(process, "SIGKILL");
    process.exit(1);
  });
  process.on("uncaughtException", fail);
  process.on("unhandledRejection", fail);
}
