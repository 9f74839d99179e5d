import { randomUUID } from "node:crypto";
import { z } from "zod";
import { livenessOf, ownIdentity } from "../process-identity.ts";

const Name = z.tuple([z.int().positive(), z.string(), z.string(), z.string()]);

/** A name for one worker of this process, which tells which process it is. */
export function ownWorkerName(): string {
  const { pid, scope, started } = ownIdentity;
  return JSON.stringify([pid, scope, started, randomUUID()]);
}

/**
 * Whether the process of the worker is known to have ended. False where nobody here can tell: on another machine, in another
 * container, before a restart of the machine, of a name that another version gave.
 */
export function isDeadWorker(name: string): boolean {
  const read = Name.safeParse(parse(name));
  if (!read.success) return false;
  const [pid, scope, started] = read.data;
  return livenessOf({ pid, scope, started }) === "dead";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
