import type { ApplicationFunctionOptions, Probot } from "probot";
import { AppError } from "./errors.ts";
import { handledEvents } from "./webhooks/decide.ts";
import type { Inbox } from "./webhooks/inbox.ts";

/**
 * The Probot application: every declared event goes to the inbox, which stores what follows from it. The work itself is
 * done by a worker, because Probot keeps unfinished handlers in memory alone.
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
