/** The process that brings an index up to date: waits for its task and hands back what it came to. */
import { errorLine } from "../errors.ts";
import { type IndexAnswer, IndexTask } from "./index-messages.ts";
import { liveForParent } from "./parent-port.ts";
import { updateIndex } from "./update-index.ts";

const send = (message: IndexAnswer) => process.send?.(message);
const fail = (error: unknown) => send({ type: "failed", error: errorLine(error) });
liveForParent(fail);
// The parent ends this process when its work is no longer wanted.
const { signal } = new AbortController();

process.on("message", (raw) => {
  void updateIndex(IndexTask.parse(raw), signal).then((report) => send({ type: "done", report }), fail);
});

send({ type: "ready" });
