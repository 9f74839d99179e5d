/** Runs a command in the sandbox that does not end, and says by which tag its processes can be found: for whoever kills this. */
import { ownTag } from "../../src/repo/git/owner.ts";
import { limitsFor } from "../../src/sandbox/bubblewrap.ts";
import { findSandbox } from "../../src/sandbox/find-sandbox.ts";
import { runInSandbox } from "../../src/sandbox/run-in-sandbox.ts";

const { signal } = new AbortController();
const { sandbox } = await findSandbox({
  ...{ readable: [], hidden: [], signal },
  searchPath: process.env.PATH ?? "",
});
process.stdout.write(`${ownTag}\n`);
if (sandbox) {
  await runInSandbox(
    sandbox,
    {
      ...{ command: "sleep 600", folder: "", env: { MARK: ownTag }, files: [], timeoutMs: 120_000 },
      ...{ limits: { ...limitsFor(256), spareBytes: 0 }, wants: () => [], maxFileBytes: 0 },
    },
    signal,
  );
}
