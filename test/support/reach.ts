import {
  noOwnIds,
  pullReach,
  type Reach,
  type RepositoryPath,
  resolvingReach,
} from "../../src/pull/github/allowlist.ts";
import type { AppIdentity } from "../../src/pull/github/own-text.ts";

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
