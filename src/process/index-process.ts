/** The process that brings an index up to date: waits for its task and hands back what it came to. */
import { errorLine } from "../errors.ts";
import { keepProgramsInThisGroup, killGroup } from "../git/run-process.ts";
import { type IndexAnswer, IndexTask } from "./index-messages.ts";
import { updateIndex } from "./update-index.ts";
import { watchParent } from "./watch-parent.ts";

// The parent kills the group: git ends with this process however it ends.
keepProgramsInThisGroup();
watchParent();

const send = (message: IndexAnswer) => process.send?.(message);
const fail = (error: unknown) => send({ type: "failed", error: errorLine(error) });
// The parent ends this process when its work is no longer wanted.
const { signal } = new AbortController();

process.on("message", (raw) => {
  void updateIndex(IndexTask.parse(raw), signal).then((report) => send({ type: "done", report }), fail);
});
// Without a parent there is nobody to answer, and nobody to end a process that hangs.
process.on("disconnect", () => {
  killGroup(process, "SIGKILL");
  process.exit(1);
});
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

send({ type: "ready" });
