import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readArtifact } from "../../src/border/read-artifact.ts";
import { zip } from "../support/zip.ts";

const signal = new AbortController().signal;
const read = (bytes: Buffer) =>
  readArtifact(
    {
      ...{
        bytes: new Uint8Array(bytes),
        name: "lint.yml: report",
        file: 3,
        changed: ["src/a.js"],
        most: 5_000,
      },
      roots: ["/home/runner/work/shop/shop"],
    },
    signal,
  );

const sarif = (results: object[]) =>
  JSON.stringify({ version: "2.1.0", runs: [{ tool: { driver: { name: "Lint" } }, results }] });
const result = (uri: string, startLine = 3, ruleId = "R1") => ({
  ...{ ruleId, message: { text: "It is wrong." } },
  locations: [{ physicalLocation: { artifactLocation: { uri }, region: { startLine } } }],
});
const one = sarif([result("src/a.js")]);
const found = [
  {
    ...{ tool: "lint", rule: "R1", severity: "medium", path: "src/a.js", line: 3, endLine: 3 },
    ...{ message: "It is wrong.", file: 3 },
  },
];

describe("readArtifact", () => {
  it("readArtifact reads the results on changed files", async () => {
    const whole = sarif([result("file:///home/runner/work/shop/shop/src/a.js"), result("src/other.js")]);
    expect(await read(zip([{ name: "report.sarif", text: whole }]))).toEqual(found);
    expect(await read(Buffer.from(whole))).toEqual(found);
  });

  it("readArtifact skips what is no report, and uses no name of an entry as a path", async () => {
    const files = [
      { name: "README.md", text: "not a report" },
      { name: "deep/report.sarif.json", text: one },
    ];
    expect(await read(zip(files))).toEqual(found);
    await expect(read(zip([{ name: "../../etc/cron.d/x.sarif", text: one }]))).rejects.toThrow(
      "it is damaged, or no zip that can be read",
    );
  });

  it.each([
    ["no report", zip([{ name: "a.txt", text: one }]), "it has no file that ends in"],
    ["nothing", zip([]), "it has no file that ends in"],
    ["an encrypted file", zip([{ name: "a.sarif", text: one, isEncrypted: true }]), "it is encrypted"],
    [
      "six reports",
      zip(Array.from({ length: 6 }, (_, at) => ({ name: `${at}.sarif`, text: one }))),
      "more than 5 files with results",
    ],
    [
      "a bomb that tells its size",
      zip([{ name: "a.sarif", text: Buffer.alloc(300_000_000, " ") }]),
      "more than 20 MB when unpacked",
    ],
    [
      "a bomb that hides its size",
      zip([{ name: "a.sarif", text: Buffer.alloc(300_000_000, " "), saidSize: 10 }]),
      "it is damaged, or no zip that can be read",
    ],
    [
      "two halves of a bomb",
      zip([
        { name: "a.json", text: sarif([]).padEnd(15_000_000) },
        { name: "b.json", text: sarif([]).padEnd(15_000_000) },
      ]),
      "more than 20 MB when unpacked",
    ],
    ["deep brackets", zip([{ name: "a.sarif", text: "[".repeat(5_000_000) }]), "nested too deeply"],
    ["a cut zip", zip([{ name: "a.sarif", text: one }]).subarray(0, -30), "it is damaged"],
    [
      "a broken file",
      Buffer.concat([Buffer.from("PK\x03\x04"), deflateRawSync(Buffer.from(one))]),
      "damaged",
    ],
    ["other JSON", Buffer.from('{"a":1}'), "it is neither SARIF 2.1 nor rdjson"],
    ["too many entries", zip(Array.from({ length: 1_001 }, () => ({ name: "a", text: "" }))), "1000 files"],
  ])("readArtifact refuses %s", async (_, bytes, why) => {
    await expect(read(bytes)).rejects.toThrow(why);
  });

  it("readArtifact masks secrets in messages", async () => {
    const key = ["ghp", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].join("_");
    const [told] = await read(
      Buffer.from(sarif([{ ...result("src/a.js"), message: { text: `key ${key}` } }])),
    );
    expect(told?.message).not.toContain(key);
    expect(told?.message).toMatch(/^key /);
  });

  it("readArtifact keeps at most 5,000 results", async () => {
    const many = sarif(Array.from({ length: 9_000 }, (_, at) => result("src/a.js", at + 1)));
    expect(await read(Buffer.from(many))).toHaveLength(5_000);
  });

  it("readArtifact leaves the thread of the server free, and ends with its job", async () => {
    const many = sarif(Array.from({ length: 60_000 }, (_, at) => result("src/a.js", at + 1)));
    const ended = new AbortController();
    const task = {
      bytes: new Uint8Array(Buffer.from(many)),
      name: "x",
      file: 0,
      roots: [],
      changed: [],
      most: 5_000,
    };
    const reading = readArtifact(task, ended.signal);
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
      if (turns === 5) ended.abort(new Error("the job ended"));
    }, 1);
    await expect(reading).rejects.toThrow("the job ended");
    clearInterval(timer);
    expect(turns).toBeGreaterThanOrEqual(5);
  });
});
