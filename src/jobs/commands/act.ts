import { errorLine } from "../../errors.ts";
import { isSamePerson } from "../../ledger/authority.ts";
import { isOpenFinding } from "../../ledger/entry.ts";
import { formatMarker, parseMarker } from "../../ledger/marker.ts";
import { currentLedger } from "../../publish/existing.ts";
import { postOnce } from "../../publish/post-once.ts";
import { publicText } from "../../publish/public-text.ts";
import type { Act, ActTask, ClaimedJob, JobOutcome, ReviewTask } from "../../queue/job.ts";
import { type JobTools, jobFields, requireLease } from "../../queue/run-job.ts";
import { untrustedCode } from "../../reporters/safe-markdown.ts";
import { withoutSecrets } from "../../secrets/redact.ts";
import { isRefusal } from "../attempts.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { type AskedContext, mayWrite, reviewFor } from "./command-context.ts";
import { demote } from "./demote.ts";
import { pause, resume } from "./pause.ts";
import { dismiss, resolveThreads } from "./resolve.ts";

type ActContext = AskedContext<ActTask>;

/**
 * Does what a person did on a page, in public: the pull request shows who did it. The person's permission is what GitHub says now, not what
 * it was when the page was shown. May run again after a crash at any point.
 */
export async function runAct(
  job: ClaimedJob & { task: ActTask },
  tools: JobTools,
  deps: JobDependencies,
): Promise<JobOutcome> {
  const { repository, pull, act, account, requestedBy: by } = job.task;
  const api = await deps.github.pull(repository, pull, tools.signal);
  const context: ActContext = { job, by, api, tools, deps };
  // If an earlier attempt opened a check run, it must be concluded.
  const wasLetIn = (await tools.recorded()).some(({ kind }) => kind === "check_opened");
  if (!wasLetIn && !(await mayWrite(context, account)))
    return { kind: "skipped", reason: `${by} has no write access` };
  switch (act.name) {
    case "review":
      // Nothing is reviewed, and nothing is to be said, once it is closed.
      if ((await api.pull()).state === "open")
        await tellOnce(context, async () => (act.mode === "full" ? WHOLE_AGAIN : NEW_CHANGES));
      return review(context, act.mode);
    case "pause":
      await tellOnce(context, () => pause(context));
      return { kind: "done", reason: `paused by ${by}` };
    case "resume":
      await tellOnce(context, () => resume(context));
      return review(context);
    case "dismiss":
      return dismissOne(context, act);
    case "demote":
      await tellOnce(context, () => demote(context, act));
      return { kind: "done", reason: `proposed for ${by}` };
  }
}

const WHOLE_AGAIN = "I review the whole change again.";
const NEW_CHANGES = "I review what no earlier review has read.";

const review = (context: ActContext, mode: ReviewTask["mode"] = "new"): Promise<JobOutcome> =>
  reviewFor(context, { mode, trigger: `page:${context.job.task.id}`, thread: null });

/**
 * Does something, and then says so once in the conversation. If that was said before, the job runs again: it must not change what changed
 * since.
 * @param work resolves to what to say, in Markdown
 */
async function tellOnce(context: ActContext, work: () => Promise<string>): Promise<void> {
  const { api, by, job, tools, deps } = context;
  const { id } = job.task;
  const stands = async () =>
    (await api.ownComments()).some(({ body }) => {
      const said = parseMarker(body);
      return said?.kind === "acted" && said.id === id;
    });
  if (await stands()) return;
  const text = await work();
  await requireLease(tools);
  const marker = formatMarker({ kind: "acted", id });
  const body = publicText(`Asked for by ${untrustedCode(by)} on a page of Hunkwise. ${text}\n\n${marker}`);
  try {
    await postOnce(() => api.createComment(body), stands);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    deps.log.warn(jobFields(job), `What was done on a page could not be said: ${errorLine(error)}`);
  }
}

/** The answer in the finding's thread makes the dismissal count. A review follows, for the summary and the check run. */
async function dismissOne(
  context: ActContext,
  { comment, reason }: Extract<Act, { name: "dismiss" }>,
): Promise<JobOutcome> {
  const { entries } = await currentLedger(context.api);
  const entry = entries.find((one) => one.comment === comment);
  if (!entry) return { kind: "skipped", reason: "the finding has no comment any more" };
  const { state, dismissal } = entry;
  if (isOpenFinding(entry)) {
    if (!(await dismiss(entry, context, withoutSecrets(reason))))
      return { kind: "skipped", reason: "GitHub refuses an answer in the thread of the finding" };
  } else if (dismissal?.how !== "page" || !isSamePerson(dismissal.by ?? "", context.by)) {
    return { kind: "skipped", reason: `the finding is already ${state}` };
  }
  await resolveThreads([entry], context);
  return review(context);
}
