import { beforeEach, expect, it } from "vitest";
import type { Task } from "../../src/server/queue/job.ts";
import type { Queue } from "../../src/server/queue/queue.ts";
import { leaseMs } from "./jobs.ts";
import { dataOfTests, type StoresUnderTest } from "./suite.ts";

const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };
const pull = { repository, pull: 3 };
const writtenAt = "2026-01-01T00:01:00Z";
const asked = { ...pull, commentId: 11, requestedBy: "ada", headSha: null };

const tasks: Task[] = [
  { kind: "review", mode: "full", again: true, ...asked, trigger: "review-comment:11", thread: 9 },
  { kind: "review", mode: "dry_run", again: false, ...asked, trigger: "comment:11", thread: null },
  { kind: "command", command: { name: "ask", question: "why?\n\nand how" }, ...asked, writtenAt, thread: 9 },
  { kind: "command", command: { name: "remember", rule: "no `any`" }, ...asked, writtenAt, thread: null },
  ...(["describe", "resolve", "pause", "resume", "help"] as const).map(
    (name): Task => ({ kind: "command", command: { name }, ...asked, writtenAt, thread: null }),
  ),
  ...[
    { name: "review", mode: "full" } as const,
    { name: "pause" } as const,
    { name: "dismiss", comment: 5, reason: "Meant to be so 🙂" } as const,
  ].map(
    (act): Task => ({
      ...{ kind: "act", act, ...pull, id: "aB0_-".repeat(4).concat("xy"), account: 5 },
      ...{ requestedBy: "ada", headSha: null },
    }),
  ),
  { kind: "reply", ...pull, commentId: 12, thread: 9, author: "bob", body: "Intended 🙂", headSha: null },
  { kind: "pass_check", repository, headSha: "a".repeat(40), reason: "reviewed before" },
];

/** A queue keeps tasks completely. */
export function describeTasks(create: () => StoresUnderTest): void {
  const data = dataOfTests(create);
  let queue: Queue;

  beforeEach(async () => {
    queue = (await data.open({ now: () => 0 })).queue;
  });

  async function stored(task: Task): Promise<Task | undefined> {
    await queue.enqueue({ task, concurrencyKey: "7#3", coalesce: false, priority: 0 });
    return (await queue.claim("worker", leaseMs))?.task;
  }

  it.each(tasks.map((task) => [task.kind, task] as const))(
    "The queue keeps a task whole: %s %j",
    async (_, task) => {
      expect(await stored(task)).toEqual(task);
    },
  );
}
