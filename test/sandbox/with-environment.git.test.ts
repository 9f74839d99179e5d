import { afterAll, afterEach, expect } from "vitest";
import { digestOf, environmentsAt, prepare, removeEnvironments } from "../tasks/prove/proof/environments.ts";
import { sandboxFor, useEnvironment } from "./sandbox.ts";

// All hostile commands once more, in a sandbox with a prepared environment, which each of them leaves as it was.

const { sandbox } = await sandboxFor("that a prepared environment opens no way out of the sandbox");
if (sandbox) {
  const folder = environmentsAt();
  const command =
    "mkdir -p node_modules/left/deep .venv/bin; echo 1 > node_modules/left/deep/x; ln -s /usr/bin/perl .venv/bin/python";
  const environment = await prepare(sandbox, folder, {}, { command });
  if ("why" in environment) throw new Error(environment.why);
  useEnvironment(environment.root);
  const before = digestOf(environment.root);
  afterEach(() => expect(digestOf(environment.root)).toBe(before));
  afterAll(() => removeEnvironments(folder));
}

await import("./left-behind.git.test.ts");
await import("./network.git.test.ts");
await import("./privileges.git.test.ts");
await import("./processes.git.test.ts");
await import("./resources.git.test.ts");
await import("./secrets.git.test.ts");
await import("./system-calls.git.test.ts");
