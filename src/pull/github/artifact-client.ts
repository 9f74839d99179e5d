import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import type { GitHubClient } from "./client.ts";
import { unlessGone } from "./errors.ts";
import { read } from "./repository-client.ts";
import { fetchStored } from "./transport.ts";

export interface WorkflowRun {
  id: number;
  isCompleted: boolean;
  /** Null while it runs. */
  conclusion: string | null;
}

/** Artifacts of workflow runs. Jobs that ran the code of a pull request may have made them. */
export interface ArtifactApi {
  /** The newest run of the workflow in this file of `.github/workflows`, for exactly this commit, on a push or for a pull request. */
  latestRun(workflow: string, headSha: string): Promise<WorkflowRun | undefined>;
  /** The newest artifact with this name, mostly a zip; undefined if there is none. Rejects with `too_large` beyond `mostArtifactBytes`. */
  artifact(run: number, name: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
}

/** Compressed. Also the limit of what is downloaded, whatever size GitHub names. */
const mostArtifactBytes = 10_000_000;
const timeoutMs = 30_000;

const Run = z.object({
  id: z.int().positive(),
  head_sha: z.string(),
  /** May end in "@" and a ref. */
  path: z.string(),
  event: z.string(),
  status: z.string().nullable(),
  conclusion: z.string().nullable(),
  repository: z.object({ id: z.int() }),
});
const Runs = z.object({ workflow_runs: z.array(Run) });
const Artifacts = z.object({
  artifacts: z.array(
    z.object({
      id: z.int().positive(),
      name: z.string(),
      size_in_bytes: z.number(),
      expired: z.boolean(),
      workflow_run: z.object({ id: z.int().nullish(), head_sha: z.string().nullish() }).nullish(),
    }),
  ),
});

interface ArtifactApiOptions {
  /** Sends a token that reads Actions, and nothing else. */
  client: GitHubClient;
  owner: string;
  repo: string;
  /** Null if it is not known. */
  id: number | null;
  apiUrl: string;
  userAgent: string;
  signal: AbortSignal;
}

export function createArtifactApi(options: ArtifactApiOptions): ArtifactApi {
  const { client, owner, repo, id: repositoryId, apiUrl, userAgent, signal } = options;
  const { rest } = client;
  const here = { owner, repo };
  return {
    async latestRun(workflow, head_sha) {
      const asked = { ...here, workflow_id: workflow, head_sha, per_page: 100 };
      // GitHub does not know a workflow before its first run.
      const answer = await unlessGone(rest.actions.listWorkflowRuns(asked));
      if (answer === null) return undefined;
      const path = `.github/workflows/${workflow}`;
      // GitHub has filtered by most of this already; a mistake would show the results of other code.
      const isWanted = (run: z.infer<typeof Run>) =>
        run.head_sha === head_sha &&
        run.path.split("@")[0] === path &&
        (run.event === "pull_request" || run.event === "push") &&
        (repositoryId === null || run.repository.id === repositoryId);
      const runs = read(Runs, answer.data, `the runs of ${workflow}`).workflow_runs.filter(isWanted);
      const [latest] = runs.toSorted((a, b) => b.id - a.id);
      if (latest === undefined) return undefined;
      const { id, status, conclusion } = latest;
      return { id, isCompleted: status === "completed", conclusion };
    },

    async artifact(run_id, name) {
      const { data } = await rest.actions.listWorkflowRunArtifacts({ ...here, run_id, name, per_page: 100 });
      const [newest] = read(Artifacts, data, `the artifacts of run ${run_id}`)
        .artifacts.filter(
          (one) => one.name === name && !one.expired && (one.workflow_run?.id ?? run_id) === run_id,
        )
        .toSorted((a, b) => b.id - a.id);
      if (newest === undefined) return undefined;
      if (newest.size_in_bytes > mostArtifactBytes)
        throw new AppError("too_large", `it has more than ${mostArtifactBytes / 1e6} MB`);
      // A redirect, which the transport does not follow.
      const asked = { ...here, artifact_id: newest.id, archive_format: "zip" };
      const { headers } = await rest.actions.downloadArtifact(asked);
      if (typeof headers.location !== "string")
        throw new AppError("github_failed", "GitHub did not say where the artifact is");
      const mostBytes = mostArtifactBytes;
      return await fetchStored(headers.location, { apiUrl, userAgent, mostBytes, timeoutMs, signal });
    },
  };
}
