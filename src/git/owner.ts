import { createHash } from "node:crypto";
import { livenessOf, ownIdentity } from "../process-identity.ts";

const scope = createHash("sha256").update(ownIdentity.scope).digest("base64url").slice(0, 12);

/**
 * This process in some thirty characters without a space: what is written down wherever a later process has to find out
 * whether the one that began something still lives.
 */
export const ownTag = [ownIdentity.pid, ownIdentity.started, scope].join(".");

/** Whether the process with this tag runs; "unknown" when its pid means nothing here, or this is no tag. */
export function livenessOfTag(tag: string): "alive" | "dead" | "unknown" {
  const [, pid, started, where] = /^(\d{1,10})\.(\d*)\.([\w-]{12})$/.exec(tag) ?? [];
  if (where !== scope) return "unknown";
  return livenessOf({ ...ownIdentity, pid: Number(pid), started: started ?? "" });
}
