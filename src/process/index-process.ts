/** Entry point of the process that updates an index: waits for its task and sends the report. */
import { errorLine } from "../errors.ts";
import { type IndexAnswer, IndexTask } from "./index-messages.ts";
import { liveForParent } from "./parent-port.ts";
import { updateIndex } from "./update-index.ts";

const send = (message: IndexAnswer) => process.send?.(message);
const fail = (error: unknown) => send({ type: "failed", error: errorLine(error) });
liveForParent(fail);
// Never fires: to cancel, the parent kills this process.
const { signal } = new AbortController();

process.on("message", (raw) => {
  void updateIndex(IndexTask.parse(raw), signal).then((report) => send({ type: "done", report }), fail);
});

send({ type: "ready" });
