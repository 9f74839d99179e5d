import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type SharedApp, startSharedApp } from "../e2e/shared-app.ts";
import type { FakeAnswer } from "../support/fake-openai.ts";
import { type LossyProxy, lossyProxy } from "../support/lossy-proxy.ts";

const long = process.env.HUNKWISE_LONG === "1";

const MB = 1_000_000;
const finish = { tool_calls: [{ name: "finish_review", arguments: { summary: "Nothing here." } }] };
/** The model's answers, by the title of the pull request. */
const answers = new Map<string, FakeAnswer>();

let shared: SharedApp;
beforeAll(async () => {
  shared = await startSharedApp({
    everyRole: ({ messages }) => {
      const asked = JSON.stringify(messages);
      return [...answers].find(([title]) => asked.includes(title))?.[1] ?? finish;
    },
  });
});
afterAll(() => shared?.[Symbol.asyncDispose]());

/** Memory of the server process, in megabytes. */
function memory(what: "VmHWM" | "VmRSS"): number {
  const status = readFileSync(`/proc/${shared.app.server.process.pid}/status`, "utf8");
  return Number(new RegExp(`^${what}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
}

describe("an answer of a model", () => {
  // Concatenated gzip members form one answer.
  const piece = gzipSync(Buffer.alloc(10 * MB, "[],"));
  const beginning = gzipSync('{"choices":[');

  const bombs: [string, FakeAnswer][] = [
    [
      "unpacks to 400 MB of small arrays",
      {
        ...{ fault: "packed", encoding: "gzip" },
        body: Buffer.concat([beginning, ...Array<Buffer>(40).fill(piece)]),
      },
    ],
    [
      "is 40 MB of open brackets",
      { fault: "packed", encoding: "identity", body: Buffer.alloc(40 * MB, "[") },
    ],
    [
      "holds the same in what the model wrote",
      {
        tool_calls: [{ name: "finish_review", arguments: "[],".repeat(300_000) }],
      },
    ],
  ];
  it.each(long ? bombs : bombs.slice(0, 1))(
    "answer-bomb: An answer that %s exhausts neither the server's memory nor its time",
    async (what, answer) => {
      const title = `A change whose answer ${what}`;
      answers.set(title, answer);
      const { app } = shared;
      const pull = shared.addRepository({ "a.js": "a();\n" }).open({ "a.js": "b();\n" }, { title });
      const before = memory("VmRSS");
      await pull.deliver("opened");
      const concluded = pull.concluded();
      let [isOver, probes] = [false, 0];
      const probing = (async () => {
        for (; !isOver; probes++) expect((await fetch(`${app.server.url}/healthz`)).status).toBe(200);
      })();
      await concluded.finally(() => {
        isOver = true;
      });
      await probing;
      expect(pull.check()?.conclusion).toBe("neutral");
      expect(probes).toBeGreaterThan(2);
      expect(memory("VmHWM") - before).toBeLessThan(200);
    },
  );
});

describe("a fork whose history is larger than the disk limit", () => {
  let limited: SharedApp;
  let proxy: LossyProxy;
  beforeAll(async () => {
    limited = await startSharedApp({
      everyRole: () => finish,
      env: { HUNKWISE_DISK_LIMIT_GB: "0.01" },
      proxy: async ({ hostname: host, port }) => {
        proxy = await lossyProxy({ host, port: Number(port) });
        return `127.0.0.1:${proxy.port}`;
      },
    });
  });
  afterAll(async () => {
    await limited?.[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
  });

  it("outgrown-fetch: A fetch stops at the disk limit, turns the check red, and blocks no other work", async () => {
    const files = { "a.js": "a();\n", ".github/hunkwise.yml": "check: { fail: true }\n" };
    const repository = limited.addRepository(files);
    // More than the limit arrives, but never the rest.
    proxy.stallAfter(14 * MB);
    const data = Array.from({ length: 200 }, (_, n): [string, Buffer] => [`data/${n}`, randomBytes(100_000)]);
    const change = { "a.js": "b();\n", ...Object.fromEntries(data) };
    const large = repository.open(change, { author: "mona", fork: "mona" });
    await large.deliver("opened");
    await large.concluded();
    expect(large.check()).toMatchObject({ conclusion: "failure" });
    expect(large.check()?.output.summary).toContain("HUNKWISE_DISK_LIMIT_GB");
    expect(readdirSync(join(limited.app.dataFolder, "mirrors"))).toEqual([]);

    const next = repository.open({ "a.js": "c();\n" });
    await next.deliver("opened");
    await next.concluded();
    expect(next.check()).toMatchObject({ conclusion: "success" });
  });
});
