import { once } from "node:events";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import type { FakeAnswer } from "../support/fake-openai.ts";
import type { FaultKind } from "../support/github-double/faults.ts";
import { seeded } from "../support/seeded.ts";
import { finding, finish, numbers, turn } from "./conformance-fixture.ts";
import { type PullOfCase, type SharedApp, startSharedApp } from "./shared-app.ts";

const base = { "src/numbers.js": numbers(60) };
/** The heads that pushes alternate between: each is new only the first time. */
const heads = [1, 2].map((n) => ({ "src/numbers.js": numbers(60, { 10: `const n10 = -${n};` }) }));
const pulls = 50;
const rounds = 10;

const agreeing = withAgreeingSceptic((body) => {
  const quote = /const n10 = -\d;/.exec(JSON.stringify(body.messages))?.[0] ?? "";
  return turn(finding({ line: 10, quote }), finish);
});

/** All of these are transient: permanent refusals by GitHub, such as of a check run's end, stay undone. */
const githubFaults: (() => FaultKind)[] = [
  () => "reset-before",
  () => "reset-after",
  () => "bad-gateway",
  () => "truncated",
  () => ({ answer: { status: 500, body: {} } }),
  () => ({ answer: { status: 401, body: { message: "Bad credentials" } } }),
  () => ({ secondaryLimit: 403, retryAfterSeconds: 1 }),
];
const modelFaults: FakeAnswer[] = [
  { fault: "reset" },
  { fault: "status", status: 500 },
  { fault: "truncated" },
  { fault: "html", status: 502 },
  { content: "I will not use tools." },
];

/** Resources of a server. */
interface Held {
  descriptors: number;
  /** Without packs: each fetched push adds one, until a hundred become one. */
  files: number;
  /** Folders for checkouts. */
  worktrees: number;
  /** Megabytes of V8's heap after a collection: resident memory also depends on when V8 collects. */
  memory: number;
}

/** Asks a process by its inspector, which SIGUSR1 starts at the usual port. */
async function heapOf(pid: number): Promise<number> {
  process.kill(pid, "SIGUSR1");
  const list = () => fetch("http://127.0.0.1:9229/json").then((answer) => answer.json());
  const [target] = (await vi.waitFor(list, 10_000)) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? "");
  await once(socket, "open");
  const ask = async (method: string) => {
    socket.send(JSON.stringify({ id: 1, method }));
    const [{ data }] = await once(socket, "message");
    return JSON.parse(data).result;
  };
  await ask("HeapProfiler.collectGarbage");
  const { usedSize } = await ask("Runtime.getHeapUsage");
  socket.close();
  return Math.round(usedSize / 1e6);
}

async function heldBy({ app }: SharedApp): Promise<Held> {
  const pid = app.server.process.pid ?? 0;
  const files = readdirSync(app.dataFolder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .filter(({ parentPath }) => !parentPath.endsWith("/objects/pack"));
  const memory = await heapOf(pid);
  return {
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    files: files.length,
    worktrees: files.filter(({ name, parentPath }) => name === "index" && parentPath.includes("/checkouts/"))
      .length,
    memory,
  };
}

describe("five hundred jobs with random faults", { timeout: 7_200_000 }, () => {
  it("Five hundred jobs with random faults leave no more behind than the first hundred", async () => {
    const random = seeded(500);
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
    await using all = await startSharedApp({
      everyRole: (body) => (random() < 0.1 ? pick(modelFaults) : agreeing.script(body)),
    });
    const opened = Array.from({ length: pulls }, () => all.addRepository(base).open(heads[0]!));
    const act = async (pull: PullOfCase, round: number) => {
      if (random() < 0.7)
        pull.of.fault("(GET|POST|PATCH) /.*", pick(githubFaults)(), 1 + Math.floor(random() * 20));
      if (random() < 0.2) pull.of.breakGit("bad-gateway");
      if (round > 0 && random() < 0.5) return pull.command("octocat", "/review full");
      if (round > 0) all.app.people.forcePush(pull.pull, heads[round % 2]!);
      return pull.deliver(round === 0 ? "opened" : "synchronize");
    };
    const held: Held[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const pull of opened) await act(pull, round);
      for (const pull of opened) await pull.of.idle();
      all.app.github.faults.clear();
      if ((round + 1) % 2 === 0) {
        // Idle connections end meanwhile.
        await sleep(20_000);
        held.push(await heldBy(all));
        console.info(`${(round + 1) * pulls} jobs:`, JSON.stringify(held.at(-1)));
      }
    }
    const [first, last] = [held[0]!, held.at(-1)!];
    for (const what of Object.keys(first) as (keyof Held)[]) {
      expect(last[what], what).toBeLessThanOrEqual(Math.ceil(first[what] * 1.2));
    }
    const open = opened.flatMap(({ of }) =>
      of.repository.checkRuns.filter(({ status }) => status !== "completed"),
    );
    expect(open.map(({ headSha, externalId, status }) => ({ headSha, externalId, status }))).toEqual([]);
  });
});
