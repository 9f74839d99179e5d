import { expect, it } from "vitest";
import { askedThread } from "../../../src/server/jobs/commands/command-context.ts";
import { WorkedQueue } from "./job-fixture.ts";

/** The comments of a review by the analyzers, whose base has this configuration. */
async function reviewed(configuration: string) {
  const jobs = new WorkedQueue(null, "export const a = eval(process.argv[2]);\n");
  Object.assign(jobs.github, { fileAt: async () => configuration });
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
  const [comment] = jobs.github.reviews.flatMap(({ comments }) => comments);
  return { jobs, comment };
}

const summary = "<details><summary>Prompt for a coding agent</summary>";

it("A review's comment has no prompt for coding agents unless the base branch asks for it", async () => {
  const { jobs, comment } = await reviewed("effort: low\n");
  await using _ = jobs;
  expect(comment?.body).toMatch(/hunkwise:finding/);
  expect(comment?.body).not.toContain(summary);
});

it("A review's comment has one if the base branch asks for it, which no question about the finding repeats to a model", async () => {
  const { jobs, comment } = await reviewed("comments: { agent_prompt: true }\n");
  await using _ = jobs;
  expect(comment?.body).toContain(summary);
  expect(comment?.body).toContain("\nCode:\n1| export const a = eval(process.argv[2]);\n</untrusted");

  const threads = await jobs.github.ownThreads();
  const thread = comment?.id ?? null;
  const asked = askedThread(threads, { comment: { id: 9_001, thread } });
  expect(asked?.finding).toContain("How this was checked");
  expect(asked?.finding).not.toMatch(/coding agent|untrusted|hunkwise:/);
});
