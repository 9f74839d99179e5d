import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { livenessOf, ownIdentity } from "../../src/core/process-identity.ts";
import { TempFolder } from "../support/git-repo.ts";

describe("whether a process runs", () => {
  it("livenessOf knows this process, an ended one and one with a reused pid", async () => {
    const ended = spawn("/bin/true");
    await once(ended, "close");
    expect(livenessOf(ownIdentity)).toBe("alive");
    expect(livenessOf({ ...ownIdentity, pid: ended.pid! })).toBe("dead");
    expect(livenessOf({ ...ownIdentity, started: `${ownIdentity.started}0` })).toBe("dead");
    expect(livenessOf({ ...ownIdentity, scope: "elsewhere" })).toBe("unknown");
  });

  /** Only root can have a /proc of another kind, and become another user. */
  it.runIf(process.getuid?.() === 0 && process.platform === "linux")(
    "is not known of another user's where the system hides those",
    () => {
      // The other user may not be able to enter the folder of the sources.
      using folder = new TempFolder("identity");
      chmodSync(folder.path, 0o755);
      const source = join(folder.path, "process-identity.ts");
      copyFileSync(join(import.meta.dirname, "../../src/core/process-identity.ts"), source);
      const script = `
        const { livenessOf, ownIdentity } = await import(${JSON.stringify(source)});
        const other = { ...ownIdentity, pid: ${process.pid}, started: "${ownIdentity.started}" };
        console.log(livenessOf(ownIdentity), livenessOf(other), livenessOf({ ...other, pid: 2 ** 22 + 1 }));`;
      const asNobody =
        'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"';
      const node = [process.execPath, "--input-type=module", "-e", script];
      const { stdout, stderr } = spawnSync("unshare", ["--mount", "sh", "-c", asNobody, "sh", ...node]);
      expect(`${stdout}${stderr}`.trim()).toBe("alive unknown dead");
    },
  );
});
