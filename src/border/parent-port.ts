import { Worker } from "node:worker_threads";
import type { Masking } from "../agent/llm/masked-request.ts";
import type { Model, ModelFacts, ModelRequest, ModelRole, Models, ModelTurn } from "../agent/llm/model.ts";
import type { RunEntry, Trajectory } from "../agent/record/trajectory.ts";
import type { JournalPort } from "../agent/tools/tool.ts";
import { AppError, type ErrorCode } from "../core/errors.ts";
import type { MaskNumbers } from "../core/secrets/masks.ts";
import { keepProgramsInThisGroup, killGroup } from "../repo/git/run-process.ts";
import type { ProgressEvent } from "../tasks/shapes/review-result.ts";
import type { FromChild, ToChild } from "./messages.ts";

type Answer = Exclude<ToChild, { type: "start" }>;

export type RecordMasks = (numbers: MaskNumbers) => Promise<void>;

/** The review process's side of the channel to its parent: model turns, records, notes and progress. */
export interface ParentPort {
  /** The only way to a model. Requests are sent with their secrets masked, after the numbers of new masks are recorded. */
  models(facts: Readonly<Record<ModelRole, ModelFacts>>, masking: Masking, record: RecordMasks): Models;
  trajectory: Trajectory;
  /** Notes for people; only if `takesNotes` is set. */
  journal: JournalPort;
  progress(event: ProgressEvent): void;
  receive(message: Answer): void;
}

/** `send` writes one message to the parent. */
export function createParentPort(send: (message: FromChild) => void): ParentPort {
  let count = 0;
  const turns = new Map<number, PromiseWithResolvers<ModelTurn>>();
  const records = new Map<number, PromiseWithResolvers<void>>();
  const notes = new Map<number, PromiseWithResolvers<string>>();

  function ask(role: ModelRole, request: ModelRequest, signal: AbortSignal): Promise<ModelTurn> {
    const number = ++count;
    const waiting = Promise.withResolvers<ModelTurn>();
    turns.set(number, waiting);
    // The loop must not wait for a useless answer. The parent's own request ends with this process.
    const abort = () => settle(turns, number)?.reject(new AppError("aborted", "The model turn was aborted"));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    send({
      type: "request_turn",
      request: number,
      role,
      model: { ...request, messages: [...request.messages], tools: [...request.tools] },
    });
    return waiting.promise;
  }

  function append(entry: RunEntry): Promise<void> {
    const number = ++count;
    const waiting = Promise.withResolvers<void>();
    records.set(number, waiting);
    send({ type: "record", number, entry });
    return waiting.promise;
  }

  function maskedModels(
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
        return ask(role, masked, signal);
      },
    });
    return { review: model("review"), verify: model("verify"), summarize: model("summarize") };
  }

  return {
    models: maskedModels,
    trajectory: { append },
    journal: {
      log(page, content) {
        const number = ++count;
        const waiting = Promise.withResolvers<string>();
        notes.set(number, waiting);
        send({ type: "note", number, page, content });
        return waiting.promise;
      },
    },
    progress: (event) => send({ type: "progress", event }),
    receive(message) {
      if (message.type === "recorded") return settle(records, message.number)?.resolve();
      if (message.type === "noted") return settle(notes, message.number)?.resolve(message.answer);
      const waiting = settle(turns, message.request);
      if (message.type === "turn") return waiting?.resolve(message.turn);
      const { code, message: text, remedy } = message.error;
      waiting?.reject(new AppError(code as ErrorCode, text, remedy ? { remedy } : {}));
    },
  };
}

function settle<T>(waiting: Map<number, T>, number: number): T | undefined {
  const one = waiting.get(number);
  waiting.delete(number);
  return one;
}

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
