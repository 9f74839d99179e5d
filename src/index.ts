import type { ApplicationFunctionOptions, Probot } from "probot";
import { AppError } from "./errors.ts";
import { handledEvents } from "./webhooks/decide.ts";
import type { Inbox } from "./webhooks/inbox.ts";

/**
 * The Probot application: every declared event goes to the inbox, which stores the jobs that follow from it. A worker runs them,
 * because Probot keeps unfinished handlers only in memory.
 */
export default function hunkwise(app: Probot, options: ApplicationFunctionOptions): void {
  const { inbox } = options;
  if (!isInbox(inbox)) {
    throw new AppError("usage", "The application was loaded without an inbox", {
      remedy: "Start Hunkwise with `npm start`; Probot's own runner has no queue.",
    });
  }
  app.on([...handledEvents], ({ id, name, payload }) => inbox.take({ id, name, payload }));
}

function isInbox(value: unknown): value is Inbox {
  return typeof value === "object" && value !== null && "take" in value;
}
