import { z } from "zod";
import { AppError } from "../errors.ts";
import type { FailedCheck, Issue } from "./pull-request-api.ts";
import { type RepositoryApiOptions, read } from "./repository-client.ts";

const IssueAnswer = z.object({ number: z.int(), title: z.string(), body: z.string().nullish() });

export async function issue(
  { client, owner, repo }: RepositoryApiOptions,
  number: number,
): Promise<Issue | undefined> {
  const answer = unlessRefused(client.rest.issues.get({ owner, repo, issue_number: number }), undefined);
  const data = (await answer)?.data;
  if (data === undefined) return undefined;
  const found = read(IssueAnswer, data, `issue ${number}`);
  // An issue that was moved to another repository is answered with what it is there.
  return found.number === number ? { ...found, body: found.body ?? "" } : undefined;
}

/** How much of what went wrong is asked for, whatever a commit has. */
const most = { checkPages: 3, checks: 10, annotations: 50 };

/** `cancelled` and `stale` say nothing of the code. */
const failures = new Set(["failure", "timed_out", "action_required", "startup_failure"]);

const CheckRuns = z.object({
  check_runs: z.array(
    z.object({
      id: z.int(),
      name: z.string(),
      conclusion: z.string().nullish(),
      app: z.object({ id: z.int() }).nullish(),
      output: z
        .object({
          title: z.string().nullish(),
          summary: z.string().nullish(),
          annotations_count: z.int().nullish(),
        })
        .nullish(),
    }),
  ),
});
type CheckRun = z.infer<typeof CheckRuns>["check_runs"][number];

const Annotations = z.array(
  z.object({
    path: z.string(),
    start_line: z.int(),
    end_line: z.int(),
    annotation_level: z.string().nullish(),
    message: z.string().nullish(),
  }),
);

const CombinedStatus = z.object({
  statuses: z.array(z.object({ context: z.string(), state: z.string(), description: z.string().nullish() })),
});

/**
 * What continuous integration has to say against a commit by now: at most 10 check runs and statuses, with at most 50
 * annotations, of which each check run has an equal share. Our own check runs are no news.
 */
export async function failedChecks(options: RepositoryApiOptions, headSha: string): Promise<FailedCheck[]> {
  const [runs, statuses] = await Promise.all([
    unlessRefused(failedRuns(options, headSha), []),
    unlessRefused(failedStatuses(options, headSha), []),
  ]);
  const shown = runs.slice(0, most.checks);
  const annotated = shown.filter(({ output }) => (output?.annotations_count ?? 0) > 0);
  const share = Math.floor(most.annotations / Math.max(1, annotated.length));
  const checks = shown.map(async (run): Promise<FailedCheck> => {
    const { name, conclusion, output } = run;
    const annotations = annotated.includes(run) ? await annotationsOf(options, run, share) : [];
    const [title, summary] = [output?.title ?? "", output?.summary ?? ""];
    return { name, conclusion: conclusion ?? "", title, summary, annotations };
  });
  return [...(await Promise.all(checks)), ...statuses].slice(0, most.checks);
}

async function failedRuns(
  { client, owner, repo, app }: RepositoryApiOptions,
  ref: string,
): Promise<CheckRun[]> {
  const failed: CheckRun[] = [];
  for (let page = 1; page <= most.checkPages; page++) {
    const asked = { owner, repo, ref, status: "completed", filter: "latest", per_page: 100, page } as const;
    const { data } = await client.rest.checks.listForRef(asked);
    const runs = read(CheckRuns, data, "check runs").check_runs;
    failed.push(...runs.filter((run) => failures.has(run.conclusion ?? "") && run.app?.id !== app.id));
    if (runs.length < 100 || failed.length >= most.checks) break;
  }
  return failed;
}

async function annotationsOf(
  { client, owner, repo }: RepositoryApiOptions,
  { id }: CheckRun,
  share: number,
): Promise<FailedCheck["annotations"]> {
  const { data } = await client.rest.checks.listAnnotations({
    ...{ owner, repo, check_run_id: id },
    per_page: share,
  });
  return read(Annotations, data, "annotations").map((one) => ({
    path: one.path,
    startLine: one.start_line,
    endLine: one.end_line,
    level: one.annotation_level ?? "",
    message: one.message ?? "",
  }));
}

/** Of each context, GitHub shows the latest status. */
async function failedStatuses(
  { client, owner, repo }: RepositoryApiOptions,
  ref: string,
): Promise<FailedCheck[]> {
  const { data } = await client.rest.repos.getCombinedStatusForRef({ owner, repo, ref, per_page: 100 });
  const { statuses } = read(CombinedStatus, data, "commit statuses");
  return statuses
    .filter(({ state }) => state === "failure" || state === "error")
    .map(({ context, state, description }) => ({
      ...{ name: context, conclusion: state, title: description ?? "", summary: "" },
      annotations: [],
    }));
}

/** A permission that was not granted, or a thing that is not there, is an answer; other failures are the caller's. */
async function unlessRefused<T>(asked: Promise<T>, without: T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    const isRefusal =
      error instanceof AppError && (error.code === "github_forbidden" || error.code === "github_not_found");
    if (!isRefusal) throw error;
    return without;
  }
}
