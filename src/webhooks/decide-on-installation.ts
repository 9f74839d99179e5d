import { parseInstallationEvent, parseRepositoriesRemovedEvent } from "../github/installation-payload.ts";
import { purgeJob, reconcileJob } from "../jobs/new-jobs.ts";
import { type Decision, ignore, start, unusable } from "./decision.ts";

/**
 * The App was taken off an account: nothing of it is kept. A suspension deletes nothing; when it ends, what was missed meanwhile
 * is looked for. Of an account that has just installed the App nothing follows, or all of its pull requests would be reviewed.
 */
export function decideOnInstallation(payload: unknown): Decision {
  const parsed = parseInstallationEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { action, installation, repositories } = parsed.event;
  if (action === "unsuspend") return start(reconcileJob(installation));
  // What GitHub names is deleted by name: what is remembered of the installation may not know all of them.
  const all = purgeJob(installation, null);
  return { jobs: repositories.length > 0 ? [purgeJob(installation, repositories), all] : [all] };
}

/** The App was taken off some repositories of an account. */
export function decideOnRepositories(payload: unknown): Decision {
  const parsed = parseRepositoriesRemovedEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { installation, repositories } = parsed.event;
  return repositories.length > 0
    ? start(purgeJob(installation, repositories))
    : ignore("no repository was taken away");
}
