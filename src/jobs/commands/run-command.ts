import type { ClaimedJob, CommandTask, Outcome } from "../../queue/job.ts";
import type { JobTools } from "../../queue/run-job.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { answerQuestion } from "./answer-question.ts";
import { type Asked, mayWrite, react } from "./command-context.ts";
import { fix } from "./fix/fix.ts";
import { help } from "./help.ts";
import { pause, resume } from "./pause.ts";
import { remember } from "./remember.ts";
import { resolve } from "./resolve.ts";
import { answerAuthor } from "./run-reply.ts";

export type CommandJob = ClaimedJob & { task: CommandTask };

/**
 * Does what a person asked for in a comment. Who cannot write to the repository gets no answer and costs nothing, but for the
 * author's questions in our threads. May be run again after a crash at any point: an answer stands once, and what was paid for
 * is not paid again.
 */
export async function runCommand(job: CommandJob, tools: JobTools, deps: JobDependencies): Promise<Outcome> {
  const asked = await askedIn(job, tools, deps);
  const { command } = job.task;
  if (!(await mayWrite(asked))) {
    if (command.name === "ask") return answerAuthor(asked, command.question);
    return { kind: "skipped", reason: `${asked.by} has no write access` };
  }
  if (command.name === "ask") return answerQuestion(asked, command.question);
  await react(asked);
  switch (command.name) {
    case "help":
      return help(asked);
    case "pause":
      return pause(asked);
    case "resume":
      return resume(asked);
    case "resolve":
      return resolve(asked);
    case "fix":
      return fix(asked, command.all);
    case "remember":
      return remember(asked, command.rule);
  }
}

export async function askedIn(
  job: CommandJob,
  tools: JobTools,
  deps: JobDependencies,
): Promise<Asked<CommandTask>> {
  const { repository, pull, commentId, thread, requestedBy } = job.task;
  const api = await deps.github.pull(repository, pull, tools.signal);
  return { job, comment: { id: commentId, thread }, by: requestedBy, api, tools, deps };
}
