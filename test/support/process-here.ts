import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { type FromChild, ToChild } from "../../src/process/messages.ts";
import { createParentPort } from "../../src/process/parent-port.ts";
import { failureOf, runAssignment } from "../../src/process/run-assignment.ts";
import type { StartedReviewProcess } from "../../src/process/start-process.ts";

/**
 * A review process that is none: it does the work of one within this process, behind the same messages. A real one takes half a
 * second of a processor to load, and what it is good for is shown in `test/process` and from end to end.
 */
export function startProcessHere(): StartedReviewProcess {
  const ending = new AbortController();
  const { signal } = ending;
  const child = new EventEmitter();
  const send = (message: FromChild) =>
    void setImmediate(() => signal.aborted || child.emit("message", overTheWire(message)));
  const parent = createParentPort(send);
  const receive = (message: ToChild) =>
    message.type === "start"
      ? void runAssignment(message, parent, signal).then(send, (error) => send(failureOf(error, parent)))
      : parent.receive(message);
  // Whoever begins to listen is told first that it is ready.
  child.once("newListener", () => send({ type: "ready" }));
  const channel = {
    get connected() {
      return !signal.aborted;
    },
    send: (message: unknown) => void setImmediate(() => receive(ToChild.parse(overTheWire(message)))),
  };
  Object.defineProperties(child, Object.getOwnPropertyDescriptors(channel));
  return {
    // As much of one as those use who talk with it.
    child: child as unknown as ChildProcess,
    ended: new Promise(() => {}),
    stderrTail: () => "",
    [Symbol.dispose]: () => ending.abort(),
  };
}

/** What is left of a message that went from process to process. */
const overTheWire = (message: unknown): unknown => JSON.parse(JSON.stringify(message));
