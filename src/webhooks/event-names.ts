import { emitterEventNames } from "@octokit/webhooks";

/** Every event that GitHub sends, as the header `x-github-event` names it. */
export const eventNames: readonly string[] = emitterEventNames.filter((name) => !name.includes("."));
