import { findCommit } from "../bare-repository.ts";
import { type Answer, type Endpoints, inRepository, type RepositoryCall } from "../endpoint.ts";
import { GitHubRefusal } from "../errors.ts";
import { filled } from "../json/filled.ts";
import { repositoryJson } from "../json/repository.ts";
import { type CommitStatus, timestamp } from "../model.ts";

const statusJson = ({ id, context, description, state, createdAt }: CommitStatus) =>
  filled("simple-commit-status", {
    ...{ id, context, description, state },
    ...{ created_at: timestamp(createdAt), updated_at: timestamp(createdAt) },
  });

/** Failure outranks pending, and pending outranks success; no status is pending. */
function combined(statuses: readonly CommitStatus[]): string {
  const has = (...states: string[]) => statuses.some(({ state }) => states.includes(state));
  if (has("error", "failure")) return "failure";
  return statuses.length === 0 || has("pending") ? "pending" : "success";
}

/** The latest status of each context. */
async function combinedStatus(call: RepositoryCall): Promise<Answer> {
  const { state, repository, path } = call;
  const sha = await findCommit(repository.gitDir, path.ref ?? "");
  if (!sha) throw new GitHubRefusal(404, "Not Found");
  const ofCommit = repository.statuses.filter((one) => one.sha === sha);
  const latest = [...new Map(ofCommit.map((one) => [one.context, one])).values()];
  return {
    status: 200,
    list: latest.map(statusJson),
    wrap: (page, total) =>
      filled("combined-commit-status", {
        ...{ sha, statuses: page, total_count: total, state: combined(latest) },
        repository: repositoryJson(state, repository),
      }),
  };
}

export const commitStatuses: Endpoints = {
  "repos/get-combined-status-for-ref": inRepository([["statuses", "read"]], combinedStatus),
};
