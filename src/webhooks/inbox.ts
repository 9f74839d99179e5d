import type { Logger } from "../logger.ts";
import type { Queue } from "../queue/queue.ts";
import { decide } from "./decide.ts";
import type { DecideOptions } from "./decision.ts";

/** A delivery whose signature was right. */
export interface ReceivedEvent {
  id: string;
  name: string;
  payload: object;
}

/** What became of a delivery. */
export type Receipt = { kind: "stored" } | { kind: "duplicate" } | { kind: "ignored"; reason: string };

/** Decides on deliveries and stores what follows from them. */
export interface Inbox {
  /** Resolves when delivery and jobs are on disk, or nothing follows. Rejects when the queue cannot store. */
  take(event: ReceivedEvent): Promise<void>;
  /** What became of the delivery with this very payload object: Probot's handlers cannot answer anything themselves. */
  receiptOf(payload: object): Receipt | undefined;
}

export interface InboxOptions {
  queue: Queue;
  log: Logger;
  /** What is known by now of the App, and how long pushes wait. */
  decideOptions: () => DecideOptions;
  /** Called when jobs were stored, so that a worker of this process starts at once. */
  onAccepted: () => void;
}

export function createInbox({ queue, log, decideOptions, onAccepted }: InboxOptions): Inbox {
  const receipts = new WeakMap<object, Receipt>();
  return {
    receiptOf: (payload) => receipts.get(payload),
    async take({ id, name, payload }) {
      const action = "action" in payload && typeof payload.action === "string" ? payload.action : null;
      const line = log.child({ delivery: id, event: name, action });
      const decision = decide(name, payload, decideOptions());
      if ("ignored" in decision) {
        receipts.set(payload, { kind: "ignored", reason: decision.ignored });
        return line.debug(`Delivery ignored: ${decision.ignored}`);
      }
      const isNew = await queue.accept({ id, event: name, action }, decision.jobs);
      receipts.set(payload, { kind: isNew ? "stored" : "duplicate" });
      const { task } = decision.jobs[0];
      const repo = "repository" in task ? `${task.repository.owner}/${task.repository.name}` : undefined;
      const fields = { repo, pull: "pull" in task ? task.pull : undefined, head: task.headSha ?? undefined };
      line.info(fields, isNew ? "Delivery stored" : "Delivery was stored before");
      if (isNew) onAccepted();
    },
  };
}
