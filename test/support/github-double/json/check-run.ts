import type { CheckAnnotation, CheckRun, Repository } from "../model.ts";
import { headOf, nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";
import { appJson } from "./account.ts";
import { filled, nowhere } from "./filled.ts";
import { pullUrl } from "./pull.ts";
import { repositoryPage, repositoryUrl } from "./repository.ts";

/** Open pull requests with this head commit; GitHub omits those of forks. */
export function pullsAt(state: GitHubState, repository: Repository, sha: string) {
  const url = repositoryUrl(state, repository);
  const repo = { id: repository.id, url, name: repository.name };
  const open = [...repository.pulls.values()].filter(
    (pull) => pull.state === "open" && pull.headRepository === repository && headOf(pull) === sha,
  );
  return open.map((pull) => ({
    id: pull.id,
    number: pull.number,
    url: pullUrl(state, pull),
    head: { ref: pull.headRef, sha: headOf(pull), repo },
    base: { ref: pull.baseRef, sha: pull.baseSha, repo },
  }));
}

export function checkRunJson(state: GitHubState, run: CheckRun) {
  return filled("check-run", {
    id: run.id,
    name: run.name,
    node_id: nodeId("CR", run.id),
    head_sha: run.headSha,
    external_id: run.externalId,
    html_url: `${repositoryPage(state, run.repository)}/runs/${run.id}`,
    details_url: run.detailsUrl ?? `${state.origin}/apps/${run.app.slug}`,
    status: run.status,
    conclusion: run.conclusion,
    started_at: timestamp(run.startedAt),
    completed_at: run.completedAt && timestamp(run.completedAt),
    output: { ...run.output, annotations_count: run.annotations.length, annotations_url: nowhere },
    check_suite: { id: run.app.id },
    app: appJson(state, run.app),
    pull_requests: pullsAt(state, run.repository, run.headSha),
  });
}

export function annotationJson(one: CheckAnnotation) {
  return {
    path: one.path,
    blob_href: nowhere,
    start_line: one.startLine,
    start_column: one.startColumn,
    end_line: one.endLine,
    end_column: one.endColumn,
    annotation_level: one.level,
    title: one.title,
    message: one.message,
    raw_details: one.rawDetails,
  };
}
