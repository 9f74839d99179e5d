import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { modelKey, openKnownModels } from "../../src/llm/known-models.ts";
import { TempFolder } from "../support/git-repo.ts";

const root = new TempFolder("known-models");
afterAll(() => root.dispose());
let count = 0;
const fresh = () => join(root.path, String(count++));
const ability = { callsTools: true, writesJson: true, contextTokens: 32_768 };
const DAY = 24 * 60 * 60 * 1_000;

describe("what was found out of models", () => {
  it("is there for the next process, in a file for its owner alone that names no address", async () => {
    const folder = fresh();
    const key = modelKey("http://user-of.internal:8000/v1", "secret-model");
    await openKnownModels(folder).remember(key, ability);
    const file = join(folder, "models.json");

    expect(await openKnownModels(folder).recall(key)).toEqual(ability);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).not.toMatch(/internal|secret/);
    expect(readdirSync(folder)).toEqual(["models.json"]);
  });

  it("belongs to one model at one address", async () => {
    const known = openKnownModels(fresh());
    await known.remember(modelKey("a", "m"), ability);
    expect(await known.recall(modelKey("b", "m"))).toBeNull();
    expect(await known.recall(modelKey("a", "n"))).toBeNull();
  });

  it("is found out again after 30 days", async () => {
    let now = 1_000 * DAY;
    const known = openKnownModels(fresh(), () => now);
    await known.remember("k", ability);
    now += 30 * DAY;
    expect(await known.recall("k")).toEqual(ability);
    now += 1;
    expect(await known.recall("k")).toBeNull();
  });

  it("does not grow without end, and the oldest goes first", async () => {
    let now = 0;
    const folder = fresh();
    const known = openKnownModels(folder, () => ++now);
    const row = { calls_tools: true, writes_json: true, context_tokens: null };
    mkdirSync(folder);
    const rows = Array.from({ length: 300 }, (_, at) => [`k${at}`, { ...row, probed_at: at - 400 }]);
    writeFileSync(join(folder, "models.json"), JSON.stringify(Object.fromEntries(rows)));
    await known.remember("new", ability);
    expect(Object.keys(JSON.parse(readFileSync(join(folder, "models.json"), "utf8")))).toHaveLength(200);
    expect(await known.recall("new")).toEqual(ability);
    expect(await known.recall("k0")).toBeNull();
    expect(await known.recall("k299")).not.toBeNull();
  });

  it("is nothing where the file is damaged, and is written anew", async () => {
    const folder = fresh();
    mkdirSync(folder);
    for (const text of ["{", "[]", '{"k": {"probed_at": "today"}}']) {
      writeFileSync(join(folder, "models.json"), text);
      expect(await openKnownModels(folder).recall("k")).toBeNull();
    }
    await openKnownModels(folder).remember("k", ability);
    expect(await openKnownModels(folder).recall("k")).toEqual(ability);
  });

  it("is not kept, without a word, where there is no folder or none that can be written", async () => {
    const file = join(root.path, "a-file");
    writeFileSync(file, "");
    for (const folder of [null, join(file, "below")]) {
      const known = openKnownModels(folder);
      await known.remember("k", ability);
      expect(await known.recall("k")).toBeNull();
    }
  });
});
