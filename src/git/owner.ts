import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
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

const NAME = "HUNKWISE_OWNER";

/** What every program gets into its environment, and hands on to what it starts: who will miss it. */
export const ownerVariable: Readonly<Record<string, string>> = { [NAME]: ownTag };

const PATIENCE_MS = 5_000;
const POLL_MS = 20;

/**
 * Ends the programs of processes that were killed, and what those programs started: nobody reads what they say any more, but
 * they may still be writing to a mirror or a checkout. Resolves once they are gone. Only where the system shows the
 * environment of processes, in /proc; elsewhere they end by themselves when they want to say something.
 */
export async function endOrphans(): Promise<void> {
  for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
    const orphans = await listOrphans();
    if (orphans.length === 0) return;
    orphans.forEach(kill);
    await sleep(POLL_MS);
  }
}

async function listOrphans(): Promise<number[]> {
  const names = await readdir("/proc").catch(() => []);
  const owned = names
    // Whoever started this process may have been started by one that is gone.
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(async (name) => {
      // Unreadable for processes of other users, empty for what has ended.
      const environment = await readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
      const [, tag] = environment.match(pattern) ?? [];
      return tag !== undefined && livenessOfTag(tag) === "dead" ? [Number(name)] : [];
    });
  return (await Promise.all(owned)).flat();
}

const pattern = new RegExp(`(?:^|\\0)${NAME}=([^\\0]+)`);

function kill(pid: number): void {
  // A review process leads the group of what it started.
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // No leader of a group, or gone already.
    }
  }
}
