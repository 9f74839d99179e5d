import type { ReadFile } from "../github/pull-request-api.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { GitHubAccess } from "./job-dependencies.ts";
import type { JobHandler } from "./job-handler.ts";

/** GitHub for one job. */
export interface JobGitHub extends GitHubAccess {
  /** Ends the tokens that were minted only for this job. Never rejects. */
  end(): Promise<void>;
  /** Reads the repository's default branch, for a page. */
  defaultBranch(repository: RepositoryRef, signal: AbortSignal): ReadFile;
}

/** A handler that gives each job its own GitHub access, which ends with the job, whatever its outcome. */
export function perJob(openJob: () => JobGitHub, create: (github: GitHubAccess) => JobHandler): JobHandler {
  async function during<T>(work: (handler: JobHandler) => Promise<T>): Promise<T> {
    const github = openJob();
    try {
      return await work(create(github));
    } finally {
      await github.end();
    }
  }
  return {
    handle: (job, tools) => during((handler) => handler.handle(job, tools)),
    giveUp: (job, error, tools) => during((handler) => handler.giveUp(job, error, tools)),
  };
}
