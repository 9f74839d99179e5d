import {
  noOwnIds,
  pullReach,
  type Reach,
  type RepositoryPath,
  resolvingReach,
} from "../../src/pull/github/allowlist.ts";
import { createGitHubClient } from "../../src/pull/github/client.ts";
import type { AppIdentity } from "../../src/pull/github/own-text.ts";
import { createPullRequestApi } from "../../src/pull/github/pull-request-client.ts";
import { createRateLimiter } from "../../src/pull/github/rate-limit.ts";
import type { Pull } from "./github-double/model.ts";
import type { Scenario } from "./github-double/scenario.ts";

/** For tests of the client itself, which may send anything. */
export const anywhere: Reach = { check() {} };

/** What both clients of a job may send for its pull request, for tests where one client does everything. */
export function reachOfJob(place: RepositoryPath, pull: number, app: AppIdentity): Reach {
  const own = noOwnIds();
  const publishing = pullReach(place, pull, app, own);
  const resolving = resolvingReach(own);
  return {
    ...publishing,
    check(call) {
      const body = call.body as { query?: unknown } | undefined;
      const isMutation = call.path === "/graphql" && String(body?.query).startsWith("mutation");
      (isMutation ? resolving : publishing).check(call);
    },
  };
}

/** A pull request of the double's GitHub, read and written by our own client. */
export function apiOf({ github, installation, app, repository }: Scenario, { number }: Pull) {
  const { value } = github.state.issueToken(installation);
  const here = { owner: "octo-org", repo: "shop" };
  const client = createGitHubClient({
    baseUrl: github.apiUrl,
    reach: reachOfJob({ ...here, id: repository.id }, number, app),
    token: async () => value,
    userAgent: "hunkwise-test",
    limits: createRateLimiter({ gapMs: 0 })(installation.id),
  });
  return createPullRequestApi({ ...here, client, writing: client, pull: number, app });
}
