import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { isDeadWorker, ownWorkerName } from "../../../src/server/queue/worker.ts";

const module = import.meta.resolve("../../../src/server/queue/worker.ts");
const nameInOtherProcess = () =>
  spawnSync(
    process.execPath,
    [
      "--input-type=module",
      "--eval",
      `import(${JSON.stringify(module)}).then((m) => console.log(m.ownWorkerName()))`,
    ],
    { encoding: "utf8" },
  ).stdout.trim();

it("A worker of this process has a name of its own and is alive", () => {
  expect(ownWorkerName()).not.toBe(ownWorkerName());
  expect(isDeadWorker(ownWorkerName())).toBe(false);
});

it("A worker whose process ended is dead, also when its pid is in use again", () => {
  const name = nameInOtherProcess();
  expect(isDeadWorker(name)).toBe(true);
  const [, scope, , id] = JSON.parse(name);
  expect(isDeadWorker(JSON.stringify([process.pid, scope, "1", id]))).toBe(true);
});

it.each([
  ["of another machine", JSON.stringify([1, "elsewhere boot pid:[1]", "5", "id"])],
  ["that another version named", "1234-0f8fad5b"],
  ["with a pid that is none", JSON.stringify([0, "elsewhere", "5", "id"])],
])("Nobody calls a worker %s dead", (_, name) => {
  expect(isDeadWorker(name)).toBe(false);
});
