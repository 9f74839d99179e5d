import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { runInChild, toFailure } from "../../src/border/child-tasks.ts";
import { type FromChild, ToChild } from "../../src/border/messages.ts";
import { createParentPort } from "../../src/border/parent-port.ts";
import type { StartedProcess } from "../../src/border/start-process.ts";

/**
 * A review process inside this process, behind the same messages. A real one takes half a second of processor time to load; `test/border`
 * and the end-to-end tests use real ones.
 */
export function startProcessHere(): StartedProcess {
  const ending = new AbortController();
  const { signal } = ending;
  const child = new EventEmitter();
  const send = (message: FromChild) =>
    void setImmediate(() => signal.aborted || child.emit("message", overTheWire(message)));
  const parent = createParentPort(send);
  const receive = (message: ToChild) =>
    message.type === "start"
      ? void runInChild(message, parent, signal).then(send, (error) => send(toFailure(error, parent)))
      : parent.receive(message);
  // The first listener gets the ready message.
  child.once("newListener", () => send({ type: "ready" }));
  const channel = {
    get connected() {
      return !signal.aborted;
    },
    send: (message: unknown) => void setImmediate(() => receive(ToChild.parse(overTheWire(message)))),
  };
  Object.defineProperties(child, Object.getOwnPropertyDescriptors(channel));
  return {
    // The members of a child process that callers use.
    child: child as unknown as ChildProcess,
    ended: new Promise(() => {}),
    stderrTail: () => "",
    [Symbol.dispose]: () => ending.abort(),
  };
}

/** A message as another process receives it. */
const overTheWire = (message: unknown): unknown => JSON.parse(JSON.stringify(message));
