import { noOwnIds, type Place, pullReach, type Reach, resolvingReach } from "../../src/github/allowlist.ts";
import type { AppIdentity } from "../../src/github/own-text.ts";

/** For tests of the client itself, which is to send whatever it is told. */
export const anywhere: Reach = { check() {} };

/** What the two clients of a job may send on its pull request, for tests in which one does it all. */
export function reachOfJob(place: Place, pull: number, app: AppIdentity): Reach {
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
