/** Entry point of the review process: waits for its start message, does the work and sends the result. */
import { prepareAnalyzers } from "../tasks/rules/analyzers/analyze-change.ts";
import { runInChild, toFailure } from "./child-tasks.ts";
import { keepCompiledCodeNow } from "./compile-cache.ts";
import { type FromChild, ToChild } from "./messages.ts";
import { createParentPort, liveForParent } from "./parent-port.ts";

const send = (message: FromChild) => process.send?.(message);
const parent = createParentPort(send);
// Never fires: to cancel, the parent kills this process.
const { signal } = new AbortController();

async function work(start: Extract<ToChild, { type: "start" }>): Promise<void> {
  const result = await runInChild(start, parent, signal);
  // The parent kills this process when it has the result. By now everything that the next process needs is compiled.
  keepCompiledCodeNow();
  send(result);
}

const fail = (error: unknown) => send(toFailure(error, parent));
liveForParent(fail);

process.on("message", (raw) => {
  const message = ToChild.parse(raw);
  if (message.type !== "start") return parent.receive(message);
  void work(message).catch(fail);
});

send({ type: "ready" });
void prepareAnalyzers();
