import type { ServerContext } from "@modelcontextprotocol/server";
import type { ProgressEvent } from "../review/progress.ts";
import { advance, noProgress, statusLine } from "./progress.ts";

/** Between two notifications, in milliseconds. Clients give up on calls of which they hear nothing for a minute or less. */
const BEAT_MS = 5_000;

export interface McpProgress extends Disposable {
  handle(event: ProgressEvent): void;
}

/** Tells the client where a call stands, if it asked for that: at each phase, and now and then in between. */
export function reportProgress({ mcpReq }: ServerContext, now: () => number = Date.now): McpProgress {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { handle: () => {}, [Symbol.dispose]: () => {} };
  const began = now();
  let state = noProgress;
  let sent = 0;
  const send = () => {
    sent += 1;
    const params = { progressToken, progress: sent, message: statusLine(state, now() - began) };
    // Whoever has gone away needs no progress; that they have ends the call by itself.
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  };
  const timer = setInterval(send, BEAT_MS);
  return {
    handle(event) {
      state = advance(state, event);
      if (event.type === "phase") send();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
