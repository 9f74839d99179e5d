/** The review process: waits for its start message, reviews or answers a question, and hands back what came of it. */
import { prepareAnalyzers } from "../analyzers/analyze-change.ts";
import { carryOut, failureOf } from "./carry-out.ts";
import { keepCompiledCodeNow } from "./compile-cache.ts";
import { liveForParent } from "./live-for-parent.ts";
import { type FromChild, ToChild } from "./messages.ts";
import { createParentPort } from "./parent-port.ts";

const send = (message: FromChild) => process.send?.(message);
const parent = createParentPort(send);
// The parent ends this process when its work is no longer wanted.
const { signal } = new AbortController();

async function work(start: Extract<ToChild, { type: "start" }>): Promise<void> {
  const outcome = await carryOut(start, parent, signal);
  // The parent kills this process as soon as it has the outcome. By now all is compiled that the next one will need.
  keepCompiledCodeNow();
  send(outcome);
}

const fail = (error: unknown) => send(failureOf(error, parent));
liveForParent(fail);

process.on("message", (raw) => {
  const message = ToChild.parse(raw);
  if (message.type !== "start") return parent.receive(message);
  void work(message).catch(fail);
});

send({ type: "ready" });
void prepareAnalyzers();
